"""The assistant without its page, as a Python target: `python:canvas_app.in_process:answer`."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from canvas_app.brain.rule_based import RuleBasedBrain
from canvas_app.clock import clock_from
from canvas_app.store.database import open_database
from canvas_app.store.workspace import Workspace, open_workspace
from canvas_app.telemetry.json_lines import JsonLines
from canvas_app.turns import LiveTurn, TurnEnded
from canvas_app.web.state import state_of

WORKSPACE = "workspace"


class Talk(Protocol):
    """What the target tells of the conversation: its name, and a place for what belongs to it."""

    id: str
    state: dict[str, object]


async def answer(prompt: str, conversation: Talk) -> Mapping[str, object]:
    """One turn: the words, what the app logged of it, and the workspace as it is then."""
    workspace = _workspace(conversation)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "telemetry.jsonl"
        ended = await _ended(LiveTurn(workspace, RuleBasedBrain(), JsonLines(log), prompt, "chat"))
        lines = log.read_text("utf-8").splitlines()
    if ended.problem is not None:
        return {"error": ended.problem, "telemetry": lines}
    return {"final_message": ended.text, "telemetry": lines, "state": state_of(workspace)}


def _workspace(conversation: Talk) -> Workspace:
    kept = conversation.state.get(WORKSPACE)
    if not isinstance(kept, Workspace):
        kept = open_workspace(open_database(":memory:"), conversation.id, clock_from(None))
        conversation.state[WORKSPACE] = kept
    return kept


async def _ended(turn: LiveTurn) -> TurnEnded:
    last = None
    async for event in turn.events():
        last = event
    if not isinstance(last, TurnEnded):
        raise TypeError("the turn has no end")
    return last
