"""`python -m benchmarks.published.promptfoo_units --from CLONE`: promptfoo's own unit tests as a table of verdicts.

CLONE is a clone of promptfoo/promptfoo with its packages (`npm ci --ignore-scripts`). Its tests of assertions run as
they are; each handler of an assertion is wrapped as it is loaded, and what it was given and said becomes a row. Carob
reads the same assertion from a configuration, and the same output from results. A row is the same; or not judged, with
the reason; or neither passes; or wrong, and then the exit code is 1. A new option is not judged from its first day.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from carob.checks.catalog import catalog_for
from carob.engine.authoring import read_trace
from carob.errors import CarobError
from carob.features.importers.promptfoo.results import RESULTS
from carob.features.importers.promptfoo.tool_assertions import OF_OUTPUT
from carob.model.suite import UNJUDGED
from carob.model.trace import SpanNode, ToolCall, Trace
from carob.model.verdict import Status
from carob.plugins.project import Project
from carob.scoring.verdicts import run_check
from carob.suites.reading import read_suite

CONFIG = Path(__file__).with_name("promptfoo_units.mjs")
OF_HANDLERS = {
    **{
        f"handle{'I' * fold}Contains{how.title()}": f"{'i' * fold}contains{'-' * bool(how)}{how}"
        for fold in (0, 1)
        for how in ("", "any", "all")
    },
    "handleIsSql": "is-sql",
    "handleContainsSql": "contains-sql",
    "handleIsHtml": "is-html",
    "handleContainsHtml": "contains-html",
    "handleIsRefusal": "is-refusal",
    "handleIsJson": "is-json",
    "handleContainsJson": "contains-json",
    "handleLevenshtein": "levenshtein",
    "handleRougeScore": "rouge-n",
}
"""Handlers that tests call by themselves, some with the type of another."""
KNOWN = frozenset(("type", "value", "threshold", "weight", "metric", "transform", "config", "provider", "rubricPrompt"))
"""What an assertion may hold. A row with anything else is not judged: it may be an option that is new."""
SAME, NOT_JUDGED, NEITHER, WRONG = "the same", "not judged, with the reason", "neither passes", "wrong"


class Row(NamedTuple):
    """One call of a handler, its verdict there and here, and what that means."""

    kind: str
    theirs: str
    ours: str
    why: str
    about: str

    @property
    def outcome(self) -> str:
        if self.theirs == self.ours:
            return SAME
        if self.ours in ("not judged", "unknown") or (self.ours == "refused" and self.theirs == "pass"):
            return NOT_JUDGED
        return NEITHER if "pass" not in (self.theirs, self.ours) else WRONG


def record(clone: Path, node: str) -> Iterator[dict[str, Any]]:
    """The rows of one run of its tests."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.jsonl"
        environment = {**os.environ, "CAROB_CLONE": str(clone), "CAROB_ROWS": str(rows)}
        command = [node, "node_modules/vitest/vitest.mjs", "run", "--config", str(CONFIG)]
        done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False)
        if done.returncode or not rows.is_file():
            raise SystemExit(f"the tests of promptfoo did not pass: {(done.stdout + done.stderr)[-2000:]}")
        yield from map(json.loads, rows.read_text().splitlines())


def compare(row: dict[str, Any], number: int) -> Row:
    """What promptfoo and Carob say of one row."""
    assertion, said = row.get("assertion") or {}, row["said"]
    written = str(assertion.get("type", row.get("baseType", "")))
    base = OF_HANDLERS.get(row["handler"]) or row.get("baseType") or written.removeprefix("not-")
    theirs = "error" if "error" in said else "pass" if said.get("pass") is True else "fail"
    about = f"{json.dumps(row.get('value'))[:120]} on {json.dumps(row.get('output'))[:120]}"
    if base in ("javascript", "python") and _is_replaced(row):
        return Row(base, theirs, "not judged", "its code is replaced by one of the test", about)
    ours, why = _judge(row, base, number)
    return Row(base, theirs, ours, why, f"row {number}: {about}")


def _is_replaced(row: dict[str, Any]) -> bool:
    """Whether the test gives what code returned, instead of the code."""
    value = row.get("value")
    return row.get("replaced") or not isinstance(value, str) or "://" in value or row["handler"] == "handlePython"


def _judge(row: dict[str, Any], base: str, number: int) -> tuple[str, str]:
    assertion = {key: value for key, value in (row.get("assertion") or {}).items() if key not in ("weight", "metric")}
    if others := assertion.keys() - KNOWN:
        return "not judged", f"the option {min(others)}"
    assertion |= {"type": f"{'not-' if row.get('inverse') else ''}{base}"}
    assertion |= {"value": row["value"]} if row.get("value") is not None else {}
    assertion.pop("transform", None)  # what the handler was given is transformed already
    config = {"prompts": ["ask"], "tests": [{"assert": [assertion], "vars": row.get("vars") or {}}]}
    config["providers"] = [{"id": "p", "config": row["config"]}] if row.get("config") else []
    catalog = catalog_for(Project(trust_code=True))
    try:
        (case,) = read_suite(json.dumps(config).encode(), f"rows/{number}.json", catalog).cases
    except CarobError as error:
        return "refused", str(error)
    checks = catalog.checks(case.checks)
    if any(spec.name == UNJUDGED for spec in case.checks):
        result = next(run_check(check, _NOTHING) for check in checks if check.name == UNJUDGED)
        return ("error" if result.status is Status.ERROR else "not judged"), result.expected
    results = [run_check(check, _trace(row, base, case)) for check in checks]
    statuses = {result.status for result in results}
    why = next((result.found for result in results if result.status is not Status.PASSED), "")
    for status, name in ((Status.ERROR, "error"), (Status.FAILED, "fail"), (Status.UNJUDGED, "not judged")):
        if status in statuses:
            return name, why
    return ("unknown" if Status.UNKNOWN in statuses else "pass"), why


_NOTHING = Trace(case_id="x", final_message="", tool_calls=())


def _trace(row: dict[str, Any], base: str, case: Any) -> Trace:
    """What the handler was given, as the results of a run have it, with the steps that promptfoo reads in spans."""
    is_text = not (OF_OUTPUT | {"is-refusal", "javascript"}) & {str((row.get("assertion") or {}).get("type")), base}
    output = row.get("outputString") if is_text and row.get("outputString") is not None else row.get("output")
    response = {**(row.get("response") or {}), "output": output, "cost": row.get("cost")}
    entry = {"prompt": "ask", "response": {key: value for key, value in response.items() if value is not None}}
    entry |= {"latencyMs": row["latencyMs"]} if row.get("latencyMs") is not None else {}
    (recorded,) = RESULTS.read(entry)
    trace = read_trace(dict(recorded.form), case)
    if output is None:
        return trace
    if row.get("spans") is None:
        return trace
    calls = [
        ToolCall(step["name"], step.get("args"), started_at=float(at), ended_at=at + 0.5, success=True)
        for at, step in enumerate(row.get("steps") or ())
        if step["type"] == "tool"
    ]
    return msgspec.structs.replace(trace, tool_calls=tuple(calls), spans=tuple(map(_span, row["spans"])), unobserved={})


def _span(span: dict[str, Any]) -> SpanNode:
    times = {ours: span[name] / 1000 for ours, name in _TIMES if span.get(name) is not None}
    error = str(span.get("statusMessage") or "an error") if _has_failed(span) else None
    return SpanNode(id=str(span.get("spanId", "")), name=str(span.get("name", "")), error=error, **times)


_TIMES = (("started_at", "startTime"), ("ended_at", "endTime"))


def _has_failed(span: dict[str, Any]) -> bool:
    """Whether promptfoo takes a span for one with an error: which signs count is not what is compared here."""
    status, attributes = span.get("statusCode") or 0, span.get("attributes") or {}
    signs = (attributes.get(key) for key in ("error", "exception", "failed", "failure"))
    return (
        status == 2
        or max(status, float(attributes.get("http.status_code") or 0)) >= 400
        or any(sign in (True, "true") or isinstance(sign, dict) for sign in signs)
        or "ERROR" in (attributes.get("otel.status_code"), attributes.get("status.code"))
        or re.search("error|fail|exception|timeout|abort", str(span.get("statusMessage") or ""), re.IGNORECASE)
        is not None
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--from", dest="clone", type=Path, required=True, help="A clone of promptfoo, with its packages."
    )
    parser.add_argument("--node", default="node", help="A Node.js that its version accepts.")
    parser.add_argument("--rows", type=Path, help="Rows of an earlier run, instead of running the tests.")
    given = parser.parse_args(arguments)
    lines = given.rows.read_text().splitlines() if given.rows else None
    recorded = map(json.loads, lines) if lines is not None else record(given.clone.resolve(), given.node)
    recorded = [row for row in recorded if "said" in row and "not installed" not in str(row["said"].get("error"))]
    rows = [compare(row, number) for number, row in enumerate(recorded)]
    outcomes = Counter(row.outcome for row in rows)
    total = ", ".join(f"{outcomes[name]:,} {name}" for name in (SAME, NOT_JUDGED, NEITHER, WRONG))
    print(f"{len(rows):,} verdicts of promptfoo: {total}")
    for kind, count in Counter(row.kind for row in rows).most_common():
        found = Counter(row.outcome for row in rows if row.kind == kind)
        print(f"{kind:32}{count:>5}  {', '.join(f'{found[name]} {name}' for name in found)}")
    for row in rows:
        if row.outcome == WRONG:
            print(f"WRONG {row.kind}: {row.theirs} there, {row.ours} here ({row.why}): {row.about}")
    reasons = Counter(f"{row.kind}: {row.why.split(': ')[0][:100]}" for row in rows if row.outcome == NOT_JUDGED)
    for reason, count in reasons.most_common():
        print(f"not judged {count:>5}  {reason}")
    return int(bool(outcomes[WRONG]))


if __name__ == "__main__":
    sys.exit(main())
