"""Requests for an answer across sources."""

import re

from canvas_app.brain.language.lexicon import sources_in, strangers_in
from canvas_app.brain.language.preferences import objective_in
from canvas_app.brain.language.steps import Synthesis
from canvas_app.brain.language.text import either
from canvas_app.signals.metrics import window_in
from canvas_app.synthesis.answer import Request, sources_asked
from canvas_app.synthesis.wishes import read_wishes

_ACROSS = re.compile(
    r"\b"
    + either(r"""
        risks?|risky|synthesi[sz]e|synthesis|summari[sz]e|summary|overview|overall|across|big picture
        compare|comparison|contrast|assess|assessment|analy[sz]e|analysis|cross[- ]check|correlate|connect the dots
        conflict\w*|contradict\w*|disagree\w*|agree|tension|weigh|trust\w*|signals?
        what(?:'s| is) (?:going on|happening|up|new|the (?:state|status|situation|picture))|what(?:'s| has)? changed
        state of (?:things|play|the \w+)|status (?:report|update|check)|health check|catch me up|where do we stand
        how (?:is|are) (?:we|things|it|the \w+|everything) (?:doing|going|looking)
        how(?:'s| is) (?:it|everything|the \w+) (?:going|looking|doing)|how (?:sure|confident) are you
        recommend\w*|advise|should (?:we|i)|go/no-go|(?:ready|safe|ok|okay|fine) to (?:ship|launch|deploy|release|go)
        anything (?:on fire|wrong|urgent|broken|to worry|i should)|worr(?:y|ied)
        what (?:do|does|did) .+ (?:say|tell|show)|put .+ together
    """)
    + r"\b",
    re.I,
)
_RISK = re.compile(r"\brisk\w*\b", re.I)
_CONFLICT = re.compile(
    r"\b(?:conflict\w*|contradict\w*|disagree\w*|agree|tension|against each other|trust|weigh)\b", re.I
)
_ASSUMPTIONS = re.compile(
    r"\b(?:assumptions?|assume|assuming|uncertain\w*|unsure|not sure|missing data|caveats?|confidence|confident|"
    r"stale|label)\b",
    re.I,
)
_GO = re.compile(
    r"\bshould (?:we|i) (?:ship|launch|deploy|release|go|wait|hold|roll)|\b(?:ready|safe|ok|okay|fine) to (?:ship|"
    r"launch|deploy|release|go)|\bgo/no-go\b",
    re.I,
)


def asks_across(text: str) -> bool:
    return _ACROSS.search(text) is not None or read_wishes(text).any


def has_layout(message: str) -> bool:
    """Whether the message prescribes the form of an answer, which no command does."""
    wishes = read_wishes(message)
    return bool(wishes.scores or wishes.sections or wishes.shapes or wishes.as_json)


def read_across(message: str) -> Synthesis:
    wishes = read_wishes(message)
    request = Request(
        wishes=wishes,
        window=window_in(message),
        strangers=strangers_in(message),
        wants_risk=_RISK.search(message) is not None,
        wants_conflicts=_CONFLICT.search(message) is not None,
        wants_assumptions=_ASSUMPTIONS.search(message) is not None,
        wants_go_decision=_GO.search(message) is not None,
        objective=objective_in(message) if re.search(r"\bobjective|\bfocus on|\bpriorit", message, re.I) else None,
    )
    return Synthesis(request, sources_asked(sources_in(message), wishes.shapes))
