"""A learner's own sentence pairs: read with care, every fault reported by line."""

import codecs
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

from helpers.corpus.vocabulary import SPECIALS, split_words

SHOWN = 10  # lines of a report or an error that are printed


@dataclass
class Report:
    """What ``read_pairs`` met. ``problems`` and ``notes`` are lists of (line number, message).

    A line with a problem is left out; a note tells what was put right or
    skipped. ``print(report)`` shows the first of each.
    """

    name: str
    lines: int = 0
    pairs: int = 0
    problems: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def __str__(self):
        text = [f"{self.name}: {self.lines} lines, {self.pairs} pairs read, {len(self.problems)} lines left out"]
        text += listed("left out", self.problems) + listed("noted", self.notes)
        return "\n".join(text)


class PairsError(ValueError):
    """Raised in strict mode; ``report`` holds all lines, the message the first."""

    def __init__(self, report):
        self.report = report
        super().__init__(str(report))


def listed(title, entries):
    lines = [f"  line {line}: {message}" for line, message in entries[:SHOWN]]
    more = [f"  and {len(entries) - SHOWN} more"] if len(entries) > SHOWN else []
    return [f"{title}:", *lines, *more] if entries else []


def read_pairs(path, longest_source=20, longest_target=24, strict=False):
    """Read «source TAB target» lines in UTF-8; returns (pairs, report).

    Pairs are (source words, target words), punctuation split off, spelling and
    capitals as written. Lines are left out, and listed in the report, for: no
    tab, more than one tab, an empty side, bytes that are not UTF-8, a
    repetition of an earlier pair, a sentence that is too long, or a word that
    is one of the special tokens. Put right and noted: a byte-order mark,
    Windows or old Mac line ends, letters with separate accents. Blank lines are
    skipped and noted, and a source with a second, different target is kept and
    noted.

    With ``strict`` a PairsError (a ValueError) is raised if any line is left
    out or no pair is found. A file that cannot be opened raises OSError.
    """
    data = Path(path).read_bytes()
    report = Report(Path(path).name)
    pairs, first_line, first_target = [], {}, {}
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        report.problems.append((1, "the file is in UTF-16; save it as UTF-8"))
        data = b""
    lines = data.splitlines(keepends=True)  # bytes split at \n, \r\n and \r only
    report.lines = len(lines)
    ends = [number for number, line in enumerate(lines, 1) if line.endswith((b"\r\n", b"\r"))]
    if ends:
        report.notes.append((ends[0], f"Windows or Mac line end, also on {len(ends) - 1} further lines"))
    for number, line in enumerate(lines, 1):
        text, problem = decode(line, number, report)
        if not problem and not text.strip():
            report.notes.append((number, "blank, skipped"))
            continue
        if not problem:
            pair, problem = split_pair(text, longest_source, longest_target)
        if not problem and pair in first_line:
            problem = f"the same pair as line {first_line[pair]}"
        if problem:
            report.problems.append((number, problem))
            continue
        source, target = pair
        if source in first_target:
            report.notes.append((number, f"the source of line {first_line[first_target[source]]} with another target"))
        first_target.setdefault(source, pair)
        first_line[pair] = number
        pairs.append((list(source), list(target)))
    report.pairs = len(pairs)
    if not pairs and not report.problems:
        report.problems.append((1, "the file holds no pairs"))
    if strict and report.problems:
        raise PairsError(report)
    return pairs, report


def decode(line, number, report):
    """(text, problem) of the bytes of a line."""
    if line.startswith(codecs.BOM_UTF8):
        line = line.removeprefix(codecs.BOM_UTF8)
        report.notes.append((number, "byte-order mark removed"))
    try:
        text = line.rstrip(b"\r\n").decode("utf-8")
    except UnicodeDecodeError as error:
        return "", f"not UTF-8: byte {error.object[error.start]:#04x} at position {error.start + 1}"
    composed = unicodedata.normalize("NFC", text)
    if composed != text:
        report.notes.append((number, "accents joined to their letters (NFC)"))
    return composed, ""


def split_pair(text, longest_source, longest_target):
    """((source words, target words), problem) of a line."""
    sides = text.split("\t")
    if len(sides) != 2:
        found = "no tab" if len(sides) == 1 else f"{len(sides) - 1} tabs"
        return None, f"{found} in {shortened(text)}; expected one, between source and target"
    pair = tuple(tuple(split_words(side)) for side in sides)
    for name, words, longest in zip(("source", "target"), pair, (longest_source, longest_target), strict=True):
        if not words:
            return None, f"the {name} is empty in {shortened(text)}"
        if len(words) > longest:
            return None, f"the {name} has {len(words)} words and marks; at most {longest} are allowed"
        special = sorted(set(words) & set(SPECIALS))
        if special:
            return None, f"the {name} contains the special token {special[0]}"
    return pair, ""


def shortened(text, width=50):
    return repr(text if len(text) <= width else text[: width - 3] + "...")
