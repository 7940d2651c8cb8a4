"""TRAIL: published traces of agents, the errors that people labelled in them, and what standing rules say.

The rules of `policies/trail.carob.yaml` were written from the traces and labels of one half: those whose name has an
even digest. The other half is judged here. A label and a verdict agree if both say it of a trace: rules see calls, and
labels are at calls of models.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import carob
from carob.judging.judges import ConversationJudge
from carob.rules.events import RuleOutcome

POLICY: Final = Path(__file__).parent / "policies" / "trail.carob.yaml"
LABELS: Final = {"GAIA": "processed_annotations_gaia", "SWE Bench": "processed_annotations_swe_bench"}
"""The folders of traces, and those of their labels."""
CATEGORIES: Final = {
    "arguments-are-known": "Formatting Errors",
    "learn-from-errors": "Resource Abuse",
    "no-streaks-of-failures": "Context Handling Failures",
    "look-before-you-answer": "Goal Deviation",
    "searches-find-something": "Poor Information Retrieval",
    "files-can-be-read": "Environment Setup Errors",
    "pages-may-be-seen": "Authentication Errors",
    "pages-are-there": "Resource Not Found",
}
"""The category of TRAIL that a rule was written for."""


class LabelledTrace(NamedTuple):
    """A trace, what people found in it, and what each rule says."""

    name: str
    categories: frozenset[str]
    outcomes: Mapping[str, RuleOutcome]


class TraceHalf(NamedTuple):
    """The traces of one half, and the files that are not there or cannot be read."""

    traces: list[LabelledTrace]
    unread: list[str]


def is_for_writing(name: str) -> bool:
    """Whether a trace is of the half that the rules were written from."""
    return sha256(name.encode()).digest()[0] % 2 == 0


def judge_half(clone: Path, *, for_writing: bool) -> TraceHalf:
    """Judge the traces of one half. A file without labels, or that is no JSON, is counted as not read."""
    judge = carob.prepare_judge(POLICY)
    assert isinstance(judge, ConversationJudge)
    half = TraceHalf([], [])
    for folder, labels in LABELS.items():
        below = clone / "benchmarking"
        for labelled in sorted((below / labels).glob("*.json")):
            if is_for_writing(labelled.stem) != for_writing:
                continue
            try:
                outcomes = _judge(judge, below / "data" / folder / labelled.name)
                half.traces.append(LabelledTrace(labelled.stem, _read_categories(labelled), outcomes))
            except (ValueError, carob.CarobError):
                half.unread.append(labelled.stem)
    return half


def _read_categories(path: Path) -> frozenset[str]:
    errors = json.loads(path.read_text(encoding="utf-8"))["errors"]
    return frozenset(str(error["category"]).strip().lower() for error in errors)


def _judge(judge: ConversationJudge, path: Path) -> Mapping[str, RuleOutcome]:
    """What each rule says of a trace. Raises ValueError if the file holds no conversation, or several."""
    [conversation] = carob.read_conversations(path)
    verdicts = judge.judge(conversation.trace, conversation.tags, conversation.metadata)
    return {verdict.rule: verdict.outcome for verdict in verdicts}


def agreement_lines(half: TraceHalf) -> Iterator[str]:
    """A row for each rule: how often it alarms, how many alarms are labelled, how many labels have an alarm."""
    yield f"{len(half.traces)} traces, {len(half.unread)} more cannot be read\n"
    yield "| rule | category | labelled | alarms | right | precision | recall | unknown, labelled of them |"
    yield "|---|---|---|---|---|---|---|---|"
    for rule, category in CATEGORIES.items():
        yield _agreement_row(rule, category, half.traces)
    labels = sum(len(trace.categories) for trace in half.traces)
    known = {category.lower() for category in CATEGORIES.values()}
    covered = sum(len(trace.categories & known) for trace in half.traces)
    alarms = [
        category.lower() in trace.categories
        for trace in half.traces
        for rule, category in CATEGORIES.items()
        if trace.outcomes[rule] is RuleOutcome.BROKEN
    ]
    yield f"\nOf {len(alarms)} alarms {sum(alarms)} are labelled. A label is a category of a trace: there are {labels},"
    yield f"and {covered} of them are of a category with a rule."


def _agreement_row(rule: str, category: str, traces: Sequence[LabelledTrace]) -> str:
    labelled = {trace.name for trace in traces if category.lower() in trace.categories}
    alarms = {trace.name for trace in traces if trace.outcomes[rule] is RuleOutcome.BROKEN}
    unknown = {trace.name for trace in traces if trace.outcomes[rule] is RuleOutcome.UNKNOWN}
    right = len(alarms & labelled)
    precision, recall = (f"{right / len(names):.2f}" if names else "–" for names in (alarms, labelled))
    return (
        f"| {rule} | {category} | {len(labelled)} | {len(alarms)} | {right} | {precision} | {recall} "
        f"| {len(unknown)}, {len(unknown & labelled)} |"
    )
