"""Tools that change or remove components that are on the canvas."""

from canvas_app.catalog import FILTER_LABELS
from canvas_app.records import Component, Option, Space
from canvas_app.store.workspace import Workspace
from canvas_app.tools.base import Arguments, Tool, ToolResult, done, lacking, refused, text_parameter
from canvas_app.tools.components import checked_filters, describe
from canvas_app.wording import clipped, listed

TITLE_LIMIT = 60
POSITIONS = ("first", "last")


def cards_called(workspace: Workspace, space: Space, name: str) -> list[Component]:
    """The cards that a name can mean: by exact name, by kind, by a part of the name, in that order."""
    wanted = " ".join(name.casefold().split())
    cards = workspace.components.on(space)
    exact = [card for card in cards if card.name.casefold() == wanted or str(card.id) == wanted]
    by_kind = [
        card for card in cards if wanted in (card.kind.name.casefold(), card.kind.kind, card.kind.title.casefold())
    ]
    partial = [card for card in cards if wanted and wanted in f"{card.name} {card.kind.name}".casefold()]
    return exact or by_kind or partial


def wanted_card(
    tool: str, workspace: Workspace, space: Space, arguments: Arguments, question: str
) -> Component | ToolResult:
    cards = workspace.components.on(space)
    if not cards:
        return refused("empty_canvas", f"There is no component on {space.name}.")
    name = arguments.get("component")
    found = cards_called(workspace, space, name) if name else []
    if len(found) == 1:
        return found[0]
    if name and not found:
        here = listed(card.name for card in cards)
        return refused("not_on_canvas", f"That component is not on {space.name}. On it: {here}.")
    options = tuple(Option(card.name, {"component": str(card.id)}) for card in found or cards)
    return lacking(tool, arguments, "component", question, options)


def remove_component(workspace: Workspace, arguments: Arguments) -> ToolResult:
    space = workspace.spaces.current()
    card = wanted_card("remove_component", workspace, space, arguments, "Which component shall I remove?")
    if isinstance(card, ToolResult):
        return card
    workspace.components.remove(card)
    return done(f"Removed {card.name} from {space.name}.", component=describe(card, space))


def update_component(workspace: Workspace, arguments: Arguments) -> ToolResult:
    space = workspace.spaces.current()
    card = wanted_card("update_component", workspace, space, arguments, "Which component shall I change?")
    if isinstance(card, ToolResult):
        return card
    filters = checked_filters(workspace, space, card.kind, arguments)
    if isinstance(filters, ToolResult):
        return filters
    title, position = clipped(arguments.get("title", ""), TITLE_LIMIT), arguments.get("position")
    if position and position not in POSITIONS:
        return refused("unknown_position", f"A component can be moved {listed(POSITIONS, 'or')}.")
    if not title and not filters and not position:
        known = {**arguments, "component": str(card.id)}
        return lacking("update_component", known, "title", f"What shall the new title of {card.name} be?")
    if position:
        workspace.components.move(card, to_front=position == "first")
    changed = workspace.components.change(card, title or None, filters)
    told = [f"its title is now {changed.name}"] if title else []
    told += [f"it shows only {value}" for value in filters.values()]
    told += [f"it comes {position}"] if position else []
    return done(f"Changed {card.name}: {listed(told)}.", component=describe(changed, space), before=card.name)


_CARD = {"component": text_parameter("The name of a component on the canvas")}

CHANGE_TOOLS = (
    Tool("remove_component", "Remove a component from the current space.", _CARD, remove_component),
    Tool(
        "update_component",
        "Rename, filter or move a component of the current space.",
        _CARD
        | {
            "title": text_parameter("The new title"),
            "position": text_parameter("Where to move it", POSITIONS),
        }
        | {field: text_parameter(f"Show only this {label}") for field, label in FILTER_LABELS.items()},
        update_component,
    ),
)
