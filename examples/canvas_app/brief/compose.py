"""From signals and decisions to a brief."""

from dataclasses import dataclass

from canvas_app.brief.missions import Mission, ranked_missions
from canvas_app.catalog import OBJECTIVES
from canvas_app.records import BriefState, Space
from canvas_app.signals.facts import assumption, fact
from canvas_app.signals.report import Signals, SourceReport, measure
from canvas_app.store.workspace import Workspace
from canvas_app.wording import counted, listed

DEFAULT_LEVERS = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    source: str
    text: str
    state: str
    age_minutes: int | None


@dataclass(frozen=True, slots=True)
class Brief:
    mission: str
    mission_id: str
    objective: str
    why: str
    levers: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    assumptions: tuple[str, ...]
    confidence: str
    confidence_reason: str


def confidence_of(missing: int) -> str:
    """High when every source is fresh, medium when one is not, else low."""
    return "high" if missing == 0 else "medium" if missing == 1 else "low"


def _why(mission: Mission, others: list[Mission]) -> str:
    supports = [other.why for other in others if other.objective == mission.objective] or [o.why for o in others[:1]]
    backed = f", backed by the fact that {supports[0]}" if supports else ""
    return f"Because {mission.why}{backed}."


def _evidence(report: SourceReport) -> Evidence:
    return Evidence(report.name, fact(report), report.state.value, report.age_minutes)


def _confidence_reason(signals: Signals) -> str:
    total, fresh = len(signals.reports), len(signals.fresh)
    if fresh == total:
        return f"all {counted(total, 'source')} are fresh"
    missing = listed(f"{report.name} is {report.state.value}" for report in signals.doubtful)
    return f"{fresh} of {counted(total, 'source')} are fresh; {missing}"


def lever_limit(workspace: Workspace, state: BriefState) -> int:
    kept = workspace.rules.value("max_levers")
    return state.levers or (int(kept) if kept else DEFAULT_LEVERS)


def chosen_objective(workspace: Workspace, state: BriefState) -> str | None:
    return state.objective or workspace.rules.value("objective")


def compose_brief(workspace: Workspace, space: Space, state: BriefState) -> Brief | None:
    """The brief of this moment, or nothing when no source is fresh."""
    signals = measure(workspace, space)
    objective = chosen_objective(workspace, state)
    missions = ranked_missions(signals, objective, state.lowered)
    if not missions:
        return None
    mission, others = missions[0], missions[1:]
    return Brief(
        mission=mission.framings[state.framing % len(mission.framings)],
        mission_id=mission.id,
        objective=OBJECTIVES[mission.objective],
        why=_why(mission, others),
        levers=tuple(candidate.lever for candidate in missions[: lever_limit(workspace, state)]),
        evidence=tuple(_evidence(report) for report in signals.reports),
        assumptions=tuple(assumption(report) for report in signals.doubtful),
        confidence=confidence_of(len(signals.doubtful)),
        confidence_reason=_confidence_reason(signals),
    )


def brief_text(brief: Brief) -> str:
    """The brief as the assistant writes it. Its controls are on the page, not in the words."""
    lines = ["Today's Mission", f"{brief.mission}.", "", "Why It Matters Now", brief.why, "", "Top Levers"]
    lines += [f"{number}. {lever}" for number, lever in enumerate(brief.levers, start=1)]
    lines += ["", "Evidence"]
    lines += [f"- {evidence.source}: {evidence.text}" for evidence in brief.evidence]
    lines += ["", "Assumptions & Confidence", f"{brief.confidence.capitalize()} confidence: {brief.confidence_reason}."]
    lines += [f"ASSUMPTION {number}: {text}" for number, text in enumerate(brief.assumptions, start=1)]
    if not brief.assumptions:
        lines.append("Assumed: nothing beyond what the sources show.")
    return "\n".join(lines)
