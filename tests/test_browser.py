"""The explorers in a real JupyterLab in headless Chromium: every control by keyboard, both themes, latency.

One server and one browser serve all tests of this file.
"""

import ast
import importlib
import os
import shutil
import statistics
from pathlib import Path

import explorer_samples
import nbformat
import pytest
from conftest import ROOT

from helpers.explorers import html
from helpers.explorers.palette import contrast
from helpers.explorers.shell import Slider, TextBox, Toggle, resolve
from tools.lab import Lab

pytestmark = pytest.mark.slow

NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
THEMES = ("JupyterLab Light", "JupyterLab Dark")
SAMPLE = "sample.ipynb"
# Generous, since a test machine is shared; `make bench` prints the true figures.
SLOWEST = {16: 500, 64: 1000}  # milliseconds by S

# What a person reads, and on what: [text, ink, ground] of every text of the live widget. Numbers in the
# cells of a map lie on the picture; tests/test_pages.py compares them with every colour of the palettes.
TEXTS = """
root => {
  const solid = colour => !/rgba\\(.*, 0\\)|transparent/.test(colour);
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (solid(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  for (const element of root.querySelectorAll("*")) {
    const own = [...element.childNodes].filter(n => n.nodeType === 3 && n.textContent.trim());
    const box = element.getBoundingClientRect();
    if (!own.length || !box.width || element.tagName === "title") continue;
    const style = getComputedStyle(element), svg = element.tagName === "text";
    const picture = svg && element.closest("figure").querySelector("img");
    if (picture) {
      const frame = picture.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
      if (x > frame.left && x < frame.right && y > frame.top && y < frame.bottom) continue;
    }
    let behind = ground(element);
    if (svg) {
      const areas = [...element.ownerSVGElement.querySelectorAll("polygon")].filter(area => {
        const a = area.getBoundingClientRect(), fill = getComputedStyle(area).fill;
        return solid(fill) && fill !== "none" && a.left <= box.left && a.right >= box.right && a.top <= box.top
          && a.bottom >= box.bottom;
      });
      if (areas.length) behind = getComputedStyle(areas.at(-1)).fill;
    }
    found.push([own.map(n => n.textContent).join(" "), svg ? style.fill : style.color, behind]);
  }
  return found;
}
"""


# For each row with a hover text: whether the pointer meets it in the middle of the row.
HOVERED = """
root => [...root.querySelectorAll("path > title")].map(title => {
  title.parentElement.scrollIntoView({block: "center"});
  const row = title.parentElement.getBoundingClientRect();
  const met = document.elementFromPoint(row.x + row.width / 2, row.y + row.height / 2);
  return met === title.parentElement && title.textContent.includes("\\n");
})
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory, browser_path):
    """JupyterLab over a copy of the notebooks and a notebook of samples."""
    folder = tmp_path_factory.mktemp("notebooks")
    shutil.copytree(ROOT / "notebooks", folder, dirs_exist_ok=True)
    shutil.copy(explorer_samples.__file__, folder)
    cells = ["import explorer_samples", "explorer_samples.explore()", "explorer_samples.show_every_panel()"]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    notebook.cells[1].metadata["tags"] = notebook.cells[2].metadata["tags"] = ["explorer"]
    nbformat.write(notebook, folder / SAMPLE)
    with Lab(folder, browser_path) as lab:
        yield lab


def explorer_cells(path):
    """(cell number, start settings) of the cells tagged ``explorer``."""
    found = []
    for number, cell in enumerate(nbformat.read(path, as_version=4).cells):
        if "explorer" in cell.metadata.get("tags", []):
            calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
            (call,) = (c for c in calls if ast.unparse(c.func).split(".")[-1] in ("explore", "show_every_panel"))
            start = {}
            for keyword in call.keywords:  # one without a name is a ** dictionary
                value = ast.literal_eval(keyword.value)
                start |= {keyword.arg: value} if keyword.arg else value
            found.append((number, start))
    return found


@pytest.fixture(scope="module")
def opened(lab, request):
    """(notebook in the browser, its path), all cells run. At the end no error is left in kernel or console."""
    notebook = lab.open(request.param)
    notebook.run_all()
    yield notebook, lab.folder / request.param
    try:
        bad = [
            o
            for outputs in notebook.outputs()
            for o in outputs
            if o["output_type"] == "error" or o.get("name") == "stderr"
        ]
        assert not bad, bad
        assert notebook.console_errors() == []
    finally:
        notebook.close()


def topic_of(path):
    """The module with CONTROLS and page that belongs to a notebook."""
    if path.name == SAMPLE:
        return explorer_samples
    return importlib.import_module("helpers.explorers." + path.stem.split("_", 1)[1])


def wait_for_page(notebook, picture, expected, what):
    """Wait until the live HTML is what the page function says, as the browser writes it."""
    expected = notebook.page.evaluate(
        "html => { const e = document.createElement('div'); e.innerHTML = html; return e.innerHTML; }", expected
    )
    for _ in range(200):
        shown = picture.inner_html()
        if shown == expected:
            return
        notebook.page.wait_for_timeout(50)
    place = next((i for i, (a, b) in enumerate(zip(shown, expected, strict=False)) if a != b), 0)
    around = slice(max(0, place - 100), place + 100)
    pytest.fail(f"after {what} the page shows …{shown[around]}… and not …{expected[around]}…")


def wait_for_text(notebook, picture, expected):
    """Wait until the live page says this to a person: markup in it would not be text."""
    for _ in range(200):
        if expected in picture.inner_text():
            return
        notebook.page.wait_for_timeout(50)
    pytest.fail(f"the page does not say {expected!r}")


def focusable(cell):
    """What the Tab key can reach among an explorer's controls, in order."""
    return cell.query_selector_all(
        "[role=slider], select, input[type=checkbox], input[type=text], button.jupyter-button"
    )


def move(notebook, element, control, settings):
    """Move a focused control by keyboard; returns the value it should have now."""
    value = settings[control.name]
    keyboard = notebook.page.keyboard
    if isinstance(control, Toggle):
        keyboard.press("Space")
        return not value
    if isinstance(control, TextBox):
        keyboard.press("Control+a")
        keyboard.type("<b>x</b> y")
        return "<b>x</b> y"
    if isinstance(control, Slider):
        low, high = control.bounds(settings)
        up = value + control.step <= high
        keyboard.press("ArrowRight" if up else "ArrowLeft")
        return value if low == high else value + control.step * (1 if up else -1)
    values = [value for _, value in control.pairs(settings)]
    place = values.index(value)
    down = place + 1 < len(values)
    # JupyterLab takes the arrow keys of a closed list for itself, so open it first
    for key in ("Space", "ArrowDown" if down else "ArrowUp", "Enter"):
        keyboard.press(key)
    return values[place + (1 if down else -1)] if len(values) > 1 else value


@pytest.mark.parametrize("opened", [SAMPLE, *NOTEBOOKS], indirect=True)
def test_every_control_moves_the_picture_by_keyboard(opened):
    notebook, path = opened
    cells = explorer_cells(path)
    assert cells, f"{path.name} has no cell tagged explorer"
    for number, start in cells:
        cell = notebook.cell(number)
        picture = cell.wait_for_selector(".widget-html-content")
        assert picture.query_selector_all("img, svg, table"), "an empty page"
        if "show_every_panel" in nbformat.read(path, as_version=4).cells[number].source:
            continue
        topic = topic_of(path)
        wanted, settings = start, resolve(topic.CONTROLS, start)
        wait_for_page(notebook, picture, html.write(topic.page(settings)), "the start")
        changed = 0
        # text boxes last: a page may refuse what is typed
        for place, control in sorted(enumerate(topic.CONTROLS), key=lambda pair: isinstance(pair[1], TextBox)):
            # a slider whose bounds have moved is drawn anew, a moment later, as another element
            notebook.page.wait_for_timeout(1000)
            reachable = [e for e in focusable(cell) if e.evaluate("e => e.tagName !== 'BUTTON'")]
            assert len(reachable) == len(topic.CONTROLS)
            element = reachable[place]
            element.focus()
            before = settings
            wanted = {**wanted, control.name: move(notebook, element, control, settings)}
            settings = resolve(topic.CONTROLS, wanted)
            try:
                topic.page(settings)
            except ValueError as refusal:
                wait_for_text(notebook, picture, str(refusal).splitlines()[0])
                changed += 1
                continue
            wait_for_page(
                notebook, picture, html.write(topic.page(settings)), f"{control.name}: {before} to {settings}"
            )
            changed += html.write(topic.page(settings)) != html.write(topic.page(before))
        assert changed >= 2
        labels = cell.query_selector_all(".widget-label")
        assert not [label.inner_text() for label in labels if label.evaluate("l => l.scrollWidth > l.clientWidth")]


@pytest.mark.parametrize("opened", [SAMPLE], indirect=True)
def test_tab_reaches_every_control_and_buttons_step(opened):
    notebook, _ = opened
    notebook.run_all()  # a second time in the same kernel: a new explorer takes the place of the old one
    cell = notebook.cell(1)
    (picture,) = cell.query_selector_all(".widget-html-content")
    controls = focusable(cell)
    controls[0].focus()
    for element in controls[1:]:
        notebook.page.keyboard.press("Tab")
        while element.evaluate(
            "e => document.activeElement !== e && document.activeElement.matches('[contenteditable]')"
        ):
            notebook.page.keyboard.press("Tab")  # a slider's number can be typed too
        assert element.evaluate("e => document.activeElement === e"), element.evaluate("e => e.outerHTML")
    settings = resolve(explorer_samples.CONTROLS, {})
    back, forward = cell.query_selector_all("button.jupyter-button")
    for button, row in ((forward, 4), (back, 3), (back, 2)):
        button.focus()
        notebook.page.keyboard.press("Enter")
        settings["row"] = row
        wait_for_page(notebook, picture, html.write(explorer_samples.page(settings)), f"a step to {row}")


@pytest.mark.parametrize("opened", [SAMPLE, *NOTEBOOKS], indirect=True)
def test_text_is_readable_in_both_themes(opened, tmp_path):
    notebook, path = opened
    pictures = []
    for theme in THEMES:
        notebook.set_theme(theme)
        for number, _ in explorer_cells(path):
            cell = notebook.cell(number)
            texts = cell.wait_for_selector(".jupyter-widgets").evaluate(TEXTS)
            assert len(texts) > 10
            for text, ink, ground in texts:
                ratio = contrast(rgb(ink), rgb(ground))
                assert ratio >= 4.5, f"{theme}: {text!r} has {ink} on {ground}, contrast {ratio:.2f}"
            file = Path(os.environ.get("SCREENSHOTS", tmp_path)) / f"{path.stem}-{number}-{theme.split()[1]}.png"
            pictures.append(notebook.page.screenshot(path=file))
    assert pictures[0] != pictures[-1]
    notebook.set_theme(THEMES[0])


@pytest.mark.parametrize("opened", [SAMPLE], indirect=True)
def test_the_pointer_finds_the_hover_texts(opened):
    notebook, _ = opened
    cell = notebook.cell(2)
    cell.wait_for_selector(".widget-html-content")
    found = cell.evaluate(HOVERED)
    assert len(found) == 4 and all(found), found


def rgb(colour):
    """(red, green, blue) of a computed colour such as "rgb(1, 2, 3)"; one that is see-through is taken as on white."""
    numbers = [float(n) for n in colour[colour.index("(") + 1 : -1].split(",")]
    alpha = numbers[3] if len(numbers) == 4 else 1.0
    return tuple(alpha * c + (1 - alpha) * 255 for c in numbers[:3])


@pytest.mark.parametrize("opened", [SAMPLE], indirect=True)
def test_a_change_is_on_the_screen_soon(opened, record_testsuite_property):
    notebook, _ = opened
    cell = notebook.cell(1)
    picture = cell.wait_for_selector(".widget-html-content")
    slider = cell.query_selector("[role=slider]")
    notebook.watch(picture)
    slider.focus()
    for S, keys in ((16, ["ArrowRight", "ArrowLeft"]), (64, ["End", "ArrowLeft", "ArrowRight"])):
        for key in keys:
            notebook.press(key)
        times = [notebook.press(key) for key in keys[-2:] * 5]
        middle = statistics.median(times)
        print(f"S = {S}, 8 heads: {middle:.0f} ms from key press to changed page (median of {len(times)})")
        record_testsuite_property(f"latency_S_{S}", round(middle))
        assert middle < SLOWEST[S]
