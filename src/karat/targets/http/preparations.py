"""`preconditions` of a case: the requests that bring them about before a conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, cast
from urllib.parse import urljoin

from karat.targets.base import DENIED, TargetError
from karat.targets.http.conversation import HttpConversation
from karat.targets.http.options import Preparation
from karat.targets.http.service import Body, WireRequest
from karat.targets.http.streams import Received
from karat.targets.http.templates import Template
from karat.text.wording import visible

MakeTemplate = Callable[[str, object], Template]


class _Step(NamedTuple):
    method: str
    url: Template
    body: Template


class Preparations:
    """The requests for each sentence that a case may list. Without any, sentences are for people to read."""

    def __init__(self, preconditions: Mapping[str, tuple[Preparation, ...]], template: MakeTemplate) -> None:
        self._steps = {
            sentence: [
                _Step(step.method, template("preconditions", step.url), template("preconditions", step.body))
                for step in steps
            ]
            for sentence, steps in preconditions.items()
        }

    async def apply_preconditions(self, talk: HttpConversation, address: str, values: Mapping[str, object]) -> None:
        """Send what the case's sentences ask for, in their order; spans of it are not part of the first turn."""
        sentences = talk.case.preconditions if self._steps else ()
        missing = next((sentence for sentence in sentences if sentence not in self._steps), None)
        if missing is not None:
            problem = f"precondition {visible(missing)!r} is not defined: add it to `preconditions`"
            raise TargetError("setup", problem)
        if sentences:
            talk.begin()
        for sentence in sentences:
            for number, step in enumerate(self._steps[sentence], 1):
                await _send(step, talk, address, values, f"request {number} of the precondition {visible(sentence)!r}")


async def _send(
    step: _Step, talk: HttpConversation, address: str, values: Mapping[str, object], step_name: str
) -> None:
    url = urljoin(address, step.url.address(values))
    request = WireRequest(url, cast(Body, step.body.fill(values)), step.method, talk.trace_headers)
    try:
        await talk.service.raw(request, talk.cookies, Received())
    except TargetError as error:
        error.kind = error.kind if error.kind == DENIED else "setup"
        error.message = f"{step_name}: {error.message}"
        raise
