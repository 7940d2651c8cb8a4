"""Law 12: the docs are executed. Tables that pair a sentence, a call or a value with a verdict are true."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

import pytest

from carob.checks.effects.outcome import Name
from carob.matchers.reading import DOLLAR_KEYS
from carob.model.verdict import CaseStatus
from carob.text.tool_results import call_success
from laws.coverage import Coverage, require
from laws.samples import CATALOG, SAMPLES, called, read_case, status

DOCS = Path(__file__).parents[2] / "docs"
Row = Sequence[str]
Judge = Callable[[Row], bool]


def tables(page: str) -> Iterator[tuple[Row, list[Row]]]:
    """The tables of a page: the header of each, and its rows."""
    lines = (DOCS / page).read_text().splitlines()
    for number, line in enumerate(lines):
        if not (line.startswith("|---") and number):
            continue
        rows = []
        for below in lines[number + 1 :]:
            if not below.startswith("|"):
                break
            rows.append(_cells(below))
        yield _cells(lines[number - 1]), rows


def _cells(line: str) -> Row:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _passes(key: str, value: object, text: str) -> bool:
    return status({key: value}, called(text=text)) is CaseStatus.PASS


def _asks(row: Row) -> bool:
    asking, other = row
    asks = [_passes("asks_for", ["order number"], text) for text in (asking, other) if text]
    return asks == [True, False][: len(asks)]


def _outcome(row: Row) -> bool:
    name = row[0].strip("`")
    return name in get_args(Name) and any(sample.expected == {"outcome": name} for sample in SAMPLES)


def _matcher(row: Row) -> bool:
    return all(name in DOLLAR_KEYS for name in re.findall(r"`(\$\w+)`", row[0]))


def _result(row: Row) -> bool:
    text = row[0].strip("`")
    result = json.loads(text) if text[0] in "{[" else text
    return call_success(result) is (row[1] == "yes")


EXECUTED: Mapping[tuple[str, str], Judge] = {
    ("conversations.md", "asks for the order number"): _asks,
    ("expect-calls.md", "outcome"): _outcome,
    ("checks.md", "matcher"): _matcher,
    ("targets.md", "result of a call"): _result,
}
"""Tables by page and first column, and how a row is proved."""
PAIRS = re.compile(r"\b(does not|do not|is not|no claim|claims?|passes|fails|succeeded|failed)\b", re.IGNORECASE)
"""What the header of a table says that pairs something with a verdict."""
PROVED_ELSEWHERE = {
    ("configuration.md", "key"): "tests/test_docs.py holds it to the configuration itself",
    ("agreement.md", "what"): "figures of benchmarks/agreement",
    ("conformance.md", "preset"): "tests/test_recipes.py",
    ("conformance.md", "library"): "tests/evidence/spans/test_recordings.py",
    ("conformance.md", "way"): "tests/counterparts/test_ways_of_building.py writes it from live agents",
}


def find_untrue_rows(executed: Mapping[tuple[str, str], Judge] = EXECUTED) -> Coverage:
    pages = {page for page, _ in executed}
    coverage = Coverage(
        12, "tables of the docs are true", doors=pages, exceptions={" ".join(k): v for k, v in PROVED_ELSEWHERE.items()}
    )
    for (page, column), judge in executed.items():
        found = [rows for header, rows in tables(page) if header[0] == column]
        coverage.try_one(len(found) == 1, f"{page}: no table, or several, of {column!r}")
        for row in (row for rows in found for row in rows):
            coverage.try_one(judge(row), f"{page}: {' | '.join(row)}")
    return coverage


def test_tables_of_the_docs_are_true(record_property: Callable[[str, object], None]) -> None:
    require(find_untrue_rows(), record_property)


def test_every_table_of_verdicts_is_executed() -> None:
    """A table whose header speaks of a verdict is under the law, or its proof is named."""
    found = {
        (page.name, header[0])
        for page in DOCS.glob("*.md")
        for header, _ in tables(page.name)
        if PAIRS.search(" ".join(header))
    }
    assert found - {*EXECUTED, *PROVED_ELSEWHERE} == set()


def test_a_row_that_is_not_true_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: nothing is asked for any more."""
    monkeypatch.setattr("carob.checks.answer.phrases.find_request_for", lambda *_: None)
    assert find_untrue_rows().violations


def test_every_expectation_of_other_tools_can_be_written() -> None:
    """docs/other-tools.md names keys of `expected`: each exists."""
    known = {*CATALOG.fields}
    cells = [row[1] for header, rows in tables("other-tools.md") if header[1:2] == ["Carob"] for row in rows]
    named = {
        name
        for cell in cells
        for code in re.findall(r"`([^`]+)`", cell)
        for name in re.findall(r"(?:^|, )(\w+):", code)
    }
    assert len(cells) > 50
    assert {name for name in named if name in known} >= {"must_say_any", "tool_calls", "outcome"}
    assert read_case({"must_say_any": ["x"]})
