"""Asking the judge: what is asked and how often is settled first, and each opinion is on disk when it is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from carob.criteria.decide import AskedCriterion
from carob.criteria.files import add_line, read_evidence
from carob.criteria.index import LabelIndex
from carob.criteria.records import Kind, Opinion, Pair
from carob.criteria.settings import JudgeSettings
from carob.features.labels.graders import UNREACHABLE, OpinionSource, RawAnswer
from carob.features.labels.items import LabelItem
from carob.features.labels.prompts import JudgeReply, read_reply, write_prompt
from carob.text.wording import pluralize

PROBES: Final[tuple[Kind, ...]] = ("again", "turned", "padded", "ordered")
PROBED: Final = 20
CANARIES: Final = 5
CHANGED: Final = 2
"""So many canaries that differ show that the judge is not the one that was tested."""
TRIES: Final = 2


class WantedOpinion(NamedTuple):
    """One opinion that is wanted."""

    question: AskedCriterion
    text: str
    kind: Kind


class AskPlan(NamedTuple):
    """What is asked now, what is left for another time, and the answers that were judged before and are asked again."""

    asks: list[WantedOpinion]
    left: int
    canaries: list[WantedOpinion]

    @property
    def requests(self) -> int:
        """How many requests it takes at most."""
        return (len(self.asks) + len(self.canaries)) * TRIES


def plan_asks(items: Mapping[Pair, LabelItem], index: LabelIndex, folder: Path, most: int) -> AskPlan:
    """What no label decides first, then what people labelled, the random queue first, and probes of some of that."""
    labelled = list(_pair_labels(items, index, folder))
    known = [WantedOpinion(*entry, "first") for entry in labelled if index.opinion(entry[0].pair) is not None]
    wanted = [
        WantedOpinion(item.question, item.text, "first") for pair, item in items.items() if not _is_decided(pair, index)
    ]
    wanted += [WantedOpinion(question, text, "first") for question, text in labelled]
    wanted += [WantedOpinion(question, text, kind) for question, text in labelled[:PROBED] for kind in PROBES]
    asks = {(ask.question.pair, ask.kind): ask for ask in wanted if index.opinion(ask.question.pair, ask.kind) is None}
    chosen = list(asks.values())
    return AskPlan(chosen[:most], max(len(chosen) - most, 0), known[:CANARIES])


def _is_decided(pair: Pair, index: LabelIndex) -> bool:
    said = {*index.verdicts(pair).values()}
    return said == {"met"} or said == {"not met"}


def _pair_labels(
    items: Mapping[Pair, LabelItem], index: LabelIndex, folder: Path
) -> Iterator[tuple[AskedCriterion, str]]:
    """The labelled answers of these criteria whose evidence was kept, those of the random queue first."""
    rules = {item.pair.criterion: item for item in items.values()}
    pairs = [pair for pair in index.labels if pair.criterion in rules]
    pairs.sort(key=lambda pair: (all(line.queue != "random" for line in index.labels[pair]), pair.evidence))
    for pair in pairs:
        item = rules[pair.criterion]
        evidence = items[pair].question.evidence if pair in items else read_evidence(folder, pair.evidence)
        if evidence is not None:
            question = item.question
            yield AskedCriterion(question.criterion, evidence, question.family, question.absence), item.text


class AskOutcome(NamedTuple):
    """What came of asking: opinions that were kept, and why others were not."""

    opinions: int
    reasons: Mapping[str, int]
    canaries: int
    changed: int
    left: int

    @property
    def is_trusted(self) -> bool:
        return self.changed < CHANGED

    def __str__(self) -> str:
        if not self.is_trusted:
            changed = f"{self.changed} of {self.canaries} answers that it had judged came out otherwise"
            return f"the judge is not the one that was tested: {changed}. It was asked nothing more."
        parts = [pluralize(self.opinions, "opinion")]
        parts += [f"{count} without one: {why}" for why, count in sorted(self.reasons.items())]
        return "; ".join(parts + ([f"{self.left} left for another time (`max_asks`)"] if self.left else []))


class OpinionAsker:
    """Asks one judge for a folder of labels."""

    def __init__(self, grader: OpinionSource, settings: JudgeSettings, index: LabelIndex, folder: Path) -> None:
        self._grader = grader
        self._settings = settings
        self._index = index
        self._folder = folder
        self._is_down = False
        self._returned = {line.model_returned for line in index.files.opinions if line.judge == settings.identity}

    def ask_all(self, plan: AskPlan, progress: Callable[[int, int], None] = lambda done, total: None) -> AskOutcome:
        """Ask the canaries, then all that is wanted; opinions are kept as they come."""
        changed = 0
        for ask, (reply, _) in zip(plan.canaries, map(self._ask, plan.canaries), strict=True):
            before = self._index.opinion(ask.question.pair)
            changed += isinstance(reply, JudgeReply) and before is not None and reply.verdict != before.verdict
        if changed >= CHANGED:
            return AskOutcome(0, {}, len(plan.canaries), changed, plan.left)
        reasons: Counter[str] = Counter()
        kept = 0
        with ThreadPoolExecutor(self._settings.concurrency) as pool:
            for done, (ask, (reply, model)) in enumerate(
                zip(plan.asks, pool.map(self._ask, plan.asks), strict=True), 1
            ):
                why = reply if isinstance(reply, str) else self._why_another(model)
                if why:
                    reasons[why] += 1
                elif isinstance(reply, JudgeReply):
                    add_line(self._folder, self._opinion(ask, reply, model))
                    kept += 1
                progress(done, len(plan.asks))
        return AskOutcome(kept, reasons, len(plan.canaries), changed, plan.left)

    def _ask(self, ask: WantedOpinion) -> tuple[JudgeReply | str, str]:
        """The reply to one question, asked twice at most; why there is none, and the model that was asked."""
        first = self._index.opinion(ask.question.pair)
        prompt = write_prompt(
            ask.question, ask.text, ask.kind, self._settings.template, first.verdict if first is not None else None
        )
        answer, reply = RawAnswer(), UNREACHABLE
        for _ in range(0 if self._is_down else TRIES):
            answer = self._grader.ask(prompt)
            self._is_down = answer.error.startswith(UNREACHABLE)
            read = answer.error or read_reply(answer.text, ask.question, prompt.shown, ask.kind)
            if isinstance(read, JudgeReply):
                return read, answer.model
            reply = read
        return reply, answer.model

    def _why_another(self, model: str) -> str:
        """Why a reply is not this judge's: another model answered."""
        if not self._returned:
            self._returned = {model}
        return "" if self._returned == {model} else "another model answered than before"

    def _opinion(self, ask: WantedOpinion, reply: JudgeReply, model: str) -> Opinion:
        pair = ask.question.pair
        return Opinion(
            judge=self._settings.identity, criterion=pair.criterion, evidence=pair.evidence, verdict=reply.verdict,
            quote=reply.quote, why=reply.why, model_returned=model, at=datetime.now(UTC).isoformat(), kind=ask.kind,
        )  # fmt: skip
