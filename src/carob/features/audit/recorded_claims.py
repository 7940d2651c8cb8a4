"""Which recorded sentences claim an effect, which nearly do and which do not: to see what the words of a suite miss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
import regex
from msgspec import Struct

from carob.checks.effects.claims import NoFalseSuccess, lines_to_add
from carob.errors import UsageError
from carob.model.run import CaseRecord
from carob.model.suite import Case
from carob.plugins.project import Project
from carob.text.prose.claims import claims
from carob.text.prose.sentences import prose, sentences
from carob.text.words import WordLists

ENDING = regex.compile(r"(?:led|[ei]?ed|d)\Z")
SHORTEST_STEM = 3
Effects = Mapping[str, Sequence[str]]


class ClaimSentence(Struct, frozen=True):
    """A sentence of an answer: whether it is a claim, and the declared wording that it has or nearly has."""

    case_id: str
    repeat: int
    turn: int
    kind: Literal["claim", "nearly", "not"]
    text: str
    wording: str = ""
    tools: tuple[str, ...] = ()


def read_claims(records: Iterable[CaseRecord], project: Project) -> Iterator[ClaimSentence]:
    """The sentences of all answers, in order. Raises UsageError if neither a case nor carob.toml declares effects."""
    is_declared = bool(project.effects)
    for record in records:
        effects, words = _read_effects(record.case) or (project.effects, project.words)
        is_declared = is_declared or bool(effects)
        for number, turn in enumerate(record.trace.turns or (record.trace,), 1):
            for kind, text, wording, tools in _read_answer(turn.final_message, effects, WordLists.of(words)):
                yield ClaimSentence(record.case.id, record.repeat, number, kind, text, wording, tools)
    if not is_declared:
        raise UsageError(f"{lines_to_add()}.", slug="no-effects")


def _read_effects(case: Case) -> tuple[Effects, Mapping[str, Sequence[str]]] | None:
    """The effects and word lists that are recorded with a case."""
    for _, spec in case.all_checks:
        if spec.name == NoFalseSuccess.name:
            args = msgspec.json.decode(spec.args)
            return args.get("effects", {}), args.get("words", {})
    return None


def _read_answer(
    text: str, effects: Effects, words: WordLists
) -> Iterator[tuple[Literal["claim", "nearly", "not"], str, str, tuple[str, ...]]]:
    answer, found = prose(text), claims(text, effects, words)
    near = [(wording, tool, _stem_pattern(wording)) for tool, wordings in effects.items() for wording in wordings]
    for sentence in sentences(answer, words):
        start, end = answer.written_span(sentence.start, sentence.end)
        written = " ".join(text[start:end].split())
        claimed = next((claim for claim in found if start <= claim.span[0] < end), None)
        if claimed:
            yield "claim", written, claimed.wording, claimed.tools
        elif hit := next((entry for entry in near if entry[2].search(sentence.text)), None):
            yield "nearly", written, hit[0], (hit[1],)
        else:
            yield "not", written, "", ()


def _stem_pattern(wording: str) -> regex.Pattern[str]:
    """What finds a wording in another form or place: `refunded` in "was refunded", "your refund" and "refunding"."""
    small = " ".join(wording.lower().split())
    stem = ENDING.sub("", small) if " " not in small else small
    if len(stem) < SHORTEST_STEM:
        stem = small
    return regex.compile(rf"(?<!\w){regex.escape(stem)}\w*")
