"""One JSON object per line, appended to a file."""

import json
import logging
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from canvas_app.telemetry.observer import ToolCall, TurnInfo
from canvas_app.tools.base import ToolResult

TEXT_LIMIT = 4_000
_log = logging.getLogger("canvas_app.telemetry")


def bounded(value: object) -> object:
    """The value with every text in it cut to a bound, so that one line stays one small write."""
    if isinstance(value, str):
        return value if len(value) <= TEXT_LIMIT else f"{value[:TEXT_LIMIT]}… ({len(value)} characters)"
    if isinstance(value, Mapping):
        return {str(key)[:80]: bounded(item) for key, item in list(value.items())[:100]}
    if isinstance(value, list | tuple):
        return [bounded(item) for item in value[:100]]
    return value


class JsonLines:
    """The file is opened for each line, so that it can be rotated away under the app; a line is one appending write."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, turn: TurnInfo, source: str, event: str, level: str, data: Mapping[str, object]) -> None:
        line = {
            "ts": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "level": level,
            "source": source,
            "event": event,
            "correlation_id": turn.correlation_id,
            "turn": turn.number,
            "data": bounded(data),
        }
        encoded = (json.dumps(line, ensure_ascii=False, default=str) + "\n").encode("utf-8", "backslashreplace")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(descriptor, encoded)
            finally:
                os.close(descriptor)
        except OSError as problem:
            # A full disk must not take the conversation down; whoever reads the log sees that the line is missing.
            _log.error("telemetry line not written to %s: %s", self.path, problem)

    def turn_started(self, turn: TurnInfo) -> None:
        self.write(turn, "turn", "start", "info", {"brain": turn.brain, "trigger": turn.trigger})

    def tool_started(self, turn: TurnInfo, call: ToolCall) -> None:
        self.write(turn, f"tool.{call.name}", "start", "info", {"call": call.id, "arguments": call.arguments})

    def tool_finished(self, turn: TurnInfo, call: ToolCall, result: ToolResult, milliseconds: float) -> None:
        told = result.as_json()
        data = {"call": call.id, "success": result.success, "duration_ms": round(milliseconds, 2), "result": told}
        if "missingFields" in told:
            data["missingFields"] = told["missingFields"]
        self.write(turn, f"tool.{call.name}", "result", "info" if result.success else "warning", data)

    def tool_crashed(self, turn: TurnInfo, call: ToolCall, error: str, milliseconds: float) -> None:
        data = {"call": call.id, "success": False, "duration_ms": round(milliseconds, 2), "error": error}
        self.write(turn, f"tool.{call.name}", "error", "error", data)

    def model_asked(self, turn: TurnInfo, model: str) -> None:
        self.write(turn, "model", "start", "info", {"model": model})

    def model_answered(self, turn: TurnInfo, usage: Mapping[str, int], error: str | None) -> None:
        level = "info" if error is None else "error"
        self.write(turn, "model", "end", level, {"usage": usage} if error is None else {"usage": usage, "error": error})

    def turn_ended(self, turn: TurnInfo, status: str, error: str | None, milliseconds: float) -> None:
        data = {"status": status, "duration_ms": round(milliseconds, 2)} | ({"error": error} if error else {})
        self.write(turn, "turn", "end", "info" if status == "ok" else "error", data)

    def close(self) -> None:
        """Nothing is held open."""
