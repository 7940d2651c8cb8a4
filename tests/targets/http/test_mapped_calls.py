"""Calls and results in one list, `when`, forms, and what is next to a result: what each of them means."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from carob.errors import ConfigError
from carob.model.trace import Tokens, Trace
from carob.targets.base import RunContext, TargetError
from targets.conftest import ask, case, opened

from .server import LAST, Asked, chunk, constantly, http, serving, sse, started

BODY = {"message": "{prompt}"}
MESSAGES = {
    "body": BODY,
    "answer": "$.messages[-1].content",
    "tool_calls": {
        "at": "$.messages[*].tool_calls[*]",
        "id": "$.id",
        "name": "$.function.name",
        "arguments": "$.function.arguments",
        "results": {"at": "$.messages[?@.role == 'tool']", "id": "$.tool_call_id", "result": "$.content"},
    },
}


def called(number: int, order: str) -> list[dict[str, Any]]:
    """A call of a tool and its result, as messages."""
    function = {"name": "lookup_order", "arguments": json.dumps({"order": order})}
    result = '{"error": "no such order"}' if order == "B-99" else '{"state": "open"}'
    return [
        {"role": "assistant", "tool_calls": [{"id": f"c{number}", "function": function}]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def telling(*, history: bool) -> Any:
    """A service that lists the messages of a turn, or of the whole conversation; it looks up what it is asked for."""
    said: list[dict[str, Any]] = []

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        prompt = asked.json["message"]
        new = [{"role": "user", "content": prompt}]
        new += called(1 + len(said), prompt) if prompt[1] == "-" else []
        new.append({"role": "assistant", "content": f"About {prompt}."})
        said[:] = [*(said if history else []), *new]
        writer.write(http(json.dumps({"messages": said})))

    return answer


async def test_results_in_the_same_list_belong_to_the_call_with_their_id() -> None:
    async with serving(telling(history=False)) as server, opened(*server.target, options=MESSAGES) as target:
        good, bad = await ask(target, "A-17"), await ask(target, "B-99")
    (call,), (failed,) = good.tool_calls, bad.tool_calls
    assert (call.name, call.arguments, call.success) == ("lookup_order", {"order": "A-17"}, True)
    assert (call.result, failed.success) == ('{"state": "open"}', False)
    assert not {"tools", "tool_results"} & good.unobserved.keys()


@pytest.mark.parametrize(
    ("history", "option", "calls"),
    [
        pytest.param(True, {}, ["A-17"], id="told-by-the-prompts"),
        pytest.param(True, {"history": True}, ["A-17"], id="told-by-the-user"),
        pytest.param(True, {"history": False}, ["A-17", "A-17"], id="denied-by-the-user"),
        pytest.param(False, {}, ["A-17"], id="each-turn-by-itself"),
    ],
)
async def test_calls_of_earlier_turns_are_not_counted_again(history: bool, option: Any, calls: list[str]) -> None:
    options = MESSAGES | {"tool_calls": MESSAGES["tool_calls"] | option}  # type: ignore[operator]
    async with serving(telling(history=history)) as server, opened(*server.target, options=options) as target:
        trace = await target.run(case("A-17", setup_prompts=("A-17",)), RunContext())
    assert [call.arguments["order"] for call in trace.tool_calls] == calls
    async with serving(telling(history=history)) as server, opened(*server.target, options=options) as target:
        quiet = await target.run(case("Thanks", setup_prompts=("A-17",)), RunContext())
    assert len(quiet.tool_calls) == len(calls) - 1


async def test_a_result_of_an_unknown_call_leaves_tools_unknown() -> None:
    said = {"messages": [*called(1, "A-17")[1:], {"role": "assistant", "content": "Open."}]}
    async with (
        serving(constantly(http(json.dumps(said)))) as server,
        opened(*server.target, options=MESSAGES) as target,
    ):
        trace = await ask(target, "hi")
    assert "belongs to no call that was seen" in trace.unobserved["tools"]


STEP = {"tool": "pay", "input": {}, "output": "see the log"}


@pytest.mark.parametrize(
    ("sign", "success"),
    [
        ({}, True),
        ({"success": False}, False),
        ({"isError": True}, False),
        ({"status": "failed"}, False),
        ({"status": "done", "errors": []}, True),
    ],
)
async def test_what_is_next_to_a_result_counts(sign: dict[str, Any], success: bool) -> None:
    calls = {"at": "$.steps[*]", "name": "$.tool", "arguments": "$.input", "result": "$.output", "error": "$.errors"}
    answer = constantly(http(json.dumps({"reply": "Done.", "steps": [STEP | sign]})))
    options = {"body": BODY, "answer": "$.reply", "tool_calls": calls}
    async with serving(answer) as server, opened(*server.target, options=options) as target:
        (call,) = (await ask(target, "hi")).tool_calls
    assert call.success is success


# -- streams

STREAM = {
    "format": "sse",
    "text": {"when": {"kind": "word"}, "at": "$.text"},
    "tool": {"when": {"kind": "act"}, "id": "$.id", "name": "$.fn", "arguments": "$.args"},
    "result": {"when": {"kind": "acted"}, "id": "$.id", "result": "$.out", "error": "$.err"},
}
WORD, ACT = {"kind": "word", "text": "Done."}, {"kind": "act", "id": 1, "fn": "pay", "args": {"sum": 4}}


async def heard(*events: object, **more: Any) -> Trace:
    options = {"body": BODY, "stream": STREAM | more}
    answer = constantly(started() + sse(*events) + LAST)
    async with serving(answer) as server, opened(*server.target, options=options) as target:
        return await ask(target, "hi")


@pytest.mark.parametrize(
    ("ends", "success", "unseen"),
    [
        pytest.param([{"kind": "acted", "id": 1, "out": {"paid": 4}}], True, None, id="result"),
        pytest.param([{"kind": "acted", "id": 1, "out": None}], True, None, id="null"),
        pytest.param([{"kind": "acted", "id": 1, "err": "no funds"}], False, None, id="error"),
        pytest.param([{"kind": "acted", "id": 1, "out": "x", "ok": False}], False, None, id="sign-next-to-it"),
        pytest.param([{"kind": "acted", "id": 1, "status": "failed"}], False, None, id="sign-alone"),
        pytest.param([{"kind": "acted", "id": 1, "note": "hm"}], None, "tool_results", id="nothing-mapped"),
        pytest.param([], None, None, id="no-end"),
        pytest.param([{"kind": "acted", "id": 2, "out": 1}], None, "tools", id="of-an-unknown-call"),
    ],
)
async def test_the_end_of_a_call(ends: list[Any], success: bool | None, unseen: str | None) -> None:
    trace = await heard(ACT, *ends, WORD)
    (call,) = trace.tool_calls
    assert (call.name, call.arguments, call.success) == ("pay", {"sum": 4}, success)
    assert {"tools", "tool_results"} & trace.unobserved.keys() == ({unseen} if unseen else set())


async def test_results_without_ids_belong_to_the_only_open_call() -> None:
    parts = {
        "tool": {"when": {"kind": "act"}, "name": "$.fn"},
        "result": {"when": {"kind": "acted"}, "result": "$.out"},
    }
    trace = await heard(
        ACT, {"kind": "acted", "out": 1}, ACT | {"fn": "log"}, {"kind": "acted", "out": 2}, WORD, **parts
    )
    assert [(call.name, call.result) for call in trace.tool_calls] == [("pay", 1), ("log", 2)]
    two = await heard(ACT, ACT | {"fn": "log"}, {"kind": "acted", "out": 1}, WORD, **parts)
    assert [call.success for call in two.tool_calls] == [None, None]
    assert "belongs to no call" in two.unobserved["tools"]


async def test_an_id_that_comes_again_after_the_end_is_another_call() -> None:
    end = {"kind": "acted", "id": 1, "out": 1}
    trace = await heard(ACT, end, ACT, end, ACT | {"fn": "log"}, WORD)
    assert [call.name for call in trace.tool_calls] == ["pay", "pay", "log"]


WHOLE = {
    "format": "sse",
    "each": "$.messages[*]",
    "whole": True,
    "text": {"when": {"role": "assistant"}, "at": "$.content"},
    "tool": {
        "at": "$.tool_calls[*]",
        "id": "$.id",
        "name": "$.function.name",
        "arguments": "$.function.arguments",
    },
    "result": {"when": {"role": "tool"}, "id": "$.tool_call_id", "result": "$.content"},
}


def growing() -> Any:
    """A service each of whose events has all messages of the conversation so far."""
    said: list[dict[str, Any]] = []

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        prompt, events = asked.json["message"], []
        said.append({"role": "user", "content": prompt})
        said.extend(called(len(said), prompt) if prompt[1] == "-" else [])
        events.append({"messages": [*said]})
        events.append({"messages": [*said, {"role": "assistant", "content": "About"}]})
        said.append({"role": "assistant", "content": f"About {prompt}."})
        writer.write(started() + sse(*events, {"messages": said}, {"took": 3}) + LAST)

    return answer


async def test_events_with_all_messages_so_far_count_once() -> None:
    options = {"body": BODY, "stream": WHOLE}
    async with serving(growing()) as server, opened(*server.target, options=options) as target:
        trace = await target.run(case("B-99", setup_prompts=("A-17",)), RunContext())
        assert [(call.arguments["order"], call.success) for call in trace.tool_calls] == [("B-99", False)]
        assert trace.final_message == "About B-99."
        assert trace.timings["first_token_ms"] >= 0
    with pytest.raises(ConfigError, match="`whole` needs `each`"):
        async with opened("http", "//127.0.0.1:1", options={"body": BODY, "stream": {**WHOLE, "each": ()}}):
            pass


@pytest.mark.parametrize(
    ("event", "ignore", "possible"),
    [
        pytest.param({"kind": "delegate", "to": "refund"}, [], True, id="names-it"),
        pytest.param({"kind": "ping", "at": 17}, [], False, id="names-nothing"),
        pytest.param({"kind": "hello", "tools": ["refund"]}, [{"kind": "hello"}], False, id="ignored"),
    ],
)
async def test_an_event_that_is_not_mapped_may_be_a_call(event: Any, ignore: list[Any], possible: bool) -> None:
    from carob.checks.tools.names import ToolCallsNone

    trace = await heard(event, ACT, {"kind": "acted", "id": 1, "out": 1}, WORD, ignore=ignore)
    result = ToolCallsNone("refund").judge(trace)
    assert (result.status.value == "unknown") is possible, result
    assert not possible or "`ignore` of `stream`" in result.found


async def test_more_unmapped_events_than_are_kept_leave_tools_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carob.targets.http.conversation.SKIPPED_CAP", 100)
    many = [{"kind": f"k{chr(97 + n)}", "x": "words of it"} for n in range(10)]
    assert "too many events" in (await heard(ACT, *many, WORD)).unobserved["tools"]
    same = [{"kind": "ping", "n": n, "id": f"{n:08x}aa"} for n in range(50)]
    assert "tools" not in (await heard(ACT, *same, WORD)).unobserved, "what differs in numbers alone is kept once"


@pytest.mark.parametrize(
    ("events", "breaks"),
    [
        pytest.param([WORD, {"kind": "error", "why": "down"}], True, id="kind"),
        pytest.param([WORD, {"error": {"message": "down"}}], True, id="key"),
        pytest.param([{"kind": "error", "why": "slow"}, WORD], False, id="words-after-it"),
        pytest.param([WORD, {"kind": "end", "error": None}], False, id="null"),
    ],
)
async def test_an_unmapped_error_at_the_end_breaks_the_turn(events: list[Any], breaks: bool) -> None:
    if not breaks:
        assert (await heard(*events)).final_message == "Done."
        return
    with pytest.raises(TargetError, match="reports a failure") as caught:
        await heard(*events)
    assert caught.value.kind == "agent"


@pytest.mark.parametrize("done", ["bye", {"when": "bye"}, {"when": ["bye", {"ok": True}]}])
async def test_usage_is_read_from_the_event_that_ends_the_stream(done: Any) -> None:
    options = {"body": BODY, "stream": STREAM | {"done": done}, "usage": {"input": "$.i", "output": "$.o"}}
    end = chunk('event: bye\ndata: {"i": 3, "o": 4, "ok": true}\n\n')
    answer = constantly(started() + sse(WORD) + end + LAST)
    async with serving(answer) as server, opened(*server.target, options=options) as target:
        assert (await ask(target, "hi")).tokens == Tokens(3, 4)


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ({"text": {"at": "$.t", "when": {}}}, "`when` is empty"),
        ({"text": {"at": "$.t", "when": "?@.kind = 'x'"}}, "is not a JSONPath"),
        ({"text": {"raw": True, "at": "$.t"}}, "both `raw` and `at`"),
        ({"text": "$.t", "tool": {"when": {"kind": "act"}}}, "`tool` has no `name`"),
        ({"text": "$.t", "result": {"result": "$.r"}}, "`tool` is not set"),
    ],
)
async def test_a_stream_that_cannot_be_followed_is_refused(stream: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        async with opened("http", "//127.0.0.1:9/x", options={"body": BODY, "stream": {"format": "sse"} | stream}):
            pass
    assert message in str(caught.value)


# -- requests

REPLY = constantly(http('{"reply": "x"}'))


@pytest.mark.parametrize(
    ("options", "kind", "body"),
    [
        pytest.param(
            {"form": {"m": "{prompt}", "n": 2, "t": ["a", "b"]}},
            "application/x-www-form-urlencoded",
            "m=hi&n=2&t=a&t=b",
            id="form",
        ),
        pytest.param(
            {"body": BODY, "headers": {"Content-Type": "application/vnd.api+json"}},
            "application/vnd.api+json",
            '{"message":"hi"}',
            id="json-of-a-kind",
        ),
        pytest.param(
            {"body": "{prompt}!", "headers": {"content-type": "text/x-{case.id}"}},
            "text/x-one",
            "hi!",
            id="a-place-in-it",
        ),
    ],
)
async def test_the_content_type_of_the_user_counts(options: dict[str, Any], kind: str, body: str) -> None:
    settings = {"answer": "$.reply"} | options
    async with serving(REPLY) as server, opened(*server.target, options=settings) as target:
        await ask(target, "hi")
    sent = server.asked[0]
    assert (sent.headers["content-type"], sent.body.decode()) == (kind, body)


async def test_a_form_is_multipart_where_the_headers_say_so() -> None:
    from email.parser import BytesParser

    options = {
        "form": {"m": "{prompt}", 'a"b': "ü", "all": "{messages}"},
        "headers": {"Content-Type": "multipart/form-data"},
        "answer": "$.reply",
    }
    async with serving(REPLY) as server, opened(*server.target, options=options) as target:
        await ask(target, "hi")
    sent = server.asked[0]
    head = f"Content-Type: {sent.headers['content-type']}\r\n\r\n".encode()
    parts = BytesParser().parsebytes(head + sent.body).get_payload()
    fields = {
        part.get_param("name", header="content-disposition"): part.get_payload(decode=True).decode() for part in parts
    }
    assert fields == {"m": "hi", "a%22b": "ü", "all": '[{"role":"user","content":"hi"}]'}


async def test_body_and_form_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="cannot be combined with `body`"):
        async with opened("http", "//127.0.0.1:9/x", options={"body": BODY, "form": BODY, "answer": "$.r"}):
            pass


async def test_env_reaches_the_tools_of_a_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from .test_openai import endpoint

    monkeypatch.setenv("DESK", "before")
    monkeypatch.delenv("EXTRA", raising=False)
    (tmp_path / "env_tools.py").write_text(
        "import os\nAT_IMPORT = os.environ['DESK']\n"
        "def weather(city: str) -> str:\n    return AT_IMPORT + os.environ['DESK'] + os.environ['EXTRA']\n"
    )
    options = {"model": "m", "mode": "loop", "tools": {"weather": "env_tools.py:weather"}}
    async with serving(endpoint) as server:
        url = server.url.replace("/chat", "/v1")
        async with opened("openai", url, tmp_path, options=options, env={"DESK": "7", "EXTRA": "!"}) as target:
            (call,) = (await ask(target, "weather weather in Paris")).tool_calls
    assert (call.result, os.environ["DESK"], "EXTRA" in os.environ) == ("77!", "before", False)
