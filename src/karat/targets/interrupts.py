"""Interrupts of LangGraph, in process and on its server: what they ask, and what an answer to them is sent as."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from karat.text.clean import jsonable, loads, text

ASKING = ("question", "message", "prompt", "text", "description")
DENYING = ("reject", "respond", "ignore")
"""Decisions by which a call does not run."""
_YES = re.compile(
    r"(?:yes|y|ok|okay|sure|approved?|accept(?:ed)?|confirm(?:ed)?|go ahead|do it|please do)\b[\s.!]*", re.I
)
_JSON = re.compile(r"\s*(?:[\[{\"]|-?\d|true\s*$|false\s*$)")


class Interrupt(NamedTuple):
    """Something that a graph waits for."""

    id: str
    value: Any


def interrupt_text(value: object) -> str:
    """What an interrupt asks the person."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list) and value:
        return "\n".join(map(interrupt_text, value))
    if isinstance(value, dict):
        # langchain's middleware that asks before a tool is run lists what is to be approved
        requests = value.get("action_requests")
        if isinstance(requests, list) and requests:
            return "\n".join(map(interrupt_text, requests))
        question = next((value[key] for key in ASKING if isinstance(value.get(key), str)), None)
        if question is not None:
            return text(question)
    return msgspec.json.encode(jsonable(value)).decode()


def resume(prompt: str, waiting: Sequence[Interrupt]) -> Any:
    """What the graph is resumed with: one answer, or one for each interrupt by its id.

    A prompt that is JSON is that value: an object, a list, a number, true, false, or a text in quotes. For several
    interrupts a list of as many answers gives each its own, an object may name them by id, and any other answer is
    given to each.
    """
    value = read_answer(prompt)
    if len(waiting) == 1:
        return _shape_answer(value, waiting[0].value)
    ids = [interrupt.id for interrupt in waiting]
    if isinstance(value, dict) and value.keys() == set(ids):
        answers = [value[name] for name in ids]
    else:
        answers = value if isinstance(value, list) and len(value) == len(ids) else [value] * len(ids)
    return {pending.id: _shape_answer(answer, pending.value) for pending, answer in zip(waiting, answers, strict=True)}


def decisions(waiting: Sequence[Interrupt], answers: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The calls that waited for approval, each with what a person decided: approve, edit, reject or respond."""
    for each in waiting:
        answer = answers if len(waiting) == 1 else answers[each.id]
        requests = each.value.get("action_requests", [each.value]) if isinstance(each.value, dict) else []
        decided = answer.get("decisions", [answer]) if isinstance(answer, dict) else []
        for request, decision in zip(requests, decided, strict=False):
            if isinstance(request, dict) and isinstance(decision, dict):
                yield request, decision


def asked_approvals(waiting: Sequence[Interrupt]) -> list[dict[str, Any]]:
    """What a graph asks a person to approve, as events of the conversation: each call, or what else is asked."""
    return [_approval("asks_approval", request) for each in waiting for request in _requests(each.value)]


def decided_approvals(waiting: Sequence[Interrupt], answers: Any) -> list[dict[str, Any]]:
    """What a person decided about it: an approved call has the arguments that it may run with."""
    decided = [
        _approval("denied" if decision["type"] in DENYING else "approved", request, decision)
        for request, decision in decisions(waiting, answers)
        if "type" in decision
    ]
    for each in waiting:
        answer = answers if len(waiting) == 1 else answers[each.id]
        if isinstance(answer, str):
            answer = True if says_yes(answer) else None
        if isinstance(answer, bool):
            decided += [_approval("approved" if answer else "denied", request) for request in _requests(each.value)]
    return decided


def _requests(value: object) -> list[Any]:
    requests = value.get("action_requests") if isinstance(value, dict) else None
    return requests if isinstance(requests, list) else [value]


def _approval(kind: str, request: Any, decision: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """An event of an approval, with the tool and the arguments where the question is about a call."""
    changed = decision.get("edited_action") if decision else None
    call = changed if isinstance(changed, dict) else request
    if isinstance(call, dict) and isinstance(call.get("name"), str):
        return {"kind": kind, "tool": call["name"], "arguments": jsonable(call.get("args", call.get("arguments")))}
    return {"kind": kind, "tool": "", "arguments": jsonable(request)}


def _shape_answer(answer: object, question: object) -> object:
    """The answer as langchain's middleware wants it where it asks for approval; else as it is."""
    requests = question.get("action_requests") if isinstance(question, dict) else None
    if isinstance(requests, list):
        if isinstance(answer, dict) and "decisions" in answer:
            return answer
        each = answer if isinstance(answer, list) and len(answer) == len(requests) else [answer] * len(requests)
        return {"decisions": [_decision(item) for item in each]}
    if isinstance(question, dict) and question.get("type") == "tool_approval":
        return _decision(answer)
    return answer


def _decision(answer: object) -> object:
    if isinstance(answer, bool):
        return {"type": "approve" if answer else "reject"}
    if not isinstance(answer, str):
        return answer
    return {"type": "approve"} if says_yes(answer) else {"type": "reject", "message": answer}


def says_yes(answer: str) -> bool:
    """Whether words are a plain yes."""
    return _YES.fullmatch(answer.strip()) is not None


def read_answer(prompt: str) -> object:
    if not _JSON.match(prompt):
        return prompt
    try:
        return loads(prompt)
    except ValueError:
        return prompt
