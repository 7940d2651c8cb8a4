"""Two runs side by side: what broke, what was mended, and how answers and calls differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from karat.compare.stats import difference as rate_difference
from karat.compare.stats import mcnemar
from karat.journal.index import Index, IndexedRun
from karat.model.run import CaseRecord
from karat.reports.html.calls import duration
from karat.reports.html.differences import difference
from karat.reports.inert import clip

SHOWN: Final = 60
LONGEST: Final = 8_000
CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class PairView:
    """One case in both runs; the differences are HTML."""

    id: str
    before: str
    after: str
    base_link: str
    new_link: str
    answer: str
    calls: str
    took: str


@dataclass(frozen=True, slots=True)
class SideBySide:
    """What changed between two runs, by what became of each case."""

    broke: list[PairView]
    mended: list[PairView]
    other: list[PairView]
    counts: dict[str, int]
    only_base: list[str]
    only_new: list[str]
    words: str


def compared(index: Index, base: IndexedRun, new: IndexedRun) -> SideBySide:
    """Pair the cases of two runs by their ids."""
    one, other = index.statuses(base.key), index.statuses(new.key)
    both = [name for name in one if name in other]
    changed = [name for name in both if one[name] != other[name]]
    kinds: dict[str, list[str]] = {"broke": [], "mended": [], "other": []}
    for name in changed:
        kinds[_change(one[name], other[name])].append(name)
    views = {
        kind: [_pair(index, base, new, name, one[name], other[name]) for name in names[:SHOWN]]
        for kind, names in kinds.items()
    }
    counts = {kind: len(names) for kind, names in kinds.items()} | {"same": len(both) - len(changed)}
    return SideBySide(
        **views,
        counts=counts,
        only_base=[name for name in one if name not in other][:SHOWN],
        only_new=[name for name in other if name not in one][:SHOWN],
        words=_words({name: (one[name], other[name]) for name in both}, counts),
    )


def _change(before: str, after: str) -> str:
    if before == "PASS":
        return "broke"
    return "mended" if after == "PASS" else "other"


def _words(pairs: Mapping[str, tuple[str, str]], counts: Mapping[str, int]) -> str:
    """How sure one can be that the pass rate changed."""
    judged = Counter(((int(a == "PASS"), 1), (int(b == "PASS"), 1)) for a, b in pairs.values())
    if not judged:
        return "No case stands in both runs."
    found, chance = rate_difference(judged, CONFIDENCE), mcnemar(counts["broke"], counts["mended"])
    interval = f"95% interval {found.low:+.1%} to {found.high:+.1%}"
    return f"Pass rate {found.value:+.1%} ({interval}); McNemar's p = {chance:.3f} over {len(pairs)} cases of both."


def _pair(index: Index, base: IndexedRun, new: IndexedRun, name: str, before: str, after: str) -> PairView:
    old, now = _record(index, base, name), _record(index, new, name)
    return PairView(
        id=name,
        before=before,
        after=after,
        base_link=_link(base, old),
        new_link=_link(new, now),
        answer=difference(_answer(old), _answer(now)),
        calls=difference(_calls(old), _calls(now)),
        took=f"{_took(old)} → {_took(now)}",
    )


def _record(index: Index, run: IndexedRun, name: str) -> CaseRecord | None:
    place = index.place_of(run.key, name)
    return index.record(run, *place) if place else None


def _link(run: IndexedRun, record: CaseRecord | None) -> str:
    return f"/run/{run.key}/case/{record.index}/{record.repeat}" if record else ""


def _answer(record: CaseRecord | None) -> str:
    return clip(record.trace.final_message, LONGEST) if record else ""


def _calls(record: CaseRecord | None) -> str:
    """The calls as lines, each with its arguments."""
    import json

    calls = record.trace.tool_calls if record else ()
    lines = [f"{call} {json.dumps(call.arguments, ensure_ascii=False, default=str)}" for call in calls]
    return clip("\n".join(lines), LONGEST)


def _took(record: CaseRecord | None) -> str:
    return duration(record.duration_ms) if record else "–"
