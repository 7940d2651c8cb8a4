"""What the user said last, and whether it gives consent."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from carob.rules.events import ConversationEvent
from carob.text.words import WordLists

KEPT_RUNS = 8
"""So many of the latest runs of user messages are kept: a call refers to the one before the message that made it."""


class ConsentWords(Struct, frozen=True):
    """Words of which a user must have said one: those of an author, or a published list."""

    phrases: tuple[str, ...]
    lists: WordLists
    names: tuple[str, ...] = ()
    """The published lists."""

    @property
    def words(self) -> str:
        alternatives = [
            *(repr(phrase) for phrase in self.phrases),
            *(f"a word of the list {name}" for name in self.names),
        ]
        return " or ".join(alternatives)


class UserWords(Struct):
    """Messages of the user that nothing of the agent came between."""

    number: int
    texts: list[tuple[int, str]]
    consents: dict[ConsentWords, bool]

    @property
    def index(self) -> int:
        return self.texts[-1][0]

    @property
    def text(self) -> str:
        return "\n".join(text for _, text in self.texts)

    def gives(self, consent: ConsentWords) -> bool:
        if consent not in self.consents:
            from carob.text.prose.consent import gives_consent  # few rules ask for consent

            self.consents[consent] = gives_consent(self.text, consent.phrases, consent.names, consent.lists)
        return self.consents[consent]


class Talk:
    """The latest words of the user, and where some may be missing."""

    __slots__ = ("_count", "_gap", "_runs", "is_open")

    def __init__(self) -> None:
        self._runs: list[UserWords] = []
        self.is_open = False
        """Whether the latest event is one of the user, whose words the next one continues."""
        self._gap: ConversationEvent | None = None
        self._count = 0

    def hear(self, event: ConversationEvent) -> None:
        """Take what the user says, or a gap that may hide it."""
        if event.kind == "gap":
            self.is_open = False
            self._gap = event if event.hides in ("", "user") else self._gap
            return
        if self.is_open:
            self._runs[-1].texts.append((event.index, event.text))
            self._runs[-1].consents.clear()
            return
        self.is_open = True
        self._count += 1
        self._runs = [*self._runs[1 - KEPT_RUNS :], UserWords(self._count, [(event.index, event.text)], {})]

    def keep_ready(self, consents: Iterable[ConsentWords]) -> None:
        """Look now whether the latest words give any of these."""
        for consent in consents if self._runs else ():
            self._runs[-1].gives(consent)

    def before(self, horizon: int) -> UserWords | None:
        """What the user had said last before this event."""
        for words in reversed(self._runs):
            if words.index < horizon:
                return words
            earlier = [pair for pair in words.texts if pair[0] < horizon]
            if earlier:
                return UserWords(words.number, earlier, {})
        return None

    def gap_between(self, after: int, before: int) -> str:
        """Why words of the user may be missing between two events."""
        gap = self._gap
        return gap.text if gap is not None and after < gap.index < before else ""
