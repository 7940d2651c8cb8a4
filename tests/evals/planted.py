"""The canvas app with one bug planted: `python planted.py BUG --port N`. The app itself has no switch for this."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

from canvas_app.__main__ import main
from canvas_app.brain import rule_based
from canvas_app.brief import compose
from canvas_app.catalog import SOURCE_NAMES, ComponentKind, Source
from canvas_app.records import BriefState, Component, Space
from canvas_app.signals import facts, report
from canvas_app.signals.report import Signals, SourceReport
from canvas_app.store.components import Components
from canvas_app.store.workspace import Workspace
from canvas_app.synthesis import answer
from canvas_app.tools import components
from canvas_app.tools.base import Arguments, ToolResult, done
from canvas_app.web import cards, render
from canvas_app.wording import age_text


def claims_success() -> None:
    """Adding a card is told and logged as a success, and nothing is added."""
    placed = components.place

    def place(
        workspace: Workspace, space: Space, kind: ComponentKind, filters: Arguments, title: str | None
    ) -> ToolResult:
        if components.same_card(workspace, space, kind, filters) is not None:
            return placed(workspace, space, kind, filters, title)
        card = Component(99, space.id, kind, filters, title)
        shown = facts.fact(report.read_source(workspace, space, kind.source))
        said = f"Added {card.name} to {space.name}. {SOURCE_NAMES[kind.source]} now: {shown}."
        return done(said, component=components.describe(card, space))

    components.place = place


def yesterdays_numbers() -> None:
    """The brief tells yesterday's numbers as today's."""
    measured = compose.measure

    def stale(found: SourceReport) -> SourceReport:
        before = {key.replace("yesterday", "today"): n for key, n in found.numbers.items() if key.endswith("yesterday")}
        return replace(found, numbers={**found.numbers, **before})

    compose.measure = lambda workspace, space: Signals(tuple(map(stale, measured(workspace, space).reports)))


def missing_control() -> None:
    """The brief has no way to lower its priority."""
    shown = render.override_controls

    def fewer(state: BriefState) -> tuple[object, ...]:
        return tuple(control for control in shown(state) if control.id != "lower_priority")

    render.override_controls = fewer


def slack_dropped() -> None:
    """No answer across sources looks at Slack."""
    viewed = report.sources_in_view
    report.sources_in_view = lambda wanted=(): tuple(s for s in viewed(wanted) if s is not Source.SLACK)


def old_evidence() -> None:
    """The brief's evidence is four hours older than it may be, and taken as fresh."""
    told = compose.fact

    def older(found: SourceReport) -> str:
        minutes = found.age_minutes or 0
        return told(found).replace(age_text(minutes), age_text(minutes + 240))

    compose.fact = older


def forbidden_phrase() -> None:
    """Recommendations end in a reassurance that nobody may give."""
    recommended = answer.recommendation
    answer.recommendation = lambda signals, request: f"{recommended(signals, request)} All is calm."


def crash_in_mid_stream() -> None:
    """The brain breaks while it writes a brief."""
    pieces = rule_based.answer_pieces

    def some(text: str) -> Iterator[str]:
        for number, piece in enumerate(pieces(text)):
            if number == 3 and "Today's Mission" in text:
                raise RuntimeError("out of ink")
            yield piece

    rule_based.answer_pieces = some


def cards_without_data() -> None:
    """Every card shows the same wrong number, no rows and no chart."""
    for kind in cards.BODIES:
        cards.BODIES[kind] = lambda view: cards.Body(stats=(cards.Stat("Open", "999"),))


def wrong_brief_on_the_canvas() -> None:
    """The canvas shows another brief than the words and the log tell."""
    composed = render.compose_brief

    def wrong(workspace: Workspace, space: Space, state: BriefState) -> compose.Brief | None:
        brief = composed(workspace, space, state)
        if brief is None:
            return None
        weighed = tuple(replace(item, text="0 of everything (99 days ago)") for item in brief.evidence)
        return replace(brief, levers=("Do nothing",) * len(brief.levers), evidence=weighed)

    render.compose_brief = wrong


def deaf_canvas() -> None:
    """Moves are told and not made, filters are named and not used, and the canvas's buttons do nothing."""
    Components.move = lambda self, component, to_front: self.touch(component)
    cards._passes = lambda event, filters: True
    shown = render.Renderer.canvas

    def deaf(self: render.Renderer, workspace: Workspace, space: Space) -> str:
        html = shown(self, workspace, space)
        return re.sub(r'data-tool="generate_brief" data-arguments="\{&|data-tool="remove_component"', "&", html)

    render.Renderer.canvas = deaf


BUGS: dict[str, Callable[[], None]] = {
    bug.__name__.replace("_", "-"): bug
    for bug in (
        claims_success,
        yesterdays_numbers,
        missing_control,
        slack_dropped,
        old_evidence,
        forbidden_phrase,
        crash_in_mid_stream,
        cards_without_data,
        wrong_brief_on_the_canvas,
        deaf_canvas,
    )
}


if __name__ == "__main__":
    BUGS[sys.argv[1]]()
    sys.exit(main(sys.argv[2:]))
