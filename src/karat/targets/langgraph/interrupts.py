"""What a person answers when a graph waits: the prompt, in the shape that the interrupt asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from karat.traces.clean import loads

_YES = re.compile(
    r"(?:yes|y|ok|okay|sure|approved?|accept(?:ed)?|confirm(?:ed)?|go ahead|do it|please do)\b[\s.!]*", re.I
)


def resume(prompt: str, waiting: Sequence[Any]) -> Any:
    """What the graph is resumed with: one answer, or one for each interrupt by its id.

    A prompt that is a JSON object or list is that value. For several interrupts a list of as many answers gives each
    its own, an object may name them by id, and any other answer is given to each.
    """
    said = _value(prompt)
    if len(waiting) == 1:
        return shaped(said, waiting[0].value)
    ids = [interrupt.id for interrupt in waiting]
    if isinstance(said, dict) and said.keys() == set(ids):
        answers = [said[name] for name in ids]
    else:
        answers = said if isinstance(said, list) and len(said) == len(ids) else [said] * len(ids)
    return {one.id: shaped(answer, one.value) for one, answer in zip(waiting, answers, strict=True)}


def shaped(answer: object, asked: object) -> object:
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
    if not isinstance(answer, str):
        return answer
    return {"type": "approve"} if _YES.fullmatch(answer.strip()) else {"type": "reject", "message": answer}


def _value(prompt: str) -> object:
    if prompt.lstrip()[:1] not in ("{", "["):
        return prompt
    try:
        return loads(prompt)
    except ValueError:
        return prompt
