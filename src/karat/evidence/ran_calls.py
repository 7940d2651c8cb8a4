"""Calls of tools that ran in this process, as the tool itself was seen to run."""

from __future__ import annotations

from time import time
from typing import Any

from karat.model.trace import ToolCall
from karat.text.clean import jsonable, text
from karat.text.tool_results import call_success, missing_fields, parse_result

WAITS = frozenset({"GraphBubbleUp", "ApprovalRequired", "CallDeferred", "InterruptException"})
"""Exceptions, by name, that say that a call waits for a person or hands over: it did not fail, and it is not over."""
STOPPED = frozenset({"CancelledError", "GeneratorExit", "KeyboardInterrupt"})
"""Exceptions by which a call was given up: how it would have ended is unknown."""


class RanCall:
    """One call, from the moment that its tool was entered. It is completed while the tool runs."""

    __slots__ = (
        "arguments",
        "began",
        "call_id",
        "ended_at",
        "error",
        "has_result",
        "is_linked",
        "name",
        "order",
        "owner",
        "parent",
        "result",
        "shows_failure",
        "started_at",
        "waits",
    )

    def __init__(
        self, name: str, arguments: object, call_id: str | None, parent: str | None, *, began: bool, owner: object
    ) -> None:
        self.name = name
        self.owner = owner
        """The run of a case that it is of."""
        self.arguments: Any = jsonable(arguments)
        self.call_id = call_id
        self.parent = parent
        self.began = began
        """Whether the tool itself was reached, and not only what looks at its arguments."""
        self.started_at = time()
        self.ended_at: float | None = None
        self.result: Any = None
        self.has_result = False
        self.error: str | None = None
        self.shows_failure = False
        self.waits = False
        self.is_linked = False
        """Whether another source saw the very same run."""
        self.order = 0

    @property
    def is_over(self) -> bool:
        return self.ended_at is not None or self.waits

    def note_result(self, result: object, *, failed: bool = False) -> None:
        """What the tool gave; `failed` where its framework says that it raised."""
        self.result, self.has_result = jsonable(result), True
        self.shows_failure = self.shows_failure or failed

    def note_error(self, error: BaseException) -> None:
        """What the tool raised, if it is not how it waits or was given up."""
        names = {kind.__name__ for kind in type(error).__mro__}
        if not names.isdisjoint(WAITS | STOPPED):
            self.waits = True
        elif self.error is None:
            self.error = text(f"{type(error).__name__}: {error}")

    def end(self) -> None:
        """The tool was left."""
        if not self.waits:
            self.ended_at = time()

    def as_call(self) -> ToolCall:
        """The call as it is known now."""
        result = parse_result(self.result)
        is_over = self.ended_at is not None and self.began
        raised = self.error is not None or self.shows_failure
        return ToolCall(
            self.name,
            self.arguments,
            id=self.call_id,
            started=self.began,
            result=None if self.error is not None else result,
            error=self.error,
            success=call_success(result, raised=raised, ended=is_over),
            missing_fields=missing_fields(result),
            started_at=self.started_at if self.began else None,
            ended_at=self.ended_at if self.began else None,
            unfinished=not is_over,
            parent=self.parent,
        )
