"""The workspace as JSON, for whoever wants to compare words with data."""

from canvas_app.catalog import SOURCE_NAMES
from canvas_app.signals.report import read_source
from canvas_app.store.workspace import Workspace
from canvas_app.tools.components import describe


def state_of(workspace: Workspace) -> dict[str, object]:
    space = workspace.spaces.current()
    reports = [read_source(workspace, space, source) for source in SOURCE_NAMES]
    pending = workspace.conversation.pending()
    return {
        "session": workspace.session,
        "now": workspace.clock().isoformat(),
        "space": {"name": space.name, "slug": space.slug, "project": space.project},
        "spaces": [known.name for known in workspace.spaces.all()],
        "components": [describe(component, space) for component in workspace.components.on(space)],
        "rules": [{"kind": rule.kind, "value": rule.value, "text": rule.text} for rule in workspace.rules.all()],
        "pending": {"tool": pending.tool, "field": pending.field} if pending else None,
        "signals": {
            report.source.value: {
                "state": report.state.value,
                "age_minutes": report.age_minutes,
                "numbers": dict(report.numbers),
            }
            for report in reports
        },
    }
