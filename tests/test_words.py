"""Plain English in the source: words that a reader has to translate are in no name, comment, docstring or message."""

import ast
import re
from collections.abc import Iterator
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
    "beside_words": "what a rule calls a call that is requested together with words",
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


PARTICIPLE = re.compile(
    r".*(?:ed|en|wn)|again|also|alone|apart|around|became|began|begun|broke|brought|built|came|dead|did|done|elsewhere"
    r"|far|fled|found|gone|heard|held|hid|idle|inside|kept|laid|left|lent|loose|loosely|lost|made|meant|met|outside|paid|ran"
    r"|rebuilt|said|same|saw|sent|spent|stuck|swept|told|together|took|torn|whole|within|won|wrote"
)
PARTICLE = {
    "about", "after", "again", "as", "at", "away", "before", "by", "for", "from", "in", "into", "of", "off", "on",
    "out", "over", "since", "to", "up", "upon", "with", "within",
}  # fmt: skip
VERBS_AND_NOUNS = {
    "children", "embed", "feed", "golden", "green", "happen", "len", "listen", "loosen", "markdown", "need", "open",
    "screen", "seed", "shorten", "spawn", "then", "token", "when",
}  # fmt: skip
USUAL = {
    ("carob/checks/base.py", "passed"): "a result is named by its status",
    ("carob/checks/base.py", "failed"): "a result is named by its status",
    ("carob/checks/base.py", "unknown"): "a result is named by its status",
    ("*", "quoted"): "the text in quotes, as `sorted` is the list in order",
    ("*", "folded"): "the text without letter case, likewise",
}
"""Names that are usual all the same, by file."""


def bare_participle(name: str) -> bool:
    """Whether a name is only a participle, so that a call does not show whether it acts and what it gives."""
    first, *rest = name.strip("_").split("_")
    return (
        first not in VERBS_AND_NOUNS and PARTICIPLE.fullmatch(first) is not None and (not rest or rest[0] in PARTICLE)
    )


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All but properties, and the operators of the audit: those are named by what a mutant is, as reports print it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_property = any("property" in ast.unparse(mark) for mark in node.decorator_list)
            if not is_property and not (node.returns and ast.unparse(node.returns) == "Iterator[Mutant]"):
                yield node


def bare_names() -> Iterator[tuple[str, str, int]]:
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        if any(map(bare_participle, re.findall(r"\bdef (\w+)", text))):  # parsing all of them takes seconds
            for node in functions(ast.parse(text)):
                if bare_participle(node.name):
                    yield str(path.relative_to(SOURCE)), node.name, node.lineno


def test_functions_are_named_by_what_they_do() -> None:
    found, used = [], set()
    for file, name, line in bare_names():
        usual = USUAL.keys() & {(file, name.strip("_")), ("*", name.strip("_"))}
        used |= usual
        if not usual:
            found.append(f"{file}:{line}: {name}: start with a verb, or say what it gives")
    assert not found, "\n".join(found)
    assert used == USUAL.keys()  # every allowance is needed


@pytest.mark.parametrize(
    "name", ["_named", "asked", "shown_to", "_broken", "heard", "written", "also", "_came_to", "known"]
)
def test_bare_participle_is_found(name: str) -> None:
    assert bare_participle(name)


@pytest.mark.parametrize(
    "name",
    [
        "find_named",
        "known_fields",
        "is_broken",
        "shorten",
        "_spawn",
        "open",
        "token_of",
        "feed",
        "read",
        "run",
        "quote",
    ],
)
def test_names_that_say_more_are_left_alone(name: str) -> None:
    assert not bare_participle(name)
