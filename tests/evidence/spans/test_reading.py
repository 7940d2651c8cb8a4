"""What the spans of a turn tell of its calls, and when they prove that there were no others."""

from __future__ import annotations

import json

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from carob.checks.tools.names import not_understood
from carob.evidence.merge import TurnEvidence
from carob.evidence.spans.otlp import SpanBatch, SpanRecord
from carob.evidence.spans.reading import read_turn, spans_by_turn
from carob.evidence.spans.trace_context import TurnContext
from carob.model.trace import Trace
from carob.providers.messages import read_messages, since_last_prompt
from carob.text.tool_names import is_helper
from evidence.spans.span_factory import Span, request, span, tool

T = "11" * 16


def read(*spans: Span, sent: tuple[str, ...] = ()) -> TurnEvidence:
    return read_turn(SpanBatch(request(spans)).records(), sent)


def chat(parent: str, messages: list[object], said: list[object], at: float = 101.0, **rest: str) -> Span:
    attributes = {"gen_ai__input__messages": json.dumps(messages), "gen_ai__output__messages": json.dumps(said)}
    return span("chat m", T, parent=parent, at=at, gen_ai__operation__name="chat", **attributes, **rest)


ROOT = span("invoke_agent", T, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="bot")
TOP = ROOT.span_id.hex()
USER = {"role": "user", "parts": [{"type": "text", "content": "Hi"}]}
ASKS = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "find", "arguments": {"n": 1}}]}
GIVEN = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "x"}]}
SAYS = {"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}
FIND = tool("find", T, '{"n": 1}', parent=TOP, at=102.0, gen_ai__tool__call__id="c1")


@pytest.mark.parametrize(
    ("spans", "doubt"),
    [
        pytest.param([ROOT, FIND], "", id="a-root-and-its-call"),
        pytest.param([FIND], "the root span of the turn has not arrived", id="no-root"),
        pytest.param([ROOT, tool("find", T, parent="99" * 8)], "the span around", id="a-hole-in-the-tree"),
        pytest.param([ROOT, chat(TOP, [USER], [ASKS])], "asked for 'find'", id="asked-for-and-not-seen"),
        pytest.param([ROOT, chat(TOP, [USER, ASKS, GIVEN], [SAYS])], "asked for 'find'", id="told-of-later"),
        pytest.param([ROOT, chat(TOP, [USER], [ASKS]), FIND, chat(TOP, [USER, ASKS, GIVEN], [SAYS])], "", id="whole"),
        pytest.param([ROOT, chat(TOP, [USER, ASKS, GIVEN, SAYS, USER], [SAYS])], "", id="of-an-earlier-turn"),
        pytest.param(
            [
                ROOT,
                span(
                    "chat", T, parent=TOP, gen_ai__operation__name="chat", gen_ai__response__finish_reasons="tool_calls"
                ),
            ],
            "ended by asking for a tool",
            id="finish-reason-alone",
        ),
    ],
)
def test_absence_is_proved_only_by_a_whole_trace(spans: list[Span], doubt: str) -> None:
    reading = read(*spans)
    assert (doubt in reading.doubt) if doubt else not reading.doubt


def test_what_was_asked_for_and_not_seen_never_ran_and_breaks_what_forbids_it() -> None:
    (call,) = read(ROOT, chat(TOP, [USER], [ASKS])).calls
    assert (call.name, call.called, call.arguments) == ("find", False, {"n": 1})


@pytest.mark.parametrize(
    ("made", "success", "error", "unseen"),
    [
        pytest.param(FIND, True, None, set(), id="a-result-that-says-nothing-bad"),
        pytest.param(tool("find", T, result='{"status": "error"}'), False, None, set(), id="a-result-that-says-so"),
        pytest.param(tool("find", T, failed="no"), False, None, set(), id="failed-with-a-result"),
        pytest.param(
            span("t", T, failed="no", gen_ai__operation__name="execute_tool", gen_ai__tool__name="find"),
            False,
            "no",
            {"arguments"},
            id="failed-without-one",
        ),
        pytest.param(
            span("t", T, gen_ai__operation__name="execute_tool", gen_ai__tool__name="find"),
            None,
            None,
            {"arguments", "result"},
            id="content-not-captured",
        ),
    ],
)
def test_success_is_what_the_result_says(made: Span, success: bool | None, error: str | None, unseen: set[str]) -> None:
    (call,) = read(made).calls
    assert (call.success, call.error, set(call.unobserved)) == (success, error, unseen)


MCP_CALL = {"mcp__method__name": "tools/call"}


@pytest.mark.parametrize(
    ("name", "arguments", "rest", "calls"),
    [
        pytest.param("find", '{"n": 1}', MCP_CALL, ["find"], id="the-servers-own-view"),
        pytest.param("find", '{"n": 1}', {}, ["find"], id="a-second-instrumentation"),
        pytest.param("find", "", MCP_CALL, ["find"], id="its-arguments-are-not-known"),
        pytest.param("find", '{"n": 2}', MCP_CALL, ["find", "find"], id="a-server-with-other-arguments"),
        pytest.param("find", '{"n": 2}', {}, ["find", "find"], id="the-tool-calls-itself"),
        pytest.param("pay", '{"n": 1}', MCP_CALL, ["find", "pay"], id="another-tool-of-a-server"),
        pytest.param("pay", '{"n": 1}', {}, ["find", "pay"], id="another-tool"),
        pytest.param("find", '{"n": 2}', {"gen_ai__tool__call__id": "c1"}, ["find"], id="the-same-id"),
        pytest.param("find", '{"n": 1}', {"gen_ai__tool__call__id": "c2"}, ["find", "find"], id="another-id"),
    ],
)
def test_a_span_within_a_call_is_that_call_by_its_id_or_by_tool_and_arguments(
    name: str, arguments: str, rest: dict[str, str], calls: list[str]
) -> None:
    inner = tool(name, T, arguments, parent=FIND.span_id.hex(), at=102.1, **rest)
    found = read(ROOT, FIND, inner).calls
    assert [call.name for call in found] == calls
    assert [call.parent for call in found] == ["bot", "find"][: len(calls)]


def adk(*spans: Span) -> TurnEvidence:
    return read_turn(SpanBatch(request([ROOT, *spans], "gcp.vertex.agent")).records())


def asked_of_adk(*orders: str) -> dict[str, object]:
    calls = [
        {"type": "tool_call", "id": f"find_{index}", "name": "find", "arguments": {"n": order}}
        for index, order in enumerate(orders)
    ]
    return {"role": "assistant", "parts": calls}


ADK_GIVEN = {"role": "user", "parts": [{"type": "tool_call_response", "id": "find_0", "response": {"x": 1}}]}
ADK_MERGED = span(
    "execute_tool (merged)", T, parent=TOP, gen_ai__operation__name="execute_tool", gen_ai__tool__name="(merged tools)"
)


def adk_tool(order: str, call_id: str, at: float = 102.0) -> Span:
    return tool("find", T, json.dumps({"n": order}), parent=TOP, at=at, gen_ai__tool__call__id=call_id)


def test_calls_of_google_adk_have_other_ids_in_messages_and_are_each_one() -> None:
    first, second = asked_of_adk("A"), asked_of_adk("B")
    reading = adk(
        chat(TOP, [USER], [first]),
        adk_tool("A", "adk-1"),
        chat(TOP, [USER, first, ADK_GIVEN], [second], at=103.0),
        adk_tool("B", "adk-2", 104.0),
        chat(TOP, [USER, first, ADK_GIVEN, second, ADK_GIVEN], [SAYS], at=105.0),
    )
    assert [(call.arguments, call.called) for call in reading.calls] == [({"n": "A"}, True), ({"n": "B"}, True)]
    assert reading.unproved == ""


def test_parallel_calls_of_google_adk_have_no_phantom() -> None:
    both = asked_of_adk("A", "B")
    spans = [adk_tool("A", "adk-1"), adk_tool("B", "adk-2"), ADK_MERGED]
    reading = adk(chat(TOP, [USER], [both]), *spans, chat(TOP, [USER, both, ADK_GIVEN], [SAYS], at=103.0))
    assert [call.arguments for call in reading.calls] == [{"n": "A"}, {"n": "B"}]
    assert reading.unproved == ""


def test_a_call_that_google_adk_did_not_run_is_still_missed() -> None:
    both = asked_of_adk("A", "B")
    reading = adk(chat(TOP, [USER], [both]), adk_tool("A", "adk-1"))
    assert "asked for 'find'" in reading.doubt
    assert [call.called for call in reading.calls] == [True, False]


def test_schema_1_of_google_adk_has_calls_and_messages_of_its_own() -> None:
    own = "gcp__vertex__agent__"
    asks = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    calls = {"content": {"role": "model", "parts": [{"function_call": {"name": "find", "args": {"n": 1}}}]}}
    says = {"content": {"role": "model", "parts": [{"text": "Done."}]}}

    def content(**values: object) -> dict[str, str]:
        return {f"{own}{key}": json.dumps(value) for key, value in values.items()}

    def find(arguments: object, result: object) -> Span:
        names = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "find"}
        captured = content(tool_call_args=arguments, tool_response=result)
        return span("t", T, parent=TOP, **names, **captured)

    def llm(reply: object, at: float) -> Span:
        return span("call_llm", T, parent=TOP, at=at, **content(llm_request=asks, llm_response=reply))

    whole = adk(llm(calls, 99.0), find({"n": 1}, {"x": 2}), llm(says, 103.0))
    assert [(call.arguments, call.result, call.success) for call in whole.calls] == [({"n": 1}, {"x": 2}, True)]
    assert (whole.unproved, whole.answer, whole.prompt) == ("", "Done.", "Hi")
    assert adk(find({}, {})).calls[0].unobserved.keys() == {"arguments", "result"}


def test_a_bare_argument_takes_its_name_from_what_the_model_asked_for() -> None:
    kind = {"openinference__span__kind": "TOOL", "tool__name": "find", "input__value": "7", "output__value": "x"}
    bare = span("find", T, parent=TOP, at=102.0, **kind)
    prefix = "llm__output_messages__0__message__tool_calls__0__tool_call__function__"
    asked = {f"{prefix}name": "find", f"{prefix}arguments": '{"n": 7}', "openinference__span__kind": "LLM"}
    assert [call.arguments for call in read(ROOT, bare).calls] == [None]
    assert [call.arguments for call in read(ROOT, span("m", T, parent=TOP, **asked), bare).calls] == [{"n": 7}]
    empty = span("find", T, parent=TOP, at=102.0, **{**kind, "input__value": "None"})
    assert [call.arguments for call in read(ROOT, span("m", T, parent=TOP, **asked), empty).calls] == [{"n": 7}]
    wrong = {**asked, f"{prefix}arguments": '{"n": 8}'}
    (call, *_) = read(ROOT, span("m", T, parent=TOP, **wrong), bare).calls
    assert call.unobserved["arguments"]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "f", "input": {"a": 1}}}]},
        {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c"}]}},
        {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}}]},
        {"role": "assistant", "content": [{"tool_call": {"id": "c", "tool_name": "f", "arguments": {"a": 1}}}]},
    ],
    ids=["openai", "anthropic", "bedrock", "langchain", "gemini", "haystack"],
)
def test_calls_are_found_in_the_messages_of_every_provider(message: dict[str, object]) -> None:
    (said,) = read_messages(json.dumps([message])) or ()
    assert [(call.name, call.id, call.arguments) for call in said.calls] == [("f", "c", {"a": 1})]


def test_a_turn_begins_with_the_last_words_of_a_person_and_not_with_a_result_in_their_name() -> None:
    result = {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "response": "x"}]}
    said = read_messages([USER, SAYS, USER, ASKS, result]) or ()
    assert [message.calls != () for message in since_last_prompt(said)] == [True, False]


def handing_over(tool: str) -> dict[str, object]:
    return {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c9", "name": tool, "arguments": {"text": "Done."}}],
    }


def asked_again(answered: str) -> dict[str, object]:
    """The words of a person, next to the result of a call of the turn before."""
    parts = [
        {"type": "tool_call_response", "id": answered, "result": "ok"},
        {"type": "text", "content": "And now?"},
    ]
    return {"role": "user", "parts": parts}


OUTPUT_TOOLS = {"model_request_parameters": '{"output_tools": [{"name": "reply_to_user"}], "function_tools": []}'}
FINISHED = {"gen_ai__response__finish_reasons": "tool_calls"}


@pytest.mark.parametrize(
    ("model", "doubt"),
    [
        pytest.param(chat(TOP, [USER], [handing_over("final_result")], **FINISHED), "", id="by-a-published-name"),
        pytest.param(chat(TOP, [USER], [handing_over("final_result_Reply")]), "", id="one-of-several-types"),
        pytest.param(chat(TOP, [USER], [handing_over("reply_to_user")], **OUTPUT_TOOLS), "", id="by-a-name-of-its-own"),
        pytest.param(chat(TOP, [USER], [handing_over("reply_to_user")]), "asked for 'reply_to_user'", id="a-tool"),
    ],
)
def test_a_call_that_hands_over_the_answer_is_not_waited_for(model: Span, doubt: str) -> None:
    reading = read(ROOT, model)
    assert (doubt in reading.doubt) if doubt else not reading.doubt
    assert [call.name for call in reading.calls] == (["reply_to_user"] if doubt else [])


@pytest.mark.parametrize(
    ("request_parameters", "answer", "calls"),
    [
        pytest.param('{"tool_choice": {"function": {"name": "Weather"}}}', '{"text": "Done."}', [], id="it-had-to-be"),
        pytest.param('{"tool_choice": {"name": "Weather"}}', "Done.", ["Weather"], id="another-answer"),
        pytest.param('{"tool_choice": "auto"}', '{"text": "Done."}', ["Weather"], id="by-choice"),
        pytest.param('{"tool_choice": {"name": "Rain"}}', '{"text": "Done."}', ["Weather"], id="another-tool"),
    ],
)
def test_a_call_that_the_request_makes_the_model_give_as_its_answer_is_none_of_a_tool(
    request_parameters: str, answer: str, calls: list[str]
) -> None:
    said = {"model_request_parameters": request_parameters}
    spans = records_of(ROOT, chat(TOP, [USER], [handing_over("Weather")], **said))
    assert [call.name for call in read_turn(spans, answer=answer).calls] == calls


@pytest.mark.parametrize(
    ("asked_last", "rest", "repeated"),
    [
        pytest.param(handing_over("final_result"), {}, [], id="after-an-answer-that-was-handed-over"),
        pytest.param(handing_over("reply_to_user"), OUTPUT_TOOLS, [], id="by-a-name-of-its-own"),
        pytest.param(handing_over("note"), {}, ["find", "note"], id="in-the-middle-of-a-turn"),
    ],
)
def test_words_next_to_the_result_of_an_answer_begin_a_turn(
    asked_last: dict[str, object], rest: dict[str, str], repeated: list[str]
) -> None:
    before = [USER, ASKS, GIVEN, asked_last, asked_again("c9")]
    reading = read(ROOT, chat(TOP, before, [SAYS], **rest))
    assert [call.name for call in reading.calls] == repeated
    assert reading.prompt == ("Hi" if repeated else "And now?")


def openinference(kind: str, name: str, parent: str = TOP, **attributes: str) -> Span:
    return span(name, T, parent=parent, at=102.0, openinference__span__kind=kind, **attributes)


def test_a_span_that_is_named_after_a_method_is_of_the_tool() -> None:
    called = openinference("TOOL", "send_email.__call__", input__value='{"kwargs": {"to": "ann"}}', output__value="1")
    plain = openinference("TOOL", "files.read", output__value="1")
    assert [(call.name, call.arguments) for call in read(ROOT, called, plain).calls] == [
        ("send_email", {"to": "ann"}),
        ("files.read", None),
    ]


def test_a_call_failed_if_its_own_inner_span_did() -> None:
    outer = openinference("TOOL", "bot.find", tool__name="find", tool__parameters='{"n": 1}', output__value="not there")
    inner = span(
        "execute_tool find",
        T,
        parent=outer.span_id.hex(),
        at=102.1,
        failed="ValueError",
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__name="find",
    )
    assert [(call.arguments, call.success) for call in read(ROOT, outer, inner).calls] == [({"n": 1}, False)]
    assert [call.success for call in read(ROOT, outer).calls] == [True]


def test_what_makes_a_request_is_not_a_model_call() -> None:
    request_made = json.dumps({"messages": [{"role": "user", "content": "Hi"}], "tools": []})
    prepared = openinference("LLM", "Model._prepare", output__value=request_made)
    assert not read(ROOT, prepared, chat(TOP, [USER], [SAYS])).unproved
    silent = openinference("LLM", "Model.chat", output__value="Hi")
    assert "'Model.chat' does not carry" in read(ROOT, silent, chat(TOP, [USER], [SAYS])).unproved


def using(parent: str, tokens: int) -> Span:
    made = chat(parent, [USER], [SAYS])
    made.attributes.add(key="gen_ai.usage.input_tokens").value.int_value = tokens
    return made


def test_the_tokens_of_a_model_call_that_is_seen_twice_count_once() -> None:
    outer, bare = using(TOP, 7), chat(TOP, [USER], [SAYS])
    told_twice = read(ROOT, outer, using(outer.span_id.hex(), 7), bare, using(bare.span_id.hex(), 5)).tokens
    assert told_twice is not None
    assert told_twice.input == 12


def test_an_answer_may_be_what_the_last_tool_gave() -> None:
    spans = records_of(ROOT, chat(TOP, [USER], [ASKS]), FIND)
    assert not read_turn(spans, answer="{'ok': True}").gap
    assert "contains the answer" in read_turn(spans, answer="All is well.").gap


def test_a_root_that_makes_an_agent_is_not_a_turn() -> None:
    """Of a process that is one trace, so that its turns are known by their number."""
    marks = [TurnContext(T, "ab" * 8, 100.0), TurnContext(T, "ab" * 8, 100.0)]
    making = span("create_agent", T, at=100.5, gen_ai__operation__name="create_agent")
    turns = [span("invoke_agent", T, at=at, gen_ai__operation__name="invoke_agent") for at in (101.0, 102.0)]
    by_turn = spans_by_turn(records_of(making, *turns), marks)
    assert [[record.span_id for record in turn] for turn in by_turn] == [[one.span_id.hex()] for one in turns]
    torn = span("send", T, parent="99" * 8, at=103.0)
    assert sum(map(len, spans_by_turn(records_of(torn), marks))) == 1


COUNTING = span("invoke_agent", T, gen_ai__operation__name="invoke_agent")
COUNTING.attributes.append(KeyValue(key="app.calls", value=AnyValue(int_value=1)))
COUNTED = tool("find", T, parent=COUNTING.span_id.hex())
SILENT = span("chat m", T, parent=TOP, gen_ai__operation__name="chat")
WRAPPED = span("chat m", T, parent=TOP, gen_ai__operation__name="chat")
INNER = chat(WRAPPED.span_id.hex(), [USER], [SAYS])


@pytest.mark.parametrize(
    ("spans", "unproved"),
    [
        pytest.param([ROOT], "would go unnoticed", id="a-root-alone"),
        pytest.param([ROOT, FIND], "would go unnoticed", id="a-root-and-its-call"),
        pytest.param([ROOT, SILENT, FIND], "would go unnoticed", id="a-model-that-tells-nothing"),
        pytest.param([ROOT, chat(TOP, [USER], [SAYS])], "", id="a-model-that-tells-all"),
        pytest.param([ROOT, SILENT, chat(TOP, [USER], [SAYS])], "'chat m' does not carry", id="the-last-of-two-tells"),
        pytest.param([ROOT, WRAPPED, INNER], "", id="one-call-seen-twice"),
        pytest.param([COUNTING], "counts 1 tool calls, but spans of 0", id="counted-and-lost"),
        pytest.param([COUNTING, COUNTED], "", id="counted"),
    ],
)
def test_absence_is_not_proved_where_a_lost_span_would_not_be_missed(spans: list[Span], unproved: str) -> None:
    records = SpanBatch(request(spans)).records()
    reading = read_turn(records, tool_count="app.calls")
    assert (unproved in reading.unproved) if unproved else not reading.unproved


def costing(usd: float) -> Span:
    made = chat(TOP, [USER], [SAYS])
    made.attributes.add(key="gen_ai.usage.cost").value.double_value = usd
    return made


def test_a_cost_is_known_where_every_model_call_tells_it() -> None:
    assert read(ROOT, costing(0.5), costing(0.5), costing(0)).costs == {"cost_usd": 1.0}
    assert read(ROOT, costing(0.5), chat(TOP, [USER], [SAYS])).costs == {}
    assert read(ROOT).costs == {}


def records_of(*spans: Span) -> list[SpanRecord]:
    return SpanBatch(request(spans)).records()


@pytest.mark.parametrize(
    ("answer", "proved"),
    [
        pytest.param("Done.", True, id="said"),
        pytest.param("Agent:  done. Bye!", True, id="within-the-answer"),
        pytest.param("", True, id="answer-not-known"),
        pytest.param("Your files are deleted.", False, id="said-by-no-model-call"),
    ],
)
def test_a_title_or_guardrail_call_does_not_prove_that_the_call_that_answered_was_seen(
    answer: str, proved: bool
) -> None:
    reading = read_turn(records_of(ROOT, chat(TOP, [USER], [SAYS])), answer=answer)
    assert (not reading.gap) is proved
    assert proved or "telemetry = { otlp = { complete = true } }" in reading.gap


def test_an_answer_may_be_the_argument_of_a_call() -> None:
    asks = {"role": "assistant", "tool_calls": [{"function": {"name": "reply", "arguments": '{"text": "Bye now"}'}}]}
    assert not read_turn(records_of(ROOT, chat(TOP, [USER], [asks])), answer="Bye now").gap


REACT = {"role": "assistant", "content": "Thought: it must go.\nAction: delete_all\nAction Input: {}"}
CODE = {"role": "assistant", "content": "```py\ndelete_all(force=True)\n```"}
PLAIN = {"role": "assistant", "content": "Nothing to do."}
ENDS = {"role": "assistant", "content": "<code>\n# no refund\nfinal_answer('Nothing to do.')\n</code>"}
FINISHES = {"role": "assistant", "content": '{"thought": "done", "tool": "finish"}'}
DEFINED = {"gen_ai__tool__definitions": '[{"name": "delete_all"}]'}


@pytest.mark.parametrize(
    ("spans", "tools", "doubted"),
    [
        pytest.param([chat(TOP, [USER], [REACT])], ("delete_all",), True, id="an-action-in-words"),
        pytest.param(
            [chat(TOP, [USER], [CODE]), chat(TOP, [USER], [PLAIN])], ("delete_all",), True, id="code-not-last"
        ),
        pytest.param([chat(TOP, [USER], [REACT])], (), True, id="of-any-tool"),
        pytest.param([chat(TOP, [USER], [CODE])], (), True, id="of-any-tool-in-code"),
        pytest.param([chat(TOP, [USER], [REACT])], ("refund",), False, id="a-tool-that-no-word-names"),
        pytest.param([chat(TOP, [USER], [PLAIN])], (), False, id="words-alone"),
        pytest.param([chat(TOP, [USER], [ENDS]), tool("final_answer", T, parent=TOP)], (), False, id="code-that-ends"),
        pytest.param(
            [chat(TOP, [USER], [ENDS]), tool("final_answer", T, parent=TOP)], ("refund",), True, id="code-names-a-tool"
        ),
        pytest.param([chat(TOP, [USER], [FINISHES])], (), False, id="an-action-that-ends"),
        pytest.param([chat(TOP, [USER], [REACT]), tool("delete_all", T, parent=TOP)], (), False, id="with-its-record"),
        pytest.param([chat(TOP, [USER], [REACT], **DEFINED)], ("delete_all",), False, id="calls-are-structured"),
    ],
)
def test_a_tool_that_a_models_words_name_is_not_absent_where_calls_are_not_structured(
    spans: list[Span], tools: tuple[str, ...], doubted: bool
) -> None:
    reading = read(ROOT, *spans)
    assert not reading.unproved
    own = tuple(call for call in reading.calls if not is_helper(call.name))
    trace = Trace(case_id="a", tool_calls=own, possible_calls=reading.possible_calls)
    assert ("telemetry = { otlp = { complete = true } }" in (not_understood(trace, tools) or "")) is doubted
