"""Runs of the OpenAI Agents SDK that a function returns as they are: their calls, handoffs and approvals.

A run that waits for approvals is resumed by the function itself: where a turn decides, it is called with the SDK's
`RunState` in the place of the prompt, and hands that to `Runner.run` as it does any prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs
from msgspec.json import encode

from carob.evidence.model_evidence import read_call
from carob.evidence.short_form import NO_TELEMETRY
from carob.model.suite import Case, TurnDecision
from carob.model.trace import APPROVALS, Message, Tokens, ToolCall, Trace
from carob.providers.base import ModelReply, text_of
from carob.providers.messages import CallRequest, ReturnedResult
from carob.targets.base import TargetError
from carob.targets.decisions import NOTHING_WAITS, CallDecision, WaitingCall, decide
from carob.targets.in_process.tool_classes import json_arguments
from carob.text.clean import jsonable, text

STREAMING = "the run that it returned is still streaming: iterate over its `stream_events()` to the end first"
RETURN_RUN = "Of the OpenAI Agents SDK, approvals are seen where the function returns what `Runner.run` gives"
NO_EDIT = "the OpenAI Agents SDK cannot run a call with other arguments: approve or deny it"
OUTPUTS = ("tool_call_output_item", "handoff_output_item")


class SdkRuns:
    """The runs of one conversation: what they have shown, and what the last one waits for."""

    def __init__(self) -> None:
        self._run: Any = None
        """The last run, if it waits for approvals."""
        self._seen: dict[int, object] = {}
        """The parts of runs that earlier turns had: a run that is resumed has them too."""
        self._replies = 0
        self._waiting: dict[str, tuple[CallRequest, str]] = {}
        """The calls that wait for approval, by id, each with the message that asked for it."""
        self._decided: list[dict[str, object]] = []

    def build_input(self, prompt: str, decision: TurnDecision | None) -> object:
        """What the function is called with: the prompt, or the state of the run that waits, with what was decided."""
        run, self._run, self._decided = self._run, None, []
        if decision is None:
            return prompt
        if run is None and not self._seen:
            raise TargetError("not-asked", f"{NOTHING_WAITS.format(decision)}. {RETURN_RUN}")
        asked = [] if run is None else list(run.interruptions)
        decided = decide(decision, [_waiting_call(item) for item in asked])
        if any(each.kind == "edit" for each in decided):
            raise TargetError("not-asked", NO_EDIT)
        state = run.to_state()
        for item, each in zip(asked, decided, strict=True):
            if each.kind == "approve":
                state.approve(item)
                self._decided.append(_approval("approved", item))
                continue
            _reject(state, item, each)
            self._waiting.pop(_call_id(item.raw_item), None)  # the result that it is given now is the denial
            self._decided.append(_approval("denied", item))
        return state

    def read(self, run: Any, case: Case) -> Trace:
        """The trace of a turn. Raises TargetError for a run that is not over."""
        if not getattr(run, "is_complete", True):
            raise TargetError("bad-answer", STREAMING)
        asked = getattr(run, "interruptions", None)  # an older SDK has no approvals
        self._run = run if asked else None
        items = list(self._keep_new(run.new_items, lambda item: item.raw_item))
        results = {_call_id(item.raw_item): _dump(item.to_input_item()) for item in items if item.type in OUTPUTS}
        handoffs = {_call_id(item.raw_item) for item in items if item.type == "handoff_call_item"}
        replies = [self._read_reply(response) for response in self._keep_new(run.raw_responses, lambda each: each)]
        words = [reply.text for _, reply in replies if reply.text]
        answer = answer_text(run.final_output) if not asked else "\n".join(map(_question, asked))
        approvals = [*self._decided, *(_approval("asks_approval", item) for item in asked or ())]
        return Trace(
            case_id=case.id,
            input=case.prompt,
            final_message=answer,
            messages=tuple(Message("assistant", said) for said in words),
            tool_calls=tuple(self._calls(replies, results, handoffs)),
            unobserved={"telemetry": NO_TELEMETRY},
            tokens=_count_tokens(run.raw_responses[-len(replies) :] if replies else ()),
            metadata={
                **({} if asked is None else {APPROVALS: approvals}),
                **({"interrupts": [_question(item) for item in asked]} if asked else {}),
            },
        )

    def _keep_new(self, parts: Sequence[Any], identity: Any) -> Iterator[Any]:
        """The parts of a run that no earlier turn had; approvals are about calls that are there themselves."""
        for part in parts:
            key = identity(part)
            if getattr(part, "type", "") != "tool_approval_item" and id(key) not in self._seen:
                self._seen[id(key)] = key
                yield part

    def _read_reply(self, response: Any) -> tuple[str, ModelReply]:
        from carob.providers.catalog import RESPONSES

        self._replies += 1
        reply = RESPONSES.reply({"output": [_dump(item) for item in response.output], "status": "completed"})
        return f"response-{self._replies}", reply

    def _calls(
        self, replies: Sequence[tuple[str, ModelReply]], results: Mapping[str, Any], handoffs: set[str]
    ) -> Iterator[ToolCall]:
        """Those that waited and have a result now, then those that were asked for in this turn."""
        for id in [id for id in self._waiting if id in results]:
            request, message = self._waiting.pop(id)
            yield read_call(request, message, ReturnedResult(id, content=results[id].get("output")))
        for message, reply in replies:
            for request in (request for said in reply.messages for request in said.calls):
                result = results.get(request.id)
                returned = None if result is None else ReturnedResult(request.id, content=result.get("output"))
                call = read_call(structs.replace(request, with_words=bool(reply.text)), message, returned)
                if returned is None:
                    self._waiting[request.id] = request, message
                yield structs.replace(call, kind="handoff") if request.id in handoffs else call
            for call in reply.provider_calls:
                yield structs.replace(call, message=message)


def _waiting_call(item: Any) -> WaitingCall:
    return WaitingCall(str(item.name or ""), jsonable(json_arguments(item.arguments)))


def _approval(kind: str, item: Any) -> dict[str, object]:
    call = _waiting_call(item)
    return {"kind": kind, "tool": call.tool, "arguments": call.arguments}


def _question(item: Any) -> str:
    call = _waiting_call(item)
    return text(f"Approve {call.tool} {encode(call.arguments).decode()}?")


def _reject(state: Any, item: Any, decision: CallDecision) -> None:
    if decision.reason:
        state.reject(item, rejection_message=decision.reason)
    else:
        state.reject(item)


def _call_id(raw: Any) -> str:
    """The id of a call, from its item or from that of its result; one that the provider runs has an id alone."""
    item = _dump(raw)
    return text_of(item.get("call_id")) or text_of(item.get("id"))


def _dump(item: Any) -> dict[str, Any]:
    dump = getattr(item, "model_dump", None)
    value = jsonable(dump(exclude_unset=True) if callable(dump) else item)
    return value if isinstance(value, dict) else {}


def answer_text(output: object) -> str:
    """What the run ended with: words, or a value of the type that the agent was asked for."""
    if output is None:
        return ""
    if isinstance(output, str):
        return text(output)
    dump = getattr(output, "model_dump", None)
    return encode(jsonable(dump() if callable(dump) else output)).decode()


def _count_tokens(responses: Sequence[Any]) -> Tokens | None:
    used = [response.usage for response in responses]
    if not any(usage.requests for usage in used):
        return None
    return Tokens(sum(usage.input_tokens for usage in used), sum(usage.output_tokens for usage in used))
