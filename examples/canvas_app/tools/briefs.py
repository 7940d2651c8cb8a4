"""The tool that writes the Morning Brief and carries out what a person decides about it."""

from dataclasses import asdict, replace

from canvas_app.brief.compose import brief_text, compose_brief
from canvas_app.brief.overrides import OVERRIDE_IDS, awake, confirmation, decide
from canvas_app.catalog import OBJECTIVES
from canvas_app.records import BriefState, Option, Space
from canvas_app.store.workspace import Workspace
from canvas_app.tools.base import Arguments, Tool, ToolResult, done, lacking, refused, text_parameter
from canvas_app.wording import day_text, listed

MAX_LEVERS = 6


def _objective_options(current: str | None) -> tuple[Option, ...]:
    return tuple(Option(label, {"objective": key}) for key, label in OBJECTIVES.items() if key != current)


def _overridden(workspace: Workspace, space: Space, state: BriefState, arguments: Arguments) -> BriefState | ToolResult:
    override, objective = arguments["override"], arguments.get("objective")
    if override not in OVERRIDE_IDS:
        return refused("unknown_override", f"The brief cannot do that. It can {listed(OVERRIDE_IDS, 'or')}.")
    if not state.shown:
        return refused("no_brief", "There is no brief yet. Ask for the morning brief first.")
    if override == "different_objective" and objective is None:
        options = _objective_options(state.objective)
        return lacking("generate_brief", arguments, "objective", "Which objective shall the brief serve?", options)
    present = compose_brief(workspace, space, state)
    return decide(state, override, present.mission_id if present else None, objective, workspace.clock())


def _next_state(workspace: Workspace, space: Space, arguments: Arguments) -> BriefState | ToolResult:
    state = awake(workspace.spaces.brief(space), workspace.clock())
    objective = arguments.get("objective")
    if objective is not None and objective not in OBJECTIVES:
        return refused("unknown_objective", f"I know no such objective. It can be {listed(OBJECTIVES, 'or')}.")
    if arguments.get("override"):
        return _overridden(workspace, space, state, arguments)
    levers = arguments.get("levers")
    if levers is not None and not (levers.isdecimal() and 1 <= int(levers) <= MAX_LEVERS):
        return refused("unknown_value", f"A brief can have 1 to {MAX_LEVERS} levers.")
    return replace(
        state,
        shown=True,
        snoozed_until=None,
        objective=objective or state.objective,
        levers=int(levers) if levers else state.levers,
    )


def generate_brief(workspace: Workspace, arguments: Arguments) -> ToolResult:
    space = workspace.spaces.current()
    state = _next_state(workspace, space, arguments)
    if isinstance(state, ToolResult):
        return state
    brief = compose_brief(workspace, space, state)
    if brief is None:
        return refused("no_fresh_source", "I cannot write a brief: no source in this space has fresh data.")
    workspace.spaces.save_brief(space, state)
    override = arguments.get("override")
    if not override:
        return done(brief_text(brief), brief=asdict(brief))
    until = f"{day_text(state.snoozed_until)}, {state.snoozed_until:%H:%M}" if state.snoozed_until else None
    objective = OBJECTIVES[state.objective] if state.objective else ""
    said = confirmation(override, objective.lower(), brief.objective == objective, until)
    text = said if override == "snooze" else f"{said}\n\n{brief_text(brief)}"
    return done(text, override=override, brief=asdict(brief), snoozedUntil=until)


BRIEF_TOOLS = (
    Tool(
        "generate_brief",
        "Write the Morning Brief of the current space, or override the one that is shown.",
        {
            "objective": text_parameter("What the brief should serve", tuple(OBJECTIVES)),
            "levers": text_parameter("How many levers at most, 1 to 6"),
            "override": text_parameter("What to do about the shown brief", OVERRIDE_IDS),
        },
        generate_brief,
    ),
)
