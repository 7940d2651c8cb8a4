"""Interrupts of LangGraph, in process and on its server: what they ask, and what an answer to them is sent as."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from carob.model.suite import TurnDecision
from carob.targets.base import TargetError
from carob.targets.decisions import CallDecision, WaitingCall, decide
from carob.text.clean import jsonable, loads, text

ASKING = ("question", "message", "prompt", "text", "description")
DENYING = ("reject", "respond", "ignore")
"""Decisions by which a call does not run."""
RAN_ANYWAY = (
    "the agent sent a result of {}, which was denied, so it may have run. What did not run has the reason of the "
    "denial as its result, or a result that says that it failed"
)
OWN_FORM = (
    "a question of the agent's own is answered by true or false, so that it cannot be edited: give its answer as a "
    "`prompt` in JSON"
)
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


def resume_decided(decision: TurnDecision, waiting: Sequence[Interrupt]) -> Any:
    """What the graph is resumed with where a turn decides: an answer in langchain's form to its middleware, true or
    false to any other interrupt. Raises TargetError where the turn does not fit what waits."""
    calls = [WaitingCall(*_read_call(request)) for each in waiting for request in _requests(each.value)]
    decided = iter(decide(decision, calls))
    answers = {each.id: _spell_answer(each.value, decided) for each in waiting}
    return next(iter(answers.values())) if len(waiting) == 1 else answers


def _spell_answer(question: Any, decided: Iterator[CallDecision]) -> object:
    """The answer to one interrupt; it takes as many decisions as the interrupt asks for."""
    if _is_middleware(question):
        return {"decisions": [_spell_decision(request, next(decided)) for request in _requests(question)]}
    decision = next(decided)
    if _is_tool_approval(question):
        return _spell_decision(question, decision)
    if decision.kind == "edit":
        raise TargetError("not-asked", OWN_FORM)
    return decision.kind == "approve"


def _spell_decision(request: Any, decision: CallDecision) -> dict[str, object]:
    """A decision as langchain's middleware wants it."""
    if decision.kind == "deny":
        return {"type": "reject", **({"message": decision.reason} if decision.reason else {})}
    if decision.kind == "edit":
        name, _ = _read_call(request)
        return {"type": "edit", "edited_action": {"name": name, "args": decision.arguments}}
    return {"type": "approve"}


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


def _is_middleware(question: object) -> bool:
    """Whether langchain's middleware asks, which lists calls."""
    return isinstance(question, dict) and isinstance(question.get("action_requests"), list)


def _is_tool_approval(question: object) -> bool:
    return isinstance(question, dict) and question.get("type") == "tool_approval"


def _requests(value: Any) -> list[Any]:
    return list(value["action_requests"]) if _is_middleware(value) else [value]


def _read_call(request: object) -> tuple[str, Any]:
    """The tool and the arguments that are asked about; of what asks for something else, the question itself."""
    if isinstance(request, dict) and isinstance(request.get("name"), str):
        return request["name"], request.get("args", request.get("arguments"))
    return "", request


def _approval(kind: str, request: Any, decision: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """An event of an approval, with the tool and the arguments where the question is about a call."""
    changed = decision.get("edited_action") if decision else None
    tool, arguments = _read_call(changed if isinstance(changed, dict) else request)
    return {"kind": kind, "tool": tool, "arguments": jsonable(arguments if tool else request)}


def _shape_answer(answer: object, question: object) -> object:
    """The answer as langchain's middleware wants it where it asks for approval; else as it is."""
    if _is_middleware(question):
        requests = _requests(question)
        if isinstance(answer, dict) and "decisions" in answer:
            return answer
        each = answer if isinstance(answer, list) and len(answer) == len(requests) else [answer] * len(requests)
        return {"decisions": [_decision(item) for item in each]}
    if _is_tool_approval(question):
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
