"""`python -m benchmarks.published.promptfoo --npm FOLDER [--from FOLDER]`: the same assertions, judged twice.

By promptfoo itself, installed in the folder that `--npm` names, and by Carob, which reads the assertion as a part of a
configuration, and once more as Carob 1 after `carob convert`. Assertions are those of a table here and, with `--from`,
those of real files; answers are made from what each assertion looks for. Every difference has a class, or the exit
code is 1.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from carob.checks.catalog import catalog_for
from carob.errors import SuiteError
from carob.model.suite import Case
from carob.model.trace import SpanNode, ToolCall, Trace
from carob.model.verdict import Status
from carob.plugins.project import Project
from carob.scoring.verdicts import run_check
from carob.suites.diagnostics import RefusedError
from carob.suites.formats.base import SuiteFile
from carob.suites.reading import convert, read_suite

SEED = 7
MOST_CODE = 60
NO_CHECK = "no check"
TEXT_TYPES = frozenset(
    [
        "equals",
        "contains",
        "contains-any",
        "contains-all",
        "icontains",
        "icontains-any",
        "icontains-all",
        "starts-with",
        "regex",
        "word-count",
        "levenshtein",
        "is-json",
        "contains-json",
    ]
)
TABLE: tuple[dict[str, Any], ...] = (
    {"type": "equals", "value": "42"},
    {"type": "equals", "value": 42},
    {"type": "equals", "value": {"a": [1, 2]}},
    {"type": "contains", "value": "Straße"},
    {"type": "contains", "value": 12},
    {"type": "icontains", "value": "ΣΊΣΥΦΟΣ"},
    {"type": "contains-any", "value": 'Rome, "Paris, France"'},
    {"type": "contains-all", "value": ["red", "green"]},
    {"type": "icontains-any", "value": ["Red", "GREEN"]},
    {"type": "icontains-all", "value": "Red,GREEN"},
    {"type": "starts-with", "value": "Dear Ann"},
    {"type": "regex", "value": "^\\d{3}-\\d{4}$"},
    {"type": "regex", "value": "(?<year>\\d{4})-\\k<year>"},
    {"type": "regex", "value": "[^]total.$"},
    {"type": "regex", "value": "caf\\w\\b"},
    {"type": "word-count", "value": 3},
    {"type": "word-count", "value": {"min": 2, "max": 4}},
    {"type": "word-count", "value": {"max": 2}},
    {"type": "levenshtein", "value": "kitten", "threshold": 2},
    {"type": "levenshtein", "value": "The total is 12 EUR."},
    {"type": "is-json"},
    {
        "type": "is-json",
        "value": {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}},
    },
    {"type": "is-json", "value": {"type": "array", "items": {"type": "string", "format": "date"}}},
    {"type": "is-json", "value": "type: object\nrequired: [a]\n"},
    {"type": "contains-json"},
    {"type": "contains-json", "value": {"type": "object", "required": ["total"]}},
)
GENERAL = (
    "",
    " ",
    "Yes.",
    "12",
    "124",
    "42\n",
    "555-1234",
    "555-1234\n",
    "2020-2020",
    "\ntotal!",
    "café au lait",
    "strasse STRASSE Straße",
    "σίσυφος",
    "Rome and Paris, France",
    "red GREEN",
    "Dear Ann, hello",
    "one two three",
    "one  two\nthree four",
    "sitting",
    "mitten",
    '{"total": 12}',
    '{"total": "12"}',
    '{"a": [1, 2]}',
    '{"a": [1, 2], "b": 1}',
    '["2024-01-31"]',
    '["31.1.2024"]',
    "null",
    "NaN",
    'Here: {"total": 1} and {"b": 2}',
    'Here: {"total": 1',
    '```json\n{"total": 1}\n```',
    "{a: b}",
    "[1, 2]",
)
SPELLED = "promptfoo reads the parts of an answer as YAML with missing braces added; Carob reads JSON"
CLASSES = {
    "contains-json": SPELLED,
    "is-json": "formats and drafts: ajv and jsonschema differ on some `format`s, and on JSON with a repeated key",
}


class Job(NamedTuple):
    """One assertion and one answer."""

    assertion: dict[str, Any]
    vars: dict[str, Any]
    output: str
    more: Mapping[str, Any] = MappingProxyType({})

    @property
    def line(self) -> str:
        return json.dumps(
            {"assertion": self.assertion, "vars": self.vars, "output": self.output, **self.more}, ensure_ascii=False
        )


class Verdict(NamedTuple):
    """What promptfoo, Carob, and Carob after conversion say: pass, fail, or why neither."""

    job: Job
    theirs: str
    ours: str
    converted: str


def real_assertions(folder: Path) -> Iterator[dict[str, Any]]:
    """The assertions of real configurations, each once."""
    seen = set()
    for path in sorted(folder.rglob("*promptfoo*")):
        if path.suffix not in (".yaml", ".yml", ".json") or not path.is_file():
            continue
        try:
            tree = SuiteFile(path.read_bytes(), str(path)).tree
        except RefusedError:
            continue
        for one in _assertions(tree):
            key = json.dumps(one, sort_keys=True, default=str)
            if key not in seen and "file://" not in key and "{{" not in key and "{%" not in key:
                seen.add(key)
                yield one


def _assertions(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        for one in tree.get("assert") or () if isinstance(tree.get("assert"), list) else ():
            if isinstance(one, dict) and isinstance(one.get("type"), str):
                kept = {key: one[key] for key in ("type", "value", "threshold") if key in one}
                if "transform" not in one and "config" not in one:
                    yield kept
        for below in tree.values():
            yield from _assertions(below)
    elif isinstance(tree, list):
        for below in tree:
            yield from _assertions(below)


def answers_for(assertion: dict[str, Any], draw: random.Random) -> list[str]:
    """Answers that hold what an assertion looks for, nearly hold it, or do not."""
    value = assertion.get("value")
    parts = [str(part) for part in (value if isinstance(value, list) else [value]) if part is not None]
    whole = " and ".join(parts)
    made = [whole, f"Well: {whole}.", whole.upper(), whole.lower(), whole[:-1], whole.replace(" ", "  "), f" {whole}"]
    made += [parts[0]] if parts else []
    made += [json.dumps(value)] if isinstance(value, dict | list) else []
    return list(dict.fromkeys([*made, *draw.sample(GENERAL, 5)]))


def jobs(folder: Path | None) -> Iterator[Job]:
    draw = random.Random(SEED)
    for base in TABLE:
        for negated in (False, True):
            one = {**base, "type": f"not-{base['type']}"} if negated else base
            yield from (Job(one, {}, text) for text in dict.fromkeys([*answers_for(base, draw), *GENERAL]))
    codes = 0
    for one in real_assertions(folder) if folder else ():
        base = str(one["type"]).removeprefix("not-")
        if base in TEXT_TYPES:
            yield from (Job(one, {}, text) for text in answers_for(one, draw))
        elif base in ("javascript", "python") and isinstance(one.get("value"), str) and codes < MOST_CODE:
            codes += 1
            yield from (Job(one, {}, text) for text in draw.sample(GENERAL, 3))
    yield from measured_jobs()


def measured_jobs() -> Iterator[Job]:
    """What is not in the text of an answer: time, cost, tools, spans."""
    for bound, taken in ((1000, 900), (1000, 1000), (1000, 1001), (1, 5000)):
        for kind in ("latency", "not-latency"):
            yield Job({"type": kind, "threshold": bound}, {}, "x", {"latencyMs": taken})
    for usd, spent in ((0.01, 0.009), (0.01, 0.01), (0.01, 0.02)):
        for kind in ("cost", "not-cost"):
            yield Job({"type": kind, "threshold": usd}, {}, "x", {"response": {"cost": spent}})
    for reason in ("stop", "length", "STOP"):
        for kind in ("finish-reason", "not-finish-reason"):
            yield Job({"type": kind, "value": "stop"}, {}, "x", {"response": {"finishReason": reason}})
    yield from tool_jobs()


def tool_jobs() -> Iterator[Job]:
    """The tools that were called, by their names and arguments."""
    sets = ([], ["find"], ["find", "book"], ["book", "find", "find"], ["drop"], ["find", "log", "book"])
    wanted = (["find"], ["find", "book"], ["book", "find"])
    for called in sets:
        spans = [_tool_span(number, name) for number, name in enumerate(called)]
        for names in wanted:
            output = json.dumps([{"name": name} for name in called])
            for threshold in (1.0, 0.6):
                f1 = {"type": "tool-call-f1", "value": names, "threshold": threshold}
                yield Job(f1, {}, output, {"called": called})
            more = {"spans": spans, "called": called}
            for kind in ("trajectory:tool-used", "not-trajectory:tool-used", "trajectory:tool-sequence"):
                yield Job({"type": kind, "value": names}, {}, "x", more)
            yield Job({"type": "trajectory:tool-sequence", "value": {"mode": "exact", "steps": names}}, {}, "x", more)
        for low, high in ((1, 1), (0, 1), (2, 3)):
            count = {"name": "find", "min": low, "max": high}
            yield Job({"type": "trajectory:tool-used", "value": count}, {}, "x", {"spans": spans, "called": called})
        for value in ({"pattern": "*find*", "min": 1}, {"pattern": "TOOL*", "max": 2}, {"pattern": "none", "max": 0}):
            if spans:
                yield Job({"type": "trace-span-count", "value": value}, {}, "x", {"spans": spans, "called": called})
        for arguments in ({"day": "Mon"}, {"day": "Mon", "seats": 2}, {"day": "Tue"}):
            for mode in ("partial", "exact"):
                value = {"name": "find", "args": arguments, "mode": mode}
                yield Job(
                    {"type": "trajectory:tool-args-match", "value": value}, {}, "x", {"spans": spans, "called": called}
                )


def _tool_span(number: int, name: str) -> dict[str, Any]:
    arguments = json.dumps({"day": "Mon", "seats": 2})
    attributes = {"tool.name": name, "tool.arguments": arguments}
    times = {"startTime": number * 10, "endTime": number * 10 + 5}
    return {"spanId": f"s{number}", "name": f"tool {name}", **times, "attributes": attributes}


def trace_of(job: Job) -> Trace:
    """The same answer as a trace of Carob."""
    called = job.more.get("called")
    calls = [
        ToolCall(name, {"day": "Mon", "seats": 2}, started_at=float(index), ended_at=index + 0.5, success=True)
        for index, name in enumerate(called or ())
    ]
    spans = [SpanNode(span["spanId"], span["name"]) for span in job.more.get("spans", ())]
    reason = job.more.get("response", {}).get("finishReason")
    cost = job.more.get("response", {}).get("cost")
    return Trace(
        case_id="x",
        final_message=job.output,
        tool_calls=tuple(calls),
        unobserved={} if called is not None else {"tools": "not asked for"},
        spans=tuple(spans),
        ended_by=None if reason is None else "itself" if reason.lower() == "stop" else reason,
        duration_ms=job.more.get("latencyMs"),
        metadata={} if cost is None else {"cost_usd": cost},
    )


class Ours:
    """Carob's verdicts, read from a configuration with the one assertion, and from the Carob 1 that it becomes."""

    def __init__(self) -> None:
        self._catalog = catalog_for(Project(trust_code=True))
        self._cases: dict[str, tuple[Case | None, Case | None, str]] = {}

    def verdicts(self, job: Job) -> tuple[str, str]:
        key = json.dumps([job.assertion, job.vars], sort_keys=True)
        if key not in self._cases:
            self._cases[key] = self._read(job)
        case, again, problem = self._cases[key]
        trace = trace_of(job)
        return self._judged(case, trace, problem), self._judged(again, trace, problem)

    def _read(self, job: Job) -> tuple[Case | None, Case | None, str]:
        config = {"prompts": ["ask"], "tests": [{"vars": job.vars, "assert": [job.assertion]}]}
        data = json.dumps(config).encode()
        try:
            case = read_suite(data, "promptfooconfig.json", self._catalog).cases[0]
            written = convert(data, "promptfooconfig.json", self._catalog).text
            again = read_suite(written.encode(), "suite.yaml", self._catalog).cases[0]
        except SuiteError as error:
            return None, None, f"refused: {error.problems[0].message}"
        return case, again, ""

    def _judged(self, case: Case | None, trace: Trace, problem: str) -> str:
        if case is None:
            return problem
        checks = [check for check in self._catalog.checks(case.checks) if check.name != "outcome"]
        found = {run_check(check, trace).status for check in checks}
        if found == {Status.PASSED}:
            return "pass"
        return "fail" if found <= {Status.PASSED, Status.FAILED} and found else "/".join(sorted(found)) or NO_CHECK


def theirs(asked: Sequence[Job], npm: Path) -> list[str]:
    peer = Path(__file__).with_name("promptfoo_peer.mjs")
    lines = "".join(f"{job.line}\n" for job in asked)
    done = subprocess.run(
        ["node", str(peer), str(npm.absolute())], input=lines.encode(), capture_output=True, check=False
    )
    found = [json.loads(line) for line in done.stdout.decode().splitlines() if line.startswith("{")]
    if len(found) != len(asked):
        raise SystemExit(f"promptfoo judged {len(found)} of {len(asked)}: {done.stderr.decode()[-500:]}")
    return [f"error: {one['error']}" if "error" in one else "pass" if one["pass"] else "fail" for one in found]


def explain(one: Verdict) -> str:
    """The class of a difference; the empty string if there is none that is known."""
    base = one.job.assertion["type"].removeprefix("not-")
    if one.theirs.startswith("error") and not one.ours.startswith("pass"):
        return "promptfoo cannot judge it and says so; Carob refuses it or does not pass it"
    if one.ours.startswith("refused") and one.theirs == "fail":
        return "promptfoo fails every answer, because it cannot use the assertion; Carob refuses the file and says why"
    if one.ours in ("unknown", "error") and one.theirs == "fail":
        return "promptfoo fails what Carob could not carry out or decide; neither passes"
    return CLASSES.get(base, "")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--npm", type=Path, required=True, help="The folder in which promptfoo is installed.")
    parser.add_argument("--from", dest="folder", type=Path, help="Real configurations, a folder per repository.")
    given = parser.parse_args(arguments)
    asked = list(jobs(given.folder))
    ours = Ours()
    verdicts = [
        Verdict(job, their, *ours.verdicts(job)) for job, their in zip(asked, theirs(asked, given.npm), strict=True)
    ]
    same = [one for one in verdicts if one.theirs == one.ours]
    print(f"{len(verdicts):,} verdicts on {len({job.line for job in asked}):,} pairs of assertion and answer")
    print(f"{len(same):,} the same; {sum(one.theirs == 'pass' for one in same):,} of them pass")
    kinds = Counter(one.job.assertion["type"] for one in verdicts)
    print(", ".join(f"{name} {count}" for name, count in kinds.most_common()))
    classes: dict[str, list[Verdict]] = {}
    for one in verdicts:
        if one.theirs != one.ours:
            classes.setdefault(explain(one) or "UNEXPLAINED", []).append(one)
    for name, found in classes.items():
        print(f"\n{len(found)}: {name}")
        for one in found[: 40 if name == "UNEXPLAINED" else 3]:
            about = f"{json.dumps(one.job.assertion)[:150]} on {one.job.output[:80]!r}"
            print(f"  {about}: {one.theirs[:90]} / {one.ours[:90]}")
    unequal = sum(one.converted == NO_CHECK for one in verdicts)
    moved = [one for one in verdicts if one.converted not in (one.ours, NO_CHECK)]
    print(f"\n{len(moved)} verdicts change with `carob convert`; {unequal} have no equivalent and become comments")
    for one in moved[:5]:
        print(f"  {json.dumps(one.job.assertion)[:150]}: {one.ours} / {one.converted}")
    return int("UNEXPLAINED" in classes or bool(moved))


if __name__ == "__main__":
    sys.exit(main())
