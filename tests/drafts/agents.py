"""The agents that drafts are made of, with other phrasings of their answers, and bugs to plant."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import karat
from canvas_app.in_process import answer
from canvas_app.brain import rule_based as canvas_rules
from drafts import dyno_bugs
from karat.drafts.draft import SuiteDraft
from karat.model.verdict import CaseStatus
from karat.targets.config import TargetConfig
from recordings import ROOT, shipped

sys.path.append(str(Path(__file__).parents[1] / "examples" / "canvas_app"))
import canvas_bugs

OPENINGS = ("", "Sure. ", "Here you are. ", "Of course! ", "As asked: ", "Right away. ")
CLOSINGS = ("", " That is all.", " Let me know how it goes.", " Have a good day!", " Thank you for asking.")
DYNO_PROMPTS = (
    "Book vehicle 42 for a brake test on 2026-03-20.",
    "Allocate vehicle 21 for a brake test from 2026-04-01 to 2026-04-02.",
    "Is vehicle 3 already booked?",
    "Delete all allocations.",
    "Book vehicle 1 for a test on 2026-04-01.",
    "Allocate vehicle 999 for a brake test from 2026-04-01 to 2026-04-02.",
    "Which dynos are free for an AWD vehicle of 4800 lbs on 2026-12-01?",
    "Which tests are running?",
    "Is DYNO-07 in maintenance on 2026-03-15?",
)
CANVAS_PROMPTS = (
    "Add my GitHub activity",
    "Add Vercel build health",
    "Add GitHub pull requests for atlas-web",
    "Add PostHog signups and Slack mentions and Vercel build health",
    "Create a space called Incident Room and add Slack mentions",
    "Add Slack mentions to Launch Week",
    "Remove everything",
    "Apply the Marketing template",
    "Add GitHub pull requests",
    "Delete the production database",
    "How many pull requests are waiting for my review?",
    "Compare GitHub and Vercel as JSON",
    "Summarize GitHub and Slack in one sentence",
    "From now on, data older than 45 minutes is stale",
    "Add a Slack component",
)
NOT_IN_PROCESS = ("thinks-for-a-minute", "draws-nothing", "reads-every-rule")
"""Bugs of the canvas app that are slow, that only a page shows, or that are none."""


class Subject(NamedTuple):
    """An agent, what it is asked, how its answers are put otherwise, and what can be wrong with it."""

    target: Any
    prompts: tuple[str, ...]
    rephrase: Callable[[Callable[[object, str, Any], None]], None]
    bugs: Mapping[str, Callable[[Callable[[object, str, Any], None]], None]]


def _otherwise(said: str, number: int) -> str:
    if said.startswith(("{", "`")):
        return said
    return f"{OPENINGS[number % len(OPENINGS)]}{said}{CLOSINGS[number % len(CLOSINGS)]}"


def _rephrase_dyno(plant: Callable[[object, str, Any], None]) -> None:
    numbers = count()
    dyno_bugs._words(plant, lambda said, done: _otherwise(said, next(numbers)))


def _rephrase_canvas(plant: Callable[[object, str, Any], None]) -> None:
    numbers, right = count(), canvas_rules.answer_pieces
    plant(canvas_rules, "answer_pieces", lambda text: right(_otherwise(text, next(numbers))))


def dyno() -> TargetConfig:
    return shipped("dyno")


SUBJECTS = {
    "dyno": Subject(dyno(), DYNO_PROMPTS, _rephrase_dyno, dyno_bugs.BUGS),
    "canvas": Subject(
        answer,
        CANVAS_PROMPTS,
        _rephrase_canvas,
        {name: bug for name, bug in canvas_bugs.BUGS.items() if name not in NOT_IN_PROCESS},
    ),
}


def drafted(subject: Subject, repeat: int = 10) -> SuiteDraft:
    return karat.draft(
        target=subject.target, prompts=subject.prompts, repeat=repeat, allow_effects=True, workers=0, concurrency=4
    )


def failing(draft: SuiteDraft, subject: Subject, repeat: int = 1) -> dict[str, str]:
    """The cases that do not pass, with the reason."""
    result = karat.run(draft.yaml, subject.target, workers=0, concurrency=4, repeat=repeat)
    found = {}
    for record in result.records:
        if record.status is not CaseStatus.PASS:
            bad = [check for check in record.verdict.checks if check.status != "passed"]
            found[record.case.id] = f"{bad[0].name}: {bad[0].found}" if bad else record.verdict.reason
    return found


assert ROOT
