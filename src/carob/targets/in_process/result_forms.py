"""How the tools of a framework hand over what they found, and how they fail: a fault changes the content alone."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

from carob.proxy.faults.world import FaultError, FaultTimeoutError, Opaque


class PlainForm:
    """A value as it is; a failure is raised."""

    def __init__(self, tool: Any, call_id: str | None, args: tuple[Any, ...]) -> None:
        self.tool = tool
        self.call_id = call_id
        self.args = args
        """What the tool was called with, by position."""
        self.raw: Any = None
        self.failed = False
        """Whether the framework says that the tool raised."""

    def open(self, raw: Any) -> Any:
        """The content alone."""
        self.raw = raw
        return raw

    def close(self, value: Any) -> Any:
        """What the tool gives with this content."""
        return value

    def is_result(self, event: Any) -> bool:
        """Whether an event of a stream is known to be its result, and so the last one."""
        return False

    def fail(self, error: FaultError) -> Any:
        """Raise the error, or give what the framework gives for it."""
        raise error


class TextForRefusal(PlainForm):
    """OpenAI Agents and pydantic-ai: a value as it is. What a tool raises is hidden from the model, or ends the run, so
    a refusal is what the tool gives."""

    def fail(self, error: FaultError) -> Any:
        if error.is_refused:
            return str(error)
        raise error


class ResultObject(PlainForm):
    """Agno: an object with the result, or with what the tool raised."""

    def open(self, raw: Any) -> Any:
        self.raw = raw
        self.failed = raw.status == "failure"
        return raw.error if self.failed else raw.result

    def close(self, value: Any) -> Any:
        if self.raw is None:
            return self._result_class()(status="success", result=value)
        current = self.raw.error if self.failed else self.raw.result
        self.tool.result = value
        return self.raw if value is current else self.raw.model_copy(update={"result": value})

    def fail(self, error: FaultError) -> Any:
        self.tool.error = str(error)
        return self._result_class()(status="failure", error=str(error))

    def _result_class(self) -> Any:
        from agno.tools.function import FunctionExecutionResult  # type: ignore[import-not-found, unused-ignore]

        return FunctionExecutionResult


class ToolOutput(PlainForm):
    """LlamaIndex: an object with what the tool gave, and with words of it for the model."""

    def open(self, raw: Any) -> Any:
        self.raw = raw
        self.failed = bool(getattr(raw, "is_error", False))
        return getattr(raw, "raw_output", raw)

    def close(self, value: Any) -> Any:
        from llama_index.core.tools.types import (  # type: ignore[import-not-found, unused-ignore]
            ToolOutput as LlamaIndexOutput,
        )

        if self.raw is not None and value is self.open(self.raw):
            return self.raw
        name = self.tool.metadata.get_name()
        return LlamaIndexOutput(content=str(value), tool_name=name, raw_input={}, raw_output=value)


class ContextResult(PlainForm):
    """Semantic Kernel: the function puts its result into the context that it was called with."""

    def open(self, raw: Any) -> Any:
        result = self.args[0].result
        return result if result is None else result.value

    def close(self, value: Any) -> Any:
        from semantic_kernel.functions import FunctionResult  # type: ignore[import-not-found, unused-ignore]

        context = self.args[0]
        if context.result is None:
            context.result = FunctionResult(function=self.tool.metadata, value=value)
        elif context.result.value is not value:
            context.result = context.result.model_copy(update={"value": value})


class ToolUseResult(PlainForm):
    """strands: the result of a tool use, in blocks and with a status, alone or within the last event."""

    def open(self, raw: Any) -> Any:
        self.raw = raw
        result = getattr(raw, "tool_result", raw)
        self.failed = isinstance(result, dict) and result.get("status") == "error"
        blocks = result.get("content") if isinstance(result, dict) else None
        if isinstance(blocks, list) and len(blocks) == 1 and isinstance(blocks[0], dict) and len(blocks[0]) == 1:
            return next(iter(blocks[0].values()))
        return result if blocks is None else blocks

    def close(self, value: Any) -> Any:
        return self.raw if self.raw is not None and value is self.open(self.raw) else self._event(value, "success")

    def fail(self, error: FaultError) -> Any:
        return self._event(f"Error: {error}", "error")

    def is_result(self, event: Any) -> bool:
        return hasattr(event, "tool_result") or (isinstance(event, dict) and {"toolUseId", "status"} <= event.keys())

    def _event(self, value: Any, status: str) -> Any:
        content = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        result = {"toolUseId": self.call_id, "status": status, "content": [{"text": content}]}
        if not hasattr(self.tool, "stream"):
            return result
        from strands.types._events import ToolResultEvent  # type: ignore[import-not-found, unused-ignore]

        return ToolResultEvent(result)


class McpResult(PlainForm):
    """MCP: content in blocks, and whether it is an error."""

    def open(self, raw: Any) -> Any:
        self.raw = raw
        self.failed = bool(getattr(raw, "isError", getattr(raw, "is_error", False)))
        structured = getattr(raw, "structuredContent", getattr(raw, "structured_content", None))
        if isinstance(structured, dict):
            return structured
        texts = [block.text for block in getattr(raw, "content", ()) if isinstance(getattr(block, "text", None), str)]
        return "".join(texts)

    def close(self, value: Any) -> Any:
        return self.raw if self.raw is not None and value == self.open(self.raw) else self._result(value, failed=False)

    def fail(self, error: FaultError) -> Any:
        return self._result(str(error), failed=True)

    def _result(self, value: Any, *, failed: bool) -> Any:
        from mcp.types import CallToolResult  # only where the class was called, so it is there

        content = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        structured = value if isinstance(value, dict) else None
        return CallToolResult.model_validate(
            {"content": [{"type": "text", "text": content}], "isError": failed, "structuredContent": structured}
        )


_PLAIN = frozenset({str, dict, list, int, float, bool, type(None)})
"""Types of values that are neither messages nor around one."""


def _as_it_is(changed: Any) -> Any:
    return changed


class LangChainResult(PlainForm):
    """LangChain: a value, a value with an artifact, a message, or a message within a command of LangGraph."""

    def __init__(self, tool: Any, call_id: str | None, args: tuple[Any, ...]) -> None:
        super().__init__(tool, call_id, args)
        self._value: Any = None
        self._put_back: Callable[[Any], Any] | None = None

    def open(self, raw: Any) -> Any:
        self.raw = self._value = raw
        self._put_back = _as_it_is
        if type(raw) not in _PLAIN:
            self._value, self._put_back = self._open(raw)
        return self._value

    def close(self, value: Any) -> Any:
        if self._put_back is not None:
            return self.raw if value is self._value else self._put_back(value)
        return (value, None) if self._has_artifact else value

    def fail(self, error: FaultError) -> Any:
        """Raise the error as LangChain expects one of a tool; a tool that is gone is answered as an unknown one is."""
        from langchain_core.messages import ToolMessage

        if (error.gone or error.is_refused) and self.call_id:
            gone = f"Error: {self.tool.name} is not a valid tool, try another one."
            content = str(error) if error.is_refused else gone
            message = ToolMessage(content, name=self.tool.name, tool_call_id=self.call_id, status="error")
            return (message, None) if self._has_artifact else message
        raise _as_tool_exception(error) from None

    @property
    def _has_artifact(self) -> bool:
        return bool(self.tool.response_format == "content_and_artifact")

    def _open(self, raw: Any) -> tuple[Any, Callable[[Any], Any]]:
        from langchain_core.messages import ToolMessage

        if self._has_artifact and isinstance(raw, tuple) and len(raw) == 2:
            value, put_back = self._open_content(raw[0], ToolMessage)
            return value, lambda changed: (put_back(changed), raw[1])
        return self._open_content(raw, ToolMessage)

    def _open_content(self, raw: Any, message: type) -> tuple[Any, Callable[[Any], Any]]:
        if isinstance(raw, message):
            self.failed = getattr(raw, "status", "") == "error"
            return raw.content, lambda changed: _with_content(raw, changed)  # type: ignore[attr-defined]  # a message has one
        update = getattr(raw, "update", None)
        if not hasattr(raw, "goto") or not isinstance(update, dict):
            return raw, _as_it_is
        messages = update.get("messages")
        answers = [entry for entry in messages if isinstance(entry, message)] if isinstance(messages, list) else []
        if len(answers) != 1:
            return Opaque(), lambda changed: raw

        def put_back(changed: Any) -> Any:
            rewritten = [_with_content(entry, changed) if entry is answers[0] else entry for entry in messages or ()]
            return dataclasses.replace(raw, update={**update, "messages": rewritten})

        return answers[0].content, put_back  # type: ignore[attr-defined]  # as above


def _with_content(message: Any, content: Any) -> Any:
    fits = isinstance(content, str | list)
    return message.model_copy(update={"content": content if fits else json.dumps(content, ensure_ascii=False)})


def _as_tool_exception(error: FaultError) -> Exception:
    """The same error as one of a tool, so that a tool that answers for its own errors answers for it."""
    from langchain_core.tools import ToolException

    late = isinstance(error, FaultTimeoutError)
    kind: type[Exception] = type("ToolTimeoutError" if late else "ToolError", (type(error), ToolException), {})
    return kind(str(error))
