"""Tools that add components."""

from canvas_app.catalog import FILTER_LABELS, KINDS, SOURCE_NAMES, ComponentKind, Source, find_kind, kinds_of
from canvas_app.records import Component, Option, Space
from canvas_app.signals.facts import fact
from canvas_app.signals.report import read_source
from canvas_app.store.workspace import Workspace
from canvas_app.tools.base import Arguments, Tool, ToolResult, done, lacking, refused, text_parameter
from canvas_app.wording import listed

FILTER_FIELDS = tuple(FILTER_LABELS)


def kind_options(workspace: Workspace, space: Space, source: Source | None) -> tuple[Option, ...]:
    """The kinds that can be added here: those of `source`, or of every integration that is on."""
    kinds = kinds_of(source) if source else tuple(kind for kind in KINDS if workspace.spaces.is_on(space, kind.source))
    return tuple(Option(kind.name, {"integration": kind.source.value, "component": kind.kind}) for kind in kinds)


def source_called(name: str | None) -> Source | None:
    return next((source for source in Source if source.value == (name or "").casefold()), None)


def wanted_kind(tool: str, workspace: Workspace, space: Space, arguments: Arguments) -> ComponentKind | ToolResult:
    """The kind that the arguments name, or the answer that says why there is none."""
    integration, component = arguments.get("integration"), arguments.get("component")
    source = source_called(integration)
    if integration and source is None:
        known = listed(SOURCE_NAMES.values())
        return refused("unknown_integration", f"There is no such integration here. I can use {known}.")
    if source and not workspace.spaces.is_on(space, source):
        return _switched_off(source, space)
    if not component:
        asked = f"Which {SOURCE_NAMES[source]} component?" if source else "Which component?"
        return lacking(tool, arguments, "component", asked, kind_options(workspace, space, source))
    kind = find_kind(source.value if source else None, component)
    if kind is None:
        known = listed((kind.title for kind in kinds_of(source)) if source else (kind.name for kind in KINDS))
        owner = SOURCE_NAMES[source] if source else "The workspace"
        return refused("unknown_component", f"{owner} has no such component. It has {known}.")
    if not workspace.spaces.is_on(space, kind.source):
        return _switched_off(kind.source, space)
    return kind


def _switched_off(source: Source, space: Space) -> ToolResult:
    name = SOURCE_NAMES[source]
    return refused(
        "integration_off",
        f"{name} is switched off in {space.name}, so I cannot add it. Switch it on under Integrations and ask again.",
        integration=source.value,
    )


def same_card(workspace: Workspace, space: Space, kind: ComponentKind, filters: Arguments) -> Component | None:
    cards = workspace.components.on(space)
    return next((card for card in cards if card.kind == kind and dict(card.filters) == dict(filters)), None)


def describe(component: Component, space: Space) -> dict[str, object]:
    return {
        "id": component.id,
        "name": component.name,
        "integration": component.kind.source.value,
        "component": component.kind.kind,
        "filters": dict(component.filters),
        "space": space.name,
    }


def place(workspace: Workspace, space: Space, kind: ComponentKind, filters: Arguments, title: str | None) -> ToolResult:
    twin = same_card(workspace, space, kind, filters)
    if twin is not None:
        return refused("already_there", f"{twin.name} is already on {space.name}.", component=describe(twin, space))
    card = workspace.components.add(space, kind, filters, title)
    shown = fact(read_source(workspace, space, kind.source))
    return done(
        f"Added {card.name} to {space.name}. {SOURCE_NAMES[kind.source]} now: {shown}.", component=describe(card, space)
    )


def add_component(workspace: Workspace, arguments: Arguments) -> ToolResult:
    space = workspace.spaces.current()
    kind = wanted_kind("add_component", workspace, space, arguments)
    if isinstance(kind, ToolResult):
        return kind
    return place(workspace, space, kind, {}, arguments.get("title"))


def checked_filters(
    workspace: Workspace, space: Space, kind: ComponentKind, arguments: Arguments
) -> dict[str, str] | ToolResult:
    """The filters among the arguments, spelled as the data spells them; an unknown one is refused."""
    filters: dict[str, str] = {}
    for field in FILTER_FIELDS:
        value = arguments.get(field)
        if not value:
            continue
        if field not in kind.filters:
            allowed = listed((FILTER_LABELS[name] for name in kind.filters), "or") or "nothing"
            return refused(
                "unknown_filter", f"{kind.name} can be filtered by {allowed}, not by {FILTER_LABELS[field]}."
            )
        known = workspace.recorded.values_of(space, kind.source, field, kind.reads)
        match = next((name for name in known if name.casefold().lstrip("#") == value.casefold().lstrip("#")), None)
        if match is None:
            choices = listed(known, "or") or "nothing yet"
            return refused(
                "unknown_value", f"I know no such {FILTER_LABELS[field]} in {space.name}. It can be {choices}."
            )
        filters[field] = match
    return filters


def filter_options(workspace: Workspace, space: Space, kind: ComponentKind, field: str) -> tuple[Option, ...]:
    return tuple(
        Option(value, {field: value}) for value in workspace.recorded.values_of(space, kind.source, field, kind.reads)
    )


def add_filtered_component(workspace: Workspace, arguments: Arguments) -> ToolResult:
    space = workspace.spaces.current()
    kind = wanted_kind("add_filtered_component", workspace, space, arguments)
    if isinstance(kind, ToolResult):
        return kind
    if not kind.filters:
        return refused("unknown_filter", f"{kind.name} cannot be filtered. Ask for it without a filter.")
    filters = checked_filters(workspace, space, kind, arguments)
    if isinstance(filters, ToolResult):
        return filters
    if filters:
        return place(workspace, space, kind, filters, arguments.get("title"))
    field = arguments.get("filter_by") or kind.filters[0]
    if field not in kind.filters:
        field = kind.filters[0]
    options = filter_options(workspace, space, kind, field)
    if not options:
        return refused("no_values", f"{kind.name} has no data to filter in {space.name}.")
    return lacking(
        "add_filtered_component", arguments, field, f"Which {FILTER_LABELS[field]} for {kind.name}?", options
    )


_KIND_PARAMETERS = {
    "integration": text_parameter("The integration it belongs to", tuple(source.value for source in Source)),
    "component": text_parameter("The kind of component", tuple(kind.kind for kind in KINDS)),
    "title": text_parameter("A title of its own, if the person asked for one"),
}

COMPONENT_TOOLS = (
    Tool("add_component", "Add an unfiltered component to the current space.", _KIND_PARAMETERS, add_component),
    Tool(
        "add_filtered_component",
        "Add a component narrowed to one repository, author, status, label, channel, event or environment.",
        _KIND_PARAMETERS
        | {"filter_by": text_parameter("The field to filter by when its value is not known yet", FILTER_FIELDS)}
        | {field: text_parameter(f"Only this {label}") for field, label in FILTER_LABELS.items()},
        add_filtered_component,
    ),
)
