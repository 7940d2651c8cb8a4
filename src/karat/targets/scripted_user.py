"""The user of a case: what is said next, by what the agent answered. The same answers get the same words."""

from __future__ import annotations

from karat.model.suite import Case, Reply
from karat.model.trace import Trace
from karat.text.wording import pluralize

MOST_TURNS = 10
"""What a user with replies says at most, where the case gives no `max_turns`."""


class ScriptedUser:
    """Says the turns of a case in order; or answers what is asked for, until nothing is that a reply knows."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._most = len(case.turns) or case.max_turns or MOST_TURNS
        self._said = 1
        self._used: set[int] = set()
        self.ended = ""
        """Why nothing more is said, where that is not the end of a script."""
        self.is_cut_off = False
        """Whether more would be said, and the case allows no further turn."""

    def next(self, answer: Trace) -> str | None:
        """What the user says to this answer; None: nothing more."""
        if self._case.turns:
            self._said += 1
            return self._case.turns[self._said - 1].prompt if self._said <= self._most else None
        replies = self._replies(answer.final_message)
        if replies and self._said < self._most:
            self._said += 1
            return " ".join(replies)
        self.is_cut_off = bool(replies)
        self.ended = f"after {pluralize(self._said, 'turn')}, " + (
            "the most that it may have" if replies else "because no reply covers what the last answer asks for"
        )
        return None

    @property
    def unused(self) -> tuple[Reply, ...]:
        """The replies that were not asked for."""
        return tuple([reply for place, reply in enumerate(self._case.replies) if place not in self._used])

    def _replies(self, answer: str) -> list[str]:
        """What answers each thing that is asked for. Of several replies to one thing, the next one."""
        # Its patterns take a while to be read, and few cases have replies.
        from karat.text.prose.asking import find_request_for
        from karat.text.words import WordLists

        words = WordLists.of(self._case.words)
        asked = [n for n, reply in enumerate(self._case.replies) if find_request_for(answer, reply.asks_for, words)]
        chosen: dict[tuple[str, ...], int] = {}
        for place in asked:
            thing = self._case.replies[place].asks_for
            if thing not in chosen or chosen[thing] in self._used:
                chosen[thing] = place
        if self._said < self._most:
            self._used.update(chosen.values())
        return [self._case.replies[place].say for place in chosen.values()]
