from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.evidence.logs.events import moment, parse, parse_all, tool_calls
from carob.model.trace import ToolCall


def line(source: str = "tool.lookup", event: str = "result", **rest: object) -> str:
    return json.dumps({"ts": "2026-01-01T00:00:00Z", "level": "info", "source": source, "event": event, **rest})


@pytest.mark.parametrize(
    ("text", "success", "missing"),
    [
        pytest.param('{"success": true}', True, (), id="top"),
        pytest.param('{"data": {"success": false}}', False, (), id="data"),
        pytest.param('{"data": {"result": {"success": true}}}', True, (), id="data-result"),
        pytest.param('{"success": false, "data": {"success": true}}', False, (), id="top-before-data"),
        pytest.param('{"data": {"result": {"success": true}, "success": false}}', False, (), id="data-before-result"),
        pytest.param('{"success": "true"}', None, (), id="a-word-is-no-bool"),
        pytest.param('{"success": 1}', None, (), id="a-number-is-no-bool"),
        pytest.param('{"success": "true", "data": {"success": false}}', False, (), id="wrong-type-counts-as-absent"),
        pytest.param('{"data": {"deep": {"success": true}}}', None, (), id="nowhere-else"),
        pytest.param('{"data": [{"success": true}]}', None, (), id="data-is-a-list"),
        pytest.param('{"missingFields": ["vin"]}', None, ("vin",), id="missing-top"),
        pytest.param('{"data": {"missing_fields": ["a", "b"]}}', None, ("a", "b"), id="missing-snake"),
        pytest.param('{"data": {"result": {"missingFields": ["x"]}}}', None, ("x",), id="missing-in-result"),
        pytest.param('{"missingFields": "vin"}', None, (), id="missing-is-no-list"),
        pytest.param('{"missingFields": ["vin", 3, null]}', None, ("vin",), id="missing-mixed-list"),
        pytest.param('{"data":{"v":NaN},"success":true}', True, (), id="nan-hides-nothing"),
        pytest.param('{"data":{"v":"\\ud800"},"success":true}', True, (), id="lone-surrogate-hides-nothing"),
        pytest.param('  \ufeff{"success" :true }\r\n', True, (), id="bom-and-spaces"),
    ],
)
def test_success_and_missing_fields(text: str, success: bool | None, missing: tuple[str, ...]) -> None:
    event = parse(text)
    assert event is not None
    assert (event.success, event.missing_fields) == (success, missing)


@pytest.mark.parametrize(
    "text", ["", "plain", "[1]", "3", '"x"', "null", "{", '{"a": 1', '{"a": 1} {"b": 2}', "{" * 99_999]
)
def test_a_line_that_is_no_object_is_no_event(text: str) -> None:
    assert parse(text) is None
    assert parse_all((text,)) == (None,)


@pytest.mark.parametrize(
    ("source", "tool"),
    [
        ("tool.add_component", "add_component"),
        ("tool.a.b-c", "a.b-c"),
        ("tool.", None),
        ("tools.x", "x"),
        ("llm", None),
    ],
)
def test_tool_name(source: str, tool: str | None) -> None:
    event = parse(line(source=source))
    assert event is not None
    assert event.tool == tool


@given(st.text())
def test_no_text_raises(text: str) -> None:
    parse(text)
    parse("{" + text + "}")
    tool_calls((text,))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
keys = st.sampled_from(
    ["ts", "success", "missingFields", "missing_fields", "id", "call_id", "error", "message", "args"]
)
places = st.dictionaries(keys, json_values, max_size=5)


@given(places, places, json_values, st.sampled_from(["start", "result", "error", "progress"]), st.randoms())
def test_any_values_in_known_places(top: dict, data: dict, result: object, event: str, random: object) -> None:
    whole = {**top, "source": "tool.x", "event": event, "data": {**data, "result": result}}
    items = list(whole.items())
    random.shuffle(items)  # type: ignore[attr-defined]
    first, second = json.dumps(whole), json.dumps(dict(items), indent=1).replace("\n", "  ")
    (call,) = tool_calls((first,))
    assert call.name == "x"
    assert call.started == (event == "start")
    assert repr(parse(first)) == repr(parse(second)), "key order and spacing never matter"


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["start", "result", "error"]))))
def test_every_start_is_one_call_and_no_end_is_lost(events: list[tuple[str, str]]) -> None:
    calls = tool_calls(tuple(line(source=f"tool.{name}", event=event) for name, event in events))
    for name in "ab":
        mine = [c for c in calls if c.name == name]
        ends = sum(1 for n, event in events if n == name and event != "start")
        assert sum(c.started for c in mine) == sum(1 for n, event in events if (n, event) == (name, "start"))
        assert sum(c.ended_at is not None for c in mine) == ends


CALLS = [
    pytest.param(
        [line(event="start", data={"args": {"q": 1}}), line(data={"success": True, "result": [7]})],
        [ToolCall("lookup", {"q": 1}, result=[7], success=True)],
        id="start-and-result",
    ),
    pytest.param([line(event="start", data={"input": "x"})], [ToolCall("lookup", "x")], id="start-alone"),
    pytest.param(
        [line(data={"success": False, "missingFields": ["vin"]})],
        [
            ToolCall(
                "lookup",
                started=False,
                success=False,
                missing_fields=("vin",),
                result={"success": False, "missingFields": ["vin"]},
            )
        ],
        id="result-without-start",
    ),
    pytest.param(
        [line(event="start"), line(event="error", data={"error": {"message": "boom"}})],
        [ToolCall("lookup", error="boom", success=False)],
        id="error",
    ),
    pytest.param(
        [line(event="error", message="down")],
        [ToolCall("lookup", started=False, error="down", success=False)],
        id="error-without-start-message-at-the-top",
    ),
    pytest.param(
        [line(event="start"), line(event="start"), line(success=True)],
        [ToolCall("lookup", success=True), ToolCall("lookup")],
        id="the-earliest-open-call-is-closed",
    ),
    pytest.param(
        [
            line(event="start", call_id="a"),
            line(event="start", data={"toolCallId": "b"}),
            line(call_id="b", success=True),
        ],
        [ToolCall("lookup", id="a"), ToolCall("lookup", id="b", success=True)],
        id="the-same-call-id-is-closed",
    ),
    pytest.param(
        [line(event="start", call_id="a"), line(call_id="z", success=True)],
        [ToolCall("lookup", id="a"), ToolCall("lookup", id="z", started=False, success=True)],
        id="another-call-id-is-another-call",
    ),
    pytest.param(
        [line(event="start", id=1), line(event="start", id=2), line(id=2, success=True)],
        [ToolCall("lookup", id="1"), ToolCall("lookup", id="2", success=True)],
        id="a-plain-id-matches",
    ),
    pytest.param(
        [line(event="start", id="log-1"), line(id="log-2", success=True)],
        [ToolCall("lookup", id="log-1", success=True)],
        id="a-plain-id-may-number-lines",
    ),
    pytest.param(
        [line(event="start"), line(source="tool.other", success=True)],
        [ToolCall("lookup"), ToolCall("other", started=False, success=True)],
        id="names-are-kept-apart",
    ),
    pytest.param(
        [line(event="start"), line(event="progress"), line(success=True), line(event="log")],
        [ToolCall("lookup", success=True)],
        id="other-events-of-a-known-tool",
    ),
    pytest.param([line(event="progress")], [ToolCall("lookup", started=False)], id="any-event-of-a-tool-is-a-call"),
    pytest.param([line(source="llm"), "text"], [], id="no-tool"),
]


@pytest.mark.parametrize(("lines", "expected"), CALLS)
def test_tool_calls(lines: list[str], expected: list[ToolCall]) -> None:
    calls = tool_calls(tuple(lines))
    assert [msgspec.structs.replace(call, started_at=None, ended_at=None) for call in calls] == expected


def test_one_request_that_two_layers_log_is_one_call() -> None:
    asked = {"toolCallId": "c1", "toolName": "lookup"}
    lines = (
        line("app.stream", "response.tool_call", data=asked),
        line("app.bridge", "assistant.tool.call", data=asked),
        line(event="start", data={"args": {"id": 7}}),
        line(data={"success": False, "missingFields": ["id"]}),
    )
    (call,) = tool_calls(lines)
    assert (call.id, call.arguments, call.success, call.missing_fields) == ("c1", {"id": 7}, False, ("id",))
    others = [line("app", "tool_call", data={**asked, "args": {"id": number}}) for number in (7, 8)]
    assert len(tool_calls(tuple(others))) == 2


def test_times_of_a_call() -> None:
    lines = (line(event="start"), line(event="result", ts=1767225601500, success=True))
    (call,) = tool_calls((lines[0], lines[1]))
    assert (call.started_at, call.ended_at) == (1767225600.0, 1767225601.5)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        pytest.param("2026-01-01T00:00:00Z", 1767225600.0, id="utc"),
        pytest.param("2026-01-01T00:00:00", 1767225600.0, id="no-zone-is-utc"),
        pytest.param("2026-01-01T01:00:00.5+01:00", 1767225600.5, id="offset"),
        pytest.param(1767225600, 1767225600.0, id="seconds"),
        pytest.param(1767225600500, 1767225600.5, id="milliseconds"),
        pytest.param("noon", None, id="no-time"),
        pytest.param(True, None, id="bool"),
        pytest.param(float("nan"), None, id="nan"),
        pytest.param(10**400, None, id="too-large"),
        pytest.param("0001-01-01T00:00:00+23:59", -62135683140.0, id="before-year-one"),
        pytest.param(None, None, id="none"),
    ],
)
def test_moment(value: object, seconds: float | None) -> None:
    assert moment(value) == seconds
