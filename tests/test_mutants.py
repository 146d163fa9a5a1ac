"""Each planted fault in a notebook's own definitions makes that notebook fail (tests/mutants)."""

import ast
import importlib
import importlib.util

import pytest

from tests.notebook_tools import NOTEBOOKS, Mutant, code, load, name_of, plant, replace_once, report, run_cells

pytestmark = pytest.mark.slow
LEAST = 4
LEAST_IN = {5: 12}
LEFT_OUT = ("explorer", "exercise")


def mutants_of(notebook):
    """The notebook's mutants; an empty list without a module."""
    module = f"tests.mutants.{notebook.topic}"
    if importlib.util.find_spec(module) is None:
        return []
    return importlib.import_module(module).MUTANTS


def mutated(notebook, mutant):
    """(cell id, source) of the one definition cell that the mutant changes; ValueError when it fits none or several."""
    sources = {cell.id: cell.source for cell in notebook.code if cell.has("definition")}
    if mutant.cell is not None and mutant.cell not in sources:
        raise ValueError(f"{mutant.cell} is no definition cell of {notebook.name}")
    before = dict(sources)
    replace_once(sources, [mutant.cell] if mutant.cell else list(sources), mutant.old, mutant.new)
    (changed,) = ((id, source) for id, source in sources.items() if source != before[id])
    return changed


def mutant_faults(notebook, mutant):
    """Why the mutant does not count: it changes nothing, it survives, or it fails by accident."""

    def fault(reason):
        return [f"{notebook.name}: mutant «{mutant.name}»: {reason}"]

    try:
        id, source = mutated(notebook, mutant)
    except ValueError as error:
        return fault(error)
    (before,) = (cell for cell in notebook.code if cell.id == id)
    try:
        if ast.dump(ast.parse(source)) == ast.dump(before.tree):
            return fault(f"changes nothing that runs in cell {id}")
    except SyntaxError as error:
        return fault(f"cell {id} is no Python any more: {error}")
    run = run_cells(notebook.path, replace={id: [(mutant.old, mutant.new)]}, skip_tags=LEFT_OUT)
    if run.error is None:
        return fault("survived: no check of the notebook failed")
    if not run.caught:
        return fault(f"failed by accident and not by a check, in cell {run.cell}: {run.error}")
    return []


def count_faults(notebook, mutants, least):
    """Too few mutants, counting those that give different code; two of one name."""
    names = [mutant.name for mutant in mutants]
    faults = [notebook.fault(None, f"two mutants are called «{name}»") for name in set(names) if names.count(name) > 1]
    distinct = {(id, ast.dump(ast.parse(source))) for id, source in (mutated(notebook, m) for m in mutants)}
    if len(distinct) < least:
        faults.append(notebook.fault(None, f"{len(distinct)} distinct mutants; at least {least} are wanted"))
    return faults


EACH = [(path, mutant) for path in NOTEBOOKS for mutant in mutants_of(load(path))]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_the_notebook_itself_passes(path):
    report(run_cells(path, skip_tags=LEFT_OUT).faults)


@pytest.mark.parametrize(("path", "mutant"), EACH, ids=[f"{path.stem}-{mutant.name}" for path, mutant in EACH])
def test_the_notebook_catches(path, mutant):
    report(mutant_faults(load(path), mutant))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_there_are_enough_mutants(path, record_testsuite_property):
    notebook = load(path)
    mutants = mutants_of(notebook)
    report(count_faults(notebook, mutants, LEAST_IN.get(notebook.section, LEAST)))
    record_testsuite_property(f"mutants of {notebook.name}", len(mutants))


def test_surviving_clumsy_and_empty_mutants_are_found(tmp_path):
    notebook = plant(
        tmp_path,
        code("define", 'def double(x):\n    """Twice x."""\n    return 2 * x  # twice', "definition"),
        code("use", "assert double(3) == 6\nprint(2 * 3)"),
        code("try", "assert double(1) == 2", "exercise:double"),
    )

    def faults(old, new, cell=None):
        return [fault.partition("»: ")[2] for fault in mutant_faults(notebook, Mutant("m", old, new, cell))]

    assert faults("return 2 * x", "return 3 * x") == []
    assert faults("return 2 * x", "return 3 * x", "define") == []
    assert faults("return 2 * x", "return x + x") == ["survived: no check of the notebook failed"]
    assert faults("return 2 * x", "return 6 if x == 3 else 0") == ["survived: no check of the notebook failed"]
    assert "failed by accident" in faults("return 2 * x", "return 2 * y")[0]
    assert "failed by accident" in faults("return 2 * x", "return 2 * x['x']")[0]
    assert "is no Python any more" in faults("return 2 * x", "return 2 *")[0]
    assert faults("# twice", "# thrice") == ["changes nothing that runs in cell define"]
    assert "expected exactly once" in faults("print(2 * 3)", "")[0]
    assert "expected exactly once" in faults("x", "y")[0]
    assert faults("print", "", "use") == ["use is no definition cell of 05_attention.ipynb"]


def test_too_few_mutants_are_found(tmp_path):
    notebook = plant(tmp_path, code("define", "def double(x):\n    return 2 * x", "definition"))
    three = Mutant("three", "2 * x", "3 * x")
    again = Mutant("three again", "return 2", "return 3")
    four = Mutant("four", "2 * x", "4 * x")
    assert count_faults(notebook, [three, four], 2) == []
    (fault,) = count_faults(notebook, [three, again], 2)
    assert fault == "05_attention.ipynb: 1 distinct mutants; at least 2 are wanted"
    assert count_faults(notebook, [three, three, four], 2) == ["05_attention.ipynb: two mutants are called «three»"]
