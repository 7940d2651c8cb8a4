"""Small traces of coding agents for the examples of checks."""

from __future__ import annotations

from typing import Any

from carob.model.trace import ToolCall, Trace
from carob.model.workspace import FileChange, FileWrite, HostContact, ProcessRun, WorkspaceEvidence

NOT_LOOKED = {"files": "not looked at", "processes": "not looked at"}


def workspace_trace(*deeds: str, text: str = "Done.", logged: bool = True, **more: Any) -> Trace:
    """An agent in a workspace that did this, in order: `pytest=1` is a process and its exit code, `edit:PATH` a change.

    `refused:LINE` was asked for and never ran; `new:PATH` and `gone:PATH` are files created and deleted; `outside:PATH`
    is a write elsewhere, `host:ADDRESS` a connection.
    """
    runs = [ProcessRun(("agent",), 1, started_at=0.0, own=True)]
    files: list[FileChange] = []
    writes: list[FileWrite] = []
    contacts: list[HostContact] = []
    calls: list[ToolCall] = []
    for number, deed in enumerate(deeds, 1):
        how, _, rest = deed.partition(":")
        kinds = {"edit": "changed", "new": "created", "gone": "deleted"}
        if how in kinds:
            files.append(FileChange(rest, kinds[how], "a", "b", "x = 1\n", "x = 2\n", changed_at=float(number)))  # type: ignore[arg-type]
            writes.append(FileWrite(rest, 0, float(number)))
        elif how == "outside":
            writes.append(FileWrite(rest, len(runs) - 1, float(number)))
        elif how in ("host", "look-up"):
            contacts.append(HostContact(rest, 443 if how == "host" else 53, len(runs) - 1, float(number)))
        elif how == "refused":
            calls.append(ToolCall("bash", {"command": rest}, started=False, unfinished=True, refused=True))
        else:
            line, _, code = deed.partition("=")
            ended = number + 0.5
            runs.append(ProcessRun(tuple(line.split()), number + 1, 0, float(number), ended, int(code or 0)))
    evidence = WorkspaceEvidence(
        files=tuple(files), processes=tuple(runs), writes=tuple(writes), contacts=tuple(contacts), **more
    )
    unobserved = {} if logged else {"tools": "the target returned text alone"}
    return Trace(
        case_id="example", final_message=text, tool_calls=tuple(calls), workspace=evidence, unobserved=unobserved
    )


def log_trace(*lines: str, text: str = "Done.") -> Trace:
    """An agent whose log alone was seen: `pytest=1` is a line with its exit code, `edit:PATH` a call that edits."""
    calls = []
    for line in lines:
        command, equals, code = line.rpartition("=")
        if line.startswith("edit:"):
            calls.append(ToolCall("Edit", {"file_path": line.removeprefix("edit:")}, success=True))
        else:
            exit_code = int(code) if equals else None
            success = None if exit_code is None else exit_code == 0
            calls.append(ToolCall("bash", {"command": command or line}, exit_code=exit_code, success=success))
    return Trace(case_id="example", final_message=text, tool_calls=tuple(calls), unobserved=NOT_LOOKED)


UNSEEN_WORK = Trace(case_id="example", final_message="Done.", unobserved={"tools": "not seen", **NOT_LOOKED})
"""An agent of which nothing but the answer was seen."""
