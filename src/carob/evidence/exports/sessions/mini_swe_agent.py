"""mini-swe-agent: a trajectory of the format `mini-swe-agent-1` or `1.x`, one file per session.

A command is in `extra.actions`, in a call of a tool, or, in the first versions, between fences; its exit code is in
`extra.returncode`, or in the text that the model was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final

from carob.evidence.exports.base import ExportFormat, ExportRow, KeySign, Table
from carob.evidence.exports.facts import read_time
from carob.evidence.exports.record import RecordedConversation
from carob.evidence.exports.sessions.session import AgentSession, join_text
from carob.model.trace import BY_ITSELF, ToolCall
from carob.providers.base import objects, table, text_of
from carob.providers.messages import decode_value

NAME: Final = "mini-swe-agent"
SHELL: Final = "bash"
TASK: Final = "{{task}}"
NOT_RUN: Final = "action was not executed"
LIMITS = frozenset({"LimitsExceeded", "TimeExceeded", "CostLimitExceeded", "StepLimitExceeded"})
FENCES = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```", re.DOTALL)
_RETURNED = re.compile(r"\s*<returncode>(-?\d{1,9})</returncode>\s*(?:<output>\n?(.*?)\s*</output>)?", re.DOTALL)


def read_trajectory(row: ExportRow) -> RecordedConversation:
    """The conversation of a trajectory. Raises ValueError for one without messages."""
    info, messages = table(row.value.get("info")), row.value["messages"]
    if not isinstance(messages, list):
        raise ValueError("`messages` is not a list")
    config = table(info.get("config"))
    name = text_of(info.get("instance_id")) or text_of(row.value.get("instance_id")) or _name_of(row.place)
    session = AgentSession(name, NAME, row.place)
    session.version = text_of(info.get("mini_version"))
    session.model = text_of(table(config.get("model")).get("model_name"))
    template = text_of(table(config.get("agent")).get("instance_template"))
    _read_messages(session, objects(messages), template)
    _read_end(session, info, objects(messages))
    return session.build()


def _name_of(place: str) -> str:
    """The name of the file without its endings; its place, if it holds several."""
    return place if place.endswith("]") or place[-1:].isdigit() else PurePath(place).name.partition(".")[0]


def _read_messages(session: AgentSession, messages: list[Table], template: str) -> None:
    open_calls: list[str] = []
    for number, message in enumerate(messages):
        role, time = message.get("role"), read_time(table(message.get("extra")).get("timestamp"))
        text = join_text(message.get("content"))
        if role == "assistant":
            words = FENCES.sub("", text)
            session.add_words(words.strip(), f"message-{number}", time)
            open_calls = []
            for id, command in _list_commands(message, text, number):
                call = ToolCall(SHELL, {"command": command}, id=id, message=f"message-{number}", started_at=time)
                session.add_call(call)
                open_calls.append(id)
        elif role in ("tool", "user") and open_calls and (result := _read_result(message, text)) is not None:
            id = text_of(message.get("tool_call_id")) or open_calls[0]
            open_calls = [other for other in open_calls if other != id]
            code, output, was_run = result
            success = False if code is None else None
            session.end_call(id, output, exit_code=code, success=success, was_run=was_run, time=time)
        elif role == "user" and number < FIRST_MESSAGES:
            session.add_prompt(find_task(text, template), time)


FIRST_MESSAGES = 2
"""The task is in one of so many; later words in the place of the user are the program's own."""


def _list_commands(message: Table, text: str, number: int) -> Iterator[tuple[str, object]]:
    """The commands that a message asks for, each with the id of its call."""
    actions = objects(table(message.get("extra")).get("actions"))
    for place, action in enumerate(actions):
        yield text_of(action.get("tool_call_id")) or f"call-{number}-{place}", action.get("command")
    if actions:
        return
    for place, call in enumerate(objects(message.get("tool_calls"))):
        arguments = table(decode_value(table(call.get("function")).get("arguments")))
        yield text_of(call.get("id")) or f"call-{number}-{place}", arguments.get("command")
    if not message.get("tool_calls") and len(fenced := FENCES.findall(text)) == 1:
        yield f"call-{number}-0", fenced[0]


def _read_result(message: Table, text: str) -> tuple[int | None, str, bool] | None:
    """The exit code, the output, and whether it was run at all; None for any other message."""
    extra = table(message.get("extra"))
    if isinstance(code := extra.get("returncode"), int):
        problem = text_of(extra.get("exception_info"))
        output = text_of(extra.get("raw_output")) or problem
        return (None if problem and code < 0 else code), output, problem != NOT_RUN
    found = read_returned(text)
    return None if found is None else (*found, True)


def read_returned(text: str) -> tuple[int, str] | None:
    """The exit code and the output by what the model was given: JSON, or tags."""
    whole = decode_value(text)
    if isinstance(whole, Mapping) and isinstance(code := whole.get("returncode"), int):
        return code, text_of(whole.get("output"))
    match = _RETURNED.match(text)
    return (int(match[1]), match[2] or "") if match else None


def find_task(text: str, template: str) -> str:
    """What the user said, without the words that the program puts around it."""
    before, mark, after = template.partition(TASK)
    if not mark or not text.startswith(before):
        return text
    rest = text[len(before) :]
    end = rest.find(after.partition("{")[0]) if after.partition("{")[0].strip() else -1
    return rest[:end].strip() if end >= 0 else rest.strip()


def _read_end(session: AgentSession, info: Mapping[str, Any], messages: list[Table]) -> None:
    status = text_of(info.get("exit_status"))
    submission = text_of(info.get("submission"))
    if status == "Submitted":
        last = next((n for n in range(len(messages) - 1, -1, -1) if messages[n].get("role") == "assistant"), 0)
        if submission.strip():
            session.add_words(submission.strip(), f"message-{last}")
        session.ended_by = BY_ITSELF
    elif status in LIMITS:
        session.ended_by = status
    elif status:
        said = join_text(messages[-1].get("content")) if messages else ""
        session.fail("agent", f"{status}: {said}" if said else status)


def _is_trajectory(row: Table) -> bool:
    return text_of(row["trajectory_format"]).startswith("mini-swe-agent-")


MINI_SWE_AGENT = ExportFormat(
    name=NAME,
    signs=(KeySign(("trajectory_format", "messages"), _is_trajectory),),
    read_conversation=read_trajectory,
)
