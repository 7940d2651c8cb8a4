"""Hostile texts through every format: inert, well formed, no row more. Each proof fails once its escape is gone."""

from __future__ import annotations

import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from karat.reports import inert
from karat.reports import json as json_report
from karat.reports import markdown as markdown_report
from karat.reports import terminal as terminal_report
from karat.reports.catalog import BUILT_IN
from karat.reports.terminal import show_cases, show_summary

from .hostile import HOSTILE, run_saying
from .runs import Kept, MemoryRun

CASES = 4
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
INERT_TOKENS = {"text", "softbreak", "strong_open", "strong_close"}
MENTIONS = re.compile(r"://|www\.|@\w|#\d", re.IGNORECASE)


def written(name: str, run: MemoryRun) -> str:
    out = Kept()
    report = BUILT_IN[name](run, out)
    for record in run.records():
        report.case(record)
    report.end()
    return out.data.decode()


def on_a_terminal(run: MemoryRun) -> str:
    out = io.StringIO(newline="")
    show_cases(run, out)
    show_summary(run, [Path(run.header.target)], out)
    return out.getvalue()


def unseen(text: str, but: str = "\n") -> set[str]:
    """Characters that steer a terminal or hide what is there."""
    return {char for char in set(text) - set(but) if unicodedata.category(char) in UNSEEN}


def terminal_faults(shown: str, text: str) -> Iterator[str]:
    yield from map(ascii, unseen(shown))
    heads = re.findall(r"^(?:PASS|FAIL|PARTIAL|ERROR) ", shown, re.MULTILINE)
    if len(heads) != CASES:
        yield f"{len(heads)} lines of cases"


def json_faults(shown: str, text: str) -> Iterator[str]:
    yield from map(ascii, unseen(shown) - {"\ufe0f"})
    cases = json.loads(shown)["cases"]
    if len(cases) != CASES or len(shown.splitlines()) != CASES + 7:
        yield f"{len(cases)} cases in {len(shown.splitlines())} lines"
    if {case["response"] for case in cases} != {re.sub("[\ud800-\udfff]", "\ufffd", text)}:
        yield "another text"


def markdown_faults(shown: str, text: str) -> Iterator[str]:
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(shown)
    rows = [token.type for token in tokens].count("tr_open")
    if rows != CASES + 1:
        yield f"{rows} rows"
    yield from (token.type for token in tokens if token.type in {"html_block", "fence", "blockquote_open", "hr"})
    for inline in (token for token in tokens if token.type == "inline"):
        yield from _inline_faults(inline.children or [])


def _inline_faults(children: list[Token]) -> Iterator[str]:
    for child in children:
        if child.type == "link_open":
            href = str(child.attrs["href"])
            yield from [href] * bool(re.match(r"[a-z]+:|//|/", href, re.IGNORECASE))
        elif child.type not in INERT_TOKENS | {"link_close"}:
            yield child.type
        elif MENTIONS.search(child.content):
            yield child.content[:80]


class Proof(NamedTuple):
    """How a format is written, what is wrong with what was written, and the escape without which something is."""

    write: Callable[[MemoryRun], str]
    faults: Callable[[str, str], Iterator[str]]
    without: Callable[[pytest.MonkeyPatch], None]


def unescaped(module: object, *names: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Puts the text itself in the place of what escapes it."""

    def take_out(patch: pytest.MonkeyPatch) -> None:
        for name in names:
            patch.setattr(module, name, lambda text, *_: text)

    return take_out


PROOFS = {
    "terminal": Proof(on_a_terminal, terminal_faults, unescaped(terminal_report, "terminal")),
    "evidence": Proof(on_a_terminal, terminal_faults, unescaped(inert, "terminal")),
    "json": Proof(
        lambda run: written("json", run),
        json_faults,
        lambda patch: patch.setattr(json_report, "_escaped", lambda match: match[0]),
    ),
    "markdown": Proof(
        lambda run: written("markdown", run),
        markdown_faults,
        unescaped(markdown_report, "markdown_cell", "_escaped"),
    ),
}


def harmful(proof: Proof) -> Iterator[tuple[str, list[str]]]:
    """The texts that the format does not make inert, and what is wrong with each."""
    found = ((name, list(_faults(proof, text))) for name, text in HOSTILE.items())
    return ((name, wrong) for name, wrong in found if wrong)


def _faults(proof: Proof, text: str) -> Iterator[str]:
    try:
        yield from proof.faults(proof.write(run_saying(text)), text)
    except (ValueError, SyntaxError) as error:
        yield f"{type(error).__name__}: {error}"


def test_there_are_enough_of_them() -> None:
    assert len(set(HOSTILE.values())) == len(HOSTILE) >= 60


@pytest.mark.parametrize("name", PROOFS)
def test_hostile_texts_are_inert(name: str) -> None:
    assert dict(harmful(PROOFS[name])) == {}


@pytest.mark.parametrize("name", PROOFS)
def test_without_its_escape_they_are_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PROOFS[name].without(monkeypatch)
    assert next(harmful(PROOFS[name]), None)
