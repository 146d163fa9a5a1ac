"""The text that the tokenizer of notebook 01 learns from: data/text.txt."""

from pathlib import Path

PATH = Path(__file__).resolve().parents[2] / "data" / "text.txt"


def story():
    """The Night Printers of Salt Ferry, a str: English with some German, Chinese and emoji."""
    return PATH.read_text(encoding="utf-8")
