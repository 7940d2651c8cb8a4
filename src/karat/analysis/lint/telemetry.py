"""Telemetry entries that look like a shorthand and are none."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from karat.analysis.lint.base import LintCase, Rule, TargetInfo
from karat.checks.telemetry import Telemetry, shorthand
from karat.suites.diagnostics import PathDiagnostic
from karat.text.wording import quoted

NEAR = regex.compile(
    r"\s*tools?\s*[.:]\s*[\w.-]+\s+\S|\s*\w+\s+(?:start(?:ed|s)?|result)\s*$"
    r"|\bsuccess(?:ful)?\s*[:= ]\s*(?:true|false)\b|\bmissing[_ ]?fields?\b",
    regex.I,
)
TOOL = regex.compile(r"tools?\s*[.:]\s*([\w.-]+)", regex.I)
FIELD = regex.compile(r"missing[_ ]?fields?\W+(?:(?:containing|contains|with|has|includes?)\W+)?([\w.-]+)", regex.I)
FALSE = regex.compile(r"false|fail|error", regex.I)
TRUE = regex.compile(r"true|success|ok\b", regex.I)
START = regex.compile(r"\bstart", regex.I)


def near_misses(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Entries that are searched for as plain text though a shorthand was meant."""
    for placed in case.of(Telemetry):
        entry = placed.args["entry"]
        if shorthand(entry) is None and '"' not in entry and NEAR.match(entry):
            message = (
                f"not a shorthand, so Karat looks for it as plain text. Did you mean {quoted(_suggest_entry(entry))}?"
            )
            yield PathDiagnostic(placed.path, message, "telemetry-shorthand")


def _suggest_entry(entry: str) -> str:
    missing = FIELD.search(entry)
    if missing:
        return f"success:false with missingFields containing {missing[1]}"
    tool = TOOL.search(entry)
    name = tool[1] if tool else entry.split()[0]
    if START.search(entry):
        return f"tool.{name} start"
    rest = entry[tool.end() :] if tool else entry
    return f"tool.{name} result success:{'false' if FALSE.search(rest) and not TRUE.search(rest) else 'true'}"


RULES = (Rule("telemetry-shorthand", near_misses),)
