"""What an MCP server asks a person while it works on a call (elicitation), and whether the answer approves the call.

A server asks by a request to its client, or by a result that needs input, after which the call is sent again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from carob.model.trace import AskedApproval
from carob.providers.base import table
from carob.text.prose.consent import CONSENT, DISSENT
from carob.text.words import PUBLISHED

ASK = "elicitation/create"
WHICH_CALL = (
    "an MCP server asked a person something while it worked on several calls, and it is not known about which: let it "
    "ask on the stream of the call, or make one call at a time"
)
NO_YES = (
    "a person accepted what an MCP server asked, and the answer holds a no or a choice, so it is not known whether "
    "the call was approved: let the server ask for approval alone"
)
AT_AN_ADDRESS = (
    "a person agreed to open an address for an MCP server, and what was answered there is not known: let the server "
    "ask for approval in a form"
)
TOO_MANY = "an MCP server asked more questions about one call than are kept: ask once"
MOST_QUESTIONS = 64
LONGEST = 1_000
"""So much of a text is looked at."""
_OPTIONS = ("enum", "oneOf", "anyOf", "items")


class ServerQuestion(Struct, frozen=True):
    """What is known of a question: enough to read its answer."""

    at_an_address: bool = False
    offers_options: bool = False

    @classmethod
    def of(cls, params: object) -> ServerQuestion:
        asked = table(params)
        properties = table(table(asked.get("requestedSchema")).get("properties"))
        return cls(
            asked.get("mode") == "url",
            any(not table(schema).keys().isdisjoint(_OPTIONS) for schema in properties.values()),
        )

    def read_answer(self, answer: object) -> AskedApproval:
        """What a client answered; an answer that is not one leaves the question open."""
        action = table(answer).get("action")
        if action in ("decline", "cancel"):
            return AskedApproval("denied")
        if action != "accept":
            return AskedApproval()
        if self.at_an_address:
            return AskedApproval(doubt=AT_AN_ADDRESS)
        content = table(table(answer).get("content"))
        return AskedApproval("approved") if self._is_yes(content) else AskedApproval(doubt=NO_YES)

    def _is_yes(self, content: Mapping[str, Any]) -> bool:
        """Whether nothing that was filled in speaks against a yes."""
        yes, no = PUBLISHED.pattern(*CONSENT), PUBLISHED.pattern(*DISSENT)
        for value in content.values():
            if value is False or (self.offers_options and isinstance(value, list)):
                return False
            if not isinstance(value, str):
                continue
            words = value[:LONGEST].lower()
            if no.search(words) or (self.offers_options and not yes.search(words)):
                return False
        return True


class CallQuestions:
    """The questions about one call, by their ids, and what became of them, in order."""

    def __init__(self) -> None:
        self.approvals: tuple[AskedApproval, ...] = ()
        self._open: dict[str, tuple[int, ServerQuestion]] = {}
        self._asked: set[str] = set()

    def ask(self, question_id: str, params: object, doubt: str = "") -> None:
        """A question, once: a stream that is taken up again may repeat it."""
        if len(self.approvals) > MOST_QUESTIONS or question_id in self._asked:
            return
        if len(self.approvals) == MOST_QUESTIONS:
            doubt = TOO_MANY
        self._asked.add(question_id)
        if not doubt:
            self._open[question_id] = len(self.approvals), ServerQuestion.of(params)
        self.approvals += (AskedApproval(doubt=doubt),)

    def begin_round(self) -> None:
        """The server asks anew, by ids that it may have used before."""
        self._open.clear()
        self._asked.clear()

    def waits_for(self, question_id: str) -> bool:
        return question_id in self._open

    def answer(self, question_id: str, answer: object, doubt: str = "") -> None:
        place, question = self._open[question_id]
        approval = AskedApproval(doubt=doubt) if doubt else question.read_answer(answer)
        if approval != AskedApproval():
            del self._open[question_id]
            self.approvals = (*self.approvals[:place], approval, *self.approvals[place + 1 :])
