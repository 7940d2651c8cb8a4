"""One person at work: the next answer, a label that is on disk before the one after it, and taking one back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path

from carob.criteria.decide import LabelReader
from carob.criteria.files import add_evidence, add_line
from carob.criteria.licence import least_labels
from carob.criteria.records import Decided, Opinion, Pair, PersonLabel, Queue, why_not_a_person
from carob.errors import UsageError
from carob.features.labels.items import LabelItem, pending
from carob.redaction.personal_data import Masker


class LabelSession:
    """What one person labels of some runs. `keep`: whether the evidence is kept next to the labels."""

    def __init__(
        self,
        items: Mapping[Pair, LabelItem],
        labels: LabelReader,
        person: str,
        queue: Queue = "random",
        keep: bool = True,
    ) -> None:
        if problem := why_not_a_person(person):
            raise UsageError(problem, fix="Give your name with --by.", slug="bad-name")
        self.items = items
        self.labels = labels
        self.person = person
        self.queue = queue
        self.keep = keep
        self.done = 0
        self._skipped: set[Pair] = set()
        self._shown: set[Pair] = set()
        self._undoes: dict[Pair, str] = {}
        self._last: PersonLabel | None = None
        self._back: LabelItem | None = None

    @property
    def folder(self) -> Path:
        return self.labels.folder

    def next(self) -> LabelItem | None:
        """The answer to be read now; None where nothing is left."""
        if self._back is not None:
            return self._back
        left = pending(self.items, self.labels.index(), self.person, self.queue)
        return next((item for item in left if item.pair not in self._skipped), None)

    def count_left(self) -> int:
        return sum(1 for _ in pending(self.items, self.labels.index(), self.person, self.queue))

    def reveal(self, pairs: Collection[Pair]) -> None:
        """What others think of these answers was shown to this person, who is not blind for them any more."""
        index = self.labels.index()
        own = {pair for pair in pairs if self.person in index.verdicts(pair)}
        self._shown |= {pair for pair in pairs if pair not in own and (index.opinion(pair) or index.verdicts(pair))}

    def skip(self, item: LabelItem) -> None:
        self._skipped.add(item.pair)
        self._back = None

    def label(self, item: LabelItem, verdict: Decided, note: str = "", quote: str = "") -> Opinion | None:
        """Keep what the person says; the opinion on it, which is shown from now on."""
        pair, index = item.pair, self.labels.index()
        had_own = self.person in index.verdicts(pair) and pair not in self._undoes
        line = PersonLabel(
            criterion=pair.criterion, text=item.text, evidence=pair.evidence, verdict=verdict, by=self.person,
            at=time_now(), blind=not (pair in self._shown or had_own), queue=self.queue, case=item.case,
            target=item.agent.target, agent_model=item.agent.model, quote=quote, note=note,
            family=item.question.family, undoes=self._undoes.pop(pair, ""),
        )  # fmt: skip
        if self.keep:
            add_evidence(self.folder, item.question.evidence)
        add_line(self.folder, line)
        self.done += not line.undoes
        self._last, self._back = line, None
        opinion = index.opinion(pair)
        if opinion is not None:
            self._shown.add(pair)
        return opinion

    def undo(self) -> LabelItem | None:
        """Ask again for the last answer; None where there is none, or its opinion was shown."""
        last = self._last
        if last is None or last.pair in self._shown:
            return None
        self._undoes[last.pair] = last.at
        self._back, self._last = self.items[last.pair], None
        return self._back

    def progress(self, item: LabelItem) -> str:
        """How far the labels of this criterion are from testing a judge: `17 of 42 bad answers, 31 of 20 good`."""
        index = self.labels.index()
        counts = {"not met": set[str](), "met": set[str]()}
        for pair in index.labels:
            truth = index.truth(pair, item.agent)
            if truth is not None and pair.criterion == item.pair.criterion:
                counts[truth[0]].add(truth[1].case)
        judge = index.judge
        promises = (judge.false_pass, judge.false_fail) if judge is not None else (0.10, 0.20)
        bad, good = (least_labels(0, promise, index.judges) for promise in promises)
        return f"{len(counts['not met'])} of {bad} bad answers, {len(counts['met'])} of {good} good"

    def personal_data(self) -> str:
        """What would be masked in the evidence that is kept, by kinds: `3 emails, 1 phone`; else the empty string."""
        masker = Masker()
        for item in self.items.values():
            masker.redact(item.question.evidence.content)
        return ", ".join(f"{times} {kind}" for kind, times in sorted(masker.counts.items()))


def time_now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
