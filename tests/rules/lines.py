"""Conversations for rules, written as lines.

`user: yes`, `says: done`; `get(id=A)` a call that succeeded, `get(id=A)!` failed, `get(id=A)?` of unknown outcome,
`get(id=A)...` without a result, `get(id=A)~` requested, never run; `get(id=A) -> {"total": 3}` with a result;
`get(id=A) & pay(id=A)` requested by one message; `gap`, `gap: user`, `gap: call pay`; `setup: ...` before any of them;
`approved: pay(id=A)`, `handoff: billing`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from carob.rules.contract import Contract
from carob.rules.events import BY_ITSELF, ConversationEnd, ConversationEvent, Facts, RuleVerdict
from carob.rules.monitor import judge_events
from carob.rules.reading import Surroundings, read_rules

CALL = re.compile(r"(?P<tool>[\w.\-]+)\((?P<args>.*?)\)(?P<mark>[!?~]|\.\.\.)?(?:\s*->\s*(?P<result>.*))?")


def value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def arguments(text: str) -> dict[str, object] | None:
    if text.strip() == "?":
        return None
    return {name.strip(): value(given.strip()) for name, given in re.findall(r"(\w+)\s*=\s*([^,]+)", text)}


def events(*lines: str) -> list[ConversationEvent]:
    """The events of the lines; every line of calls is a message of its own."""
    made: list[ConversationEvent] = []
    for number, line in enumerate(lines):
        is_setup = line.startswith("setup: ")
        for raw in _events(line.removeprefix("setup: "), f"m{number}"):
            made.append(ConversationEvent(index=len(made), is_setup=is_setup, **raw))
    return made


def _events(line: str, message: str) -> Iterator[dict]:
    kind, colon, rest = line.partition(": ")
    if line == "gap" or kind == "gap":
        hides, _, tool = rest.partition(" ")
        yield {"kind": "gap", "hides": hides, "tool": tool, "text": "a part is missing"}
    elif colon and kind in ("user", "says"):
        yield {"kind": kind, "text": rest}
    elif colon and kind in ("approved", "denied", "asks_approval", "handoff"):
        match = CALL.fullmatch(rest)
        tool, given = (match["tool"], arguments(match["args"])) if match else (rest, None)
        yield {"kind": kind, "tool": tool, "arguments": given}
    else:
        yield from _calls(line, message)


def _calls(line: str, message: str) -> Iterator[dict]:
    calls = [CALL.fullmatch(part.strip()) for part in line.split(" & ")]
    for number, call in enumerate(calls):
        assert call is not None, line
        given = {"tool": call["tool"], "call": f"{message}-{number}", "message": message}
        more = {"parallel": len(calls) > 1, "started": call["mark"] != "~"}
        yield {"kind": "call", "arguments": arguments(call["args"]), **given, **more}
    for number, call in enumerate(calls):
        assert call is not None
        given = {"tool": call["tool"], "call": f"{message}-{number}", "message": message}
        if call["mark"] == "~":
            yield {"kind": "cancelled", **given}
        elif call["mark"] != "...":
            success = {"!": False, "?": None}.get(call["mark"] or "", True)
            result = {} if success is None else {"result": value(call["result"]) if call["result"] else {"ok": success}}
            yield {"kind": "result", "success": success, **result, **given}


def contract(*rules: dict, groups: dict | None = None, words: dict | None = None) -> Contract:
    made, problems = read_rules(
        [{"id": f"r{n}", **rule} for n, rule in enumerate(rules)], Surroundings(groups or {}, words or {})
    )
    assert not problems, problems
    return Contract(made)


def judge(
    rule: dict, *lines: str, ending: ConversationEnd = BY_ITSELF, facts: Facts | None = None, **around: dict
) -> RuleVerdict:
    [verdict] = judge_events(contract(rule, **around), events(*lines), ending, facts)
    return verdict
