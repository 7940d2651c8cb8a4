from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.evidence.merge import merge_telemetry
from carob.evidence.recorder import Recorder
from carob.evidence.short_form import Short, ShortCall, read, tool_call
from carob.journal.limits import cap_trace
from carob.model.trace import ToolCall, Trace
from carob.targets.base import TargetError
from carob.targets.conversation import to_trace

from .conftest import case


def call(**keys: Any) -> ToolCall:
    return tool_call(msgspec.convert({"name": "lookup", **keys}, ShortCall))


@pytest.mark.parametrize(
    ("keys", "success", "missing"),
    [
        pytest.param({}, None, (), id="says-nothing"),
        pytest.param({"result": "found it"}, True, (), id="it-returned"),
        pytest.param({"result": {"success": True}}, True, (), id="the-result-says-so"),
        pytest.param({"result": {"success": "true"}}, True, (), id="a-word-for-true"),
        pytest.param({"success": False, "result": {"success": True}}, False, (), id="the-call-comes-first"),
        pytest.param({"error": "boom"}, False, (), id="an-error-is-a-failure"),
        pytest.param({"error": "boom", "result": {"success": True}}, False, (), id="an-error-whatever-the-result-says"),
        pytest.param({"result": {"status": "error"}}, False, (), id="a-status"),
        pytest.param({"result": "Error: nothing was booked"}, False, (), id="words-of-failure"),
        pytest.param({"result": "{'ok': False, 'at': datetime.date(2026, 1, 1)}"}, False, (), id="a-repr"),
        pytest.param({"result": "{'ok': True"}, True, (), id="torn"),
        pytest.param({"result": {"isError": True, "content": []}}, False, (), id="mcp"),
        pytest.param({"result": {"success": False, "missingFields": ["vin"]}}, False, ("vin",), id="missing-in-result"),
        pytest.param({"missingFields": ["a"], "result": {"missing_fields": ["b"]}}, True, ("a",), id="missing-in-call"),
        pytest.param({"missing_fields": []}, None, (), id="missing-nothing"),
    ],
)
def test_success_and_missing_fields(keys: dict[str, Any], success: bool | None, missing: tuple[str, ...]) -> None:
    assert (call(**keys).success, call(**keys).missing_fields) == (success, missing)


def test_the_other_fields_of_a_call() -> None:
    full = call(args={"q": 1}, id=7, started=False, error={"message": "m"}, started_at="2026-01-01", ended_at=5)
    assert full == ToolCall(
        "lookup", {"q": 1}, "7", False, error="m", success=False, started_at=1767225600.0, ended_at=5.0, unfinished=True
    )
    assert call(error={"code": 3}).error == '{"code":3}'


def event(name: str, what: str, **rest: Any) -> str:
    return msgspec.json.encode({"source": f"tool.{name}", "event": what, **rest}).decode()


@pytest.mark.parametrize(
    ("calls", "lines", "expected"),
    [
        pytest.param([ToolCall("a")], [], [ToolCall("a")], id="no-telemetry"),
        pytest.param(
            [ToolCall("a"), ToolCall("a")],
            [event("a", "start"), event("a", "result", success=True), event("a", "result", success=False)],
            [ToolCall("a", success=True), ToolCall("a", success=False)],
            id="each-is-completed-by-its-own",
        ),
        pytest.param(
            [ToolCall("a", success=False)],
            [event("a", "result", success=True)],
            [ToolCall("a", success=False)],
            id="what-was-told-stays",
        ),
        pytest.param(
            [ToolCall("a", id="2")],
            [event("a", "error", call_id="1", error="no"), event("a", "result", call_id="2", success=True)],
            [ToolCall("a", id="2", success=True), ToolCall("a", id="1", started=False, error="no", success=False)],
            id="the-same-id",
        ),
        pytest.param([], [event("delete", "start")], [ToolCall("delete")], id="a-call-left-out-of-the-list-is-a-call"),
    ],
)
def test_telemetry_completes_the_calls(calls: list[ToolCall], lines: list[str], expected: list[ToolCall]) -> None:
    assert list(merge_telemetry(calls, tuple(lines))) == expected


@pytest.mark.parametrize(
    ("entries", "lines"),
    [
        pytest.param(["a\r\nb\n\n"], ("a", "b"), id="several-lines"),
        pytest.param(["x\u2028y\x0bz"], ("x\u2028y\x0bz",), id="only-line-feeds-end-lines"),
        pytest.param([{"a": float("nan"), "b": "\ud800"}], ('{"a":"NaN","b":"\ufffd"}',), id="objects"),
    ],
)
def test_telemetry_lines(entries: list[Any], lines: tuple[str, ...]) -> None:
    trace = to_trace(read({"final_message": "", "telemetry": entries}), case())
    assert trace.telemetry == lines


@pytest.mark.parametrize(("more", "unseen"), [({}, False), ({"page": None}, False), ({"page_before": "- main"}, True)])
def test_an_agent_without_a_page_is_not_an_unseen_page(more: dict[str, Any], unseen: bool) -> None:
    trace = to_trace(read({"final_message": "x", **more}), case())
    assert trace.page is None
    assert ("page" in trace.unobserved) is unseen


def test_everything_else() -> None:
    keys = {
        "case_id": "one",
        "final_message": "x",
        "messages": [{"role": "user", "content": "p"}, {"role": "assistant", "name": "bot"}],
        "page_before": "b",
        "page": "a",
        "duration_ms": 3,
        "tokens": {"input": 1, "output": 2},
        "database": {"rows": [{"id": 1}]},
        "metadata": {"model": "m"},
    }
    trace = to_trace(read(keys), case())
    assert [(m.role, m.content, m.name) for m in trace.messages] == [("user", "p", None), ("assistant", "", "bot")]
    assert (trace.page_before, trace.page, trace.duration_ms) == ("b", "a", 3)
    assert (trace.database, trace.metadata) == ({"rows": [{"id": 1}]}, {"model": "m"})
    assert trace.tokens is not None
    assert (trace.tokens.input, trace.tokens.output) == (1, 2)


@pytest.mark.parametrize("error", ["boom", {"message": "boom"}, {"message": "boom", "kind": "agent", "detail": "d"}])
def test_an_error_is_raised_with_what_was_seen(error: object) -> None:
    with pytest.raises(TargetError, match="boom") as caught:
        to_trace(read({"error": error, "tools_called": ["a"]}), case())
    assert caught.value.kind == "agent"
    assert caught.value.partial is not None
    assert caught.value.partial.tool_calls == (ToolCall("a"),)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"turns": []}, "`turns` is empty"),
        ({"turns": [{"final_message": "a"}], "page": "b"}, "`page` cannot be combined with `turns`"),
        ({"turns": [{"turns": [{"final_message": "a"}]}]}, "turn 1 cannot contain turns"),
    ],
)
def test_turns_contain_all_of_a_conversation(value: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read(value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
calls = st.lists(
    st.dictionaries(st.sampled_from(ShortCall.__struct_encode_fields__), json_values, max_size=4), max_size=3
)
likely = st.fixed_dictionaries(
    {"final_message": st.text()},
    optional={
        "tool_calls": calls | json_values,
        "telemetry": st.lists(st.text() | st.dictionaries(st.text(), json_values, max_size=3), max_size=3),
        "tools_called": st.lists(st.text(max_size=3), max_size=3),
        "page": st.none() | st.text(),
        "metadata": st.dictionaries(st.text(), json_values, max_size=3),
        "error": json_values,
        "messages": json_values,
        "tokens": json_values,
    },
)
anything = st.dictionaries(st.sampled_from(Short.__struct_encode_fields__) | st.text(), json_values, max_size=5)


@given(likely | anything | json_values)
def test_any_value_is_a_trace_or_a_clear_error(value: object) -> None:
    try:
        trace = to_trace(read(value), case(), recorder=Recorder())
    except ValueError as error:
        said, trace = str(error), Trace(case_id="one")
    except TargetError as error:
        said, trace = error.kind, error.partial or Trace(case_id="one")
    else:
        said = "a trace"
    assert said
    trace = cap_trace(trace)
    assert msgspec.json.decode(msgspec.json.encode(trace), type=Trace) == trace
