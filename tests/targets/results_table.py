"""Results of tools as real frameworks return them, and whether the call succeeded: one table for every target."""

from __future__ import annotations

import json
from typing import Any

RAISED = "\0raised"
"""In place of a result: the tool raised."""


def mcp(*texts: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text} for text in texts], **more}


FAILED: list[Any] = [
    RAISED,
    {"success": False},
    {"ok": 0},
    {"success": True, "error": "card declined"},
    {"error": {"type": "not_found", "message": "no such order"}},
    {"errors": [{"message": "Cannot query field 'refund'"}], "data": None},
    {"errorCode": "E-104", "order": "A-17"},
    {"errorMessage": "2 validation errors", "errorType": "ValidationError"},
    {"status": 200, "body": {"error": "out of stock"}},
    {"statusCode": 200, "body": '{"error": "out of stock"}'},
    {"status": "completed", "result": {"error": "out of stock"}},
    {"status": "success", "data": {"success": False}},
    {"data": {"response": {"output": {"ok": False}}}},
    {"status": "error", "message": "no such order"},
    {"status": "declined", "id": "re_1"},
    {"state": "FAILED"},
    {"status": "rejected", "reason": "policy"},
    {"status": 404},
    {"status": "500 Internal Server Error"},
    {"http_status": 403, "body": "<html>"},
    {"exit_code": 1, "stdout": "", "stderr": "no such file"},
    {"returncode": 2},
    {"sent": 3, "failed": 1},
    {"failed": ["a@example.org"]},
    mcp("the day is full", isError=True),
    mcp("Error executing tool book: the day is full"),
    mcp('{"success": false, "reason": "full"}'),
    mcp("ok", structuredContent={"error": "full"}),
    json.dumps(json.dumps({"success": False})),
    json.dumps({"result": json.dumps({"error": "full"})}),
    "{'success': False, 'when': datetime.date(2026, 1, 1)}",
    "Booking(success=False, room=None)",
    "ToolResult(ok=False, error='full')",
    '```json\n{"ok": false}\n```',
    "(False, 'no room left')",
    "Error: user not found",
    "Error executing tool 'book': KeyError('room')",
    "Exception: no connection",
    'Traceback (most recent call last):\n  File "a.py", line 1',
    "ValueError: bad date",
    "openai.RateLimitError: slow down",
    "Failed to book the room",
    "Could not reach the hotel",
    "The room could not be booked",
    "Unable to find the order",
    "404 Not Found",
    "Permission denied",
    "Request timed out after 30 s",
    "<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE",
    {"code": 5, "message": "order A-17", "details": []},
    {"status": "PERMISSION_DENIED", "message": "no"},
    {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Unknown tool"}},
    ["Error: a", "Error: b"],
    [{"error": "a"}, {"error": "b"}],
    [{"success": False, "id": 1}],
]
SUCCEEDED: list[Any] = [
    None,
    "",
    "Booked.",
    "0 errors found",
    "No errors.",
    "Error handling guide, chapter 4",
    "[]",
    42,
    True,
    {"status": "paid"},
    {"status": "cancelled", "order": "A-17"},
    {"status": "pending"},
    {"room": 12, "status": "unavailable"},
    {"success": True},
    {"success": True, "error": None, "errors": []},
    {"status": 200, "body": {"id": "A-17", "status": "shipped"}},
    {"status": "completed", "result": {"total": 12.5}},
    {"exit_code": 0, "stdout": "Error: quoted by the tool's user"},
    {"sent": 3, "failed": 0},
    {"code": 0, "message": "ok"},
    {"code": 415, "city": "San Francisco"},
    {"error_rate": 0.2, "requests": 900},
    [{"id": 1, "status": "failed"}, {"id": 2, "status": "failed"}],
    {"orders": [{"id": 1, "status": "declined"}]},
    {"data": [{"id": 1, "status": "error"}, {"id": 2, "status": "ok"}]},
    [{"success": True}, {"success": False}],
    mcp("Booked.", isError=False),
    mcp('{"status": "paid"}'),
    "{'status': 'paid', 'when': datetime.date(2026, 1, 1)}",
    "Booking(success=True, room=12)",
    "I found the error log of yesterday.",
    "Log of today:\nERROR: disk full",
    {"message": "Error report attached", "id": 7},
    {"missing_fields": []},
]
TABLE = [*((result, False) for result in FAILED), *((result, True) for result in SUCCEEDED)]


def as_text(result: Any) -> str:
    """The result as a protocol writes it that knows nothing but text."""
    return result if isinstance(result, str) else json.dumps(result)
