"""The notebooks run: as saved, strictly by nbval, twice in one kernel, and with explorers or exercises left out."""

import json
import os
import re
import subprocess
import symtable
import sys
import time

import pytest

from tests.notebook_tools import NOTEBOOKS, code, load, markdown, name_of, plant, report, run_cells
from tools import notebooks as tool

SECONDS = {11: 90, 12: 90}  # the others: 20
USUAL_SECONDS = 20
LOAD = 2.5  # how much slower than alone a notebook may be while other tests run
OPTIONAL = ("explorer", "exercise")

pytestmark = pytest.mark.slow
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)


def test_there_are_notebooks():
    assert NOTEBOOKS


# Saved outputs


def saved_faults(notebook):
    """Cells that were not run, or not in order, before the notebook was saved."""
    faults = []
    for number, cell in enumerate(notebook.code, 1):
        if cell.execution_count is None:
            faults.append(notebook.fault(cell, "saved without having been run"))
        elif cell.execution_count != number:
            faults.append(notebook.fault(cell, f"saved with execution count {cell.execution_count}, not {number}"))
    if not any(cell.outputs for cell in notebook.code):
        faults.append(notebook.fault(None, "saved without outputs"))
    return faults


@each_notebook
def test_saved_after_a_run(path):
    report(saved_faults(load(path)))


def test_cleared_outputs_are_found(tmp_path):
    cleared = plant(tmp_path, code("one", "print(1)"), code("two", "x = 1", execution_count=1))
    assert saved_faults(cleared) == [
        "05_attention.ipynb: cell one: saved without having been run",
        "05_attention.ipynb: cell two: saved with execution count 1, not 2",
        "05_attention.ipynb: saved without outputs",
    ]


# nbval


def nbval_faults(notebook):
    """What nbval, strict, finds; it numbers the cells, the report names them."""
    command = [sys.executable, "-m", "pytest", "--nbval", f"--nbval-cell-timeout={tool.CELL_SECONDS}", "-q"]
    # this project's own pytest settings are meant for its tests
    command += ["-c", os.devnull, "--rootdir", str(notebook.path.parent), "-p", "no:cacheprovider", "--color=no"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run([*command, str(notebook.path)], capture_output=True, text=True, env=environment)
    passed = re.search(r"(\d+) passed", done.stdout)
    if done.returncode == 0 and passed and int(passed[1]) == len(notebook.code):
        return []
    report = re.sub(r"Cell (\d+)", lambda found: f"cell {notebook.code[int(found[1])].id}", done.stdout)
    return [notebook.fault(None, f"nbval:\n{report}{done.stderr}")]


@each_notebook
def test_nbval(path):
    report(nbval_faults(load(path)))


def test_nbval_finds_a_changed_output_and_a_skipped_cell(tmp_path):
    saved = [{"output_type": "stream", "name": "stdout", "text": "1\n"}]
    good = code("good", "print(1)", outputs=saved, execution_count=1)
    assert nbval_faults(plant(tmp_path, good)) == []

    drifted = code("drifted", "print(2)", outputs=saved, execution_count=2)
    (fault,) = nbval_faults(plant(tmp_path, good, drifted))
    assert fault.startswith("05_attention.ipynb: nbval:") and "cell drifted: Cell outputs differ" in fault

    skipped = code("skipped", "print(2)", "nbval-skip", outputs=saved, execution_count=2)
    assert nbval_faults(plant(tmp_path, good, skipped))


# A new run


def output_faults(notebook, before, after, reason):
    """Cells whose outputs differ, pictures and counts aside, between two executed notebooks (nbformat)."""

    def outputs(cell):
        text = json.dumps([{**output, "execution_count": 0} for output in cell.get("outputs", [])], sort_keys=True)
        return tool.without_pictures(text)

    return [
        notebook.fault(cell, reason)
        for cell, old, new in zip(notebook.cells, before.cells, after.cells, strict=True)
        if outputs(old) != outputs(new)
    ]


def run_faults(path, seconds):
    """Run the notebook twice in one kernel: as saved, in time, and the same again."""
    notebook = load(path)
    saved = path.read_text(encoding="utf-8")
    with tool.kernel(path) as run:
        start = time.perf_counter()
        first = run()
        needed = time.perf_counter() - start
        try:
            second = run()
        except tool.NotebookFailed as error:
            return [f"{error} (in the second of two runs in one kernel)"]

    faults = []
    if needed > seconds:
        faults.append(notebook.fault(None, f"took {needed:.0f} s; {seconds:.0f} s are allowed"))
    faults += output_faults(notebook, tool.read(path), first, "a new run gives another output than the saved one")
    if not faults and (lines := tool.changed_lines(saved, tool.as_text(first))):
        faults.append(notebook.fault(None, "not as make notebooks saves it:\n" + "\n".join(lines)))
    faults += output_faults(notebook, first, second, "a second run in the same kernel gives another output")
    return faults


@each_notebook
def test_runs_twice_in_one_kernel_as_saved_and_in_time(path):
    seconds = SECONDS.get(load(path).section, USUAL_SECONDS)
    report(run_faults(path, seconds * LOAD))


def test_executing_twice_changes_no_byte_but_pictures(tmp_path):
    draw = (
        "import io\n"
        "import matplotlib.pyplot as plt\n"
        "import numpy as np\n"
        "figure, axes = plt.subplots()\n"
        "axes.imshow(np.random.default_rng().random((8, 8)))\n"
        "file = io.BytesIO()\n"
        "figure.savefig(file, format='png')\n"
        "plt.close(figure)"
    )
    show = (
        "import ipywidgets\n"
        "from IPython.display import display\n"
        "bundle, _ = get_ipython().display_formatter.format(ipywidgets.HTML('<b>map</b>'))\n"
        "bundle |= {'image/png': file.getvalue(), 'text/plain': 'a map'}\n"
        "display(bundle, metadata={'image/png': {'alt': 'a map'}}, raw=True)"
    )
    talk = "import sys\nprint('one')\nprint('a note', file=sys.stderr)\nprint('two', flush=True)\nprint('three')"
    path = plant(
        tmp_path, markdown("title", "# Title"), code("draw", draw), code("show", show, "explorer"), code("talk", talk)
    ).path
    texts = []
    for _ in range(2):
        path.write_text(tool.as_text(tool.execute(path)), encoding="utf-8")
        texts.append(path.read_text(encoding="utf-8"))
    assert texts[0] != texts[1], "the picture is random; its data must have changed"
    assert tool.changed_lines(*texts) == []

    notebook = tool.read(path)
    assert [cell.id for cell in notebook.cells] == ["title", "draw", "show", "talk"]
    assert notebook.metadata == tool.METADATA
    assert list(notebook.cells[2].outputs[0].data) == ["image/png", "text/plain"]
    assert notebook.cells[2].outputs[0].metadata == {"image/png": {"alt": "a map"}}
    assert all("execution" not in cell.metadata for cell in notebook.cells)
    stdout = [output.text for output in notebook.cells[3].outputs if output.name == "stdout"]
    assert stdout == ["one\ntwo\nthree\n"]

    assert run_faults(path, 60) == []
    assert nbval_faults(load(path)) == [], "nbval needs no widget view to be saved"


def test_a_failing_cell_is_named(tmp_path):
    path = plant(tmp_path, code("fine", "x = 1"), code("broken", "raise ValueError('no')")).path
    with pytest.raises(tool.NotebookFailed, match="^05_attention.ipynb: cell broken: ValueError: no$"):
        tool.execute(path)


def executed(folder, *cells):
    """Plant a notebook, execute it in place and return its path."""
    path = plant(folder, *cells).path
    path.write_text(tool.as_text(tool.execute(path)), encoding="utf-8")
    return path


def test_a_notebook_that_cannot_be_run_twice_is_found(tmp_path):
    path = executed(tmp_path, code("start", "n = globals().get('n', 0) + 1"), code("count", "print(n)"))
    assert run_faults(path, 60) == [
        "05_attention.ipynb: cell count: a second run in the same kernel gives another output"
    ]
    path = executed(tmp_path, code("once", "assert 'n' not in globals()"), code("set", "n = 1"))
    (fault,) = run_faults(path, 60)
    assert fault.startswith("05_attention.ipynb: cell once: AssertionError") and "second of two runs" in fault


def test_stale_untidy_and_slow_notebooks_are_found(tmp_path):
    path = executed(tmp_path, code("one", "print(1)"), code("two", "print(2)"))
    assert run_faults(path, 60) == []
    (fault,) = run_faults(path, 0)
    assert "05_attention.ipynb: took" in fault

    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"2\\n"', '"3\\n"'), encoding="utf-8")
    assert run_faults(path, 60) == ["05_attention.ipynb: cell two: a new run gives another output than the saved one"]
    path.write_text(text.replace('"language": "python"', '"language": "julia"'), encoding="utf-8")
    (fault,) = run_faults(path, 60)
    assert fault.startswith("05_attention.ipynb: not as make notebooks saves it:")


# Leaving cells out


def needs_faults(notebook):
    """Cells that use a name which only an explorer or exercise cell before them defines."""
    faults = []
    always, sometimes = set(), {}
    for cell in notebook.code:
        stored, loaded = names(cell)
        for name in sorted(loaded - stored - always):
            if name in sometimes:
                faults.append(notebook.fault(cell, f"needs {name!r}, which only cell {sometimes[name]} defines"))
        if any(cell.has(tag) for tag in OPTIONAL):
            sometimes.update(dict.fromkeys(stored, cell.id))
        else:
            always |= stored
    return faults


def names(cell):
    """Names that a cell stores at its top level, and names that it or its functions load from there."""
    top = symtable.symtable(cell.source, cell.id, "exec")
    stored = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    loaded = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    inner = list(top.get_children())
    while inner:
        table = inner.pop()
        loaded |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global() and symbol.is_referenced()}
        inner += table.get_children()
    return stored, loaded


@each_notebook
def test_no_cell_needs_an_explorer_or_exercise(path):
    report(needs_faults(load(path)))


@each_notebook
@pytest.mark.parametrize("left_out", [("explorer",), ("exercise",)], ids=["explorers", "exercises"])
def test_runs_without(path, left_out):
    report(run_cells(path, skip_tags=left_out).faults)


def test_a_needed_exercise_is_found(tmp_path):
    notebook = plant(
        tmp_path,
        code("first", "answer = ...", "exercise:first"),
        code("free", "def double(x):\n    y = x\n    return 2 * y\nanswer = double(1)\nprint(answer)"),
        code("second", "guess = ...\nprint(guess)", "exercise:second"),
        code("bound", "def peek():\n    return guess\npeek()"),
    )
    assert needs_faults(notebook) == ["05_attention.ipynb: cell bound: needs 'guess', which only cell second defines"]
    assert run_cells(notebook.path).error is None
    without = run_cells(notebook.path, skip_tags=("exercise",))
    assert (without.cell, without.caught) == ("bound", False)
    assert without.error.startswith("NameError")


# The runner itself


def test_the_runner_tells_planned_errors_from_accidents(tmp_path):
    def run(source):
        return run_cells(plant(tmp_path, code("only", source)).path)

    assert run("print('seen')").stdout == "seen\n"
    assert run("assert 1 == 2").caught
    assert run("import numpy as np\nnp.testing.assert_allclose(1.0, 2.0)").caught
    assert run("if True:\n    raise ValueError('a row with nothing allowed')").caught
    assert not run("import numpy as np\nnp.zeros((2, 3)) @ np.zeros((2, 3))").caught
    assert not run("int('x')").caught
    assert not run("raise TypeError('no')").caught
    assert not run("x = (").caught
    assert run("import os\nos._exit(3)").error == "the process ended with code 3"


def test_the_runner_replaces_text_exactly_once(tmp_path):
    path = plant(tmp_path, code("one", "print(1)"), code("two", "print(2)\nprint(22)")).path
    assert run_cells(path, replace={"two": [("22", "3")], "*": [("(1)", "(0)")]}).stdout == "0\n2\n3\n"
    for cell, text in (("two", "print"), ("one", "22"), ("*", "print(")):
        with pytest.raises(ValueError, match="expected exactly once"):
            run_cells(path, replace={cell: [(text, "")]})


def test_the_runner_shows_source_and_displays(tmp_path):
    source = (
        "import inspect\n"
        "from dataclasses import dataclass\n"
        "import torch\n"
        "from IPython.display import display\n"
        "@dataclass\nclass Point:\n    x: int\n"
        "def f():\n    return Point(int(torch.ones(2).sum()))\n"
        "display({'text/plain': 'shown', 'image/png': b'0'}, raw=True)\n"
        "print(f(), inspect.getsource(f).splitlines()[1])"
    )
    run = run_cells(plant(tmp_path, code("only", source)).path)
    assert (run.error, run.stdout) == (None, "shown\nPoint(x=2)     return Point(int(torch.ones(2).sum()))\n")
