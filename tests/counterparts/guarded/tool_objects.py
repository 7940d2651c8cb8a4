"""Tools of one framework, called as it calls them: what a guard and a recorder know once the call has ended.

`python tool_objects.py FRAMEWORK POLICY` prints one line of JSON for each way of handing a tool over.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import carob
from carob.errors import UsageError
from carob.evidence.recorder import Recorder
from carob.targets.in_process.cases import RunningCase
from carob.targets.in_process.functions import Door, wrap_function
from carob.targets.in_process.wrapping import WRAPPING

ENDINGS = ("returns", "raises", "is cancelled", "is not awaited", "gives a generator")


def functions_of(ending: str) -> Iterator[Callable[..., Any]]:
    def get_invoice(id: str) -> Any:
        """Look an invoice up."""
        if ending == "gives a generator":
            return iter_items()
        if ending == "raises":
            raise LookupError("there is no such invoice")
        return {"id": id, "total": 80}

    def iter_items() -> Iterator[Any]:
        yield 1
        raise LookupError("there is no such invoice")

    if ending not in ("is cancelled", "is not awaited"):
        yield get_invoice
    sync = get_invoice

    async def get_invoice(id: str) -> Any:  # type: ignore[no-redef]
        """Look an invoice up."""
        await asyncio.sleep(60 if ending == "is cancelled" else 0)
        return sync(id)

    yield get_invoice


def langchain(function: Any) -> Any:
    from langchain_core.tools import StructuredTool

    is_async = inspect.iscoroutinefunction(function)
    return StructuredTool.from_function(**{"coroutine" if is_async else "func": function}, name="get_invoice")


def call_langchain(tool: Any) -> Awaitable[Any]:
    return tool.ainvoke({"type": "tool_call", "id": "1", "name": "get_invoice", "args": {"id": "A"}})


def openai_agents(function: Any) -> Any:
    from agents import function_tool

    return function_tool(function, failure_error_function=None)


def call_openai_agents(tool: Any) -> Awaitable[Any]:
    from agents.tool_context import ToolContext

    arguments = json.dumps({"id": "A"})
    context = ToolContext(context=None, tool_name="get_invoice", tool_call_id="1", tool_arguments=arguments)
    return tool.on_invoke_tool(context, arguments)


def pydantic_ai(function: Any) -> Any:
    from pydantic_ai import Tool

    return Tool(function)


def call_pydantic_ai(tool: Any) -> Awaitable[Any]:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def reply(messages: Any, info: Any) -> ModelResponse:
        call = ToolCallPart("get_invoice", {"id": "A"}, tool_call_id="1")
        return ModelResponse(parts=[call if len(messages) == 1 else TextPart("Done.")])

    return Agent(FunctionModel(reply), tools=[tool]).run("Look it up.")


def crewai(function: Any) -> Any:
    from crewai.tools import tool

    return tool("get_invoice")(function)


def call_crewai(tool: Any) -> Awaitable[Any]:
    async def call() -> Any:
        return tool.to_structured_tool().invoke({"id": "A"})  # as its agents call it; a coroutine function by `arun`

    return tool.arun(id="A") if inspect.iscoroutinefunction(tool.func) else call()


def google_adk(function: Any) -> Any:
    from google.adk.tools import FunctionTool

    return FunctionTool(function)


def call_google_adk(tool: Any) -> Awaitable[Any]:
    from types import SimpleNamespace

    return tool.run_async(args={"id": "A"}, tool_context=SimpleNamespace(function_call_id="1"))


async def end(ending: str, pending: Awaitable[Any]) -> None:
    if ending == "is not awaited":
        pending.close()  # type: ignore[attr-defined]  # it is a coroutine
        return
    task = asyncio.ensure_future(pending)
    await asyncio.sleep(0.3 if ending == "is cancelled" else 0)
    if ending == "is cancelled":
        task.cancel()
    try:
        await task
    except (asyncio.CancelledError, Exception) as error:  # noqa: BLE001 - frameworks make their own of what a tool raises
        print(f"# {type(error).__name__}: {error}"[:200])


async def try_guard(guard: carob.Guard, make: Any, call: Any, door: str, ending: str, function: Any) -> str:
    with guard.conversation() as conversation:
        try:
            if door == "frameworks":
                with guard.frameworks():
                    await end(ending, call(make(function)))
            else:
                await end(ending, call(guard.tool(make(function)) if door == "object" else make(guard.tool(function))))
        except UsageError as refused:
            return f"refused: {refused}"
        is_paid = bool(conversation.allow("pay_invoice", {"id": "A"}))
    return "right" if is_paid is (ending == "returns") else f"OPEN: paid is {is_paid}"


async def try_recorder(make: Any, call: Any, door: str, ending: str, function: Any) -> str:
    recorder = Recorder()
    WRAPPING.open()
    with RunningCase(recorder, None) as running:
        tool = make(function)
        handed = Door(running, lambda _: running)
        try:
            await end(ending, call(wrap_function(tool, "", handed) if door == "recorded object" else tool))
        except UsageError as refused:
            return f"refused: {refused}"
        calls = [(each.name, each.as_call().success) for each in recorder.ran_calls]
    WRAPPING.close()
    known = {"returns": [True], "raises": [False]}.get(ending, [None, False])
    is_right = [name for name, _ in calls] == ["get_invoice"] and calls[0][1] in known
    return "right" if is_right or (ending == "is not awaited" and not calls) else f"OPEN: {calls}"


async def main(framework: str, policy: str) -> None:
    make, call = globals()[framework], globals()[f"call_{framework}"]
    guard = carob.Guard(policy)
    for ending in ENDINGS:
        for function in functions_of(ending):
            kind = "async" if inspect.iscoroutinefunction(function) else "sync"
            found = {}
            for door in ("frameworks", "object", "function"):
                found[door] = await try_guard(guard, make, call, door, ending, function)
            for door in ("recorded", "recorded object"):
                found[door] = await try_recorder(make, call, door, ending, function)
            print(json.dumps({"ending": ending, "kind": kind, **found}))


asyncio.run(main(*sys.argv[1:]))
