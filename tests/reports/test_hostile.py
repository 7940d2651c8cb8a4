"""Hostile texts through every format: inert, well formed, no row more. Each proof fails once its escape is gone."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple, cast
from xml.etree import ElementTree

import junitparser
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from carob.journal.reader import Journal
from carob.plugins.project import Project
from carob.reports import case_details, escaping, github, gitlab, rows, run_result
from carob.reports import junit as junit_report
from carob.reports import markdown as markdown_report
from carob.reports.catalog import find
from carob.reports.escaping import terminal
from carob.reports.run_result import RunResult
from carob.reports.writing import write_into
from carob.terminal import screen as terminal_report
from carob.terminal.ending import show_details, show_summary
from carob.terminal.screen import CaseLines, Screen, Verbosity

from .hostile import HOSTILE, run_saying
from .runs import Kept, MemoryRun
from .test_forges import ELEMENTS
from .workflow_commands import commands

CASES = 4
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
INERT_TOKENS = {"text", "softbreak", "strong_open", "strong_close"}
MENTIONS = re.compile(r"://|www\.|@\w|#\d", re.IGNORECASE)


def written(name: str, run: MemoryRun) -> str:
    out = Kept()
    write_into([run], find(name, Project()), out)
    return out.data.decode()


def on_a_terminal(run: MemoryRun) -> str:
    out = io.StringIO(newline="")
    for record in run.records():
        CaseLines(Screen(out))(record)
    for verbosity in Verbosity:
        show_details(run.records(), Screen(out, verbosity))
    named = MemoryRun(run.cases, run.summary, run.header, path=f"{run.header.target}/s.jsonl")
    show_summary(named, [Path(run.header.target)], Screen(out))
    return out.getvalue()


def unseen(text: str, but: str = "\n") -> set[str]:
    """Characters that steer a terminal or hide what is there."""
    return {char for char in set(text) - set(but) if unicodedata.category(char) in UNSEEN}


def terminal_faults(shown: str, text: str) -> Iterator[str]:
    yield from map(ascii, unseen(shown))
    heads = re.findall(r"^(?:PASS|FAIL|PARTIAL|ERROR) ", shown, re.MULTILINE)
    if len(heads) != CASES + 3 * (CASES - 1) + CASES:
        yield f"{len(heads)} lines of cases"


def json_faults(shown: str, text: str) -> Iterator[str]:
    yield from map(ascii, unseen(shown) - {"\ufe0f"})
    cases = json.loads(shown)["cases"]
    if len(cases) != CASES or len(shown.splitlines()) != CASES + 7:
        yield f"{len(cases)} cases in {len(shown.splitlines())} lines"
    if {case["response"] for case in cases} != {re.sub("[\ud800-\udfff]", "\ufffd", text)}:
        yield "another text"


def markdown_faults(shown: str, text: str, rows: int = CASES + 1) -> Iterator[str]:
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(shown)
    row_count = [token.type for token in tokens].count("tr_open")
    if row_count != rows:
        yield f"{row_count} rows"
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


def junit_faults(shown: str, text: str) -> Iterator[str]:
    yield from map(ascii, unseen(shown))
    (suite,) = junitparser.JUnitXml.fromstring(shown.encode())
    cases = [case.name for case in suite]
    if cases != [terminal(f"{index}{text}", 500) for index in range(CASES)] + ["the run is complete"]:
        yield f"cases {cases}"
    yield from (each.tag for each in ElementTree.fromstring(shown).iter() if each.tag not in ELEMENTS)


def github_faults(shown: str, text: str) -> Iterator[str]:
    yield from map(ascii, unseen(shown))
    names = [each.name for each in commands(shown)]
    if names != ["error", "error", "warning", "error"] or len(shown.splitlines()) != len(names):
        yield f"commands {names}"
    elif f"expected  {terminal(text, 300)}" not in commands(shown)[1].data:
        yield "another text"
    yield from (key for each in commands(shown) for key in each.properties if key not in ("file", "title"))


def printed_faults(shown: str, text: str) -> Iterator[str]:
    """What a job prints is read by its forge as well."""
    yield from terminal_faults(shown, text)
    yield from (each.name for each in commands(shown))


def summary_faults(shown: str, text: str) -> Iterator[str]:
    yield from markdown_faults(shown, text, rows=CASES)


def gitlab_faults(shown: str, text: str) -> Iterator[str]:
    yield from map(ascii, unseen(shown))
    findings = json.loads(shown)
    if len(findings) != len(shown.splitlines()) - 2 or {len(each) for each in findings} != {5}:
        yield f"{len(findings)} findings"
    yield from (ascii(char) for each in findings for value in each.values() for char in unseen(str(value)))


def csv_faults(shown: str, text: str) -> Iterator[str]:
    yield from map(ascii, unseen(shown))
    head, *rows = csv.reader(io.StringIO(shown, newline=""))
    if len(rows) != CASES or len(shown.splitlines()) != CASES + 1 or {len(row) for row in rows} != {len(head)}:
        yield f"{len(rows)} rows in {len(shown.splitlines())} lines"
    numbers = {"run", "soft_score", "threshold", "tokens_input", "tokens_output", "duration_ms", "attempts"}
    for row in rows:
        for name, value in zip(head, row, strict=True):
            if name not in numbers and unicodedata.normalize("NFKC", value).lstrip()[:1] in set("=+-@|%"):
                yield f"{name}: {value[:20]}"


def jsonl_faults(shown: str, text: str) -> Iterator[str]:
    yield from map(ascii, unseen(shown) - {"\ufe0f"})
    rows = [json.loads(line) for line in shown.split("\n")[:-1]]
    if len(rows) != CASES or {row["response"] for row in rows} != {re.sub("[\ud800-\udfff]", "\ufffd", text)}:
        yield f"{len(rows)} rows"


PROOFS = {
    "terminal": Proof(on_a_terminal, terminal_faults, unescaped(terminal_report, "terminal")),
    "evidence": Proof(on_a_terminal, terminal_faults, unescaped(case_details, "terminal")),
    "json": Proof(
        partial(written, "json"),
        json_faults,
        lambda patch: patch.setattr(escaping, "_escape", lambda match: match[0]),
    ),
    "markdown": Proof(
        partial(written, "markdown"),
        markdown_faults,
        unescaped(markdown_report, "markdown_cell", "_escaped"),
    ),
    "junit-markup": Proof(partial(written, "junit"), junit_faults, unescaped(junit_report, "escape")),
    "junit-characters": Proof(partial(written, "junit"), junit_faults, unescaped(junit_report, "terminal")),
    "github-text": Proof(partial(written, "github"), github_faults, unescaped(github, "_data")),
    "github-properties": Proof(partial(written, "github"), github_faults, unescaped(github, "_property")),
    "github-summary": Proof(partial(written, "github-summary"), summary_faults, unescaped(github, "markdown_cell")),
    "github-log": Proof(
        on_a_terminal, printed_faults, lambda patch: patch.setattr(escaping, "_spell_command", lambda match: match[0])
    ),
    "gitlab": Proof(partial(written, "gitlab"), gitlab_faults, unescaped(gitlab, "terminal")),
    "csv-formulas": Proof(partial(written, "csv"), csv_faults, lambda patch: patch.setattr(rows, "_FORMULA", ("\0",))),
    "csv-characters": Proof(partial(written, "csv"), csv_faults, unescaped(rows, "terminal")),
    "jsonl": Proof(
        partial(written, "jsonl"),
        jsonl_faults,
        lambda patch: patch.setattr(escaping, "_escape", lambda match: match[0]),
    ),
}


def harmful(proof: Proof) -> Iterator[tuple[str, list[str]]]:
    """The texts that the format does not make inert, and what is wrong with each."""
    faults_by_name = ((name, list(_faults(proof, text))) for name, text in HOSTILE.items())
    return ((name, wrong) for name, wrong in faults_by_name if wrong)


def _faults(proof: Proof, text: str) -> Iterator[str]:
    try:
        yield from proof.faults(proof.write(run_saying(text)), text)
    except (ValueError, SyntaxError, ElementTree.ParseError) as error:
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


class Elements(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(f"{tag} {' '.join(name for name, _ in attrs)}".strip())


def in_a_notebook(text: str) -> str:
    return RunResult(cast(Journal, run_saying(text)), ())._repr_html_()


def notebook_faults() -> Iterator[str]:
    usual = Elements(in_a_notebook("plain")).found
    for name, text in HOSTILE.items():
        page = in_a_notebook(text)
        if Elements(page).found != usual or unseen(page):
            yield name


def test_hostile_texts_are_inert_in_a_notebook() -> None:
    assert list(notebook_faults()) == []


@pytest.mark.parametrize("escape", ["escape", "why_not_passed"])
def test_without_its_escape_a_notebook_is_not(monkeypatch: pytest.MonkeyPatch, escape: str) -> None:
    raw = {"escape": lambda text: text, "why_not_passed": lambda record: [record.trace.final_message]}
    monkeypatch.setattr(run_result, escape, raw[escape])
    assert next(notebook_faults(), None)
