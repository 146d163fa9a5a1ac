"""Pages, their two writers, the palette, and the widget shell."""

import base64
import io
import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from explorer_samples import CONTROLS, every_panel_page, head_maps
from explorer_samples import page as sample_page
from hypothesis import given
from hypothesis import strategies as st
from page_tools import Reader
from PIL import Image

from helpers import figures
from helpers.explorers import drawing, html, layout, palette
from helpers.explorers import page as panels
from helpers.explorers.page import (
    LEAVES,
    Arrow,
    Bars,
    Box,
    Column,
    Curve,
    Diagram,
    Heatmap,
    Page,
    Row,
    ShapeTable,
    Table,
    Text,
    Tokens,
    every_panel,
)
from helpers.explorers.shell import Choice, Explorer, Slider, Stepper, TextBox, Toggle, divisors, resolve
from helpers.figures.page import draw

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a & b < c > d 'e' \"f\"",
    "$\\frac{1}{0}$ \\x _^{",
)


def colours(source):
    """The pixels (height, width, 3) of a PNG, given as bytes or as a data URI."""
    if isinstance(source, str):
        source = base64.b64decode(source.removeprefix("data:image/png;base64,"))
    return np.asarray(Image.open(io.BytesIO(source)).convert("RGB"))


def map_image(heatmap, width=layout.WIDTH):
    (image,) = Reader(html.write_panel(heatmap, width)).all("img")
    return colours(image["src"])


# --- colours --------------------------------------------------------------------


@pytest.mark.parametrize("kind", palette.ANCHORS)
def test_png_holds_the_colours_of_its_levels(kind):
    image = np.random.default_rng(0).integers(0, 255, size=(13, 37)).astype(np.uint8)
    np.testing.assert_array_equal(colours(palette.png(image, kind)), palette.TABLES[kind][image])


def test_one_pixel_a_cell_without_masked_cells():
    values = np.random.default_rng(0).random((5, 7))
    expected = palette.TABLES["weights"][np.rint(values / values.max() * 250).astype(int)]
    np.testing.assert_array_equal(map_image(Heatmap("t", values, "a")), expected)


def test_signed_map_has_zero_in_its_middle_and_both_ends_at_equal_distance():
    image = map_image(Heatmap("t", [[-3.0, 0.0, 3.0]], "a", kind="signed"))[0]
    anchors = palette.ANCHORS["signed"]
    assert [tuple(colour) for colour in image] == [anchors[0], anchors[4], anchors[8]]


def test_viridis_is_near_matplotlibs():
    import matplotlib

    theirs = np.array(matplotlib.colormaps["viridis"](np.linspace(0, 1, palette.STEPS)))[:, :3] * 255
    assert np.abs(palette.TABLES["weights"][: palette.STEPS] - theirs).max() < 6


def test_lightness_rises_with_weight_and_falls_with_distance_from_zero():
    weights, signed = (
        [palette.luminance(c) for c in palette.TABLES[k][: palette.STEPS]] for k in ("weights", "signed")
    )
    middle = palette.STEPS // 2
    rounding = 0.003  # colours are whole numbers
    assert np.diff(weights).min() >= -rounding
    assert np.diff(signed[: middle + 1]).min() >= -rounding and np.diff(signed[middle:]).max() <= rounding


@pytest.mark.parametrize("kind", palette.ANCHORS)
def test_numbers_are_readable_on_every_level(kind):
    for level in range(palette.STEPS):
        ink = (0, 0, 0) if palette.INKS[kind][level] == "#000" else (255, 255, 255)
        assert palette.contrast(ink, palette.TABLES[kind][level]) >= 4.5


def test_masked_and_nan_cells_have_patterns_of_their_own():
    values = np.array([[0.2, -np.inf, np.nan], [0.1, 0.3, 0.4]])
    mask = np.array([[False, False, False], [False, True, False]])
    heatmap = Heatmap("t", values, "a", mask=mask)
    width, height = layout.MapLayout(heatmap, layout.WIDTH).cell
    image = map_image(heatmap)
    assert image.shape == (2 * height, 3 * width, 3)

    def seen(row, column):
        cell = image[row * height : (row + 1) * height, column * width : (column + 1) * width]
        return {tuple(int(c) for c in colour) for colour in cell.reshape(-1, 3)}

    striped = {palette.SPECIAL[palette.MASKED], palette.SPECIAL[palette.MASKED_LINE]}
    assert seen(0, 1) == seen(1, 1) == striped
    assert seen(0, 2) == {palette.SPECIAL[palette.NAN], palette.SPECIAL[palette.NAN_LINE]}
    assert len(seen(0, 0)) == len(seen(1, 2)) == 1
    text = Reader(html.write_panel(heatmap, layout.WIDTH)).text
    assert "masked" in text and "NaN: 1 cell" in text and "inf" not in text
    assert heatmap.limits == (0.0, 0.4)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.sampled_from(["weights", "signed"]))
def test_levels_keep_order_and_hold_the_ends(values, kind):
    values = np.abs(values) if kind == "weights" else np.array(values)
    heatmap = Heatmap("t", values[None], "a", kind=kind)
    levels = palette.levels(heatmap.values, heatmap.limits)[0].astype(int)
    order = np.argsort(values, kind="stable")
    assert (np.diff(levels[order]) >= 0).all() and levels.max() < palette.STEPS
    if values.any():
        furthest = np.abs(values).argmax()
        assert levels[furthest] in (0, palette.STEPS - 1)


def test_text_of_the_house_is_readable_on_its_ground():
    def rgb(colour):
        return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))

    pairs = [(layout.INK, layout.GROUND), (layout.MUTED, layout.GROUND)]
    pairs += [(ink, ground) for ground, ink, _ in layout.TONES.values()]
    pairs += [(layout.INK, ground) for ground, _ in layout.BOX_TONES.values()]
    pairs += [(layout.INK, ground) for ground in (*layout.GROUPS, layout.CHIP)]
    for ink, ground in pairs:
        assert palette.contrast(rgb(ink), rgb(ground)) >= 4.5, (ink, ground)
    for colour, _ in layout.SERIES:
        assert palette.contrast(rgb(colour), rgb(layout.GROUND)) >= 3, colour


# --- writers --------------------------------------------------------------------


def figure_texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_sample_page_has_every_panel():
    assert {type(panel) for panel in every_panel(every_panel_page().panels)} == set(LEAVES)


@pytest.mark.parametrize("panel", [p for p in every_panel(every_panel_page().panels)], ids=lambda p: type(p).__name__)
def test_both_writers_write_every_panel(panel):
    page = Page("title", [panel], "summary", "alt")
    read = Reader(html.write(page))
    words = " ".join(figure_texts(draw(page)))
    title = getattr(panel, "title", None) or panel.text
    assert title in read.text and title in words
    if hasattr(panel, "alt"):
        described = [
            e for e in (*read.all("img"), *read.all("svg")) if panel.alt in (e.get("alt"), e.get("aria-label"))
        ]
        starts = [e for e in read.all("svg") if e.get("aria-label", "").startswith(panel.alt)]
        assert described or starts


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_escaped_in_every_place(text):
    page = every_panel_page(text)
    read = Reader(html.write(page, warning=text))
    assert read.text.count(text) > 30
    assert not any(e.get("src") == "x" for e in read.all("img"))
    plain = Reader(html.write(every_panel_page("plain"), warning="plain"))
    assert [tag for tag, _ in read.elements if tag != "g"][:40] == [tag for tag, _ in plain.elements if tag != "g"][:40]
    assert text in figure_texts(draw(page))


def test_page_is_quiet_in_both_writers(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = every_panel_page("中文 🙂 $x$")
        html.write(page)
        assert len(figures.png(draw(page))) > 1000
    assert capfd.readouterr() == ("", "")


def test_tables_are_marked_up_as_tables():
    read = Reader(html.write_panel(ShapeTable("shapes", [("Q", (2, 3), "queries")]), 800))
    assert [head["scope"] for head in read.all("th")] == ["col", "col", "col", "row"]
    assert len(read.all("caption")) == 1 and "(2, 3)" in read.text


def test_read_out_is_announced_politely():
    assert ("aria-live", "polite") in Reader(html.write_panel(Text("x", "readout"), 800)).all("div")[0].items()


def titles_of(values, **more):
    heatmap = Heatmap("t", values, "a", row_title="to", column_title="from", titles=True, **more)
    written = Reader(html.write_panel(heatmap, 800))
    assert len(written.all("title")) == len(values)
    return [text for text in written.texts if text.startswith("to ")]


def test_hover_text_of_a_row_holds_its_values_without_what_is_masked():
    forbidden = np.array([[False, True], [False, False], [True, True]])
    values = [[0.25, 0.5], [np.nan, 0.125], [0.0, 0.0]]
    assert titles_of(values, mask=forbidden, column_labels=("cat", "<b>")) == [
        "to 0\nfrom cat: 0.25",
        "to 1\nfrom cat: NaN\nfrom <b>: 0.125",
        "to 2\nall masked",
    ]


def test_rows_too_thin_to_point_at_have_no_hover_text():
    narrow = Row(*(Heatmap("t", np.zeros((64, 64)), "a", titles=True) for _ in range(4)))
    assert not Reader(html.write_panel(narrow, 800)).all("title")
    wide = Row(Heatmap("t", np.zeros((64, 64)), "a", titles=True))
    assert len(Reader(html.write_panel(wide, 800)).all("title")) == 64


def test_hover_text_of_a_long_row_holds_the_largest_values():
    values = np.zeros((1, 64))
    values[0, 5:25] = -np.arange(1, 21)
    values[0, 60] = np.nan
    (text,) = titles_of(values, kind="signed")
    largest = [*(f"from {c}: {4 - c}" for c in range(10, 25)), "from 60: NaN"]
    assert text.splitlines() == ["to 0, the 16 largest of 64", *largest]


@pytest.mark.parametrize("S, written", [(4, True), (8, True), (16, False), (64, False)])
def test_numbers_stand_in_cells_that_have_room(S, written):
    heatmap = Heatmap("t", np.full((S, S), 0.125), "a")
    assert (Reader(html.write_panel(heatmap, 800)).texts.count("0.12") == S * S) == written


def test_equal_tokens_share_a_colour_and_others_have_none():
    read = Reader(html.write_panel(Tokens("t", ["a", "b", "a", "c", "b"]), 800))
    grounds = [re.search(r"background:(#\w+)", e["style"]).group(1) for e in read.all("span")]
    assert grounds[0] == grounds[2] != grounds[1] == grounds[4] and grounds[3] == layout.CHIP


def test_one_scale_gives_maps_the_same_limits():
    row = Row(Heatmap("a", [[1.0]], "x"), Heatmap("b", [[4.0]], "x"), one_scale=True)
    assert [panel.limits for panel in row.panels] == [(0, 4), (0, 4)]


@pytest.mark.parametrize("S", [1, 2, 7, 16, 33, 64, 100])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 8])
def test_maps_stay_inside_their_column(S, columns):
    row = Row(*(Heatmap(f"head {i}", np.eye(S), "a", mark_row=S - 1) for i in range(columns)), columns=columns)
    width = layout.column_width(row)
    for panel in row.panels:
        heatmap, note = layout.fit(panel, width)
        made = layout.MapLayout(heatmap, width)
        assert made.total[0] <= width and made.cell[0] == made.cell[1]
        assert bool(note) == (S > 84 and columns == 8), "up to S = 64 every cell is drawn"
        if columns < 8:
            assert (S - 1, str(S - 1)) in made.rows


def test_a_map_with_more_cells_than_pixels_is_thinned_and_says_so():
    values = np.arange(500.0 * 700).reshape(500, 700)
    whole = Heatmap("t", values, "a", mark_row=7)
    heatmap, note = layout.fit(whole, 402)
    made = layout.MapLayout(heatmap, 402)
    assert made.total[0] <= 402 and made.size[1] <= layout.BOX
    assert heatmap.row_labels[heatmap.mark_row] == "7" and heatmap.limits == whole.limits
    rows, columns = ([int(label) for label in labels] for labels in (heatmap.row_labels, heatmap.column_labels))
    np.testing.assert_array_equal(heatmap.values, values[np.ix_(rows, columns)])
    assert note == f"{len(rows)} of 500 rows and {len(columns)} of 700 columns are drawn"
    assert note in Reader(html.write_panel(whole, 402)).text


@pytest.mark.parametrize(
    "low, high, log",
    [(0, 1, False), (-3.2, 7.7, False), (1e-4, 2e-4, False), (1, 1000, True), (6.1, 9, True), (1.1, 1.9, True)],
)
def test_ticks_are_inside_and_few(low, high, log):
    found = layout.ticks(low, high, log)
    assert 2 <= len(found) <= 12 and all(low - 1e-9 <= t <= high + 1e-9 for t in found)


def test_curves_leave_gaps_at_nan_and_stay_inside():
    x = np.arange(10.0)
    shapes, width, height = drawing.curve_shapes(Curve("t", x, {"y": np.where(x == 5, np.nan, x)}, "a"), 400)
    lines = [s for s in shapes if isinstance(s, drawing.Line) and s.colour == layout.SERIES[0][0]]
    assert [len(line.points) for line in lines] == [5, 4]
    assert all(0 <= px <= width and 0 <= py <= height for line in lines for px, py in line.points)


def test_still_picture_is_small_and_wide_enough():
    page = Page("t", [head_maps(16, 8), head_maps(64, 8)], "s", "a")
    file = figures.png(draw(page))
    assert len(file) < 120_000 and 800 <= colours(file).shape[1] <= 900


def test_still_picture_keeps_the_colours_of_a_map():
    heatmap = Heatmap("t", [[0.0, 0.5, 1.0]], "a", numbers=False)
    picture = colours(figures.png(draw(Page("t", [heatmap], "s", "a")))).reshape(-1, 3).tolist()
    for level in (0, 125, 250):
        assert palette.TABLES["weights"][level].tolist() in picture


def test_few_colours_is_exact_for_few_and_near_for_many():
    rng = np.random.default_rng(0)
    few = rng.integers(0, 256, size=(200, 3))[rng.integers(0, 200, size=(30, 40))]
    indices, table = figures.few_colours(few)
    np.testing.assert_array_equal(table[indices], few)
    ramp = np.stack(np.broadcast_arrays(*np.ogrid[0:256:4, 0:256:4], 128), axis=-1)  # 4096 colours
    indices, table = figures.few_colours(ramp)
    assert np.abs(table[indices].astype(int) - ramp).max() <= 16


# --- validation -----------------------------------------------------------------

WRONG = [
    (lambda: Heatmap("t", [1.0], "a"), "values has shape"),
    (lambda: Heatmap("t", np.zeros((0, 3)), "a"), "values has shape"),
    (lambda: Heatmap("t", [[np.inf]], "a"), "inf"),
    (lambda: Heatmap("t", [[-1.0]], "a"), "negative"),
    (lambda: Heatmap("t", [[1.0]], ""), "alt must be text"),
    (lambda: Heatmap("t", [[1.0]], "a", kind="hot"), "kind is 'hot'"),
    (lambda: Heatmap("t", [[1.0]], "a", kind="mask"), "only 0 and -inf"),
    (lambda: Heatmap("t", [[1.0]], "a", mask=[[0.0]]), "dtype float64"),
    (lambda: Heatmap("t", [[1.0]], "a", mask=np.array([True])), "mask has shape"),
    (lambda: Heatmap("t", [[1.0]], "a", row_labels=["x", "y"]), "2 row_labels for 1 rows"),
    (lambda: Heatmap("t", [[1.0]], "a", mark_row=1), "mark_row holds 1"),
    (lambda: Heatmap("t", [[1.0]], "a", mark_column=-1), "mark_column holds -1"),
    (lambda: Heatmap("t", [[1.0]], "a", limits=(1, 1)), "low < high"),
    (lambda: Heatmap("t", [[1.0]], "a", kind="signed", limits=(-1, 2)), "a signed map needs"),
    (lambda: ShapeTable("t", [("a", (1,))]), "expected (symbol, shape, meaning)"),
    (lambda: ShapeTable("t", [("a", 3, "m")]), "expected a tuple"),
    (lambda: Table("t", ["a"], [(1, 2)]), "2 cells for 1 columns"),
    (lambda: Table("t", ["a"], [(1,)], marked=[1]), "marked holds 1"),
    (lambda: Tokens("t", ["a"], [1, 2]), "2 ids for 1 tokens"),
    (lambda: Text(" "), "text must be text"),
    (lambda: Text("x", "loud"), "tone is 'loud'"),
    (lambda: Bars("t", ["a"], [1.0, 2.0], "a"), "1 labels for 2 values"),
    (lambda: Bars("t", range(65), range(65), "a"), "at most 64"),
    (lambda: Curve("t", [1, 2], {"y": [1]}, "a"), "1 values for 2 of x"),
    (lambda: Curve("t", [1, 2], {}, "a"), "0 series"),
    (lambda: Curve("t", [1, 2], {"y": [0, 1]}, "a", log_y=True), "needs values > 0"),
    (lambda: Curve("t", [0, 2], {"y": [0, 1]}, "a", log_x=True), "needs x > 0"),
    (lambda: Diagram("t", 100, 100, [Box(90, 0, 20, 10, "x")], [], "a"), "lies outside"),
    (lambda: Box(0, 0, 0, 10, "x"), "must be positive"),
    (lambda: Arrow([(0, 0)]), "expected two or more"),
    (lambda: Row(), "no panels"),
    (lambda: Row(Text("x"), one_scale=True), "one kind"),
    (lambda: Row(Row(Text("x"))), "not a panel"),
    (lambda: Column(Row(Text("x"))), "not a panel"),
    (lambda: Page("t", [], "s", "a"), "no panels"),
    (lambda: Page("t", ["text"], "s", "a"), "not a panel"),
    (lambda: Page("t", [Text("x")], "", "a"), "summary must be text"),
]


@pytest.mark.parametrize("make, message", WRONG, ids=[message for _, message in WRONG])
def test_wrong_panels_are_refused(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_panels_keep_their_own_copy():
    values = np.eye(3)
    heatmap = Heatmap("t", values, "a")
    values[0, 0] = 7
    assert heatmap.values[0, 0] == 1 and not heatmap.values.flags.writeable
    assert replace(heatmap, title="other").limits == heatmap.limits


@pytest.mark.parametrize(
    "value, text",
    [(3, "3"), (0.125, "0.125"), (-0.5, "-0.5"), (12345.6, "12346"), (1e-5, "1.0e-05"), (np.nan, "NaN"), (0.0, "0")],
)
def test_numbers_as_text(value, text):
    assert panels.write_number(value) == text


# --- controls and shell -----------------------------------------------------------


def test_resolve_starts_settles_and_keeps_the_nearest():
    assert resolve(CONTROLS, {}) == {
        "S": 16, "d": 64, "heads": 8, "row": 3, "rate": 0.5, "causal": True, "text": "two words",
    }  # fmt: skip
    settings = resolve(CONTROLS, {"S": 2, "d": 8, "heads": 8, "row": 9})
    assert (settings["row"], settings["heads"]) == (1, 8)
    assert resolve([Choice("heads", [1, 3, 9], 3)], {"heads": 5})["heads"] == 3
    assert resolve([Choice("mask", ["none", "causal"], "causal")], {"mask": "gone"})["mask"] == "causal"
    assert resolve([Slider("x", 0, 10, 0, step=4)], {"x": 7})["x"] == 8
    with pytest.raises(ValueError, match="unknown settings"):
        resolve(CONTROLS, {"size": 3})
    with pytest.raises(ValueError, match="at most 40"):
        resolve(CONTROLS, {"text": "x" * 41})


@pytest.mark.parametrize("number", range(1, 60))
def test_divisors(number):
    assert divisors(number) == [n for n in range(1, 100) if number % n == 0]


class Counted:
    """A page function that counts its calls."""

    def __init__(self):
        self.calls = []

    def __call__(self, settings):
        self.calls.append(dict(settings))
        return sample_page(settings)


@pytest.fixture
def explorer():
    made = Explorer(Counted(), CONTROLS, "sample")
    made.build()
    return made


def test_moving_one_control_computes_one_page(explorer):
    explorer.page.calls.clear()
    explorer.widgets["S"].value = 2  # also moves row and its bound
    assert len(explorer.page.calls) == 1 and explorer.settings["row"] == 1
    assert explorer.widgets["row"].value == explorer.widgets["row"].max == 1
    explorer.widgets["S"].value = 1  # a slider whose ends meet
    explorer.widgets["S"].value = 64
    assert explorer.widgets["row"].max == 63 and explorer.settings["row"] == 3, "the row that was chosen comes back"
    explorer.widgets["d"].value = 8
    assert [value for _, value in explorer.widgets["heads"].options] == [1, 2, 4, 8]
    assert len(explorer.page.calls) == 4
    assert explorer.picture.value == html.write(sample_page(explorer.settings))


def test_the_picture_is_sent_before_the_controls_that_follow(explorer):
    sent = []
    for name, trait in (("picture", "value"), ("row", "max")):
        widget = explorer.picture if name == "picture" else explorer.widgets[name]
        widget.observe(lambda change, name=name: sent.append(name), names=trait)
    explorer.widgets["S"].value = 5
    assert sent == ["picture", "row"]


def test_a_slider_gets_higher_bounds_before_a_higher_value(explorer, monkeypatch):
    row = explorer.widgets["row"]
    explorer.widgets["S"].value = 2
    sent = []
    monkeypatch.setattr(type(row), "send_state", lambda self, key=None: self is row and sent.append(set(key)))
    explorer.widgets["S"].value = 16
    assert (row.max, row.value) == (15, 3)
    assert [keys for keys in sent if keys] == [{"max"}, {"value"}]


@given(st.lists(st.tuples(st.sampled_from(["S", "d", "heads", "row", "rate", "causal", "text"]), st.integers(0, 63))))
def test_any_walk_over_the_controls_stays_consistent(moves):
    explorer = Explorer(lambda settings: Page("t", [Text(str(settings))], "s", "a"), CONTROLS, "sample")
    explorer.build()
    for name, number in moves:
        widget = explorer.widgets[name]
        if hasattr(widget, "options"):
            widget.value = widget.options[number % len(widget.options)][1]
        elif hasattr(widget, "max"):
            widget.value = min(widget.min + number, widget.max)
        else:
            widget.value = bool(number % 2) if name == "causal" else "x" * number
        shown = {name: widget.value for name, widget in explorer.widgets.items()}
        if len(shown["text"]) <= 40:
            assert shown == explorer.settings == resolve(CONTROLS, shown)
            assert explorer.picture.value == html.write(explorer.page(shown))


def test_an_error_becomes_a_message_and_the_last_page_stays(explorer):
    before = explorer.settings
    explorer.widgets["text"].value = "!<b>"
    read = Reader(explorer.picture.value)
    assert "Not shown: a text must not start with !, got !<b>" in read.text and "two words" in read.text
    assert explorer.settings == before
    explorer.widgets["text"].value = "x" * 41
    assert "41 characters; at most 40" in explorer.picture.value
    explorer.widgets["text"].value = "good"
    assert "Not shown" not in explorer.picture.value and explorer.settings["text"] == "good"


def test_a_bug_in_a_page_is_shown_too():
    def broken(settings):
        return Page("t", [Text(f"{1 / settings['x']:.1f}")], "s", "a")

    explorer = Explorer(broken, [Slider("x", 0, 3, 1), Slider("y", 0, lambda settings: settings["x"], 0)], "broken")
    explorer.build()
    explorer.widgets["x"].value = 0
    assert "ZeroDivisionError" in explorer.picture.value
    assert explorer.widgets["y"].max == 0  # the controls are settled all the same


def test_stepper_buttons_stop_at_the_ends():
    explorer = Explorer(lambda s: Page("t", [Text(str(s))], "s", "a"), [Stepper("row", 0, 2, 1)], "steps")
    slider, back, forward = explorer.build().children[0].children[0].children
    for button, expected in ((forward, 2), (forward, 2), (back, 1), (back, 0), (back, 0)):
        button.click()
        assert explorer.settings["row"] == slider.value == expected


def test_controls_are_labelled_with_their_names(explorer):
    assert {name: widget.description for name, widget in explorer.widgets.items()} == {c.name: c.name for c in CONTROLS}
    assert Explorer(lambda s: Page("t", [Text("x")], "s", "a"), [Toggle("a", True, label="b")], "n").build()
    assert TextBox("a", "x", label="b").label == "b"


SHOWN = """
import explorer_samples
from helpers import figures
for start in ({}, {"S": 4}):
    explorer_samples.explore(**start)
explorer_samples.show_every_panel()
figure, axes = figures.new(4, 2)
axes.plot([1, 2])
figures.show(figure, "a rising line")
"""


def test_show_is_one_bundle_without_a_frontend(tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(SHOWN)])
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))
    NotebookClient(
        notebook, timeout=120, store_widget_state=False, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = notebook.cells[0].outputs
    assert [output.output_type for output in outputs] == ["display_data"] * 4
    live, still = outputs[:3], outputs[3]
    for output, page in zip(live, (sample_page(resolve(CONTROLS, {})), None, every_panel_page()), strict=True):
        assert set(output.data) == {"application/vnd.jupyter.widget-view+json", "image/png", "text/plain"}
        if page is not None:
            assert output.data["text/plain"] == page.summary and output.metadata["image/png"]["alt"] == page.alt
    assert live[1].data["text/plain"].startswith("S = 4")
    assert still.data["text/plain"] == still.metadata["image/png"]["alt"] == "a rising line"
    assert colours(base64.b64decode(still.data["image/png"])).shape == (200, 400, 3)


def test_show_outside_jupyter_prints_the_summary(capsys):
    from explorer_samples import explore

    explore()
    assert capsys.readouterr().out == "S = 16, d = 64, heads = 8, row = 3\n"


def test_figures_need_alt_text_and_leave_pyplot_empty(capsys):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    with pytest.raises(ValueError, match="alt text"):
        figures.show(figure, " ")
    figures.show(figure, "empty axes")
    assert plt.get_fignums() == [] and capsys.readouterr().out == "empty axes\n"


def test_figures_keep_their_style_in_what_is_drawn_later():
    from matplotlib.text import Text

    _, axes = figures.new(4, 2)
    (line,) = axes.plot([1, 2], label="a")
    axes.set(title="rising")
    assert axes.get_title(loc="left") == "rising" and axes.get_title(loc="center") == ""
    (title,) = (text for text in axes.findobj(Text) if text.get_text() == "rising")
    assert title.get_weight() == "bold"
    assert line.get_linewidth() == figures.STYLE["lines.linewidth"]
    assert not axes.legend().get_frame_on()


def test_explorers_load_no_torch():
    code = "import sys, helpers.explorers.shell, helpers.figures.page; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
