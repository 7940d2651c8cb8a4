"""Tapes as a source: traffic with models becomes runs, by case and repeat, or by the history that requests repeat."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

import carob
from carob.errors import UsageError
from carob.model.trace import Trace
from carob.providers.catalog import CHAT
from carob.proxy.tape.file import Answer, Exchange, StreamEvent, Tape
from carob.proxy.tape.requests import ServiceRequest
from carob.targets.recordings.taped_traces import read_taped_traces

TAPES = Path(__file__).parents[2] / "proxy" / "tapes"
OFFERED = [{"type": "function", "function": {"name": name}} for name in ("get_order", "issue_refund")]
Messages = list[dict[str, Any]]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def words(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def call(name: str, arguments: str, id: str = "c1") -> dict[str, Any]:
    requested = {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [requested]}


def result(text: str, id: str = "c1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": text}


def asked(
    given: Messages, reply: dict[str, Any], case: str = "", repeat: int = 0, *, system: str = "", streams: bool = False,
    tools: bool = True,
) -> Exchange:  # fmt: skip
    """A request of chat completions, and its reply."""
    messages = [*([{"role": "system", "content": system}] if system else []), *given]
    body = {"model": "m", "messages": messages, **({"tools": OFFERED} if tools else {})}
    finish = "tool_calls" if reply.get("tool_calls") else "stop"
    whole = {"id": "r", "model": "m", "choices": [{"index": 0, "message": reply, "finish_reason": finish}]}
    events = tuple(StreamEvent(0, event) for event in CHAT.write_stream(whole)) if streams else ()
    answer = Answer(200, {}, events=events) if streams else Answer(200, {}, json=whole)
    request = ServiceRequest("openai", "POST", "/v1/chat/completions", "application/json", body)
    return Exchange(case=case, repeat=repeat, request=request, answer=answer)


def taped(path: Path, exchanges: Iterable[Exchange]) -> list[Trace]:
    runs: dict[tuple[str, int], list[Exchange]] = {}
    for exchange in exchanges:
        runs.setdefault((exchange.case, exchange.repeat), []).append(exchange)
    Tape(path=path, runs=runs).write()
    return read_taped_traces(path)


def looked_up(order: str, **how: Any) -> list[Exchange]:
    """A run that looks up an order."""
    said = [user(f"Where is {order}?")]
    asks = call("get_order", f'{{"order": "{order}"}}')
    after = [*said, asks, result('{"total": 48.5}')]
    return [asked(said, asks, **how), asked(after, words(f"{order} came to 48.5 EUR."), **how)]


def shown(trace: Trace) -> list[tuple[str, list[str], str]]:
    return [
        (turn.input, [call.name for call in turn.tool_calls], turn.final_message) for turn in trace.turns or (trace,)
    ]


def test_the_tape_of_a_suite_is_a_source(tmp_path: Path) -> None:
    tree = yaml.safe_load(carob.draft(TAPES / "dyno.tape.yaml").yaml)
    asks, books = tree["cases"]
    assert (asks["id"], asks["prompt"]) == ("asks", "Book a vehicle.")
    assert asks["expected"]["outcome"] == "needs_input"
    (booked,) = books["expected"]["tool_calls"]
    assert booked["tool"] == "auto_allocate_vehicle"
    assert booked["arguments"] == {"vehicle_id": 42, "test_type": "brake", "start_date": "2026-03-20"}
    assert booked["success"] is True
    (adds,) = yaml.safe_load(carob.draft(TAPES / "canvas.tape.yaml").yaml)["cases"]  # its replies are streams
    assert adds["expected"]["tool_calls"][0]["arguments"] == {"integration": "slack", "component": "mentions"}


@pytest.mark.parametrize("streams", [False, True])
def test_repeats_of_a_case_support_its_lines(streams: bool, tmp_path: Path) -> None:
    runs = [exchange for number in range(5) for exchange in looked_up("A-17", case="q", repeat=number, streams=streams)]
    assert len(taped(tmp_path / "q.tape.yaml", runs)) == 5
    text = carob.draft(tmp_path / "q.tape.yaml").yaml
    assert "order: A-17  # from the prompt, 5 of 5 runs" in text
    assert "max_seconds" not in text, "a tape does not hold how long anything took"


def test_times_are_not_made_up(tmp_path: Path) -> None:
    (trace,) = taped(tmp_path / "q.tape.yaml", looked_up("A-17", case="q"))
    assert (trace.duration_ms, trace.started_at, trace.spans) == (None, None, ())
    assert [(call.started_at, call.ended_at, call.result) for call in trace.tool_calls] == [
        (None, None, {"total": 48.5})
    ]
    assert "page" not in trace.unobserved
    assert "tools" not in trace.unobserved, "every call that a model asks for crosses the tape"


def test_turns_begin_where_the_user_speaks_again(tmp_path: Path) -> None:
    first = [user("A refund, please."), words("Which order?")]
    asks = call("issue_refund", '{"order": "B-04"}')
    second = [*first, user("B-04."), asks, result("paid")]
    run = [
        asked(first[:1], first[1], "q"),
        asked(second[:3], asks, "q"),
        asked(second, words("Done."), "q"),
    ]
    (trace,) = taped(tmp_path / "q.tape.yaml", run)
    assert shown(trace) == [("A refund, please.", [], "Which order?"), ("B-04.", ["issue_refund"], "Done.")]


def test_words_in_the_place_of_a_result_do_not_begin_a_turn(tmp_path: Path) -> None:
    asks = call("get_order", "{}")
    run = [
        asked([user("Where?")], asks, "q"),
        asked([user("Where?"), asks, result("{}"), user("Go on.")], words("Here."), "q"),
    ]
    (trace,) = taped(tmp_path / "q.tape.yaml", run)
    assert shown(trace) == [("Where?", ["get_order"], "Here.")]


def test_without_a_case_conversations_are_known_by_their_history(tmp_path: Path) -> None:
    """Two that begin alike and cross, one of which was asked again after it failed."""
    hi, hello, hey = user("Hi"), words("Hello."), words("Hey.")
    failed = asked([hi], hello)
    failed = Exchange(case="", request=failed.request, answer=Answer(503, {}, text="busy"))
    run = [
        failed,
        asked([hi], hello),
        asked([hi], hey),
        asked([hi, hello, user("Bye")], words("Bye.")),
        asked([hi, hey, user("Thanks")], words("Sure.")),
    ]
    traces = taped(tmp_path / "all.tape.yaml", run)
    assert [shown(trace) for trace in traces] == [
        [("Hi", [], "Hello."), ("Bye", [], "Bye.")],
        [("Hi", [], "Hey."), ("Thanks", [], "Sure.")],
    ]
    assert not any(trace.error for trace in traces)


def test_other_agents_of_a_run_are_part_of_its_turn(tmp_path: Path) -> None:
    asks = call("get_order", '{"order": "A-17"}')
    said = user("Where is A-17?")
    run = [
        asked([said], words("orders"), "q", system="Sort the request.", tools=False),
        asked([said], asks, "q", system="You answer."),
        asked([said, asks, result("on its way")], words("It is on its way."), "q", system="You answer."),
        asked([user("Title?")], words("Order A-17"), "q", system="Name the conversation.", tools=False),
    ]
    (trace,) = taped(tmp_path / "q.tape.yaml", run)
    assert shown(trace) == [("Where is A-17?", ["get_order"], "It is on its way.")]


def test_an_agent_that_forgets_what_was_said_has_turns_all_the_same(tmp_path: Path) -> None:
    run = [asked([user(text)], words("Yes."), "q", system="You answer.") for text in ("One?", "Two?")]
    (trace,) = taped(tmp_path / "q.tape.yaml", run)
    assert [turn.input for turn in trace.turns] == ["One?", "Two?"]


def test_a_response_that_goes_on_with_another_is_of_its_conversation(tmp_path: Path) -> None:
    def responded(id: str, output: dict[str, Any], **body: Any) -> Exchange:
        request = ServiceRequest("openai", "POST", "/v1/responses", "application/json", {"model": "m", **body})
        whole = {"id": id, "status": "completed", "output": [output]}
        return Exchange(case="", request=request, answer=Answer(200, {}, json=whole))

    asks = {"type": "function_call", "call_id": "c1", "name": "get_order", "arguments": '{"order": "A-17"}'}
    says = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "On its way."}]}
    handed = [{"type": "function_call_output", "call_id": "c1", "output": "on its way"}]
    run = [
        responded("r1", asks, input="Where is A-17?"),
        responded("r9", says, input="Where is B-04?"),
        responded("r2", says, input=handed, previous_response_id="r1"),
    ]
    first_trace, other = taped(tmp_path / "all.tape.yaml", run)
    assert shown(first_trace) == [("Where is A-17?", ["get_order"], "On its way.")]
    assert first_trace.tool_calls[0].result == "on its way"
    assert shown(other) == [("Where is B-04?", [], "On its way.")]


def test_what_the_tape_does_not_show_is_not_a_pass(tmp_path: Path) -> None:
    """A call without a result, and a model that broke."""
    asks = call("issue_refund", '{"order": "B-04"}')
    (trace,) = taped(tmp_path / "q.tape.yaml", [asked([user("Refund B-04.")], asks, "q")])
    assert [one.called for one in trace.tool_calls] == [False]
    assert trace.possible_calls[0].text == "issue_refund"
    assert "final_message" in trace.unobserved
    broken = Exchange(case="q", request=asked([user("Hi")], words("")).request, answer=Answer(503, {}, text="busy"))
    (trace,) = taped(tmp_path / "r.tape.yaml", [broken])
    assert trace.error is not None
    assert "status 503" in trace.error.message


def test_a_tape_without_models_is_refused(tmp_path: Path) -> None:
    request = ServiceRequest("crm", "POST", "/search", "application/json", {"input": "A-17"})
    with pytest.raises(UsageError, match="no request to a model"):
        taped(tmp_path / "q.tape.yaml", [Exchange(case="q", request=request, answer=Answer(200, {}, json={"a": 1}))])
