"""The work that every program is given: cases with six checks each, of which a few are planted to fail."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.programs.canned import TEMPLATE, TOOL_CALLS, text_for

PLANTED = 12
"""Cases that must fail, two for each of the six checks: a program that skips a check cannot find them all."""
POOL = 50
"""Distinct regexes in a workload."""

PHRASES = (
    "DEPOT report",
    "48 Pallets were unloaded",
    "their Delivery Notes",
    "the door ALARM rang",
    "longest opening",
    "2 merged",
    "Kilometres against",
    "recount bay d-07",
    "Shift Lead",
    "before noon",
    "figures are ESTIMATES",
    "certainty: moderate",
)
ABSENT = (
    "I am unable to do that",
    "as a large language model",
    "connection refused",
    "null pointer",
    "please try again later",
)
PATTERNS = (
    r"Inbound:\s+[0-9]+ pallets",
    r"rang [0-9]+ times?",
    r"[0-9]+\.[0-9] degrees\b",
    r"saving [0-9]+(?:\.[0-9]+)? kilometres",
    r"\b[A-Z]-[0-9]{2}\b",
    r"contact:\s*[a-z.]+@[a-z.]+",
    r"Certainty:\s*(?:low|moderate|high)",
    r"lasted [0-9]{1,3}\s*(?:min|minutes)",
)
TOOLS = ("read_inventory", "read_sensors")

Case = dict[str, Any]


def planted(count: int) -> int:
    """How many of so many cases must fail."""
    return min(PLANTED, count)


def cases(count: int) -> Iterator[Case]:
    """The cases, with planted failures spread evenly over them, each of which breaks one check."""
    failures = planted(count)
    breaks = {number * count // failures: number for number in range(failures)} if failures else {}
    for index in range(count):
        checks = [
            ["contains", PHRASES[index % len(PHRASES)]],
            ["contains", PHRASES[(index + 5) % len(PHRASES)]],
            ["not_contains", ABSENT[index % len(ABSENT)]],
            ["regex", _pattern(2 * index)],
            ["regex", _pattern(2 * index + 1)],
            ["tool", TOOLS[index % len(TOOLS)]],
        ]
        if index in breaks:
            broken = checks[breaks[index] % len(checks)]
            broken[1] = "Depot" if broken[0] == "not_contains" else "nowhere_to_be_found"
        prompt = f"Request {index}: report on the depot and suggest one step."
        yield {"id": f"case-{index:06d}", "input": prompt, "checks": checks}


def _pattern(number: int) -> str:
    number %= POOL
    return f"(?:{PATTERNS[number % len(PATTERNS)]}|variant-{number})"


def write_cases(path: Path, count: int) -> None:
    """The workload as the bare loop and the peers read it."""
    head = json.dumps({"template": TEMPLATE, "tool_calls": TOOL_CALLS})[:-1] + ', "cases": [\n'
    write_json(path, head, cases(count))


def write_suite(path: Path, count: int, version: str = '"version": "0.3"') -> None:
    """The same as an eval set."""
    head = f'{{{version}, "name": "benchmark", "cases": [\n'
    write_json(path, head, map(_as_carob, cases(count)))


def write_carob_1(path: Path, count: int) -> None:
    """The same as a suite in Carob 1."""
    write_suite(path, count, '"carob": 1')


def write_promptfoo(path: Path, count: int, provider: Path) -> None:
    """The same as a configuration of promptfoo's."""
    settings = {"description": "benchmark", "prompts": ["{{input}}"], "providers": [f"file://{provider}"]}
    head = json.dumps(settings)[:-1] + ', "tests": [\n'
    write_json(path, head, map(_as_promptfoo, cases(count)))


def write_recording(path: Path, count: int) -> None:
    """The cases with what the agent answered to each, a line of JSON per case."""
    with path.open("w", encoding="utf-8") as out:
        for case in cases(count):
            out.write(json.dumps({**case, "text": text_for(case["input"]), "tool_calls": TOOL_CALLS}) + "\n")


def _as_carob(case: Case) -> Case:
    first, second, never, pattern, other_pattern, tool = (value for _, value in case["checks"])
    expected = {
        "expected_contains": [first, second],
        "must_not_say": [never],
        "must_match_regex": [pattern, other_pattern],
        "tool_calls_any": [tool],
    }
    return {"id": case["id"], "category": "benchmark", "prompt": case["input"], "expected": expected}


def _as_promptfoo(case: Case) -> Case:
    return {
        "description": case["id"],
        "vars": {"input": case["input"]},
        "assert": [_assertion(kind, value) for kind, value in case["checks"]],
    }


def _assertion(kind: str, value: str) -> dict[str, str]:
    if kind == "tool":
        calls = "context.providerResponse.metadata.tool_calls"
        return {"type": "javascript", "value": f"{calls}.some((call) => call.name === {json.dumps(value)})"}
    return {"type": {"contains": "icontains", "not_contains": "not-icontains", "regex": "regex"}[kind], "value": value}


def write_json(path: Path, head: str, entries: Iterable[Case]) -> None:
    """A document that begins with this and ends with a list of so many entries."""
    # Streamed, because the memory of the process that starts a program counts as that program's.
    with path.open("w", encoding="utf-8") as out:
        out.write(head)
        before = ""
        for entry in entries:
            out.write(before + json.dumps(entry))
            before = ",\n"
        out.write("\n]}\n")
