"""Pages that show an expectation and, in the table below it, answers with their verdicts; and what is not executed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from carob.engine.authoring import read_trace
from carob.scoring.verdicts import judge_case
from carob.suites import loads
from catalogs import CATALOG
from pages import FENCE, HEADING, LABEL

from .test_fields import observed

VERDICT = "verdict"
TABLE = re.compile(r"(?m)^ *(?P<header>\|.*\|)\n *\|[-|]+\|\n(?P<rows>(?: *\|.*\|\n?)+)")
CALL = re.compile(r"`(?P<name>\w+)` (?P<end>succeeds|fails)")
GOLDEN = frozenset({"expected_contains", "must_not_contain"})
"""Keys that are next to `expected` in a golden case."""
EVIDENCE = frozenset({"calls", "answer", "log", "page", "before", "soft score", VERDICT})


class Shown(NamedTuple):
    """A row of a table of verdicts: what is expected of the case, what was observed, and the verdict."""

    where: str
    case: Mapping[str, Any]
    trace: Mapping[str, Any]
    score: str
    verdict: str

    def judged(self) -> tuple[str, str]:
        """The verdict, and the soft score where the row shows one."""
        suite = [self.case] if "input" in self.case else {"version": "0.3", "cases": [self.case]}
        (case,) = loads(json.dumps(suite).encode(), "shown.json", CATALOG).cases
        found = judge_case(case, read_trace(observed(dict(self.trace)), case), CATALOG)
        unknown = {result.status for result in found.checks} == {"passed", "unknown"} and self.verdict == "UNKNOWN"
        return "UNKNOWN" if unknown else str(found.status.value), f"{found.soft.value:g}" if self.score else ""


def shown_rows(page: str, name: str) -> Iterator[Shown]:
    """The rows of all tables of verdicts; a table without keys of its own is about the fragment above it."""
    fragment: Mapping[str, Any] = {}
    for match in _parts(page):
        if "body" in match.groupdict():
            fragment = (
                {} if match["info"] != "json" or LABEL.search(page[: match.start()]) else _fragment(match["body"])
            )
            continue
        header = _cells(match["header"])
        if header[-1] == VERDICT:
            for number, line in enumerate(match["rows"].splitlines(), 1):
                where = f"{name}:{page[: match.start()].count(chr(10)) + 2 + number}"
                yield _row(where, fragment, dict(zip(header, _cells(line), strict=True)))


def never_executed(page: str) -> list[str]:
    """Blocks that no test runs: neither commands, nor files that those read, nor followed by a table of verdicts."""
    parts = list(_parts(page))
    shown = [part["body"] for part in parts if "body" in part.groupdict()]
    return [
        part["body"]
        for part, after in zip(parts, [*parts[1:], None], strict=True)
        if "body" in part.groupdict()
        and part["info"] != "console"
        and not _is_read(page, part, shown)
        and not (after is not None and "header" in after.groupdict() and _cells(after["header"])[-1] == VERDICT)
    ]


def _is_read(page: str, part: re.Match[str], shown: list[str]) -> bool:
    """Whether it is a file that a command or another file names, or the configuration."""
    label = LABEL.search(page[: part.start()])
    path = Path(label["name"]) if label else None
    others = "".join(body for body in shown if body != part["body"])
    return path is not None and (path.name == "carob.toml" or re.search(rf"\b{path.stem}\b[.:]", others) is not None)


def sections(page: str) -> dict[str, str]:
    """The headings of a page in order, each with what is below it up to the next heading."""
    titles = list(HEADING.finditer(FENCE.sub(lambda m: re.sub(r"(?m)^#", " ", m[0]), page)))
    ends = [match.start() for match in titles[1:]] + [len(page)]
    return {match[1]: page[match.end() : end] for match, end in zip(titles, ends, strict=True)}


def _parts(page: str) -> list[re.Match[str]]:
    return sorted([*FENCE.finditer(page), *TABLE.finditer(FENCE.sub(lambda m: " " * len(m[0]), page))], key=_start)


def _start(match: re.Match[str]) -> int:
    return match.start()


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def _fragment(body: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(body if body.startswith("{") else f"{{{body}}}")
    return found


def _row(where: str, fragment: Mapping[str, Any], row: Mapping[str, str]) -> Shown:
    keys = row.keys() - EVIDENCE
    fragment = {} if keys else fragment
    expected = dict(fragment.get("expected", fragment))
    for key in keys:
        text = row[key].strip("`")
        value = json.loads(text) if text[0] in "[{" or text in ("true", "false") else text
        expected[key] = [value] if key in ("telemetry", "ui") else value
    if "expected" in fragment or "input" in fragment:
        case = {key: value for key, value in fragment.items() if key != "expected"}
        case |= {"expected": expected} if "expected" in fragment else {}
    elif expected.keys() & GOLDEN:
        case = {"id": "A", "input": "p", **expected}
    else:
        case = {"id": "A", "prompt": "p", "expected": expected}
    return Shown(where, case, _trace(row), row.get("soft score", ""), row[VERDICT])


def _trace(row: Mapping[str, str]) -> dict[str, Any]:
    trace: dict[str, Any] = {"final_message": row.get("answer", "Done.").replace("<br>", "\n")}
    if "calls" in row:
        ends = {"succeeds": True, "fails": False}
        trace["tool_calls"] = [
            {"name": call["name"], "success": ends[call["end"]]} for call in CALL.finditer(row["calls"])
        ]
    if "log" in row:
        trace["telemetry"] = [row["log"].strip("`")]
    for column, channel in (("page", "page"), ("before", "page_before")):
        if column in row:
            trace[channel] = row[column].replace("`", "").replace("<br>", "\n").replace("&nbsp;", " ")
    return trace
