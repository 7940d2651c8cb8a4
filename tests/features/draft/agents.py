"""The agents that drafts are made of, with other phrasings of their answers, and bugs to plant."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import carob
from canvas_app.brain import rule_based as canvas_rules
from canvas_app.in_process import answer
from carob.features.draft.draft import SuiteDraft
from carob.model.verdict import CaseStatus
from features.draft import dyno_bugs
from recordings import ROOT, shipped

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
CANVAS_SUITE = ROOT / "examples" / "canvas_app" / "suite.yaml"
CANVAS_BUGS = runpy.run_path(str(ROOT / "tests" / "examples" / "canvas_bugs.py"))["BUGS"]
NOT_IN_PROCESS = ("thinks-for-a-minute", "draws-nothing")
"""Bugs of the canvas app that take a minute, or that only a page shows."""
NOT_BUGS = ("reads-every-rule", "chatty", "curt")
"""A better reading, and other phrasings of right answers: a draft must let them pass."""


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


SUBJECTS = {
    "dyno": Subject(shipped("dyno"), DYNO_PROMPTS, _rephrase_dyno, dyno_bugs.BUGS),
    "canvas": Subject(
        answer,
        (),
        _rephrase_canvas,
        {name: bug for name, bug in CANVAS_BUGS.items() if name not in NOT_IN_PROCESS + NOT_BUGS},
    ),
}


def drafted(subject: Subject, repeat: int = 10) -> SuiteDraft:
    """A draft of what the agent does when it is asked, or of recorded runs of its own suite."""
    if subject.prompts:
        how: dict[str, Any] = {"allow_effects": True, "workers": 0, "concurrency": 4}
        return carob.draft(target=subject.target, prompts=subject.prompts, repeat=repeat, **how)
    with TemporaryDirectory() as folder:
        carob.run(CANVAS_SUITE, subject.target, repeat=repeat, concurrency=4, results_dir=folder)
        return carob.draft(folder)


def failing(draft: SuiteDraft, subject: Subject, repeat: int = 1) -> dict[str, str]:
    """The cases that do not pass, with the reason."""
    result = carob.run(draft.yaml, subject.target, workers=0, concurrency=4, repeat=repeat)
    answers = {}
    for record in result.records:
        if record.status is not CaseStatus.PASS:
            bad = [check for check in record.verdict.checks if check.status != "passed"]
            answers[record.case.id] = f"{bad[0].name}: {bad[0].found}" if bad else record.verdict.reason
    return answers
