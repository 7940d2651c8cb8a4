"""Signs of failure in the results of tools, as real tools write them; and what is none."""

from __future__ import annotations

import datetime
import json
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from carob.text.tool_results import (
    call_success,
    missing_fields,
    parse_result,
    shows_failure,
)

DAY = datetime.date(2026, 1, 1)


class State(Enum):
    BROKEN = "error"
    FINE = "ok"


@dataclass
class Booking:
    success: bool
    when: datetime.date


class Model(BaseModel):
    ok: bool
    note: str = "it's"
    when: datetime.datetime = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def block(*texts: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text} for text in texts]


FAILURES: list[Any] = [
    *({"success": False}, {"Success": False}, {"ok": False}, {"success": "false"}, {"success": 0}),
    *({"success": False, "error": None}, {"error": "boom"}, {"error": {"code": 1}}, {"Error": "x"}, {"error": True}),
    *({"status": "error"}, {"status": "FAILED"}, {"state": "failed"}, {"status": 500}, {"statusCode": 404}),
    *({"exit_code": 1, "stdout": ""}, {"errors": ["bad date"]}, {"errors": [{"message": "x"}], "data": None}),
    *({"isError": True, "content": block("x")}, {"is_error": True}, {"content": block("Error: full")}),
    *({"result": {"success": False}}, {"status": 200, "data": {"success": False}}, {"data": {"error": "x"}}),
    *({"status": "ok", "result": {"ok": False}}, {"output": "Error: x"}, {"output": '{"ok": false}'}),
    *({"response": {"status": "error"}}, (False, "no room"), [False, "no room"]),
    *([{"success": False}, {"ok": False}], block('{"success": false, ', '"n": 1}'), block("Error: full")),
    *(json.dumps({"success": False}), json.dumps(json.dumps({"success": False})), '```json\n{"ok": false}\n```'),
    *('Result: {"success": false}', "(False, 'no room')", str({"success": False, "when": DAY}), repr(State.BROKEN)),
    *(str({"status": State.BROKEN, "at": DAY}), repr(Booking(False, DAY)), repr(Model(ok=False)), str(Model(ok=False))),
    *(
        "Error: nothing was booked",
        "Error: no room left",
        "Error: 0 rows exported because the table is locked",
        "Failed: 0 rows written due to a lock",
        "ERROR - nothing booked",
        "[ERROR] nothing booked",
        "**Error:** full",
        "error",
    ),
    *("❌ Failed to book", "Error 404: gone", "Error (code 5): x", "Error executing tool book: x", "Tool error: x"),
    *("An error occurred while booking", "There was an error.", "Something went wrong.", "Booking failed: full"),
    *("The booking failed.", "Could not book the room", "Couldn’t book it", "Unable to reach the hotel", "Failed."),
    *("ValueError: bad", "botocore.exceptions.ClientError: An error", "KeyError('x')", "ToolException('no')"),
    *("Traceback (most recent call last):\n  File", "success: false\nreason: full", "status: failed", "HTTP 500"),
    *("500 Internal Server Error", "Permission denied", "Request timed out after 30 s", "<error>no</error>"),
    *({"success": True, "error": "x"}, {"success": True, "data": {"id": 1, "status": "failed"}}, {"errors": 3}),
    *({"status": "declined"}, "Not found", "Cannot book", "Sorry, no", "The room could not be booked"),
    *({"status": 200, "body": {"error": "x"}}, {"status": "completed", "result": {"error": "x"}}),
    *({"passed": 3, "failed": 1}, {"failed": True}, {"failures": ["a"]}, {"errorCode": "E7"}, {"error_message": "x"}),
    *({"code": 5, "message": "no such order", "details": []}, {"code": -32602, "message": "bad"}, {"grpc-status": "5"}),
    *({"status": "PERMISSION_DENIED"}, {"status": "StatusCode.UNAVAILABLE"}, "<_InactiveRpcError of RPC that ended"),
    *(["Error: a", "Error: b"], [{"error": "a"}, {"error": "b"}], [{"status": "error", "message": "x"}]),
    *({"status": "404 Not Found"}, {"return_code": "2"}, {"data": {"body": {"result": '{"response": {"ok": 0}}'}}}),
    *("Observation: Error: x", "Fehler: nichts gebucht", "错误：没有", "<success>false</success>", "\n\nError: late"),
]
SUCCESSES: list[Any] = [
    *({"success": True}, {"ok": True}, {"status": "ok"}, {"status": "Success"}, {"status": 200}, {"exit_code": 0}),
    *({"success": True, "error": None}, {"success": True, "errors": []}, {"result": {"success": True}}),
    *({"ok": True, "result": [{"status": "error"}]}),
    *({"success": True, "message": "0 errors"}, [{"ok": True}, {"ok": True}], (True, "booked")),
    *(
        json.dumps({"success": True}),
        str({"success": True, "when": DAY}),
        repr(Booking(True, DAY)),
        str(Model(ok=True)),
    ),
    *(None, "", 5, True, {}, [], "{}", "[]", "null", "plain text", "Found 3 rooms", {"rows": []}, {"status": "open"}),
    *({"errors": []}, {"error": None}, {"error": ""}, {"error": "none"}, {"errors": 0}),
    *({"error_rate": 0.2}, {"error_count": 4}, {"status": "cancelled"}, {"status": "shipped"}, {"error": False}),
    *([{"id": 1, "status": "error"}, {"id": 2, "status": "ok"}], {"items": [{"status": "error"}]}),
    *(
        "0 errors",
        "No errors found.",
        "Errors: 0",
        "Errors: 0 in 3 files",
        "Failed: 0",
        "Without errors.",
        "No exceptions were raised",
    ),
    *("Error rate is 3%", "Error rate: 0.2%", "Error handling guide: chapter 4", "The error budget is fine"),
    *("Failed login attempts: 3", "3 tests failed, 5 passed", "Failover is on", "Failure is an option"),
    *("[1] Title of a document", "[Doc](http://x) says", "(see below) text", "Terror in the night: a film", "a = b"),
    *("Log of today:\nERROR: disk full\nERROR: again", "I found the error log of yesterday."),
    *("{'success': False", '{"success": fal', "{" * 100, "[" * 200_000, "<Booking object at 0x7f00>", "[{'a': <odd}]"),
    *({"success": None}, [{"success": True}, {"success": False}], "Nothing was booked.", "No room was booked"),
    *({"status": "paid"}, {"room": 12, "status": "unavailable"}, {"code": 415, "city": "San Francisco"}),
    *({"code": 0, "message": "ok"}, {"code": 200, "message": "ok"}, {"passed": 3, "failed": 0}, {"failures": []}),
    *([{"id": 1, "status": "failed"}, {"id": 2, "status": "failed"}], {"data": [{"id": 1, "status": "declined"}]}),
    *({"message": "Error report attached"}, "Booking(success=Fal", ["The plan", "Error: b"], {"id": 404}),
]


UNCLEAR = [
    *("Error: none", "Error: 0", "Failed: 0 of 3", "failed: 0/3", {"result": "Error: none"}),
    [{"type": "text", "text": "Failed: 0 out of 3"}],
]


def _named(value: object) -> str:
    return repr(value)[:60]


@pytest.mark.parametrize("result", FAILURES, ids=_named)
def test_a_sign_of_failure(result: Any) -> None:
    assert shows_failure(result)


@pytest.mark.parametrize("result", UNCLEAR, ids=_named)
def test_a_word_of_failure_with_a_zero_is_not_known(result: Any) -> None:
    assert call_success(result) is None
    assert call_success(result, claimed=True) is True


@pytest.mark.parametrize("result", SUCCESSES, ids=_named)
def test_what_is_no_sign_of_failure(result: Any) -> None:
    assert not shows_failure(result)


@pytest.mark.parametrize(
    ("result", "known", "success"),
    [
        (None, {}, True),
        ({"status": "paid"}, {}, True),
        ({"error": "full"}, {}, False),
        ({"error": "full"}, {"claimed": True}, False),
        ({"status": "paid"}, {"claimed": False}, False),
        ("Please try later.", {"raised": True}, False),
        (None, {"ended": False}, None),
        (None, {"ended": False, "claimed": True}, True),
    ],
)
def test_success_of_a_call(result: Any, known: dict[str, Any], success: bool | None) -> None:
    assert call_success(result, **known) is success


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False)
    | st.text()
    | st.dates()
    | st.datetimes()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.sampled_from(list(State))
    | st.binary(max_size=5)
    | st.sets(st.integers(), max_size=3)
)
NESTED = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3) | st.tuples(inner, inner)
    ),
    max_leaves=12,
)
BESIDE = st.dictionaries(st.sampled_from(["when", "price", "rooms", "note", "id"]), NESTED, max_size=4)


@given(BESIDE, st.booleans())
def test_whatever_stands_beside_it_in_a_repr(beside: dict[str, Any], success: bool) -> None:
    assert shows_failure(str({**beside, "success": success})) is not success
    assert shows_failure(repr(OrderedDict({"success": success, **beside}))) is not success


@given(st.text())
def test_no_text_raises(text: str) -> None:
    for spelled in (text, "{" + text, f"({text})", f"X({text})", f"a={text}"):
        shows_failure(spelled)
        parse_result(spelled)


def test_data_that_was_turned_into_text_is_data_again() -> None:
    written = {
        "when": DAY,
        "price": Decimal("1.50"),
        "state": State.BROKEN,
        "id": UUID(int=1),
        "rooms": {3},
        "by": defaultdict(list, a=[1]),
        "count": Counter("a"),
        "pair": (1, None),
    }
    assert parse_result(str(written)) == {
        "when": "datetime.date(2026, 1, 1)",
        "price": "1.50",
        "state": "error",
        "id": "00000000-0000-0000-0000-000000000001",
        "rooms": [3],
        "by": {"a": [1]},
        "count": {"a": 1},
        "pair": [1, None],
    }
    assert parse_result(block('{"a": ', "1}")) == {"a": 1}
    assert parse_result(block("words")) == block("words")
    assert parse_result("plain (text)") == "plain (text)"


@pytest.mark.parametrize(
    ("result", "missing"),
    [
        ({"missing_fields": ["date", 7]}, ("date",)),
        ({"missingFields": ["vin"]}, ("vin",)),
        ({"missing_fields": "date"}, ()),
        ("text", ()),
    ],
)
def test_missing_fields(result: Any, missing: tuple[str, ...]) -> None:
    assert missing_fields(result) == missing
