from __future__ import annotations

import hashlib

import msgspec
import pytest
from msgspec import structs

from carob.journal.limits import NOTE_CAP, cap_trace
from carob.model.trace import TEXT_CAP, Message, ToolCall, Trace, TraceError
from carob.redaction.redactor import Redactor
from carob.text import clean

SMALL = Trace(
    case_id="a",
    final_message="x",
    messages=(Message("user", "hi"),),
    tool_calls=(ToolCall("a", {"q": 1}, result="r", success=True),),
    telemetry=("line",),
    page="p",
    database={"a": 1},
)
BIG = "ü" * TEXT_CAP
OVER = len(BIG.encode())


def sizes(trace: Trace) -> dict[str, int]:
    return {name: len(msgspec.json.encode(getattr(trace, name))) for name in trace.__struct_fields__}


def test_a_small_trace_is_left_alone() -> None:
    assert cap_trace(SMALL) is SMALL


@pytest.mark.parametrize("channel", ["final_message", "page", "page_before", "answer_page"])
def test_text(channel: str) -> None:
    trace = cap_trace(structs.replace(SMALL, **{channel: BIG}))
    kept, cut = getattr(trace, channel), trace.cuts[channel]
    assert kept == "ü" * (TEXT_CAP // 2)
    assert (cut.size, cut.sha256) == (OVER, hashlib.sha256(BIG.encode()).hexdigest())
    assert trace.cuts.keys() == {channel}
    again = cap_trace(trace)
    assert again.cuts == trace.cuts, "capping what is capped changes nothing"


def test_a_prefix_never_ends_within_a_character() -> None:
    trace = cap_trace(structs.replace(SMALL, final_message="x" + BIG))
    assert trace.final_message == "x" + "ü" * (TEXT_CAP // 2 - 1)


def test_messages() -> None:
    trace = cap_trace(
        structs.replace(SMALL, messages=(Message("user", "hi"), Message("bot", BIG), Message("bot", "end")))
    )
    assert [m.role for m in trace.messages] == ["user", "bot"]
    assert trace.messages[0].content == "hi"
    assert trace.messages[1].content.startswith("üü")
    assert trace.cuts.keys() == {"messages"}


def test_telemetry() -> None:
    trace = cap_trace(structs.replace(SMALL, telemetry=("first", BIG, "end")))
    assert trace.telemetry[0] == "first"
    assert len(trace.telemetry) == 2
    assert len("".join(trace.telemetry).encode()) <= TEXT_CAP
    assert trace.cuts.keys() == {"telemetry"}


def test_results_are_cut_and_calls_are_kept() -> None:
    calls = (
        ToolCall("a", {"q": 1}, result="r", success=True),
        ToolCall("b", {"q": 1}, result=BIG, success=False, missing_fields=("vin",)),
        ToolCall("c", {"q": 1}, error=BIG),
    )
    trace = cap_trace(structs.replace(SMALL, tool_calls=calls))
    assert [(c.name, c.success, c.missing_fields) for c in trace.tool_calls] == [
        ("a", True, ()),
        ("b", False, ("vin",)),
        ("c", False, ()),
    ]
    assert trace.tool_calls[0] == calls[0]
    assert trace.tool_calls[1].result.startswith('"üü')
    assert trace.tool_calls[2].error == "ü" * 1000
    assert trace.cuts.keys() == {"tool_results"}
    assert not trace.unobserved


def test_calls_that_were_left_out_are_not_absent() -> None:
    trace = cap_trace(structs.replace(SMALL, tool_calls=(ToolCall("lookup"),) * 200_000 + (ToolCall("delete"),)))
    assert 0 < len(trace.tool_calls) < 200_000
    assert trace.cut("tools")
    assert trace.why_unobserved("tools") == trace.cut("tools")


def test_tables_and_errors() -> None:
    error = TraceError("agent", BIG, BIG + "end")
    trace = cap_trace(structs.replace(SMALL, database={"x": BIG}, metadata={"x": BIG}, error=error))
    assert (trace.database, trace.metadata) == ({}, {})
    assert trace.cuts.keys() == {"database", "metadata"}
    assert trace.error is not None
    assert trace.error.detail.endswith("end")
    assert sizes(trace)["error"] < 100_000


@pytest.mark.parametrize(
    "hostile",
    [
        Trace(case_id="a", final_message="\ud800"),
        Trace(case_id="a", input="\ud800", messages=(Message("\udfff", "\ud800"),)),
        Trace(case_id="a", tool_calls=(ToolCall("\ud800", object(), result={1: {2: b"x"}}),)),
        Trace(case_id="a", telemetry=("\ud800",), page="\ud800", database={"\ud800": [float("nan"), 1 << 90]}),
        Trace(case_id="a", error=TraceError("agent", "\ud800"), unobserved={"page": "\ud800"}),
    ],
)
def test_whatever_it_holds_it_can_be_written(hostile: Trace) -> None:
    trace = cap_trace(hostile)
    assert b"\xef\xbf\xbd" in msgspec.json.encode(trace)
    assert msgspec.json.decode(msgspec.json.encode(trace), type=Trace) == trace


def test_a_long_fault_is_cut_where_no_half_of_a_secret_can_stay() -> None:
    """Of what was written last, the end is kept, from a whole line or word on; a message keeps its beginning."""
    secret = "hush-1234-hush"
    detail = f"x{secret}\n".ljust(NOTE_CAP + 8, "y")
    words = f"x{secret} ".ljust(NOTE_CAP + 8, "y")
    message = "z" * (NOTE_CAP - 9) + secret
    for given in (detail, words):
        error = cap_trace(
            Trace(case_id="a", final_message="a" * (TEXT_CAP + 1), error=TraceError("agent", message, given))
        ).error
        assert error is not None
        cleaned = Redactor([secret]).redact(error)
        assert cleaned.detail == "…" + given[len(secret) + 2 :]
        assert cleaned.message == "z" * (NOTE_CAP - 9) + "[removed]…"


def test_values_that_hold_themselves_or_too_much_come_to_an_end() -> None:
    class Endless:
        def model_dump(self) -> object:
            return {"more": Endless()}

    deep = clean.jsonable(Endless())
    depth = 0
    while isinstance(deep, dict):
        deep, depth = deep["more"], depth + 1
    assert (deep, depth <= clean.DEPTH_CAP) == ("…", True)
    wide = clean.jsonable([[] for _ in range(clean.NODE_CAP + 10)])
    assert wide.count("…") == 11
