"""Turning a workspace into HTML, whole or in parts."""

from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from canvas_app.brief.compose import compose_brief
from canvas_app.brief.overrides import awake, override_controls
from canvas_app.catalog import SOURCE_NAMES
from canvas_app.records import Message, Space
from canvas_app.signals.report import read_source
from canvas_app.store.workspace import Workspace
from canvas_app.web.cards import cards_on
from canvas_app.web.lines import lines_of
from canvas_app.wording import age_text, day_text

TEMPLATES = Path(__file__).parent.parent / "templates"

SUGGESTIONS = ("Give me the Morning Brief", "Add Slack mentions", "Are we ready to launch?")


def template_environment() -> Environment:
    """Everything is escaped, and a name that a template misses is an error."""
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"lines": lines_of, "age": age_text}
    return environment


class Renderer:
    def __init__(self, brain: str) -> None:
        self._environment = template_environment()
        self._brain = brain

    def _html(self, template: str, values: Mapping[str, object]) -> str:
        return self._environment.get_template(template).render(**values)

    def canvas(self, workspace: Workspace, space: Space) -> str:
        state = awake(workspace.spaces.brief(space), workspace.clock())
        until = state.snoozed_until
        return self._html(
            "canvas.html",
            {
                "space": space,
                "day": day_text(workspace.clock()),
                "time": f"{workspace.clock():%H:%M}",
                "cards": cards_on(workspace, space),
                "brief_shown": state.shown,
                "brief": compose_brief(workspace, space, state) if state.shown else None,
                "snoozed_until": f"{day_text(until)}, {until:%H:%M}" if until else None,
                "controls": override_controls(state),
            },
        )

    def sidebar(self, workspace: Workspace, space: Space, query: str) -> str:
        reports = [read_source(workspace, space, source) for source in SOURCE_NAMES]
        values = {
            "spaces": workspace.spaces.all(),
            "space": space,
            "reports": reports,
            "rules": workspace.rules.all(),
            "brain": self._brain,
            "query": query,
        }
        return self._html("sidebar.html", values)

    def message(self, message: Message) -> str:
        return self._html("message.html", {"message": message})

    def picker(self, workspace: Workspace) -> str:
        return self._html("picker.html", {"pending": workspace.conversation.pending()})

    def parts(self, workspace: Workspace, query: str) -> dict[str, str]:
        """What can change on the page after a turn or a switch."""
        space = workspace.spaces.current()
        return {
            "canvas": self.canvas(workspace, space),
            "sidebar": self.sidebar(workspace, space, query),
            "picker": self.picker(workspace),
            "space": space.slug,
            "title": f"{space.name} – Canvas",
        }

    def page(self, workspace: Workspace, query: str) -> str:
        messages = "".join(self.message(message) for message in workspace.conversation.messages())
        values = {
            **self.parts(workspace, query),
            "session": workspace.session,
            "messages": messages,
            "suggestions": SUGGESTIONS,
            "query": query,
        }
        return self._html("page.html", values)

    def not_found(self, what: str) -> str:
        return self._html("not_found.html", {"what": what})
