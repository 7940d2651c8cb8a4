"""Plain English in the source: words that a reader has to translate are in no name, comment, docstring or message."""

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
SUFFIXES = {".py", ".html", ".js", ".css"}
BANNED = {
    "told": "given, reported, printed", "tells": "shows, reports", "mend": "fix", "mends": "fixes", "mended": "fixed",
    "nobody": "unknown, not set", "stands": "is in", "heed": "follow", "heeds": "follows", "heeding": "following",
    "surely": "with C confidence", "beside": "next to", "behind": "after",
}  # fmt: skip
PHRASES = {
    r"\b(?:is|are) no (?!longer\b|more\b)": "is not a",
    r"\bset (?:aside|apart)\b": "excluded, not audited",
    r"\bstands? in\b": "is in",
}
HARMLESS = re.compile(r"\bthere (?:is|are) no\b", re.IGNORECASE)
ALLOWED = {
    '"set apart"': "a word of comparisons and of the strips in the history's JSON",
    '"mended"': "a word of comparisons as JSON",
    '"behind"': "an argument of a recorded check",
    "|behind|": "a word that answers use, in a pattern",
    "(nobody|none|nothing)": "an entry of a word list",
}

_part = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
"""The words of a text and of its names, in snake case or camel case."""


def unplain(text: str) -> list[str]:
    """The lines with a word or phrase that is not plain, each with what to write instead."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if any(allowed in line for allowed in ALLOWED):
            continue
        words = {part.lower() for part in _part.findall(line)} & BANNED.keys()
        plain = HARMLESS.sub("", line)
        instead = [f"{word}: {BANNED[word]}" for word in sorted(words)]
        instead += [words for phrase, words in PHRASES.items() if re.search(phrase, plain, re.IGNORECASE)]
        found += [f"{number}: {line.strip()} ({say})" for say in instead]
    return found


def test_source_is_in_plain_words() -> None:
    files = [path for path in sorted(SOURCE.rglob("*")) if path.suffix in SUFFIXES]
    assert files
    found = [f"{path.relative_to(SOURCE)}:{line}" for path in files for line in unplain(path.read_text("utf-8"))]
    assert not found, "\n".join(found)


def test_every_allowance_is_needed() -> None:
    text = "".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py"))
    assert [allowed for allowed in ALLOWED if allowed not in text] == []


@pytest.mark.parametrize(
    "line",
    ["def _told(x):", "class ToldCases:", "TOLD = 1", "notTold()", "# Mend it.", '"nobody said"', "it stands there",
     "this is no journal", "files that are no journals", "was set aside", "a value to stand in for it"],
)  # fmt: skip
def test_word_is_found(line: str) -> None:
    assert unplain(line)


@pytest.mark.parametrize(
    "line", ["recommended", "amend", "standard", "set_aside", "there is no run", "it is no longer here", "side by side"]
)
def test_other_words_are_left_alone(line: str) -> None:
    assert unplain(line) == []
