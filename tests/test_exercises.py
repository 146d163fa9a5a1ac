"""Every exercise of every notebook: untouched, solved, answered wrongly and with nonsense; and the core they share.

A rule returns faults, each «notebook: cell: reason». The real notebooks and the
planted sample below, which shows the three kinds, go through the same rules.
"""

import ast
import contextlib
import dataclasses
import importlib
import io
import re
import sys
import types

import numpy as np
import pytest
from notebook_tools import NOTEBOOKS, called, code, load, markdown, name_of, plant

from helpers.exercises import core
from helpers.exercises.core import Exercise, Wrong, computes, expects
from helpers.layers.attention import softmax

FEWEST_WRONG = 5
PER_NOTEBOOK = range(3, 6)


# What belongs together


def exercises_of(notebook):
    """{name: Exercise} of the notebook's module, empty if there is no such module."""
    name = f"helpers.exercises.{notebook.topic}"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return {}
    return {name: value for name, value in vars(module).items() if isinstance(value, Exercise)}


def tagged(notebook, kind):
    """{name: cell} of the cells tagged kind:name, in the notebook's order."""
    names = [
        (tag.partition(":")[2], cell) for cell in notebook.cells for tag in cell.tags if tag.startswith(kind + ":")
    ]
    return dict(names)


def asked(notebook):
    """(name, exercise, cell, solution cell) of what is complete; the rest is a fault of ``fits_together``."""
    exercises, cells, solutions = exercises_of(notebook), tagged(notebook, "exercise"), tagged(notebook, "solution")
    return [
        (name, exercises[name], cells[name], solutions[name]) for name in cells if name in exercises.keys() & solutions
    ]


def call_in(cell):
    """The call in the cell's last line as a syntax tree, if the line is ``module.name(answer)``; else None."""
    last = ast.parse(cell.source).body[-1]
    one_line = last.lineno == last.end_lineno == len(cell.source.rstrip().split("\n"))
    call = last.value if isinstance(last, ast.Expr) else None
    fits = one_line and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and len(call.args) == 1
    return call if fits else None


# The rules


def fits_together(notebook):
    """Instances, exercise cells and solution cells are the same, in order, and well-formed."""
    exercises, cells, solutions = exercises_of(notebook), tagged(notebook, "exercise"), tagged(notebook, "solution")
    faults = []
    if len(cells) not in PER_NOTEBOOK:
        faults.append(notebook.fault(None, f"{len(cells)} exercises; expected 3 to 5"))
    for name in sorted(exercises.keys() | cells.keys() | solutions.keys()):
        where = f"helpers/exercises/{notebook.topic}.py"
        for found, what in (
            (exercises, f"instance in {where}"),
            (cells, "exercise cell"),
            (solutions, "solution cell"),
        ):
            if name not in found:
                faults.append(notebook.fault(None, f"exercise {name} has no {what}"))
    ids = [cell.id for cell in notebook.cells]
    for place, (name, exercise, cell, solution) in enumerate(asked(notebook), start=1):
        if exercise.number != f"{notebook.section}.{place}":
            faults.append(notebook.fault(cell, f"number {exercise.number}; expected {notebook.section}.{place}"))
        if exercise.number not in cell.source:
            faults.append(notebook.fault(cell, f"does not say that it is exercise {exercise.number}"))
        call = call_in(cell)
        if call is None or call.func.attr != name:
            faults.append(notebook.fault(cell, f"the last line must be exercises.{name}(answer)"))
        if not exercise.title.strip() or len(exercise.right.split()) < 4:
            faults.append(notebook.fault(cell, "has no title, or does not say why the right answer is right"))
        if solution.kind != "markdown" or ids.index(solution.id) != ids.index(cell.id) + 1:
            faults.append(notebook.fault(solution, "must be the markdown cell below its exercise"))
        summaries = re.findall(
            r"<details>\s*<summary>(.*?)</summary>\n\n\S.*?\n\n</details>", solution.source, re.DOTALL
        )
        if summaries != ["Hint", "Solution"]:
            faults.append(
                notebook.fault(solution, "needs <details> Hint and <details> Solution, each set off by blank lines")
            )
        if len(solution_blocks(solution)) != 1:
            faults.append(notebook.fault(solution, "needs exactly one block of ```python"))
    return faults


def solution_blocks(cell):
    return re.findall(r"^```python\n(.*?)^```", cell.source, re.DOTALL | re.MULTILINE)


def unanswered_and_solved(notebook):
    """The untouched cell is not answered; with the solution in place of all but its last line it is right."""
    faults = []
    for _, exercise, cell, solution in asked(notebook):
        label = f"Exercise {exercise.number}"
        printed, _ = run(notebook, cell, cell.source)
        if f"{label}: not answered yet\n" not in printed:
            faults.append(notebook.fault(cell, f"untouched, it printed {printed!r}; expected «not answered yet»"))
        printed, answer = run(notebook, cell, with_solution(cell, solution))
        if f"{label}: right. {exercise.right}" not in printed:
            faults.append(notebook.fault(solution, f"the solution is not accepted: {printed!r}"))
        if callable(answer) and len(calls_of(exercise, answer)) < 2:
            faults.append(notebook.fault(cell, "the checker calls the function with one shape only"))
    return faults


def with_solution(cell, solution):
    last_line = cell.source.rstrip().split("\n")[-1]
    return "\n".join([*solution_blocks(solution), last_line])


def run(notebook, cell, source):
    """What the source prints in place of the exercise cell, with its error if any, and the answer that it gives."""
    before = [earlier for earlier in notebook.code[: notebook.code.index(cell)] if prepares(earlier)]
    space = {"__name__": "__main__"}
    printed = io.StringIO()
    with contextlib.chdir(notebook.path.parent), np.printoptions(), contextlib.redirect_stdout(printed):
        try:
            for id, text in [*((earlier.id, earlier.source) for earlier in before), (cell.id, source)]:
                exec(compile(text, f"<cell {id}>", "exec"), space)
            return printed.getvalue(), eval(ast.unparse(call_in(cell).args[0]), space)
        except Exception as error:
            return f"{printed.getvalue()}{type(error).__name__}: {error}", None


def prepares(cell):
    """True for the cells that an exercise may rely on: setup, definitions, and imports with their settings."""
    if cell.has("setup") or cell.has("definition"):
        return True
    if any(cell.has(tag) for tag in ("exercise", "explorer", "claim")):
        return False
    try:
        body = cell.tree.body
    except SyntaxError:
        return False
    imports = [isinstance(statement, ast.Import | ast.ImportFrom) for statement in body]
    settings = [called(getattr(statement, "value", None)) == "set_printoptions" for statement in body]
    return any(imports) and all(map(max, imports, settings))


def calls_of(exercise, solution):
    """The different shapes (of other arguments: values) with which the checker calls a function."""
    seen = set()

    def recorded(*arguments):
        seen.add(repr([getattr(argument, "shape", argument) for argument in arguments]))
        return solution(*arguments)

    exercise.feedback(recorded)
    return seen


def wrong_answers(notebook):
    """Known wrong answers are rejected, each with a message that no other of them gets; nonsense is never right."""
    faults = []
    for _, exercise, cell, _ in asked(notebook):
        if len(exercise.wrong) < FEWEST_WRONG:
            faults.append(notebook.fault(cell, f"{len(exercise.wrong)} known wrong answers; expected {FEWEST_WRONG}"))
        texts = [feedback(exercise, answer) for answer, _ in exercise.wrong]
        for place, (_, fragment) in enumerate(exercise.wrong):
            text = texts[place]
            if not text.startswith(f"Exercise {exercise.number}: not yet. "):
                faults.append(notebook.fault(cell, f"wrong answer {place} is not rejected: {text!r}"))
            elif not fragment or fragment not in text:
                faults.append(notebook.fault(cell, f"wrong answer {place} lacks its message «{fragment}»: {text!r}"))
            else:
                same = [other for other, text in enumerate(texts) if other != place and fragment in text]
                if same:
                    faults.append(
                        notebook.fault(cell, f"«{fragment}» is in the messages of wrong answers {place} and {same}")
                    )
        for answer in nonsense():
            text = feedback(exercise, answer)
            if not text.startswith(f"Exercise {exercise.number}: not yet. "):
                faults.append(notebook.fault(cell, f"{answer!r} gets {text!r}; expected «not yet»"))
        for answer in (..., lambda *arguments: ...):
            text = feedback(exercise, answer)
            if (
                not text.startswith(f"Exercise {exercise.number}: not ")
                or exercise.kind != "predict"
                and "yet\n" not in text
            ):
                faults.append(notebook.fault(cell, f"{answer!r} gets {text!r}; expected «not answered yet»"))
    return faults


def feedback(exercise, answer):
    """The feedback, or the error that must not have come."""
    try:
        with np.errstate(all="ignore"):
            return exercise.feedback(answer)
    except BaseException as error:
        return f"raised {error!r}"


class Hostile:
    """Raises whenever it is looked at."""

    def __eq__(self, other):
        raise RuntimeError("no comparing")

    __hash__ = None
    __array__ = __len__ = __float__ = __iter__ = __eq__


class Mute(Exception):
    """Raises when it is printed."""

    def __str__(self):
        raise RuntimeError("no text")


def endless(*arguments):
    return endless(*arguments)


def giving(value):
    return lambda *arguments: value


def raising(error):
    def function(*arguments):
        raise error

    return function


def nonsense():
    return [
        None,
        "",
        "no such answer",
        float("nan"),
        -123456.789,
        (),
        [[]],
        {},
        np.array([]),
        np.full((2, 3), np.nan),
        object(),
        Hostile(),
        int,
        endless,
        *map(giving, [None, "text", float("nan"), (), np.full((1, 7), 1e99), Hostile(), object(), {"a": []}]),
        *map(raising, [ValueError("x"), Mute(), SystemExit(1), GeneratorExit(), Wrong("x"), AssertionError()]),
    ]


RULES = [fits_together, unanswered_and_solved, wrong_answers]


def test_there_are_notebooks_to_judge():
    assert NOTEBOOKS


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_exercises(path, rule):
    faults = rule(load(path))
    assert not faults, "\n".join(faults)


def test_every_module_has_a_notebook():
    modules = {path.stem for path in (NOTEBOOKS[0].parent.parent / "helpers" / "exercises").glob("*.py")}
    assert modules - {"__init__", "core"} == {load(path).topic for path in NOTEBOOKS}


# A sample: the three kinds, as a notebook and its module have them


count_zeros = Exercise(
    "5.1",
    "predict",
    "Zeros under a causal mask",
    judge=expects(
        6,
        mistakes=[
            (10, "The diagonal is allowed: a position reads itself."),
            (16, "That is every entry of the matrix."),
            (4, "That is one for each row, but row 0 alone forbids three."),
            (0, "With nothing forbidden there would be no mask."),
        ],
        otherwise="Draw the 4 x 4 matrix and count what lies above the diagonal.",
    ),
    right="Row 0 forbids three positions, row 1 two, row 2 one, and row 3 none.",
    wrong=[
        (10, "diagonal is allowed"),
        (16, "every entry"),
        (4, "one for each row"),
        (0, "no mask"),
        (7, "Draw the 4"),
    ],
)


def draw_scores(rng):
    return (3 * rng.standard_normal(rng.integers(3, 7, size=2)),)


def over_columns(scores):
    return softmax(scores.T).T


def over_everything(scores):
    return softmax(scores.ravel()).reshape(scores.shape)


def without_exp(scores):
    return scores / scores.sum(axis=-1, keepdims=True)


row_softmax = Exercise(
    "5.2",
    "implement",
    "Softmax of each row",
    judge=computes(
        softmax,
        draw_scores,
        mistakes=[
            (without_exp, "You divided the scores themselves; take exp first."),
            (np.exp, "Each row still has to be divided by its sum."),
        ],
    ),
    right="Each row is positive and sums to 1.",
    wrong=[
        (over_columns, "yours sums to 1 over axis -2"),
        (over_everything, "each whole matrix sums to 1"),
        (without_exp, "take exp first"),
        (np.exp, "divided by its sum"),
        (lambda scores: scores / 0, "infinity"),
        (lambda scores: softmax(scores)[0], "shapes differ"),
    ],
)


def late_mask(scores):
    weights = softmax(scores)
    return weights * np.tril(np.ones(scores.shape))


def masked_softmax(scores):
    return softmax(np.where(np.tril(np.ones(scores.shape)) == 1, scores, -np.inf))


mend_mask = Exercise(
    "5.3",
    "repair",
    "A mask that comes too late",
    judge=computes(masked_softmax, lambda rng: (rng.standard_normal((S := int(rng.integers(3, 7)), S)),)),
    right="Forbidden positions are out before the softmax shares out the row.",
    wrong=[
        (lambda scores: softmax(scores) * np.tril(np.ones(scores.shape)), "mask came after the softmax"),
        (softmax, "the future leaks"),
        (lambda scores: masked_softmax(scores).T, "transposing the last two axes"),
        (lambda scores: masked_softmax(2 * scores), "differs: at [1, 0]"),
        (lambda scores: masked_softmax(scores[:-1]), "shapes differ"),
    ],
    broken=late_mask,
)

DETAILS = """<details><summary>Hint</summary>

Think.

</details>
<details><summary>Solution</summary>

```python
{}
```

</details>"""

CELLS = {
    "setup": code(
        "setup", "from helpers.layers.attention import softmax\nimport helpers.exercises.sample as exercises", "setup"
    ),
    "imports": code("imports", "import numpy as np\n\nnp.set_printoptions(precision=3)"),
    "not-needed": code("not-needed", "raise RuntimeError('this cell is not needed by any exercise')"),
    "count": code("count", "# 5.1 Predict.\nzeros = ...\nexercises.count_zeros(zeros)", "exercise:count_zeros"),
    "count-solution": markdown("count-solution", DETAILS.format("zeros = 3 + 2 + 1"), "solution:count_zeros"),
    "softmax": code(
        "softmax",
        "# 5.2 Implement.\ndef rows(scores):\n    return ...\n\n\nexercises.row_softmax(rows)",
        "exercise:row_softmax",
    ),
    "softmax-solution": markdown(
        "softmax-solution",
        DETAILS.format(
            "def rows(scores):\n    weights = np.exp(scores)\n    return weights / weights.sum(axis=-1, keepdims=True)"
        ),
        "solution:row_softmax",
    ),
    "mend": code(
        "mend",
        "# 5.3 Repair.\ndef late_mask(scores):\n    weights = softmax(scores)  # (S, S)\n\n"
        "    return weights * np.tril(np.ones(scores.shape))\n\n\nexercises.mend_mask(late_mask)",
        "exercise:mend_mask",
    ),
    "mend-solution": markdown(
        "mend-solution",
        DETAILS.format(
            "def late_mask(scores):\n    return softmax(np.where(np.tril(np.ones(scores.shape)) == 1, scores, -np.inf))"
        ),
        "solution:mend_mask",
    ),
}
SAMPLE = {"count_zeros": count_zeros, "row_softmax": row_softmax, "mend_mask": mend_mask}


@pytest.fixture
def faults_of(tmp_path, monkeypatch):
    """A function that plants the sample with some exercises and cells changed, and returns the rules' faults."""

    def faults(exercises=None, cells=None):
        module = types.ModuleType("helpers.exercises.sample")
        changed = {**SAMPLE, **(exercises or {})}
        vars(module).update({name: exercise for name, exercise in changed.items() if exercise is not None})
        monkeypatch.setitem(sys.modules, module.__name__, module)
        planted = [cell for cell in {**CELLS, **(cells or {})}.values() if cell is not None]
        notebook = plant(tmp_path, *planted, name="05_sample.ipynb")
        return [fault for rule in RULES for fault in rule(notebook)]

    return faults


def test_the_sample_has_no_fault(faults_of):
    assert faults_of() == []


def changed(name, **fields):
    return {"exercises": {name: dataclasses.replace(SAMPLE[name], **fields)}}


def cell_with(id, old, new):
    """The sample's cell with one text replaced."""
    cell = CELLS[id].copy()
    assert cell.source.count(old) == 1
    cell["source"] = cell.source.replace(old, new)
    return {"cells": {id: cell}}


def fixed_case(rng):
    return (np.ones((2, 3)),)


def judge_that_accepts(answer):
    return None


def judge_with_one_message(answer):
    if answer != 6:
        raise Wrong("That is wrong.")


def judge_that_rejects(answer):
    raise Wrong("never")


BAD = {
    "accepts everything": (
        changed("count_zeros", judge=judge_that_accepts),
        "wrong answer 0 is not rejected",
    ),
    "accepts nonsense": (
        changed("count_zeros", judge=lambda answer: count_zeros.judge(answer) if type(answer) is int else None),
        "expected «not yet»",
    ),
    "accepts nothing": (changed("count_zeros", judge=judge_that_rejects), "the solution is not accepted"),
    "four wrong answers": (changed("count_zeros", wrong=count_zeros.wrong[:4]), "4 known wrong answers"),
    "no wrong answers": (changed("row_softmax", wrong=[]), "0 known wrong answers"),
    "one message for all": (
        changed("count_zeros", judge=judge_with_one_message, wrong=[(n, "wrong") for n in range(5)]),
        "«wrong» is in the messages of wrong answers 0 and [1, 2, 3, 4]",
    ),
    "empty fragment": (changed("count_zeros", wrong=[*count_zeros.wrong, (3, "")]), "lacks its message «»"),
    "another message": (
        changed("count_zeros", wrong=[*count_zeros.wrong, (3, "two rows")]),
        "lacks its message «two rows»",
    ),
    "a right answer listed as wrong": (changed("count_zeros", wrong=[*count_zeros.wrong, (6, "x")]), "is not rejected"),
    "one fixed shape": (
        changed("row_softmax", judge=computes(lambda scores: softmax(scores), fixed_case)),
        "calls the function with one shape only",
    ),
    "no reason": (changed("row_softmax", right="Well done."), "does not say why"),
    "no title": (changed("row_softmax", title=" "), "has no title"),
    "number out of order": (changed("row_softmax", number="5.4"), "number 5.4; expected 5.2"),
    "broken differs from the cell": (
        changed("mend_mask", broken=lambda scores: 2 * late_mask(scores)),
        "expected «not answered yet»",
    ),
    "untouched but answered": (cell_with("count", "zeros = ...", "zeros = 6"), "untouched, it printed"),
    "wrong solution": (cell_with("count-solution", "3 + 2 + 1", "3 + 2"), "the solution is not accepted"),
    "no instance": ({"exercises": {"count_zeros": None}}, "count_zeros has no instance in helpers/exercises/sample.py"),
    "no exercise cell": ({"cells": {"count": None}}, "count_zeros has no exercise cell"),
    "no solution cell": ({"cells": {"count-solution": None}}, "count_zeros has no solution cell"),
    "two exercises": (
        {"exercises": {"count_zeros": None}, "cells": {"count": None, "count-solution": None}},
        "2 exercises; expected 3 to 5",
    ),
    "no hint": (
        cell_with("count-solution", "<summary>Hint</summary>", "<summary>Note</summary>"),
        "needs <details> Hint",
    ),
    "no blank line": (
        cell_with("count-solution", "<summary>Solution</summary>\n\n", "<summary>Solution</summary>\n"),
        "blank",
    ),
    "no code": (cell_with("count-solution", "```python", "```text"), "exactly one block"),
    "number not told": (cell_with("count", "# 5.1 Predict.\n", ""), "does not say that it is exercise 5.1"),
    "another exercise called": (
        cell_with("count", "exercises.count_zeros", "exercises.row_softmax"),
        "the last line must be",
    ),
    "solution elsewhere": (
        {"cells": {"count-solution": None, "mend-solution": CELLS["mend-solution"], "end": CELLS["count-solution"]}},
        "must be the markdown cell below its exercise",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_exercise_is_caught(faults_of, name):
    change, reason = BAD[name]
    faults = faults_of(**change)
    assert any(reason in fault for fault in faults), faults
    assert all(fault.startswith("05_sample.ipynb: ") for fault in faults)


def test_a_checker_that_raises_is_caught(faults_of, monkeypatch):
    monkeypatch.setattr(Exercise, "feedback", lambda exercise, answer: 1 / 0)
    faults = faults_of()
    assert any('wrong answer 0 is not rejected: "raised ZeroDivisionError' in fault for fault in faults)
    assert any("untouched, it printed 'ZeroDivisionError: division by zero'" in fault for fault in faults)


# The core: what is printed


def test_printed_text(capsys):
    assert count_zeros(...) is None
    count_zeros(10)
    count_zeros(6)
    row_softmax(lambda scores: ...)
    mend_mask(late_mask)
    assert capsys.readouterr().out == (
        "Exercise 5.1: not answered yet\n"
        "Put your answer in place of the ... and run the cell again.\n"
        "Exercise 5.1: not yet. The diagonal is allowed: a position reads itself.\n"
        "Exercise 5.1: right. Row 0 forbids three positions, row 1 two, row 2 one, and row 3 none.\n"
        "Exercise 5.2: not answered yet\n"
        "Fill in the function and run the cell again.\n"
        "Exercise 5.3: not answered yet\n"
        "Find the mistake, change the function and run the cell again.\n"
    )


def judged(correct, answer, **options):
    exercise = Exercise("1.1", "predict", "t", expects(correct, [], "otherwise", **options), "because", [])
    return exercise.feedback(answer).removeprefix("Exercise 1.1: ")


RIGHT = [
    (6, np.int64(6)),
    (6, 6.0),
    (6, np.array(6)),
    (0.3, 0.1 + 0.2),
    (np.float64(0.5), 0.5),
    (2.0, 2),
    ((2, 3), [2, 3]),
    ((2, 3), np.array([2, 3])),
    ((2, 3), np.zeros((2, 3)).shape),
    ([2, 3], (np.int32(2), 3)),
    (True, np.bool_(True)),
    (False, False),
    ("K transposed", " k Transposed\n"),
    (("A", 1, True), ["a ", 1.0, True]),
    (-np.inf, float("-inf")),
    (65_000_000_000, 65_000_000_000),
]


@pytest.mark.parametrize("correct, answer", RIGHT, ids=repr)
def test_right_predictions(correct, answer):
    assert judged(correct, answer) == "right. because"


NOT_RIGHT = [
    (6, 7, "otherwise"),
    (6, 6.0001, "otherwise"),
    (6, "6", "Expected a number, got a word in quotes."),
    (6, (6,), "Expected a number, got a tuple of 1."),
    (6, None, "Expected a number, got a NoneType."),
    (1, True, "Expected a number, got True or False."),
    (True, 1, "Expected True or False, got a number."),
    (True, False, "otherwise"),
    (6, float("nan"), "otherwise"),
    (6, 6 + 0j, "Expected a number, got a complex."),
    ((2, 3), (3, 2), "otherwise"),
    ((2, 3), (2, 3, 1), "Expected a tuple of 2, got a tuple of 3."),
    ((2, 3), 2, "Expected a tuple of 2, got a number."),
    ("yes", "no", "otherwise"),
    ("yes", True, "Expected a word in quotes, got True or False."),
    (65_000_000_000, 65_000_000_001, "otherwise"),
]


@pytest.mark.parametrize("correct, answer, message", NOT_RIGHT, ids=repr)
def test_wrong_predictions(correct, answer, message):
    assert judged(correct, answer) == f"not yet. {message}"


def test_tolerance_and_choices():
    assert judged(0.42, 0.4, tolerance=0.05).startswith("right")
    assert judged(0.42, 0.36, tolerance=0.05).startswith("not yet")
    assert judged("row", "diagonal", choices=["row", "column"]) == "not yet. Choose one of: row, column."
    assert judged("row", "Column", choices=["row", "column"]) == "not yet. otherwise"


@pytest.mark.parametrize("answer", [(..., 2), [1, ...]])
def test_half_an_answer_is_no_answer(answer):
    assert judged((1, 2), answer).startswith("not answered yet")


# The core: what a learner's function may do


def in_place(scores):
    scores -= scores.max(axis=-1, keepdims=True)
    return softmax(scores)


WHAT_IT_DOES = [
    (raising(ValueError("shapes (2,) and (3,)")), "Your function raised ValueError: shapes (2,) and (3,)."),
    (raising(KeyError()), "Your function raised KeyError."),
    (raising(Mute()), "Your function raised Mute."),
    (raising(SystemExit("bye")), "Your function raised SystemExit: bye."),
    (endless, "Your function calls itself without end (RecursionError)."),
    (lambda: 1, "takes 0 positional arguments but 1 was given"),
    (giving(None), "Your function returned None: does its last line say return?"),
    (giving("weights"), "The result is a str that cannot be compared with numbers."),
    (giving(np.zeros((0, 3))), "yours is empty, shape (0, 3)"),
    (giving({"A": np.ones(2)}), "hold different arrays"),
    (in_place, "Your function changed argument 0 in place (they count from 0); work on a copy."),
    (lambda scores: softmax(scores).astype(np.float32), "computed in float32?"),
    (lambda scores: softmax(scores) + np.nan, "NaN everywhere"),
    (lambda scores: 2 * softmax(scores), "yours is 2 times the right one"),
    (3, "Give the function itself; this is an int."),
    (np.ones(3), "Give the function itself; this is a ndarray."),
    ("softmax", "Give the function itself; this is a str."),
]


@pytest.mark.parametrize("function, message", WHAT_IT_DOES)
def test_whatever_a_function_does_becomes_a_message(function, message):
    text = row_softmax.feedback(function)
    assert text.startswith("Exercise 5.2: not yet. ") and message in text
    assert "Traceback" not in text


def test_a_message_names_values_reason_and_arguments():
    text = row_softmax.feedback(over_columns)
    assert re.search(
        r"The result differs: at \[0, 0\] yours is 0\.\d+, the right one is 0\.\d+\. Reason: rows sum to 1 ", text
    )
    assert re.search(r"The arguments were an array \(\d, \d\)\.$", text)
    assert text == row_softmax.feedback(over_columns)


def test_a_learners_print_and_state_do_no_harm(capsys):
    def prints(scores):
        print("looking at", scores.shape)
        np.random.seed(0)
        return softmax(scores)

    row_softmax(prints)
    out = capsys.readouterr().out
    assert "looking at" in out and out.endswith(f"Exercise 5.2: right. {row_softmax.right}\n")


def test_an_interrupt_stops_the_run():
    with pytest.raises(KeyboardInterrupt):
        row_softmax.feedback(raising(KeyboardInterrupt()))


def test_a_faulty_judge_does_not_raise():
    exercise = dataclasses.replace(count_zeros, judge=raising(ZeroDivisionError("division by zero")))
    assert exercise.feedback(1) == (
        "Exercise 5.1: not yet. Your answer cannot be judged: ZeroDivisionError: division by zero."
    )


def test_arguments_by_name_are_protected_too():
    def shifts(X, M):
        M += 1
        return X

    with pytest.raises(Wrong, match="changed argument M in place"):
        core.Attempt(shifts)(np.ones(2), M=np.zeros(2))
    assert core.Attempt(lambda X, M: X + M)(1, M=2) == 3


def test_unanswered_on_a_late_case_is_unanswered():
    calls = []

    def partly(scores):
        calls.append(1)
        return softmax(scores) if len(calls) < 3 else ...

    assert "not answered yet" in row_softmax.feedback(partly)


def test_a_mistake_is_told_only_if_it_explains_every_case():
    def sometimes(scores):
        return np.exp(scores) if scores.shape[0] % 2 else softmax(scores)

    text = row_softmax.feedback(sometimes)
    assert "not yet" in text and "divided by its sum" not in text


def test_mistakes_that_give_nan_are_recognised():
    def all_nan(scores):
        return np.full(scores.shape, np.nan)

    exercise = dataclasses.replace(
        row_softmax, judge=computes(softmax, draw_scores, mistakes=[(raising(ValueError()), "a"), (all_nan, "told")])
    )
    assert exercise.feedback(all_nan) == "Exercise 5.2: not yet. told"


def test_nested_results_and_other_arguments():
    def split(number, pairs, options):
        return {"sum": number + sum(pairs), "all": [np.full(3, options["factor"])]}

    def draw(rng):
        return int(rng.integers(5)), [1.5, 2], {"factor": rng.standard_normal()}

    exercise = Exercise("1.1", "implement", "t", computes(split, draw), "because", [])
    assert exercise.feedback(split) == "Exercise 1.1: right. because"
    wrong = exercise.feedback(lambda number, pairs, options: {**split(number, pairs, options), "sum": -1.0})
    assert "sum: yours is -1, the right one is" in wrong

    def appends(number, pairs, options):
        result = split(number, pairs, options)
        pairs.append(0)
        return result

    assert "changed argument 1" in exercise.feedback(appends)


# The core: has a broken function been changed?


def compiled(text):
    space = {"np": np, "softmax": softmax}
    exec(compile("\n" * 40 + text, "<a cell>", "exec"), space)
    return space["f"]


BROKEN = """def f(x, axis=0):
    inner = lambda a: a + 1.5
    return [inner(y) for y in x] if x in {1, 2} else np.exp(x, axis)
"""


@pytest.mark.parametrize(
    "old, new",
    [
        ("    return", "\n    # a comment\n    return"),
        ("):\n", "):\n    '''A docstring.'''\n"),
        ("a + 1.5", "(a  +  1.50)"),
    ],
)
def test_the_same_code_is_the_same(old, new):
    assert core.same_code(compiled(BROKEN.replace(old, new)), compiled(BROKEN))


@pytest.mark.parametrize(
    "old, new",
    [
        ("1.5", "1.25"),
        ("axis=0", "axis=-1"),
        ("np.exp", "np.log"),
        ("a + 1.5", "a - 1.5"),
        ("{1, 2}", "{1, 3}"),
        ("x, axis)", "axis, x)"),
        ("inner(y)", "y"),
        ("f(x, axis=0)", "f(axis, x=0)"),
    ],
)
def test_changed_code_is_changed(old, new):
    assert not core.same_code(compiled(BROKEN.replace(old, new)), compiled(BROKEN))


def test_an_import_in_the_same_module_makes_no_difference():
    """Python compiles np.exp(x) in another way where np was imported by the text itself."""
    text = (
        "def f(x):\n    for row in x:\n        y = np.exp(row, out=row)\n    return np.sum(y) if len(x) else x.sum()\n"
    )
    assert compiled(text).__code__.co_code != compiled("import numpy as np\n" + text).__code__.co_code
    assert core.same_code(compiled(text), compiled("import numpy as np\n" + text))


def test_what_is_no_plain_function_is_changed_code():
    for other in (np.exp, 3, None, types.SimpleNamespace()):
        assert not core.same_code(other, compiled(BROKEN))


@pytest.mark.parametrize("fields", [{"kind": "guess"}, {"kind": "repair"}, {"broken": softmax}])
def test_impossible_exercises_cannot_be_made(fields):
    with pytest.raises(ValueError, match="exercise 5.1"):
        dataclasses.replace(count_zeros, **fields)
