"""`values_from`: where a value of an argument may come from. What the agent computed itself cannot be followed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any, ClassVar, Final, TypeAlias

from carob.matchers.values import MISSING, format_value
from carob.rules.clauses import ORDER_UNSEEN, Clause, ClausePlan, EventStore, Memory, Trigger, ValueSource
from carob.rules.events import RuleFinding
from carob.rules.patterns import LOST, UNSEEN, Fit, Occurrence
from carob.rules.values import holds_removed, scalars_of, values_at
from carob.text.folding import fold, fold_phrase
from carob.text.regexes import lazy

USER: Final = "user"
SAID: Final = "the words of the user"
FEW_TEXTS: Final = 32
"""So many texts are searched faster than an index of their words is made."""
LONGEST_VALUE: Final = 1_000
"""A longer text of a result is not a value of its own: it is only looked into."""
_NUMBER = lazy.pattern(r"[$€£]?\s?-?(?:0|[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d*)(?:\.\d+)?%?")
_WORD = lazy.pattern(r"\w+")
_NOT_FOLLOWED = (bool, type(None))

NamePlace: TypeAlias = tuple[int, str]
"""The event that a value was in, and the stretch of the conversation that it belongs to."""


def _fold_spelled(text: str) -> str:
    from carob.text.numbers.spelling import spell_numbers

    return fold(spell_numbers(text).text)


class TextIndex:
    """Texts in which a value may be: a few are searched one by one, more are found by one of their words."""

    __slots__ = ("_by_word", "_folded", "_form", "_indexed", "_waiting")

    def __init__(self, form: Callable[[str], str] = fold) -> None:
        self._form = form
        self._waiting: list[tuple[NamePlace, str]] = []
        self._folded: list[tuple[NamePlace, str]] = []
        self._by_word: dict[str, list[int]] = {}
        self._indexed = 0

    def add(self, text: str, origin: NamePlace) -> None:
        self._waiting.append((origin, text))

    def find(self, value: str) -> Iterator[NamePlace]:
        """The texts in which the value is, as whole words, and not within a longer number."""
        if not _WORD.search(fold_phrase(value)):
            return
        from carob.text.folded_search import find_whole_words, is_within_number  # few rules ask where a value is from

        self._folded += [(origin, self._form(text)) for origin, text in self._waiting]
        self._waiting.clear()
        for origin, text in self._folded if len(self._folded) <= FEW_TEXTS else self._look_up(value):
            spans = find_whole_words(text, value, plural=False)
            if any(not is_within_number(text, *span, required=True) for span in spans):
                yield origin

    def _look_up(self, value: str) -> Iterator[tuple[NamePlace, str]]:
        """The texts that have the rarest word of the value."""
        for number in range(self._indexed, len(self._folded)):
            for word in dict.fromkeys(_WORD.findall(self._folded[number][1])):
                self._by_word.setdefault(word, []).append(number)
        self._indexed = len(self._folded)
        listed = [self._by_word.get(word, []) for word in _WORD.findall(fold_phrase(value))]
        for number in min(listed, key=len):
            yield self._folded[number]


class SourceValues:
    """The values of one source, each with the event in which it first was. They are read when one is looked for."""

    __slots__ = (
        "_numbered",
        "_plain",
        "_read",
        "_same",
        "_spelled",
        "_store",
        "_within_text",
        "_worded",
        "doubts",
        "texts",
    )

    def __init__(self, store: EventStore, *, within_text: bool) -> None:
        self._store = store
        self._within_text = within_text
        self._read = 0
        self._plain: dict[Any, NamePlace] = {}
        """Values as they were."""
        self._same: dict[Hashable, NamePlace] = {}
        """The same by what a reader takes for the same."""
        self._worded = 0
        self._numbered: list[tuple[NamePlace, str]] = []
        """Texts whose numbers were not read yet."""
        self.texts = TextIndex()
        self._spelled = TextIndex(_fold_spelled)
        """The same texts with their numbers in one spelling."""
        self.doubts: list[tuple[int, str]] = []
        """Events of which something was not seen, and why."""

    def first_place(self, text: str) -> NamePlace | None:
        """The first event whose result has this text as a value of its own, without reading all of its values."""
        for occurrence in self._store.find(()):
            if occurrence.event.kind != USER and occurrence.success is not False and _has_text(occurrence.result, text):
                return occurrence.index, occurrence.event.stretch
        return None

    def places(self, value: Any) -> Iterator[NamePlace]:
        """Where a value was, the plain way first."""
        self._read_events()
        if (place := self._plain.get(value)) is not None:
            yield place
        key = value_key(value)
        self._read_same(with_numbers=isinstance(key, Decimal))
        if (place := self._same.get(key)) is not None:
            yield place
        if isinstance(value, str):
            text = _strip_scheme(value)
            yield from self.texts.find(text)
            from carob.text.numbers.spelling import spelled_phrase

            if spelled_text := spelled_phrase(text):
                yield from self._spelled.find(spelled_text)

    def _read_events(self) -> None:
        occurrences = self._store.find(())
        for occurrence in occurrences[self._read :]:
            place = occurrence.index, occurrence.event.stretch
            if occurrence.event.kind == USER:
                self._add_text(occurrence.event.text, place)
            elif occurrence.success is not False:
                self._add_result(occurrence, place)
        self._read = len(occurrences)

    def _add_result(self, occurrence: Occurrence, place: NamePlace) -> None:
        result = occurrence.result
        if result is None:
            if occurrence.success is None or occurrence.doubt:
                self.doubts.append((occurrence.index, f"{occurrence}: {occurrence.doubt or UNSEEN['result']}"))
            return
        if occurrence.doubt:
            self.doubts.append((occurrence.index, f"{occurrence}: {occurrence.doubt}"))
        self._add_scalars(result, place)
        if self._within_text:
            for scalar in scalars_of(result):
                if isinstance(scalar, str) and scalar:
                    self._add_text(scalar, place)

    def _add_scalars(self, result: object, place: NamePlace) -> None:
        plain = self._plain
        waiting = [result]
        while waiting:
            value = waiting.pop()
            if value.__class__ is dict or value.__class__ is list:
                # Most members are scalars, and a result may have thousands: those take no turn of their own.
                if value.__class__ is dict:
                    for name in value:  # records are often kept by their ids
                        plain.setdefault(name, place)
                for member in value.values() if value.__class__ is dict else value:
                    if member.__class__ is str or member.__class__ is int:
                        if member not in plain and member != "":
                            plain[member] = place
                    elif member.__class__ is not bool and member is not None:
                        waiting.append(member)
            elif not isinstance(value, _NOT_FOLLOWED) and value != "":
                plain.setdefault(value, place)

    def _add_text(self, text: str, place: NamePlace) -> None:
        self.texts.add(text, place)
        self._spelled.add(text, place)
        self._numbered.append((place, text))

    def _read_same(self, *, with_numbers: bool) -> None:
        from carob.text.numbers.claimed import numbers_in

        for place, text in self._numbered if with_numbers else ():
            for number in map(Decimal.normalize, numbers_in(text)):
                if number not in self._same or self._same[number] > place:
                    self._same[number] = place
        if with_numbers:
            self._numbered.clear()
        for value, place in islice(self._plain.items(), self._worded, None):
            key = value_key(value)
            if key not in self._same or self._same[key] > place:
                self._same[key] = place
        self._worded = len(self._plain)


def _has_text(value: Any, text: str) -> bool:
    """Whether a text is a value of this one, or the name of a member."""
    waiting = [value]
    for inner in waiting:
        members = inner
        if inner.__class__ is dict:
            if text in inner:
                return True
            members = inner.values()
        elif inner.__class__ is not list:
            continue
        if text in members:
            return True
        waiting += [member for member in members if member.__class__ is dict or member.__class__ is list]
    return False


def value_key(value: Any) -> Hashable:
    """A key that values share which are the same to a reader: 7 and "7.00", "Berlin" and "berlin"."""
    if isinstance(value, str):
        text = value.strip()
        if len(text) > LONGEST_VALUE:
            return text
        if _NUMBER.fullmatch(text):
            return Decimal(text.strip("$€£% ").replace(",", "")).normalize()
        return fold_phrase(_strip_scheme(text)).strip()
    return value if isinstance(value, bool | None) else Decimal(repr(value)).normalize()


def _strip_scheme(text: str) -> str:
    """An address of the web as people write it: `https://carob.dev/` is carob.dev."""
    return text[text.index("//") + 2 :].rstrip("/") if text.startswith(("http://", "https://")) else text


class Sources(Clause):
    """`values_from`: every scalar of a value was in the words of the user, or in a result of these tools."""

    __slots__ = ("_memory",)
    looks_back: ClassVar = True
    always_applies: ClassVar = False

    def __init__(self, plan: ClausePlan, memory: Memory) -> None:
        super().__init__(plan, memory)
        self._memory = memory

    def _values(self, source: ValueSource) -> SourceValues:
        """What a source gave; rules that name the same one share it."""
        key = id(source.pattern), self.plan.within_text
        values = self._memory.values.get(key)
        if values is None:
            store = self._memory.store(source.pattern)
            values = self._memory.values[key] = SourceValues(store, within_text=self.plan.within_text)
        return values

    def applies(self, trigger: Trigger) -> Fit:
        """Where the value is absent there is nothing to follow."""
        doubt: Fit = False
        for path, _ in self.plan.sources:
            part = trigger.occurrence.part(str(path.steps[0]))
            if part is MISSING:
                doubt = UNSEEN.get(str(path.steps[0]), f"{path.words} was not observed")
            elif any(True for value in values_at(part, path.steps[1:]) for _ in _scalars_to_follow(value)):
                return True
        return doubt

    def judge(self, trigger: Trigger) -> RuleFinding | None:
        doubtful: RuleFinding | None = None
        for path, sources in self.plan.sources:
            part = trigger.occurrence.part(str(path.steps[0]))
            for value in () if part is MISSING else values_at(part, path.steps[1:]):
                for scalar in _scalars_to_follow(value):
                    doubt = self._doubt(scalar, sources, trigger)
                    if doubt is None:
                        continue
                    what = f"{path.words} {format_value(scalar)}"
                    if not doubt:
                        return trigger.report_breach(f"{what} was not in {_format_sources(sources)}")
                    why = f"it is not known whether {what} was in {_format_sources(sources)}: {doubt}"
                    doubtful = trigger.report_doubt(why)
        return doubtful

    def _doubt(self, scalar: Any, sources: Sequence[ValueSource], trigger: Trigger) -> str | None:
        """Why a value may have come from one of the sources; None if it did, empty if it did not."""
        occurrence, doubt = trigger.occurrence, ""
        if occurrence.doubt and holds_removed(scalar):
            return LOST
        horizon, unordered = occurrence.horizon, occurrence.event.stretch
        if scalar.__class__ is str:
            for source in sources:
                place = self._values(source).first_place(scalar) if source.name != USER else None
                if place is not None and place[0] < horizon and not (place[1] and place[1] == unordered):
                    return None
        for source in reversed(sources):  # what the user said is first, and it costs the most to look into
            for index, stretch in self._values(source).places(scalar):
                if index >= horizon:
                    continue
                if not stretch or stretch != unordered or source.name == USER:
                    return None
                doubt = ORDER_UNSEEN
        listed = (why for source in sources for index, why in self._values(source).doubts if index < horizon)
        return doubt or next(listed, "") or self._gap_of({source.name for source in sources}, horizon)

    def _gap_of(self, names: set[str], horizon: int) -> str:
        for gap in self._gaps:
            kinds = {"user" if name == USER else "call" for name in names}
            if gap.index < horizon and (not gap.hides or gap.hides in kinds):
                return gap.text
        return ""


def _format_sources(sources: Sequence[ValueSource]) -> str:
    return " or ".join(SAID if source.name == USER else f"a result of {source.name}" for source in sources)


def _scalars_to_follow(value: Any) -> Iterator[Any]:
    """The scalars of a value that can be followed: true, false, null and the empty text are everywhere."""
    return (scalar for scalar in scalars_of(value) if not isinstance(scalar, _NOT_FOLLOWED) and scalar != "")
