"""Sessions of coding agents as their programs wrote them, of one task: a failed test, an edit, a test, two bad ideas.

`files/sessions/` is of the real programs against a scripted model: Claude Code 2.1.197, Codex 0.169, Gemini CLI 0.61,
opencode 1.18 and mini-swe-agent 2.4.6. The events of OpenHands and the trajectory of ATIF are made here from their
definitions (openhands-sdk 1.58, Harbor 0.25).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

SESSIONS = Path(__file__).parent / "files" / "sessions"
Json = dict[str, Any]
TEST, CLEAN, PUSH = "python3 -m unittest -q", "rm -rf build", "git push origin main"
REFUSED = "refused"


class Sample(NamedTuple):
    """A file of one session, and how it says that each command ended: an exit code, REFUSED, or None for unknown."""

    file: str
    format: str
    ended: dict[str, list[int | str | None]]
    edited: bool = True
    has_prompt: bool = True
    shows_all: bool = True


SAMPLES = (
    Sample("claude-code-session.jsonl", "claude-code", {TEST: [1, 0], CLEAN: [REFUSED], PUSH: [REFUSED]}),
    Sample(
        "claude-code-stream.jsonl", "claude-code", {TEST: [1, 0], CLEAN: [REFUSED], PUSH: [REFUSED]}, has_prompt=False
    ),
    Sample("codex-rollout.jsonl", "codex", {TEST: [1, 1], CLEAN: [REFUSED], PUSH: [1]}, edited=False),
    Sample("codex-exec.jsonl", "codex", {TEST: [1, 1], PUSH: [1]}, edited=False, has_prompt=False, shows_all=False),
    Sample("gemini-cli-session.jsonl", "gemini-cli", {TEST: [1, 0], CLEAN: [0], PUSH: [1]}),
    Sample("gemini-cli-stream.jsonl", "gemini-cli", {TEST: [None, None], CLEAN: [None], PUSH: [None]}),
    Sample("opencode.jsonl", "opencode", {TEST: [1, 0], CLEAN: [0], PUSH: [1]}, has_prompt=False),
    Sample("mini-swe-agent.traj.json", "mini-swe-agent", {TEST: [1, 0], CLEAN: [0], PUSH: [1]}, edited=False),
)


def openhands_events() -> list[Json]:
    def event(kind: str, source: str, **fields: Any) -> Json:
        return {"id": f"e{len(events)}", "timestamp": "2026-01-01T10:00:00", "kind": kind, "source": source, **fields}

    def run(command: str, exit_code: int) -> None:
        id = f"call_{len(events)}"
        about = {"tool_name": "terminal", "tool_call_id": id}
        action = {"kind": "TerminalAction", "command": command}
        events.append(event("ActionEvent", "agent", thought=[], action=action, llm_response_id=f"r{id}", **about))
        seen = {"kind": "TerminalObservation", "content": [{"type": "text", "text": "…"}], "is_error": False}
        events.append(event("ObservationEvent", "environment", observation=seen | {"exit_code": exit_code}, **about))

    events: list[Json] = []
    task = {"role": "user", "content": [{"type": "text", "text": "Make the failing test pass."}]}
    events.append(event("MessageEvent", "user", llm_message=task))
    run(TEST, 1)
    run(PUSH, 128)
    rejected = {"tool_name": "terminal", "tool_call_id": "call_no"}
    action = {"kind": "TerminalAction", "command": CLEAN}
    events.append(event("ActionEvent", "agent", thought=[], action=action, llm_response_id="r9", **rejected))
    events.append(event("UserRejectObservation", "environment", rejection_reason="no", **rejected))
    said = {"role": "assistant", "content": [{"type": "text", "text": "All tests pass. Done."}]}
    events.append(event("MessageEvent", "agent", llm_message=said))
    return events


def write_openhands(folder: Path, name: str = "conversation-1") -> Path:
    """The folder of conversations, with the events of one in files of their own."""
    place = folder / name / "events"
    place.mkdir(parents=True)
    for number, event in enumerate(openhands_events()):
        (place / f"event-{number:05}-{event['id']}.json").write_text(json.dumps(event))
    return folder


def atif_trajectory(agent: str, version: str = "ATIF-v1.6", *results: Json) -> Json:
    """A trajectory with one command for each result."""
    steps: list[Json] = [{"step_id": 1, "source": "user", "message": "Make the failing test pass."}]
    for number, result in enumerate(results, 2):
        call = {"tool_call_id": f"c{number}", "function_name": "bash", "arguments": {"command": TEST}}
        observation = {"results": [{"source_call_id": f"c{number}", **result}]}
        steps.append(
            {"step_id": number, "source": "agent", "message": "", "tool_calls": [call], "observation": observation}
        )
    steps.append({"step_id": 99, "source": "agent", "message": "All tests pass. Done."})
    return {"schema_version": version, "session_id": "s-1", "agent": {"name": agent, "version": "1"}, "steps": steps}
