"""Every explorer over the grid of its settings, without a frontend, through both writers."""

import importlib
import itertools
import random
import re
from functools import cache

import pytest
from conftest import ROOT
from page_tools import Reader

from helpers import figures
from helpers.explorers import html
from helpers.explorers.page import Page, every_panel
from helpers.explorers.shell import Choice, Explorer, Slider, TextBox, Toggle, resolve
from helpers.figures.page import draw

TOPICS = sorted(path.stem.split("_", 1)[1] for path in (ROOT / "notebooks").glob("*.ipynb"))  # each has its explorer
ORDER = ("S", "d", "heads")  # these come first, in this order
TYPED = ("", " ", "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "ein Wort 中文 🙂 é", "\x00\x07\n\t")
MOST_CORNERS, RANDOM_SETTINGS = 60, 30
MOST_BYTES = 400_000  # of HTML, so that a change is sent quickly


def module(topic):
    return importlib.import_module(f"helpers.explorers.{topic}")


def test_there_is_an_explorer():
    assert "attention" in TOPICS


def ends(control, earlier):
    """The extreme values of a control, as its widget offers them under the settings before it."""
    if isinstance(control, Slider):
        return sorted(set(control.bounds(earlier)))
    if isinstance(control, Choice):
        values = [value for _, value in control.pairs(earlier)]
        return values if not all(isinstance(v, (int, float)) for v in values) else sorted({min(values), max(values)})
    return (False, True) if isinstance(control, Toggle) else (*TYPED, "x" * control.limit)


def any_value(control, earlier, rng):
    if isinstance(control, Slider):
        low, high = control.bounds(earlier)
        return rng.randint(low, high) if isinstance(control.step, int) else rng.uniform(low, high)
    return rng.choice(
        list(ends(control, earlier)) if not isinstance(control, Choice) else [v for _, v in control.pairs(earlier)]
    )


def corners(controls, earlier=None):
    """All combinations of extreme values."""
    earlier = earlier or {}
    if not controls:
        yield earlier
        return
    first, *rest = controls
    for value in ends(first, earlier):
        yield from corners(rest, {**earlier, first.name: first.nearest(value, earlier)})


def grid(topic):
    """Start, corners (some of them when there are many), and random settings."""
    controls = module(topic).CONTROLS
    rng = random.Random(topic)
    found = list(itertools.islice(corners(controls), 20_000))
    chosen = found if len(found) <= MOST_CORNERS else rng.sample(found, MOST_CORNERS)
    for _ in range(RANDOM_SETTINGS):
        settings = {}
        for control in controls:
            settings[control.name] = control.nearest(any_value(control, settings, rng), settings)
        chosen.append(settings)
    return [resolve(controls, {}), *chosen]


@cache
def pages(topic):
    """(settings, page) over the grid. Only typed text may be refused: impossible settings cannot be chosen."""
    made = []
    for settings in grid(topic):
        try:
            page = module(topic).page(dict(settings))
        except ValueError as error:
            typed = [c.name for c in module(topic).CONTROLS if isinstance(c, TextBox)]
            assert typed, f"{topic}: page refuses {settings}: {error}"
            assert str(error).strip()
            continue
        assert isinstance(page, Page)
        made.append((settings, page))
    return made


@pytest.mark.parametrize("topic", TOPICS)
def test_start_settings_make_a_page(topic):
    start = resolve(module(topic).CONTROLS, {})
    assert pages(topic)[0][0] == start


@pytest.mark.parametrize("topic", TOPICS)
def test_controls_follow_the_convention(topic):
    controls = module(topic).CONTROLS
    names = [control.name for control in controls]
    assert len(set(names)) == len(names)
    shared = [name for name in names if name in ORDER]
    assert names[: len(shared)] == [name for name in ORDER if name in names], "S, d and heads come first, in this order"
    assert all((control.label or control.name).strip() for control in controls)
    assert callable(module(topic).explore)


@pytest.mark.parametrize("topic", TOPICS)
def test_every_setting_gives_sound_html(topic):
    for settings, page in pages(topic):
        written = html.write(page)
        read = Reader(written)
        assert len(written) < MOST_BYTES, f"{settings}: {len(written)} bytes"
        typed = " ".join(value for value in settings.values() if isinstance(value, str)).lower()
        if "nan" not in typed:
            assert not re.search(r"\bnan\b", read.text, re.IGNORECASE), settings
        for image in read.all("img"):
            assert image["alt"].strip() and image["alt"] != page.title


@pytest.mark.parametrize("topic", TOPICS)
def test_alt_texts_and_summaries_are_specific(topic):
    for settings, page in pages(topic):
        panels = [panel for panel in every_panel(page.panels) if hasattr(panel, "alt")]
        alts = [panel.alt for panel in panels]
        assert len(set(alts)) == len(alts), f"{settings}: two maps share an alt text"
        for alt in (*alts, page.alt):
            assert len(alt.split()) >= 4, f"{settings}: alt text {alt!r} says too little"
        for number in re.findall(r"\d+\.\d+", page.summary):
            digits = number.replace(".", "").lstrip("0")
            assert len(digits) <= 4, f"{settings}: {number} in the summary is not rounded"


@pytest.mark.parametrize("topic", TOPICS)
def test_equal_settings_give_equal_pages(topic):
    made = pages(topic)
    for settings, page in made[:: max(1, len(made) // 20)]:
        given = dict(settings)
        assert html.write(module(topic).page(given)) == html.write(page), settings
        assert given == settings, "page changed its settings"


@pytest.mark.parametrize("topic", TOPICS)
def test_still_pictures_are_drawn(topic, capfd):
    made = pages(topic)
    for number, (_, page) in enumerate(made[:: max(1, len(made) // 5)]):
        file = figures.png(draw(page))
        assert number or len(file) < 120_000, f"the still picture of the start settings has {len(file)} bytes"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("topic", TOPICS)
def test_widgets_show_the_page_of_their_settings(topic):
    controls = module(topic).CONTROLS
    explorer = Explorer(module(topic).page, controls, topic)
    explorer.build()
    rng = random.Random(topic)
    for _ in range(2):
        for control in controls:
            widget = explorer.widgets[control.name]
            if isinstance(control, TextBox):
                continue  # may be refused, and then the last page stays: tests/test_pages.py
            widget.value = control.nearest(any_value(control, explorer.settings, rng), explorer.settings)
            shown = {name: widget.value for name, widget in explorer.widgets.items()}
            assert shown == explorer.settings
            assert explorer.picture.value == html.write(module(topic).page(shown)), shown
