"""All tools, and how one is run by name."""

from collections.abc import Mapping

from canvas_app.store.database import transaction
from canvas_app.store.workspace import Workspace
from canvas_app.tools.base import Arguments, Tool, ToolResult, refused
from canvas_app.tools.briefs import BRIEF_TOOLS
from canvas_app.tools.changes import CHANGE_TOOLS
from canvas_app.tools.components import COMPONENT_TOOLS
from canvas_app.tools.rules import RULE_TOOLS
from canvas_app.tools.spaces import SPACE_TOOLS
from canvas_app.wording import clipped, listed

TOOLS: tuple[Tool, ...] = (*COMPONENT_TOOLS, *CHANGE_TOOLS, *SPACE_TOOLS, *RULE_TOOLS, *BRIEF_TOOLS)
ARGUMENT_LIMIT = 200


def find_tool(name: str) -> Tool | None:
    return next((tool for tool in TOOLS if tool.name == name), None)


def plain_arguments(arguments: Mapping[str, object]) -> Arguments:
    """Arguments as short strings: a model may send numbers, nulls or whole essays."""
    return {key: clipped(str(value), ARGUMENT_LIMIT) for key, value in arguments.items() if value not in (None, "")}


def run_tool(workspace: Workspace, name: str, arguments: Mapping[str, object]) -> ToolResult:
    tool = find_tool(name)
    if tool is None:
        return refused("unknown_tool", f"There is no such tool. There are {listed(tool.name for tool in TOOLS)}.")
    strange = sorted(set(arguments) - set(tool.parameters))
    if strange:
        known = listed(tool.parameters, "or")
        return refused("unknown_argument", f"{tool.name} takes {known}, nothing else.")
    with transaction(workspace.spaces.db):
        return tool.run(workspace, plain_arguments(arguments))


def schemas() -> list[dict[str, object]]:
    """The tools as an OpenAI-compatible model reads them."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": {"type": "object", "properties": dict(tool.parameters), "additionalProperties": False},
            },
        }
        for tool in TOOLS
    ]
