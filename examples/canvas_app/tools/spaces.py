"""Tools for spaces and templates."""

from canvas_app.catalog import SOURCE_NAMES, TEMPLATES, Template, kind_called
from canvas_app.records import Option, Space
from canvas_app.store.workspace import Workspace
from canvas_app.tools.base import Arguments, Tool, ToolResult, done, lacking, refused, text_parameter
from canvas_app.tools.components import same_card
from canvas_app.wording import clipped, listed

NAME_LIMIT = 40
MAX_SPACES = 30


def create_space(workspace: Workspace, arguments: Arguments) -> ToolResult:
    name = clipped(arguments.get("name", ""), NAME_LIMIT)
    if not name:
        return lacking("create_space", arguments, "name", "What shall the new space be called?")
    if workspace.spaces.named(name) is not None:
        return refused("already_there", f"There is a space of that name already. Say “switch to {name}” to open it.")
    if len(workspace.spaces.all()) >= MAX_SPACES:
        return refused("too_many_spaces", f"There are {MAX_SPACES} spaces already, which is the limit.")
    origin = workspace.spaces.current()
    space = workspace.spaces.create(name, origin.project)
    for source in SOURCE_NAMES:
        workspace.spaces.switch(space, source, workspace.spaces.is_on(origin, source))
    workspace.spaces.enter(space)
    return done(f"Created the space {space.name} and opened it. It is empty so far.", space=_told(space))


def switch_space(workspace: Workspace, arguments: Arguments) -> ToolResult:
    name = arguments.get("name", "")
    spaces = workspace.spaces.all()
    if not name:
        here = workspace.spaces.current()
        options = tuple(Option(space.name, {"name": space.name}) for space in spaces if space != here)
        return lacking("switch_space", arguments, "name", "Which space shall I open?", options)
    space = workspace.spaces.named(name)
    if space is None:
        return refused("unknown_space", f"There is no such space. You have {listed(space.name for space in spaces)}.")
    workspace.spaces.enter(space)
    cards = listed(card.name for card in workspace.components.on(space)) or "nothing yet"
    return done(f"You are in {space.name} now. On it: {cards}.", space=_told(space))


def _told(space: Space) -> dict[str, str]:
    return {"name": space.name, "slug": space.slug}


def template_called(name: str) -> Template | None:
    wanted = name.casefold().removesuffix(" template").strip()
    return next(
        (template for template in TEMPLATES if wanted in (template.name.casefold(), *_short_names(template))), None
    )


def _short_names(template: Template) -> tuple[str, ...]:
    return tuple(template.name.casefold().split())


def apply_template(workspace: Workspace, arguments: Arguments) -> ToolResult:
    name = arguments.get("template", "")
    if not name:
        options = tuple(Option(template.name, {"template": template.name}) for template in TEMPLATES)
        return lacking("apply_template", arguments, "template", "Which template?", options)
    template = template_called(name)
    if template is None:
        known = listed(template.name for template in TEMPLATES)
        return refused("unknown_template", f"There is no such template. I know {known}.")
    space = workspace.spaces.current()
    added, kept, skipped = [], [], []
    for source, kind_name in template.kinds:
        kind = kind_called(source.value, kind_name)
        if not workspace.spaces.is_on(space, source):
            skipped.append(kind.name)
        elif same_card(workspace, space, kind, {}) is not None:
            kept.append(kind.name)
        else:
            added.append(workspace.components.add(space, kind, {}).name)
    if skipped and not added and not kept:
        return refused("integration_off", f"Every integration of {template.name} is switched off in {space.name}.")
    told = [f"added {listed(added)}"] if added else []
    told += (
        [f"left {listed(kept)} as it was" if len(kept) == 1 else f"left {listed(kept)} as they were"] if kept else []
    )
    told += [f"skipped {listed(skipped)}, because the integration is switched off"] if skipped else []
    message = f"Applied {template.name} to {space.name}: {'; '.join(told)}."
    return done(message, template=template.name, added=added, kept=kept, skipped=skipped)


SPACE_TOOLS = (
    Tool("create_space", "Create a space and open it.", {"name": text_parameter("Its name")}, create_space),
    Tool("switch_space", "Open another space.", {"name": text_parameter("The name of the space")}, switch_space),
    Tool(
        "apply_template",
        "Add the components of a template to the current space.",
        {"template": text_parameter("The template", tuple(template.name for template in TEMPLATES))},
        apply_template,
    ),
)
