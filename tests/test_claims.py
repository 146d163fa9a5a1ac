"""Every claim is proved by a tagged cell that can fail, and notebooks/claims.tsv says where."""

import ast
from collections import Counter

import pytest

from tests.notebook_tools import (
    CHECKS,
    NOTEBOOKS,
    ROOT,
    called,
    code,
    is_check,
    load,
    markdown,
    name_of,
    plant,
    report,
    run_cells,
)
from tools import notebooks as tool

CLAIMS = ROOT / "notebooks" / "claims.tsv"
ROWS = tool.read_claims(CLAIMS)
SECTIONS = (8, 7, 8, 5, 11, 8, 9, 11, 4, 7, 13, 5)  # how many claims each has


# Which claims


def claim_faults(notebook, ids):
    """Claims of the notebook's section without a cell, and tags on the wrong cell or with a wrong number."""
    own = [id for id in ids if id.startswith(f"{notebook.section}.")]
    faults, tagged = [], set()
    for cell in notebook.cells:
        for tag in cell.tags:
            if not tag.startswith("claim"):
                continue
            id = tag.removeprefix("claim:")
            tagged.add(id)
            if id not in ids:
                faults.append(notebook.fault(cell, f"tag {tag!r}: claims.tsv has no such claim"))
            elif id not in own:
                faults.append(notebook.fault(cell, f"claim {id} belongs to section {id.partition('.')[0]}"))
            if cell.kind != "code":
                faults.append(notebook.fault(cell, f"claim {id} is tagged on a cell that is not code"))
    return faults + [notebook.fault(None, f"no cell is tagged claim:{id}") for id in own if id not in tagged]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_every_claim_has_a_cell(path):
    report(claim_faults(load(path), [row["id"] for row in ROWS]))


def test_missing_unknown_and_misplaced_claims_are_found(tmp_path):
    notebook = plant(
        tmp_path,
        code("one", "assert a > b", "claim:5.1"),
        markdown("two", "text", "claim:5.2"),
        code("three", "assert a > b", "claim:5.3", "claim:5.99", "claim5.4", "claim:6.1"),
    )
    assert claim_faults(notebook, ["5.1", "5.2", "5.3", "5.4", "6.1", "6.2"]) == [
        "05_attention.ipynb: cell two: claim 5.2 is tagged on a cell that is not code",
        "05_attention.ipynb: cell three: tag 'claim:5.99': claims.tsv has no such claim",
        "05_attention.ipynb: cell three: tag 'claim5.4': claims.tsv has no such claim",
        "05_attention.ipynb: cell three: claim 6.1 belongs to section 6",
        "05_attention.ipynb: no cell is tagged claim:5.4",
    ]


def test_the_list_is_whole():
    assert Counter(int(row["id"].partition(".")[0]) for row in ROWS) == dict(enumerate(SECTIONS, 1))
    assert len({row["id"] for row in ROWS}) == len(ROWS) == sum(SECTIONS)
    assert all(row["claim"] and row["what a cell must show"] for row in ROWS)


def test_the_list_is_in_step_with_the_notebooks():
    text = tool.claims_text(ROWS, tool.claim_cells(NOTEBOOKS))
    assert CLAIMS.read_text(encoding="utf-8") == text, "run make notebooks"


def test_the_list_names_notebook_and_cells(tmp_path):
    planted = plant(
        tmp_path, code("first", "", "claim:5.1"), code("second", "", "claim:5.1", "claim:5.2"), code("third", "")
    )
    rows = [{"id": id, "claim": "c", "what a cell must show": "w"} for id in ("5.1", "5.2", "5.3")]
    text = tool.claims_text(rows, tool.claim_cells([planted.path]))
    assert text.splitlines()[1:] == [
        "5.1\tc\tw\t05_attention.ipynb\tfirst, second",
        "5.2\tc\tw\t05_attention.ipynb\tsecond",
        "5.3\tc\tw\t\t",
    ]
    (tmp_path / "claims.tsv").write_text(text, encoding="utf-8")
    assert tool.claims_text(tool.read_claims(tmp_path / "claims.tsv"), {}) == tool.claims_text(rows, {})


# Able to fail


def proofs(cell, conditional=True):
    """The statements of a cell that would stop it if the claim were false.

    They are asserts, checks, and a raise in the else of a try. Those do not
    count that are never run or can never fail: in a function, under a
    constant condition, over an empty list, in a try that catches them, or
    comparing what is equal whatever the values. Without ``conditional``,
    those under an if are left out as well.
    """

    def inside(body):
        for part in body:
            if isinstance(part, ast.Assert):
                if not always_true(part.test):
                    yield part
            elif is_check(part):
                if isinstance(part, ast.With) or not same_sides(part.value.args):
                    yield part
            elif isinstance(part, ast.If):
                if conditional and uses_names(part.test):
                    yield from inside(part.body + part.orelse)
            elif isinstance(part, ast.For):
                if getattr(part.iter, "elts", True):
                    yield from inside(part.body)
            elif isinstance(part, ast.With):
                if not any(called(item.context_expr) == "suppress" for item in part.items):
                    yield from inside(part.body)
            elif isinstance(part, ast.Try):
                # what stands in the else is not caught
                yield from (child for child in part.orelse if isinstance(child, ast.Raise))
                yield from inside(part.orelse + part.finalbody)
                if not any(catches_checks(handler) for handler in part.handlers):
                    yield from inside(part.body)

    return list(inside(cell.tree.body))


def always_true(test):
    """Whether a condition holds whatever the values are."""
    if not uses_names(test) or isinstance(test, ast.Tuple | ast.List | ast.Lambda):
        return True
    if isinstance(test, ast.BoolOp):
        return (any if isinstance(test.op, ast.Or) else all)(always_true(value) for value in test.values)
    if isinstance(test, ast.Compare):
        return same_sides([test.left, *test.comparators])
    if isinstance(test, ast.Call):
        if len(test.args) >= 2:  # np.allclose(A, A)
            return same_sides(test.args)
        # (A == A).all(), bool(A == A), np.all(A == A)
        inner = test.args[0] if test.args else getattr(test.func, "value", None)
        return isinstance(inner, ast.Compare | ast.Call) and always_true(inner)
    return False


def same_sides(nodes):
    """Whether the first two expressions are the same, or both without any name."""
    left, right = nodes[:2]
    return ast.dump(left) == ast.dump(right) or not (uses_names(left) or uses_names(right))


def uses_names(node):
    """Whether an expression depends on anything."""
    return any(isinstance(part, ast.Name) for part in ast.walk(node))


def catches_checks(handler):
    """Whether an except clause catches an AssertionError."""
    if handler.type is None:
        return True
    caught = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    return bool(caught & {"AssertionError", "Exception", "BaseException"})


def proof_faults(notebook):
    """Claim cells that hold no assert and no check, or none that can fail."""
    faults = []
    for cell in notebook.code:
        if cell.has("claim") and not proofs(cell):
            any_at_all = any(isinstance(node, ast.Assert) or called(node) in CHECKS for node in ast.walk(cell.tree))
            reason = "none of its asserts and checks can fail" if any_at_all else "has no assert and no check"
            faults.append(notebook.fault(cell, f"proves a claim, but {reason}"))
    return faults


def unreached_faults(notebook, run):
    """Asserts and checks of claim cells that a run without error never came to, as in a loop over nothing."""
    def line(cell, number):
        return cell.source.splitlines()[number - 1].strip()

    return [
        notebook.fault(cell, f"never comes to line {proof.lineno}: {line(cell, proof.lineno)}")
        for cell in notebook.code
        if cell.has("claim")
        for proof in proofs(cell, conditional=False)
        if not isinstance(proof, ast.Raise) and (cell.id, proof.lineno) not in run.reached
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_every_proof_can_fail(path):
    report(proof_faults(load(path)))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_every_proof_is_run(path):
    run = run_cells(path)
    report(run.faults)
    report(unreached_faults(load(path), run))


GOOD_PROOFS = [
    "assert (A >= 0).all()",
    "assert not np.allclose(A, B)",
    "assert A.shape == (3, 3) and B.any()",
    "check(A, B, 'A')",
    "ok = checks.check_gradients(ours, torchs, 'gradients')",
    "for x in cases:\n    assert x > 0",
    "for i, x in enumerate((1, 2)):\n    check(f(x), i, 'f')",
    "with np.errstate(over='ignore'):\n    assert f(A) > 0",
    "with fails_with('row 2'):\n    attention(Q, K, V, M)",
    "try:\n    attention(Q, K, V, M)\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError('not refused')",
    "try:\n    assert f(x) == 2\nexcept ValueError:\n    pass",
    "if torch.__version__ >= '2.5':\n    assert H.isnan().any()",
    "assert True\nassert x == y",
]
EMPTY_PROOFS = [
    "print('the rows sum to 1')",
    "check_attention_shapes(Q, K, V)",
    "raise AssertionError",
    "if rows_differ:\n    print('differ')",
]
IDLE_PROOFS = [
    "assert True",
    "assert 1 < 2, A",
    "assert (A == B, 'equal')",
    "assert A == A",
    "assert (A == A).all()",
    "assert np.all(A == A)",
    "assert np.allclose(A @ B, A @ B)",
    "assert x > 0 or True",
    "assert lambda: A == B",
    "check(A, A, 'A')",
    "check(1, 1, 'one')",
    "for x in []:\n    assert x > 0",
    "if False:\n    assert A == B",
    "def test():\n    assert A == B",
    "try:\n    assert A == B\nexcept AssertionError:\n    print('no')",
    "try:\n    check(A, B, 'A')\nexcept:\n    pass",
    "with contextlib.suppress(AssertionError):\n    assert A == B",
]


def test_claims_that_cannot_fail_are_found(tmp_path):
    def faults(source):
        return proof_faults(plant(tmp_path, code("one", source, "claim:5.1"), code("two", "print()")))

    for source in GOOD_PROOFS:
        assert faults(source) == [], source
    for source in EMPTY_PROOFS:
        assert faults(source) == [
            "05_attention.ipynb: cell one: proves a claim, but has no assert and no check"
        ], source
    for source in IDLE_PROOFS:
        assert faults(source) == [
            "05_attention.ipynb: cell one: proves a claim, but none of its asserts and checks can fail"
        ], source


def test_proofs_that_are_never_run_are_found(tmp_path):
    loop = "cases = []\nfor case in cases:\n    assert case > 0\nassert cases == []\nif cases:\n    assert 0 in cases"
    notebook = plant(tmp_path, code("empty", loop, "claim:5.1"), code("free", "for x in list(): assert x"))
    run = run_cells(notebook.path)
    assert run.error is None
    assert unreached_faults(notebook, run) == [
        "05_attention.ipynb: cell empty: never comes to line 3: assert case > 0"
    ]
