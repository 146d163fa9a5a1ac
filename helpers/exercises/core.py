"""The three kinds of exercise, and the feedback on an answer.

An exercise is an ``Exercise`` in helpers/exercises/<topic>.py. A cell tagged
``exercise:<its name>`` ends by calling it with the learner's answer, and the
markdown cell below, tagged ``solution:<its name>``, holds a hint and a solution
in <details>. The call prints and never raises. ``...`` stands for what is still
to be answered::

    zeros = ...
    exercises.count_zeros(zeros)      # Exercise 5.1: not answered yet

**predict**: an answer known before running; each expected mistake has a message::

    count_zeros = Exercise(
        "5.1", "predict", "Zeros below a causal mask",
        judge=expects(
            6,
            mistakes=[(10, "The diagonal is allowed: a position reads itself."), …],
            otherwise="Draw the 4 x 4 matrix and count what lies above the diagonal.",
        ),
        right="Row 0 forbids 3 positions, row 1 two, row 2 one.",
        wrong=[(10, "diagonal"), (16, "every"), …],
    )

**implement**: a function, compared with a reference on random cases. ``cases``
draws the arguments. Mistakes are wrong functions with a message each; for all
others the message comes from the diagnoses of helpers.checks::

    def draw(rng):
        return (rng.standard_normal(rng.integers(3, 7, size=2)),)

    row_softmax = Exercise(
        "5.2", "implement", "Softmax of each row",
        judge=computes(softmax, draw, mistakes=[(over_columns, "Each row must sum to 1, not each column.")]),
        right="…", wrong=[(over_columns, "not each column"), …],
    )

**repair**: as implement, with ``broken=`` the function that the cell starts
from, written as in the cell. As long as it is unchanged, the exercise is
unanswered. Its own mistakes belong into ``wrong`` as functions.

``wrong`` holds at least five wrong answers with a part of the message that only
this answer gets. tests/test_exercises.py tries them, the solution, the
untouched cell and nonsense on every exercise of every notebook; its sample
shows all three kinds with their cells.

A judge of your own is a function of the answer that raises ``Wrong(message)``,
and returns for a right answer. A function given as an answer reaches it in a
safe form: its arguments are protected, and what it raises becomes a ``Wrong``.
"""

import bisect
import copy
import dis
import math
import numbers
import re
import types
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from helpers.checks import difference

TO_DO = {
    "predict": "Put your answer in place of the ... and run the cell again.",
    "implement": "Fill in the function and run the cell again.",
    "repair": "Find the mistake, change the function and run the cell again.",
}
SEED = 2017
CASES = 5


class Wrong(Exception):
    """An answer is wrong; the text says what about it."""


class Unanswered(Exception):
    """The answer, or what the learner's function returned, is ``...``."""


@dataclass(frozen=True)
class Exercise:
    """One exercise; calling it with an answer prints the feedback.

    ``number`` is "5.1", ``kind`` predict, implement or repair. ``right`` says why
    the right answer is right; ``wrong`` lists (answer, part of its message).
    """

    number: str
    kind: str
    title: str
    judge: Callable
    right: str
    wrong: list
    broken: Callable | None = None

    def __post_init__(self):
        if self.kind not in TO_DO:
            raise ValueError(f"exercise {self.number}: kind is {self.kind!r}, expected one of {', '.join(TO_DO)}")
        if (self.kind == "repair") != (self.broken is not None):
            raise ValueError(f"exercise {self.number}: a repair has a broken function, and nothing else has")

    def __call__(self, answer):
        print(self.feedback(answer))

    def feedback(self, answer):
        """The text for an answer. Never raises, but for the learner's own interrupt of the kernel."""
        label = f"Exercise {self.number}"
        try:
            if contains_ellipsis(answer) or self.broken is not None and same_code(answer, self.broken):
                raise Unanswered
            if self.kind != "predict":
                answer = Attempt(answer)
            self.judge(answer)
        except Unanswered:
            return f"{label}: not answered yet\n{TO_DO[self.kind]}"
        except Wrong as wrong:
            return f"{label}: not yet. {wrong}"
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever the answer does when it is looked at
            return f"{label}: not yet. Your answer cannot be judged: {describe(error)}."
        return f"{label}: right. {self.right}"


def contains_ellipsis(answer):
    return answer is ... or isinstance(answer, (list, tuple)) and any(item is ... for item in answer)


def describe(error):
    """Type and text of an exception, also if the text itself raises."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class Attempt:
    """The learner's function in a safe form: it raises only Wrong or Unanswered, and sees copies of the arguments."""

    def __init__(self, function):
        if not callable(function):
            raise Wrong(f"Give the function itself; this is {a_or_an(type(function).__name__)}.")
        self.function = function

    def __call__(self, *arguments, **named):
        given, given_named = copy.deepcopy((arguments, named))
        try:
            result = self.function(*given, **given_named)
        except KeyboardInterrupt:
            raise
        except RecursionError:
            raise Wrong("Your function calls itself without end (RecursionError).") from None
        except BaseException as error:
            raise Wrong(f"Your function raised {describe(error)}.") from None
        if contains_ellipsis(result):
            raise Unanswered
        if result is None:
            raise Wrong("Your function returned None: does its last line say return?")
        before, after = (
            {**dict(enumerate(values)), **more} for values, more in ((arguments, named), (given, given_named))
        )
        for place in before:
            if not unchanged(before[place], after[place]):
                raise Wrong(f"Your function changed argument {place} in place (they count from 0); work on a copy.")
        return result


def unchanged(before, after):
    """True if two arguments, or nests of them, still hold the same values."""
    if type(before) is not type(after):
        return False
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(unchanged(before[key], after[key]) for key in before)
    if isinstance(before, (list, tuple)):
        return len(before) == len(after) and all(map(unchanged, before, after))
    if isinstance(before, np.ndarray):
        return before.shape == after.shape and before.dtype == after.dtype and before.tobytes() == after.tobytes()
    return not isinstance(before, (str, bytes, numbers.Number)) or before == after or before != before


# --- predict


def expects(correct, mistakes, otherwise, tolerance=0.0, choices=None):
    """A judge for a predicted value: a number, True or False, a word, or a tuple of these.

    ``mistakes`` are (answer, message) pairs, ``otherwise`` the message for all
    other answers. Numbers may be ``tolerance`` away, words are compared without
    case and spaces, tuples may be lists or arrays. With ``choices`` a word that
    is none of them gets a list of them.
    """

    def judge(answer):
        given = plain(answer)
        if matches(given, plain(correct), tolerance):
            return
        for wrong, message in mistakes:
            if matches(given, plain(wrong), tolerance):
                raise Wrong(message)
        if choices is not None and not any(matches(given, plain(choice), tolerance) for choice in choices):
            raise Wrong(f"Choose one of: {', '.join(map(str, choices))}.")
        if kind_of(given) != kind_of(plain(correct)):
            raise Wrong(f"Expected {kind_of(plain(correct))}, got {kind_of(given)}.")
        raise Wrong(otherwise)

    return judge


def plain(value):
    """Numbers, words and tuples of plain Python, whatever library they come from."""
    if hasattr(value, "tolist"):  # arrays, NumPy's scalars, tensors
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return tuple(plain(item) for item in value)
    return "".join(value.split()).casefold() if isinstance(value, str) else value


def matches(given, expected, tolerance):
    if isinstance(expected, tuple):
        same_length = isinstance(given, tuple) and len(given) == len(expected)
        return same_length and all(matches(*pair, tolerance) for pair in zip(given, expected, strict=True))
    if kind_of(given) != kind_of(expected):
        return False
    if kind_of(expected) == "a number":
        # a computed float may differ from a typed one in the last bits; whole numbers may not
        rounding = 1e-12 if isinstance(given, float) or isinstance(expected, float) else 0.0
        return math.isclose(given, expected, rel_tol=rounding, abs_tol=tolerance)
    return given == expected


def kind_of(value):
    """What a plain value is, in words; the kinds of two values must agree before they can."""
    if isinstance(value, bool):
        return "True or False"
    if isinstance(value, numbers.Real):
        return "a number"
    if isinstance(value, str):
        return "a word in quotes"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return a_or_an(type(value).__name__)


def a_or_an(noun):
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"


# --- implement and repair


def computes(reference, cases, mistakes=(), atol=1e-9, what="The result"):
    """A judge for a function that must give what ``reference`` gives.

    ``cases(rng)`` draws a tuple of arguments, with new shapes and values at each
    call. ``mistakes`` are (wrong function, message) pairs: the message is told
    if the answer agrees with the wrong function on every case. ``what`` names
    the result in other messages.
    """

    def judge(attempt):
        rng = np.random.default_rng(SEED)
        drawn = [cases(rng) for _ in range(CASES)]
        results = [attempt(*arguments) for arguments in drawn]
        expected = [reference(*copy.deepcopy(arguments)) for arguments in drawn]
        try:
            for arguments, result, wanted in zip(drawn, results, expected, strict=True):
                compare(result, wanted, what, atol, arguments)
        except Wrong:
            for mistake, message in mistakes:
                if all(makes(mistake, *case, atol) for case in zip(drawn, results, strict=True)):
                    raise Wrong(message) from None
            raise

    return judge


def compare(result, expected, what="The result", atol=1e-9, arguments=()):
    """Raise Wrong unless the result agrees with the expected value: where, why if known, for which arguments."""
    try:
        found = difference(result, expected, atol)
    except (TypeError, ValueError):
        raise Wrong(f"{what} is {a_or_an(type(result).__name__)} that cannot be compared with numbers.") from None
    if found is None:
        return
    message = f"{what} differs: {found.where}."
    if found.reason is not None:
        message += " Reason: " + found.reason.replace("\n", "; ") + "."
    message = re.sub(r"\bours\b", "yours", message.replace("the reference", "the right one"))
    if arguments:
        message += f" The arguments were {', '.join(map(describe_argument, arguments))}."
    raise Wrong(message)


def describe_argument(argument):
    if isinstance(argument, np.ndarray):
        return f"an array {argument.shape}"
    if isinstance(argument, (bool, numbers.Integral, str)) or argument is None:
        return repr(argument)
    return format(argument, ".6g") if isinstance(argument, numbers.Real) else a_or_an(type(argument).__name__)


def makes(mistake, arguments, result, atol):
    """True if the known mistake gives this result, NaN for NaN."""
    with np.errstate(all="ignore"):
        try:
            return difference(without_nan(result), without_nan(mistake(*copy.deepcopy(arguments))), atol) is None
        except Exception:
            return False


def without_nan(value):
    """Arrays with a number in place of NaN, so that two of the same kind agree."""
    if isinstance(value, (dict, list, tuple)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {key: without_nan(item) for key, item in items}
    array = np.asarray(value)
    return np.where(np.isnan(array), -9.87654321e99, array) if array.dtype.kind == "f" else array


# --- is a function still the broken one?


def same_code(function, broken):
    """True if both functions are compiled from the same text, comments, docstrings, file and line numbers aside."""
    if not isinstance(function, types.FunctionType):
        return False
    defaults = [(repr(one.__defaults__), repr(one.__kwdefaults__)) for one in (function, broken)]
    return defaults[0] == defaults[1] and steps(function.__code__) == steps(broken.__code__)


def steps(code):
    """A code object's parameters, and its instructions with what they act on.

    How np.exp is called depends on whether the same module imports np, which a
    notebook does in another cell: LOAD_METHOD or LOAD_ATTR, with PUSH_NULL.
    """
    instructions = [one for one in dis.get_instructions(code) if one.opname not in UNTOLD]
    places = [one.offset for one in instructions]
    found = [(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], code.co_argcount)]
    for one in instructions:
        value = one.argval
        if isinstance(value, types.CodeType):
            value = steps(value)
        elif one.opcode in JUMPS:
            value = bisect.bisect_left(places, value)  # offsets move with what is left out
        elif not isinstance(value, frozenset):  # whose repr has no fixed order
            value = repr(value)
        found.append((one.opname.replace("LOAD_METHOD", "LOAD_ATTR"), value))
    return found


UNTOLD = {"PUSH_NULL", "PRECALL", "NOP", "EXTENDED_ARG"}
JUMPS = {*dis.hasjrel, *dis.hasjabs}
