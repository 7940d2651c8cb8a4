"""What a message can refer to, gathered from the workspace."""

from canvas_app.brain.language.steps import Surroundings
from canvas_app.brief.overrides import awake
from canvas_app.catalog import Source
from canvas_app.store.workspace import Workspace

_FILTER_HOMES = {"repo": Source.GITHUB, "author": Source.GITHUB, "channel": Source.SLACK, "environment": Source.VERCEL}


def look_around(workspace: Workspace) -> Surroundings:
    space = workspace.spaces.current()
    return Surroundings(
        here=space.name,
        spaces=tuple(known.name for known in workspace.spaces.all()),
        cards=workspace.components.on(space),
        last_card=workspace.components.last_touched(space),
        values={field: workspace.recorded.values_of(space, source, field) for field, source in _FILTER_HOMES.items()},
        pending=workspace.conversation.pending(),
        brief_shown=awake(workspace.spaces.brief(space), workspace.clock()).shown,
    )
