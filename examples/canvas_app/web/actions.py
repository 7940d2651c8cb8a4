"""Buttons and pickers: what a person clicked, as a tool call with words for the conversation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException

from canvas_app.brief.overrides import OVERRIDES, WAKE
from canvas_app.store.workspace import Workspace
from canvas_app.tools.registry import find_tool, plain_arguments
from canvas_app.web.bodies import text_field


@dataclass(frozen=True, slots=True)
class Action:
    tool: str
    arguments: Mapping[str, str]
    said: str


def _said(workspace: Workspace, tool: str, arguments: Mapping[str, str]) -> str:
    if tool == "generate_brief":
        wanted = arguments.get("override")
        labels = [override.label for override in (*OVERRIDES, WAKE) if override.id == wanted]
        return labels[0] if labels else "Morning Brief"
    if tool == "remove_component":
        cards = workspace.components.on(workspace.spaces.current())
        names = [card.name for card in cards if str(card.id) == arguments.get("component")]
        return f"Remove {names[0]}" if names else "Remove a component"
    return tool.replace("_", " ").capitalize()


def _clicked(workspace: Workspace, body: Mapping[str, Any]) -> Action:
    tool, arguments = body.get("tool"), body.get("arguments", {})
    if not isinstance(tool, str) or find_tool(tool) is None:
        raise HTTPException(422, "tool: no such tool")
    if not isinstance(arguments, dict):
        raise HTTPException(422, "arguments: send an object")
    plain = plain_arguments(arguments)
    return Action(tool, plain, _said(workspace, tool, plain))


def _picked(workspace: Workspace, body: dict[str, Any]) -> Action:
    pending = workspace.conversation.pending()
    if pending is None:
        raise HTTPException(409, "there is no open question")
    if not pending.options:
        value = text_field(body, "value")
        return Action(pending.tool, {**pending.arguments, pending.field: value}, value)
    choice = body.get("choice")
    if not isinstance(choice, int) or isinstance(choice, bool) or not 0 <= choice < len(pending.options):
        raise HTTPException(422, "choice: the number of an option")
    option = pending.options[choice]
    return Action(pending.tool, {**pending.arguments, **option.arguments}, option.label)


def action_from(workspace: Workspace, body: dict[str, Any]) -> Action:
    """A click sends a tool and its arguments; a picker sends a choice or a value for the open question."""
    return _clicked(workspace, body) if "tool" in body else _picked(workspace, body)
