"""One answer across sources, in the form that the request asks for."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from canvas_app.brief.compose import confidence_of
from canvas_app.brief.missions import ranked_missions
from canvas_app.catalog import Source
from canvas_app.signals.facts import assumption, fact_line
from canvas_app.signals.metrics import metric_for, metrics_in
from canvas_app.signals.report import Signals, SourceReport, State
from canvas_app.synthesis.conflicts import conflicts_in
from canvas_app.synthesis.risk import risk_reasons, risk_score
from canvas_app.synthesis.wishes import SECTION_WORDS, Wishes
from canvas_app.wording import age_text, counted, listed

NO_CONFLICT = "No conflicting signals: the sources agree."
NOT_ENOUGH = "Not enough data: no source is fresh, so I recommend nothing. Sync or switch on a source first."
HEALTH_LABELS = ("HEALTH", "READINESS", "LAUNCH", "STABILITY", "QUALITY")


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked: the form, the window, sources we do not have, and which extras the words call for."""

    wishes: Wishes
    window: str = "today"
    strangers: tuple[str, ...] = ()
    wants_risk: bool = False
    wants_conflicts: bool = False
    wants_assumptions: bool = False
    wants_go_decision: bool = False
    objective: str | None = None


def signal_line(report: SourceReport, request: Request) -> str:
    """The source's line: in the shape that was asked for, else with all its numbers."""
    if not request.wishes.shapes:
        return fact_line(report)
    if report.state in (State.OFF, State.EXCLUDED) or report.age_minutes is None:
        return f"{report.name}: no data"
    metric = metric_for(report.source, request.wishes.shapes.get(report.source, ""))
    age = f" ({age_text(report.age_minutes)})" if request.wishes.ages else ""
    return f"{report.name}: {metric.worded(metric.value(report, request.window))}{age}"


def assumption_lines(signals: Signals, request: Request) -> list[str]:
    texts = [assumption(report) for report in signals.doubtful]
    texts += [f"{name} is not connected here, so I cannot see it." for name in request.strangers]
    lines = [f"ASSUMPTION {number}: {text}" for number, text in enumerate(texts, start=1)]
    if not lines and request.wants_assumptions:
        lines.append("Assumptions: none needed, every source in this answer is fresh.")
    return lines


def confidence_line(signals: Signals, request: Request) -> str:
    asked = len(signals.reports) + len(request.strangers)
    level = confidence_of(len(signals.doubtful) + len(request.strangers)) if signals.fresh else "low"
    return f"{level.capitalize()} confidence: {len(signals.fresh)} of {counted(asked, 'source')} fresh."


def recommendation(signals: Signals, request: Request) -> str:
    missions = ranked_missions(signals, request.objective, ())
    if not missions:
        return NOT_ENOUGH
    first = missions[0]
    text = f"{first.framings[0]}, because {first.why}."
    if len(missions) > 1:
        text += f" Then: {missions[1].framings[0][0].lower()}{missions[1].framings[0][1:]}, because {missions[1].why}."
    return text


def go_decision(signals: Signals) -> str:
    score = risk_score(signals)
    if score is None:
        return "I cannot verify that it is safe: no source is fresh."
    reasons = listed(reason.text for reason in risk_reasons(signals)[:2])
    told = f"the risk is {score} of 100, driven by {reasons}" if reasons else f"the risk is {score} of 100"
    confidence = confidence_of(len(signals.doubtful))
    if confidence == "low" and score < 60:
        seen = f"{len(signals.fresh)} of {counted(len(signals.reports), 'source')}"
        return f"I cannot verify that it is safe: only {seen} can be relied on. By these {told}."
    verdict = "Not yet" if score >= 60 else "Yes" if score < 30 and confidence == "high" else "Yes, with care"
    return f"{verdict}: {told}."


def score_line(label: str, signals: Signals) -> str:
    score = risk_score(signals)
    if score is None:
        return f"{label}: unknown (not enough data)"
    if label in ("RISK_SCORE", "SCORE"):
        return f"{label}: {score}"
    if label.startswith("CONFIDENCE"):
        return f"{label}: {len(signals.fresh) * 100 // len(signals.reports)}"
    if label.startswith(HEALTH_LABELS):
        return f"{label}: {100 - score}"
    return f"{label}: unknown (I can score risk, health, readiness and confidence)"


def score_labels(request: Request) -> tuple[str, ...]:
    return request.wishes.scores or (("RISK_SCORE",) if request.wants_risk else ())


def summary(signals: Signals, request: Request) -> str:
    """One sentence with one number of each source."""
    parts = []
    for report in signals.reports:
        metric = metric_for(report.source, request.wishes.shapes.get(report.source, ""))
        if report.fresh:
            words = metric.worded(metric.value(report, request.window))
            parts.append(f"{report.name} shows {words} {'this week' if request.window == 'week' else request.window}")
        else:
            parts.append(f"{report.name} is {report.state.value}")
    score = risk_score(signals)
    risk = "not enough data to score the risk" if score is None else f"the risk is {score} of 100"
    return f"{listed(parts)}; {risk}."


def _signals(signals: Signals, request: Request) -> list[str]:
    return [signal_line(report, request) for report in signals.reports]


def _risks(signals: Signals, request: Request) -> list[str]:
    return [f"- {reason.text} (+{reason.points})" for reason in risk_reasons(signals)] or ["- No risk stands out."]


def _conflicts(signals: Signals, request: Request) -> list[str]:
    return [f"- {text}" for text in conflicts_in(signals)] or [NO_CONFLICT]


def _assumptions(signals: Signals, request: Request) -> list[str]:
    lines = assumption_lines(signals, request) or ["None needed, every source in this answer is fresh."]
    return [*lines, confidence_line(signals, request)]


_SECTION_LINES: Mapping[str, Callable[[Signals, Request], list[str]]] = {
    "signals": _signals,
    "recommendation": lambda signals, request: [recommendation(signals, request)],
    "risks": _risks,
    "conflicts": _conflicts,
    "assumptions": _assumptions,
    "confidence": lambda signals, request: [confidence_line(signals, request)],
    "summary": lambda signals, request: [summary(signals, request)],
}


def _default_sections(signals: Signals, request: Request) -> tuple[str, ...]:
    conflicts = ("Conflicts",) if request.wants_conflicts or conflicts_in(signals) else ()
    return ("Signals", *conflicts, "Recommendation")


def _sectioned(signals: Signals, request: Request) -> str:
    labels = score_labels(request)
    blocks = [[score_line(label, signals) for label in labels]] if labels else []
    if request.wants_go_decision:
        blocks.append([go_decision(signals)])
    names = request.wishes.sections or _default_sections(signals, request)
    meanings = [SECTION_WORDS.get(name.casefold()) for name in names]
    for name, meaning in zip(names, meanings, strict=True):
        lines = _SECTION_LINES[meaning](signals, request) if meaning else ["No source here has data for this section."]
        blocks.append([name, *lines])
    if "assumptions" not in meanings and (closing := assumption_lines(signals, request)):
        blocks.append([*closing, confidence_line(signals, request)])
    return "\n\n".join("\n".join(block) for block in blocks)


def _bulleted(signals: Signals, request: Request, count: int) -> str:
    """Exactly so many bullets: sources first, joined where there are too few, the recommendation last."""
    sources = [signal_line(report, request) for report in signals.reports]
    further = [*conflicts_in(signals), *(f"Risk: {reason.text}" for reason in risk_reasons(signals))]
    room = count - 1
    if room == 0:
        bullets = [f"{summary(signals, request)} {recommendation(signals, request)}"]
    else:
        head = sources[: room - 1] if room < len(sources) else sources
        joined = [" | ".join(sources[room - 1 :])] if room < len(sources) else further[: room - len(sources)]
        bullets = [*head, *joined, f"Recommendation: {recommendation(signals, request)}"]
    scores = [score_line(label, signals) for label in score_labels(request)]
    return "\n".join([*scores, *(f"- {line}" for line in bullets), *assumption_lines(signals, request)])


def _as_json(signals: Signals, request: Request) -> str:
    return json.dumps(
        {
            "risk_score": risk_score(signals),
            "signals": {
                report.source.value: {"state": report.state.value, **report.numbers} for report in signals.reports
            },
            "conflicts": conflicts_in(signals),
            "recommendation": recommendation(signals, request),
            "assumptions": assumption_lines(signals, request),
            "confidence": confidence_line(signals, request),
        },
        indent=2,
        ensure_ascii=False,
    )


def _in_their_words(report: SourceReport, request: Request) -> str:
    """The source's line with the noun as the request spells it, where that names a number."""
    line, noun = signal_line(report, request), request.wishes.shapes.get(report.source, "")
    counts = any(metric.source is report.source for metric in metrics_in(noun))
    return re.sub(r"(: [\d,]+) [^(]*?(?= \(|$)", lambda found: f"{found[1]} {noun}", line) if counts else line


def _filled_in(signals: Signals, request: Request) -> str:
    """The form that was given with its numbers, and nothing else but what is not known."""
    reports = {report.source: report for report in signals.reports}
    present = [(reports[source], joint) for source, joint in request.wishes.joints if source in reports]
    form = "".join(f"{_in_their_words(report, request)}{joint}" for report, joint in present)
    return "\n".join([form, *assumption_lines(signals, request)])


def synthesize(signals: Signals, request: Request) -> str:
    if request.wishes.as_json:
        return _as_json(signals, request)
    if request.wishes.joints and not request.wishes.sections and not request.wishes.scores:
        return _filled_in(signals, request)
    if request.wishes.one_sentence and not request.wishes.sections:
        return "\n".join([summary(signals, request), *assumption_lines(signals, request)])
    if request.wishes.bullets and not request.wishes.sections:
        return _bulleted(signals, request, request.wishes.bullets)
    return _sectioned(signals, request)


def sources_asked(text_sources: tuple[Source, ...], shapes: Mapping[Source, str]) -> tuple[Source, ...]:
    """The sources that the words or the line shapes name, in the house order."""
    return tuple(source for source in Source if source in text_sources or source in shapes)
