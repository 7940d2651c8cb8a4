"""Interrupts of AG-UI: what a run waits for, what resumes it, and the approvals that both are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from carob.model.suite import TurnDecision
from carob.model.trace import ToolCall
from carob.suites.diagnostics import Json
from carob.targets.base import TargetError
from carob.targets.decisions import CallDecision, WaitingCall, decide
from carob.targets.http.jsonpath import objects
from carob.targets.interrupts import OWN_FORM, interrupt_text, read_answer, says_yes
from carob.text.clean import jsonable

APPROVED, EDITED, REASON = "approved", "editedArgs", "reason"
"""The members of an answer to a question for approval."""
NO_RESULT = "denied"


@dataclass(slots=True)
class PendingRun:
    """What a run ended with that waits for a person, and what became of it."""

    waiting: list[dict[str, Json]] = field(default_factory=list)
    """The interrupts of the last turn."""
    calls: dict[str, ToolCall] = field(default_factory=dict)
    """The calls that they are about, by id: their results come in a later turn."""
    decided: list[dict[str, object]] = field(default_factory=list)
    """What the prompt of this turn decided."""
    barred: dict[str, str] = field(default_factory=dict)
    """The calls that a person denied, by id, each with what the agent was given as its result."""
    resumed: set[int] = field(default_factory=set)
    """The turns, by number, whose prompts were such answers, and no words to the agent."""
    questions: set[str] = field(default_factory=set)
    """What was asked where no answer was given."""

    def build_resume(self, prompt: str, turn: int, decision: TurnDecision | None = None) -> list[dict[str, object]]:
        """The answers that a run is resumed with, one for each interrupt.

        A prompt that is a JSON object may name them by the ids of interrupts; any other answer is given to each.
        """
        ids = [str(each.get("id")) for each in self.waiting]
        answers = self._read_answers(prompt, ids) if decision is None else self._decide_all(decision)
        waiting, self.waiting, self.decided = self.waiting, [], []
        self.resumed.add(turn)
        entries: list[dict[str, object]] = []
        for id, interrupt, answer in zip(ids, waiting, answers, strict=True):
            payload = _shape_payload(answer, interrupt)
            self._decide(interrupt, payload)
            entries.append({"interruptId": id, "status": "resolved", "payload": payload})
        return entries

    def _read_answers(self, prompt: str, ids: Sequence[str]) -> list[object]:
        answer = read_answer(prompt)
        is_by_id = isinstance(answer, dict) and answer.keys() == set(ids)
        return [answer[id] if isinstance(answer, dict) and is_by_id else answer for id in ids]

    def _decide_all(self, decision: TurnDecision) -> list[object]:
        """What a turn that decides answers to each interrupt. Raises TargetError where it does not fit them."""
        calls = [self.calls.get(str(interrupt.get("toolCallId"))) for interrupt in self.waiting]
        waiting = [WaitingCall("", None) if call is None else WaitingCall(call.name, call.arguments) for call in calls]
        decided = decide(decision, waiting)
        return [_spell_decision(*pair) for pair in zip(self.waiting, decided, strict=True)]

    def ask(self, interrupts: Json, calls: Sequence[ToolCall]) -> list[dict[str, object]]:
        """Keep what a run ended with; the approvals that it asks for."""
        self.waiting = list(objects(interrupts))
        self.calls |= {call.id: call for call in calls if call.id is not None}
        return [self._approval("asks_approval", interrupt) for interrupt in self.waiting]

    def _decide(self, interrupt: Mapping[str, Json], payload: object) -> None:
        approved = payload.get(APPROVED) if isinstance(payload, dict) else None
        if not isinstance(approved, bool):
            return
        decision = self._approval("approved" if approved else "denied", interrupt)
        call_id = str(interrupt.get("toolCallId"))
        if not approved:
            reason = payload.get(REASON) if isinstance(payload, dict) else None
            self.barred[call_id] = reason if isinstance(reason, str) else NO_RESULT
        elif isinstance(payload, dict) and isinstance(payload.get(EDITED), dict) and call_id in self.calls:
            call = self.calls[call_id]
            self.calls[call_id] = ToolCall(call.name, jsonable(payload[EDITED]), id=call_id)
            decision["arguments"] = self.calls[call_id].arguments
        self.decided.append(decision)

    def _approval(self, kind: str, interrupt: Mapping[str, Json]) -> dict[str, object]:
        call = self.calls.get(str(interrupt.get("toolCallId")))
        if call is None:
            return {"kind": kind, "tool": "", "arguments": jsonable(dict(interrupt))}
        return {"kind": kind, "tool": call.name, "arguments": call.arguments}


def ask_in_words(interrupts: Json) -> str:
    """What a run asks the person."""
    return "\n".join(interrupt_text(dict(interrupt)) for interrupt in objects(interrupts))


def _asks_approval(interrupt: Mapping[str, Any]) -> bool:
    schema = interrupt.get("responseSchema")
    wanted = schema.get("properties") if isinstance(schema, dict) else None
    return APPROVED in wanted if isinstance(wanted, dict) else interrupt.get("toolCallId") is not None


def _spell_decision(interrupt: Mapping[str, Json], decided: CallDecision) -> object:
    """A decision as AG-UI recommends it; to a question for something else, true or false."""
    if not _asks_approval(interrupt):
        if decided.kind == "edit":
            raise TargetError("not-asked", OWN_FORM)
        return decided.kind == "approve"
    if decided.kind == "deny":
        return {APPROVED: False, **({REASON: decided.reason} if decided.reason else {})}
    return {APPROVED: True, **({EDITED: decided.arguments} if decided.kind == "edit" else {})}


def _shape_payload(answer: object, interrupt: Mapping[str, Json]) -> object:
    """The answer as AG-UI recommends it where it is a question for approval; else as it is."""
    if not _asks_approval(interrupt) or not isinstance(answer, bool | str):
        return answer
    if isinstance(answer, bool) or says_yes(answer):
        return {APPROVED: answer is not False}
    return {APPROVED: False, REASON: answer}
