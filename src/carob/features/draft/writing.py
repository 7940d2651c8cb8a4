"""A draft as YAML: every line with the comment that says what supports it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from carob.features.audit.model import Rate, format_rate
from carob.features.draft.draft import DraftSummary, Finding
from carob.features.draft.expectations import Noted, RowVariable
from carob.suites.diagnostics import Json
from carob.suites.documents.yaml_text import block, text
from carob.text.wording import pluralize, visible

STEP = 2
LONGEST_COMMENT = 200
WIDEST = 90
_IN_FLOW = re.compile(r"""[\w$.]+: (?:\[[\w ,.-]*\]|"[^"]*"|'[^']*'|[\w.$-]+)""")
"""A member that means the same within braces."""


def plain_value(value: Any, *, variables: bool = True) -> Json:
    """The value without its comments; what each row has its own of is `{name}`, or left out."""
    if isinstance(value, Noted):
        return plain_value(value.value, variables=variables)
    if isinstance(value, RowVariable):
        return f"{{{value.name}}}"
    if isinstance(value, dict):
        members = {key: below for key, below in value.items() if variables or not is_variable(below)}
        plain = {key: plain_value(below, variables=variables) for key, below in members.items()}
        return {key: below for key, below in plain.items() if below != {} or value[key] == {}}
    if isinstance(value, list):
        return [plain_value(below, variables=variables) for below in value]
    return value  # type: ignore[no-any-return]  # JSON by now


def is_variable(value: object) -> bool:
    return isinstance(value, Noted) and isinstance(value.value, RowVariable)


def comment(words: str, indent: int = 0) -> str:
    line = visible(" ".join(words.split()))
    return f"{' ' * indent}# {line if len(line) <= LONGEST_COMMENT else line[: LONGEST_COMMENT - 1] + '…'}"


def lines(value: Any, indent: int = 0) -> list[str]:
    """The lines of an object or list with comments in it."""
    if isinstance(value, dict):
        return [line for key, below in value.items() for line in _member(f"{' ' * indent}{text(key)}:", below, indent)]
    return [line for below in value for line in _item(below, indent)]


def _flow(value: Any) -> str:
    """A small object on one line, as people write matchers; nothing for a larger one."""
    if not isinstance(value, dict) or not value or any(isinstance(below, dict) for below in value.values()):
        return ""
    members = [block({key: below}) for key, below in value.items()]
    if any(len(member) > 1 or not _IN_FLOW.fullmatch(member[0]) for member in members):
        return ""
    short = f"{{ {', '.join(member[0] for member in members)} }}"
    return short if len(short) <= WIDEST else ""


def _member(head: str, value: Any, indent: int) -> list[str]:
    plain = value.value if isinstance(value, Noted) else value
    if not _has_notes(plain) and (short := _flow(plain_value(plain))):
        return [f"{head} {short}" + (f"  {comment(value.note)}" if isinstance(value, Noted) else "")]
    if isinstance(value, Noted):
        return _add_note(block({"k": plain_value(value.value)}, indent), head, value.note, indent)
    if isinstance(value, dict | list) and value and _has_notes(value):
        return [head, *lines(value, indent + STEP)]
    return _add_note(block({"k": plain_value(value)}, indent), head, "", indent)


def _add_note(value_lines: list[str], head: str, note: str, indent: int) -> list[str]:
    """The lines of a value after its own key, with a comment where one can be."""
    first = head + value_lines[0].lstrip(" ").removeprefix("k:")
    if not note:
        return [first, *value_lines[1:]]
    if len(value_lines) == 1:
        return [f"{first}  {comment(note)}"]
    return [comment(note, indent), first, *value_lines[1:]]


def _item(value: Any, indent: int) -> list[str]:
    if isinstance(value, Noted):
        if short := _flow(plain_value(value.value)):
            return [f"{' ' * indent}- {short}  {comment(value.note)}"]
        if isinstance(value.value, dict) and value.value:
            first, *others = lines(value.value, indent + STEP)
            return [f"{' ' * indent}- {first.lstrip(' ')}  {comment(value.note)}", *others]
        first, *others = block([plain_value(value.value)], indent)
        return [f"{first}  {comment(value.note)}", *others]
    if isinstance(value, dict) and value:
        first, *others = lines(value, indent + STEP)
        return [f"{' ' * indent}- {first.lstrip(' ')}", *others]
    return block([plain_value(value)], indent)


def _has_notes(value: Any) -> bool:
    if isinstance(value, Noted | RowVariable):
        return True
    below: Iterable[Any] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_has_notes, below))


def head(summary: DraftSummary) -> Iterator[str]:
    """What a reader must know before the first case."""
    traces = pluralize(summary.traces, "trace")
    yield comment(f"Drafted by Carob from {traces}. No model was involved, and it has not been reviewed yet.")
    yield comment("Read each case, change what is wrong, then remove the line `draft: true`.")
    share = f"{summary.covered} of {summary.traces} traces became {pluralize(summary.cases, 'case')}"
    yield comment(f"{share}; {summary.apart} rare, odd or failed ones are listed as questions at the end of this file.")
    if summary.masked:
        masked = ", ".join(f"{kind} ({count})" for kind, count in summary.masked.most_common())
        yield comment(f"Masked: {masked}. Replace them with test data.")
    if summary.held_out:
        passed = f"{summary.held_out_passed} of {summary.held_out}"
        yield comment(f"Held out: {passed} traces that the draft was not made from pass it.")
    yield comment(
        f"Audit: {_rate(summary.rate_of_facts)} of wrong traces are caught where the answer's text is unchanged, "
        f"{_rate(summary.rate)} counting changed answers too."
    )
    if summary.unseen:
        yield comment("What this suite cannot catch:")
        yield from (comment(f"- {gap}") for gap in summary.unseen)


def tail(findings: Sequence[Finding]) -> Iterator[str]:
    """The questions that a person has to answer."""
    if findings:
        yield ""
        yield comment("Questions and findings: none of these became an expectation.")
        for finding in findings:
            times = f" ({finding.times} times)" if finding.times > 1 else ""
            yield comment(f"- {finding.kind}{times}: {finding.text}")


def _rate(rate: Rate) -> str:
    return f"{format_rate(rate)} ({rate.killed} of {rate.tried})"
