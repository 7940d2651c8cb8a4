"""Interrupts of LangGraph, in process and on its server: what they ask, and what an answer to them is sent as."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from karat.text.clean import jsonable, loads, text

ASKING = ("question", "message", "prompt", "text", "description")
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
        found = next((value[key] for key in ASKING if isinstance(value.get(key), str)), None)
        if found is not None:
            return text(found)
    return msgspec.json.encode(jsonable(value)).decode()


def resume(prompt: str, waiting: Sequence[Interrupt]) -> Any:
    """What the graph is resumed with: one answer, or one for each interrupt by its id.

    A prompt that is JSON is that value: an object, a list, a number, true, false, or a text in quotes. For several
    interrupts a list of as many answers gives each its own, an object may name them by id, and any other answer is
    given to each.
    """
    said = _value(prompt)
    if len(waiting) == 1:
        return _shape_answer(said, waiting[0].value)
    ids = [interrupt.id for interrupt in waiting]
    if isinstance(said, dict) and said.keys() == set(ids):
        answers = [said[name] for name in ids]
    else:
        answers = said if isinstance(said, list) and len(said) == len(ids) else [said] * len(ids)
    return {one.id: _shape_answer(answer, one.value) for one, answer in zip(waiting, answers, strict=True)}


def decisions(waiting: Sequence[Interrupt], sent: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The calls that waited for approval, each with what a person decided: approve, edit, reject or respond."""
    for each in waiting:
        answer = sent if len(waiting) == 1 else sent[each.id]
        asked = each.value.get("action_requests", [each.value]) if isinstance(each.value, dict) else []
        decided = answer.get("decisions", [answer]) if isinstance(answer, dict) else []
        for request, decision in zip(asked, decided, strict=False):
            if isinstance(request, dict) and isinstance(decision, dict):
                yield request, decision


def _shape_answer(answer: object, asked: object) -> object:
    """The answer as langchain's middleware wants it where it asks for approval; else as it is."""
    requests = asked.get("action_requests") if isinstance(asked, dict) else None
    if isinstance(requests, list):
        if isinstance(answer, dict) and "decisions" in answer:
            return answer
        each = answer if isinstance(answer, list) and len(answer) == len(requests) else [answer] * len(requests)
        return {"decisions": [_decision(one) for one in each]}
    if isinstance(asked, dict) and asked.get("type") == "tool_approval":
        return _decision(answer)
    return answer


def _decision(answer: object) -> object:
    if isinstance(answer, bool):
        return {"type": "approve" if answer else "reject"}
    if not isinstance(answer, str):
        return answer
    return {"type": "approve"} if _YES.fullmatch(answer.strip()) else {"type": "reject", "message": answer}


def _value(prompt: str) -> object:
    if not _JSON.match(prompt):
        return prompt
    try:
        return loads(prompt)
    except ValueError:
        return prompt
