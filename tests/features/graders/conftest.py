from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.fixtures import carob, here

__all__ = ["carob", "here"]

CALLS = [
    {"name": "get_order", "arguments": {"order": "A1"}, "result": {"total": 12.5}, "success": True},
    {"name": "cancel_order", "arguments": {"order": "A1"}, "result": {"ok": True}, "success": True},
]


def conversation(number: int) -> dict[str, object]:
    answer = "A1 is cancelled: 12.50 EUR."
    return {"case_id": f"c{number}", "input": f"Cancel A1 ({number}).", "final_message": answer, "tool_calls": CALLS}


@pytest.fixture
def recording(tmp_path: Path) -> str:
    """Six recorded conversations that the honest judge accepts."""
    path = tmp_path / "recorded.jsonl"
    path.write_text("".join(json.dumps(conversation(number)) + "\n" for number in range(6)))
    return str(path)
