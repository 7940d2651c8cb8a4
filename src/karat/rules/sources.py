"""`values_from`: where a value of an argument may come from. What the agent computed itself cannot be followed."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

from karat.matchers.values import MISSING, format_value
from karat.rules.clauses import ORDER_UNSEEN, Clause, ClausePlan, Memory, Trigger, ValueSource
from karat.rules.events import ConversationEvent, RuleFinding
from karat.rules.patterns import LOST, UNSEEN, Fit, Occurrence
from karat.rules.values import holds_removed, scalars_of
from karat.text.folding import fold, fold_phrase
from karat.text.numbers.claimed import numbers_in
from karat.text.phrases import find_whole_words

USER: Final = "user"
SAID: Final = "the words of the user"
LONGEST_VALUE: Final = 1_000
"""A longer text of a result is not a value of its own: it is only looked into."""
_NUMBER = re.compile(r"[$€£]?\s?-?(?:0|[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d*)(?:\.\d+)?%?")
_WORD = re.compile(r"\w+")
_NOT_FOLLOWED = (bool, type(None))

NamePlace: TypeAlias = tuple[int, str]
"""The event that a value was in, and the stretch of the conversation that it belongs to."""


class TextIndex:
    """Texts in which a value may be, found by one of its words."""

    __slots__ = ("_by_word", "_texts")

    def __init__(self) -> None:
        self._texts: list[tuple[NamePlace, str]] = []
        self._by_word: dict[str, list[int]] = {}

    def add(self, text: str, origin: NamePlace) -> None:
        folded = fold(text)
        for word in dict.fromkeys(_WORD.findall(folded)):
            self._by_word.setdefault(word, []).append(len(self._texts))
        self._texts.append((origin, folded))

    def find(self, value: str) -> Iterator[NamePlace]:
        """The texts in which the value is, as whole words."""
        words = _WORD.findall(fold_phrase(value))
        if not words:
            return
        listed = min((self._by_word.get(word, []) for word in words), key=len)
        for number in listed:
            origin, text = self._texts[number]
            if next(find_whole_words(text, value, plural=False), None) is not None:
                yield origin


class SourceValues:
    """The values that one source gave, each with the event in which it first was."""

    __slots__ = ("exact", "texts")

    def __init__(self) -> None:
        self.exact: dict[Hashable, NamePlace] = {}
        self.texts = TextIndex()

    def add(self, value: Any, origin: NamePlace) -> None:
        self.exact.setdefault(value_key(value), origin)

    def add_text(self, text: str, origin: NamePlace) -> None:
        self.texts.add(text, origin)
        for number in numbers_in(text):
            self.exact.setdefault(number.normalize(), origin)

    def places(self, value: Any) -> Iterator[NamePlace]:
        if (origin := self.exact.get(value_key(value))) is not None:
            yield origin
        if isinstance(value, str):
            yield from self.texts.find(value)


def value_key(value: Any) -> Hashable:
    """A key that values share which are the same to a reader: 7 and "7.00", "Berlin" and "berlin"."""
    if isinstance(value, str):
        text = value.strip()
        if len(text) > LONGEST_VALUE:
            return text
        if _NUMBER.fullmatch(text):
            return Decimal(text.strip("$€£% ").replace(",", "")).normalize()
        return fold_phrase(text).strip()
    return value if isinstance(value, bool | None) else Decimal(repr(value)).normalize()


class Sources(Clause):
    """`values_from`: every scalar of a value was in the words of the user, or in a result of these tools."""

    __slots__ = ("_doubts", "_values")

    def __init__(self, plan: ClausePlan, memory: Memory) -> None:
        super().__init__(plan, memory)
        self._values: dict[str, SourceValues] = {}
        self._doubts: list[tuple[str, int, str]] = []
        """Sources of which something was not seen, since which event, and why."""

    def record(self, occurrence: Occurrence) -> None:
        event = occurrence.event
        for source in {source for _, sources in self.plan.sources for source in sources}:
            pattern = source.pattern
            if pattern.kind != event.kind or not pattern.names(event.tool):
                continue
            values = self._values.setdefault(source.name, SourceValues())
            origin = occurrence.index, event.stretch
            if source.name == USER:
                values.add_text(event.text, origin)
            elif occurrence.success is not False:
                self._add_result(source.name, values, occurrence, origin)

    def _add_result(self, name: str, values: SourceValues, occurrence: Occurrence, origin: NamePlace) -> None:
        result = occurrence.result
        if result is None:
            if occurrence.success is None or occurrence.doubt:
                self._doubts.append((name, occurrence.index, f"{occurrence}: {occurrence.doubt or UNSEEN['result']}"))
            return
        if occurrence.doubt:
            self._doubts.append((name, occurrence.index, f"{occurrence}: {occurrence.doubt}"))
        for scalar in scalars_of(result):
            if isinstance(scalar, str) and self.plan.within_text:
                values.add_text(scalar, origin)
            if not isinstance(scalar, _NOT_FOLLOWED) and scalar != "":
                values.add(scalar, origin)

    def applies(self, trigger: Trigger) -> Fit:
        """Where the value is absent there is nothing to follow."""
        doubt: Fit = False
        for path, _ in self.plan.sources:
            value = trigger.occurrence.at(path.steps)
            if value is MISSING:
                if trigger.occurrence.part(str(path.steps[0])) is MISSING:
                    doubt = UNSEEN.get(str(path.steps[0]), f"{path.words} was not observed")
            elif next(_scalars_to_follow(value), None) is not None:
                return True
        return doubt

    def judge(self, trigger: Trigger) -> RuleFinding | None:
        doubtful: RuleFinding | None = None
        for path, sources in self.plan.sources:
            value = trigger.occurrence.at(path.steps)
            for scalar in () if value is MISSING else _scalars_to_follow(value):
                doubt = self._doubt(scalar, sources, trigger)
                if doubt is None:
                    continue
                names = " or ".join(
                    "the words of the user" if s.name == USER else f"a result of {s.name}" for s in sources
                )
                value_words = f"{path.words} {format_value(scalar)}"
                if not doubt:
                    return trigger.report_breach(f"{value_words} was not in {names}")
                doubtful = trigger.report_doubt(f"it is not known whether {value_words} was in {names}: {doubt}")
        return doubtful

    def _doubt(self, scalar: Any, sources: Sequence[ValueSource], trigger: Trigger) -> str | None:
        """Why a value may have come from one of the sources; None if it did, empty if it did not."""
        occurrence, doubt = trigger.occurrence, ""
        if occurrence.doubt and holds_removed(scalar):
            return LOST
        for source in sources:
            values = self._values.get(source.name)
            for index, stretch in values.places(scalar) if values else ():
                if index >= occurrence.horizon:
                    continue
                if not stretch or stretch != occurrence.event.stretch or source.name == USER:
                    return None
                doubt = ORDER_UNSEEN
        names = {source.name for source in sources}
        listed = (why for name, index, why in self._doubts if name in names and index < occurrence.horizon)
        return doubt or next(listed, "") or self._gap_of(names, occurrence.horizon)

    def _gap_of(self, names: set[str], horizon: int) -> str:
        for gap in self._gaps:
            kinds = {"user" if name == USER else "call" for name in names}
            if gap.index < horizon and (not gap.hides or gap.hides in kinds):
                return gap.text
        return ""

    def note_gap(self, gap: ConversationEvent) -> None:
        self._gaps.append(gap)


def _scalars_to_follow(value: Any) -> Iterator[Any]:
    """The scalars of a value that can be followed: true, false, null and the empty text are everywhere."""
    return (scalar for scalar in scalars_of(value) if not isinstance(scalar, _NOT_FOLLOWED) and scalar != "")
