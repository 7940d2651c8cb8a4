"""A turn with a target as it is proposed: what gives no answer is not proposed."""

from __future__ import annotations

from karat.model.suite import Case
from karat.model.trace import Trace
from karat.targets.base import RunContext, TargetError
from karat.targets.catalog import build
from karat.targets.config import TargetConfig


async def prove_target(config: TargetConfig, *prompts: str, earlier: list[Trace] | None = None) -> Trace:
    """The trace of the last prompt; those of the others are added to `earlier`.

    Raises TargetError where a case would be an ERROR, or says nothing at all.
    """
    *setup, last = prompts
    case = Case(id="inspect", prompt=last, setup_prompts=tuple(setup), checks=())
    target = build(config)
    try:
        await target.open()
        trace = await target.run(case, RunContext(after_setup=None if earlier is None else earlier.append))
    finally:
        await target.close()
    if trace.error is not None:
        raise TargetError(trace.error.kind, trace.error.message, partial=trace)
    if not trace.final_message.strip() and not trace.tool_calls:
        raise TargetError("bad-answer", "the turn ended without any text and without a tool call", partial=trace)
    return trace


def describe_trace(trace: Trace, most: int = 300) -> tuple[str, ...]:
    """What a turn records, in lines."""
    from karat.text.wording import shorten, visible

    calls = [f"called {_call(call.name, call.arguments)}: {_end(call.success)}" for call in trace.tool_calls]
    hidden = [f"not observed: {name} ({why})" for name, why in trace.unobserved.items()]
    return (f"said {visible(shorten(trace.final_message, most))!r}", *calls, *hidden)


def _call(name: str, arguments: object) -> str:
    import msgspec

    from karat.text.wording import shorten, visible

    return f"{visible(name)} {visible(shorten(msgspec.json.encode(arguments).decode(), 120))}"


def _end(success: bool | None) -> str:
    return {True: "succeeded", False: "failed", None: "outcome unknown"}[success]
