"""Drafts of two real agents: the right agent passes however it words its answers, and planted bugs do not."""

from __future__ import annotations

import pytest

from carob.features.draft.draft import SuiteDraft
from features.draft.agents import SUBJECTS, Subject, drafted, failing

CAUGHT = 0.85
NOT_SEEN = {
    "dyno": {},
    "canvas": {
        "an-hour-off": "no tool and no page shows the hours that it lists",
        "stale-numbers-in-json": "yesterday's number is a number that was seen",
    },
}
"""Bugs that a draft lets pass, and why."""


@pytest.fixture(scope="module", params=SUBJECTS)
def agent(request: pytest.FixtureRequest) -> tuple[str, Subject, SuiteDraft]:
    subject = SUBJECTS[request.param]
    return request.param, subject, drafted(subject)


@pytest.mark.thorough
@pytest.mark.limit(600)
def test_other_phrasings_pass(agent: tuple[str, Subject, SuiteDraft], monkeypatch: pytest.MonkeyPatch) -> None:
    _, subject, draft = agent
    subject.rephrase(monkeypatch.setattr)
    assert failing(draft, subject, repeat=20) == {}


@pytest.mark.thorough
@pytest.mark.limit(600)
def test_planted_bugs_are_caught(agent: tuple[str, Subject, SuiteDraft]) -> None:
    name, subject, draft = agent
    missed = []
    for bug, plant in subject.bugs.items():
        with pytest.MonkeyPatch.context() as patched:
            plant(patched.setattr)
            missed += [] if failing(draft, subject) else [bug]
    assert len(subject.bugs) >= 15
    assert missed == [*NOT_SEEN[name]]
    assert len(missed) <= (1 - CAUGHT) * len(subject.bugs)
