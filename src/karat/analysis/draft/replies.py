"""A user who answers when asked: what he said, to what, and the words by which a scripted user knows the question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from karat.analysis.lint.phrases import COMMON_WORDS
from karat.model.suite import Case, Reply
from karat.model.trace import Trace
from karat.targets.conversation import ScriptedUser
from karat.text.prose.asking import find_request, find_request_for
from karat.text.words import PUBLISHED

MOST_REPLIES = 8
MOST_QUESTIONS = 12
"""Questions before one reply that are kept."""
LEAST_SEEN = 2
"""Conversations in which a reply must have been given before a script is made of it."""
_WORD = re.compile(r"[^\W\d_]{4,}")

Script = list[dict[str, Any]]


class Replies:
    """What a user said to the questions of an agent, in all traces of a kind; let go once he said anything else."""

    def __init__(self) -> None:
        self._questions: dict[str, dict[str, None]] | None = {}
        self._seen: dict[str, int] = {}
        self._orders: dict[tuple[str, ...], list[str]] = {}
        self._firsts: set[str] = set()

    def add(self, turns: Sequence[Trace]) -> None:
        if self._questions is None:
            return
        replies = tuple(turn.input for turn in turns[1:])
        self._firsts.add(turns[0].input)
        self._orders.setdefault(replies, [turn.final_message for turn in turns])
        for before, reply in zip(turns, replies, strict=False):
            questions = self._questions.setdefault(reply, {})
            if before.final_message not in questions and len(questions) < MOST_QUESTIONS:
                if find_request(before.final_message) is None:
                    self._questions = None
                    return
                questions[before.final_message] = None
        for reply in {*replies}:
            self._seen[reply] = self._seen.get(reply, 0) + 1
        if len(self._questions) > MOST_REPLIES or len(self._firsts) > 1:
            self._questions = None

    def merge(self, other: Replies) -> None:
        if self._questions is None or other._questions is None:
            self._questions = None
            return
        for reply, questions in other._questions.items():
            self._questions[reply] = dict([*self._questions.get(reply, {}).items(), *questions.items()])
            self._seen[reply] = self._seen.get(reply, 0) + other._seen[reply]
        self._orders = {**other._orders, **self._orders}
        self._firsts |= other._firsts

    def script(self) -> Script:
        """The replies of a case; none unless he gave the same in another order, and a script would say just that."""
        if self._questions is None or len(self._orders) < 2 or len(self._firsts) > 1:
            return []
        if min(self._seen.values(), default=0) < LEAST_SEEN:
            return []
        replies = []
        for reply, questions in self._questions.items():
            others = [question for other in self._questions.items() if other[0] != reply for question in other[1]]
            if not (things := _things(reply, questions, others)):
                return []
            replies.append(Reply(tuple(things), reply))
        case = Case(id="", prompt="?", replies=tuple(replies), checks=())
        is_reproduced = all(tuple(_says(case, answers)) == spoken for spoken, answers in self._orders.items())
        return [{"asks_for": [*reply.asks_for], "say": reply.say} for reply in replies] if is_reproduced else []


def _says(case: Case, answers: Iterable[str]) -> Iterator[str]:
    """What the scripted user says to these answers."""
    user = ScriptedUser(case)
    for answer in answers:
        if (reply := user.next(Trace(case_id="", final_message=answer, tool_calls=()))) is None:
            return
        yield reply


def _things(reply: str, questions: Mapping[str, None], others: Sequence[str]) -> list[str]:
    """The fewest words that all of these questions ask for one of, and no other question does."""
    asks = {question: _asked_words(question) for question in questions}
    elsewhere = {word for question in others for word in _asked_words(question)}
    unanswered = [*questions]
    chosen: list[str] = []
    while unanswered:
        words = sorted({word for question in unanswered for word in asks[question]} - elsewhere)
        if not words:
            return []
        spoken = set(_WORD.findall(reply.lower()))
        best = max(words, key=lambda word: (sum(word in asks[each] for each in unanswered), word in spoken, len(word)))
        chosen.append(best)
        unanswered = [question for question in unanswered if best not in asks[question]]
    return chosen


def _asked_words(question: str) -> set[str]:
    words = _WORD.findall(PUBLISHED.pattern("request").sub(" ", question.lower()))
    return {word for word in {*words} - COMMON_WORDS if find_request_for(question, (word,))}
