"""When a conversation is judged, by what, and what is unknown of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import carob
from benchmarks.watch import POLICY, Collector, check_spans
from carob.evidence.exports.otlp import split_requests
from carob.features.watch.judging import missing_turn
from evidence.exports.sources import FILES
from features.watch.watched import (
    FORGETS_TO_LOOK,
    HELD,
    PATIENCE,
    PLAIN,
    QUIET,
    UNASKED,
    UNASKED_AND_UNSEEN,
    UNKNOWN,
    Json,
    Watched,
    turn,
)

Start = Callable[..., Watched]
LATER = "carob_watch_conversations_judged_again_total"
JUDGED = "carob_watch_conversations_judged_total"


def test_a_conversation_is_judged_once_when_it_is_complete_and_quiet(start: Start) -> None:
    watched = start()
    *children, root = turn(PLAIN)
    watched.send(*children)
    watched.wait()
    assert watched.verdicts("s-2") == []  # the root has not ended
    watched.send(root)
    watched.wait(QUIET - 1)
    assert watched.verdicts("s-2") == []  # it is not quiet
    watched.wait(1)
    watched.wait(PATIENCE)
    assert watched.verdicts("s-2") == [HELD]
    assert watched.figure(JUDGED) == 1
    assert watched.figure("carob_rule_verdicts_total", rule="look-first", verdict="held") == 1
    assert watched.figure("carob_rule_verdicts_total", rule="never-refund", verdict="not_triggered") == 1


@pytest.mark.parametrize(
    ("number", "rule", "words"),
    [
        pytest.param(FORGETS_TO_LOOK, "look-first", "no earlier lookup_order", id="no-lookup"),
        pytest.param(UNASKED, "explicit-yes", 'last message, "hm, A-10", does not count as', id="no-yes"),
    ],
)
def test_a_broken_rule_is_reported_with_its_span(start: Start, number: int, rule: str, words: str) -> None:
    watched = start()
    spans = turn(number)
    watched.send(*spans)
    watched.wait()
    [event] = [event for _, event in watched.collector.events if event["gen_ai.evaluation.name"] == rule]
    assert words in event["gen_ai.evaluation.explanation"]
    assert event["gen_ai.evaluation.score.value"] == 0.0
    assert (event["trace"], event["span"]) == (spans[-1]["traceId"], spans[-1]["spanId"])
    assert any(line.startswith(f"{rule} broken in s-{number}: ") for line in watched.lines)


def test_a_late_span_has_it_judged_again_under_the_same_name(start: Start) -> None:
    watched = start()
    spans = turn(PLAIN)
    watched.send(*spans[:1], *spans[2:])  # the span of the lookup is late
    watched.wait()
    watched.send(spans[1])
    watched.wait()
    first, second = watched.verdicts("s-2")
    assert first["look-first"] == "unknown"
    assert second == {**HELD, "never-refund": "not_triggered"}  # what was unknown is taken back
    assert {event["carob.judgement"].partition(":")[0] for _, event in watched.collector.events} != {""}
    assert len({event["carob.judgement"].partition(":")[0] for _, event in watched.collector.events}) == 1
    assert watched.figure(LATER) == 1
    assert watched.figure("carob_watch_spans_total", what="late") == 1


def test_a_span_that_is_sent_twice_changes_nothing(start: Start) -> None:
    watched = start()
    watched.send(*turn(PLAIN))
    spans = turn(PLAIN + 1)
    watched.send(*spans, *spans)
    watched.wait()
    watched.send(*spans)
    watched.wait()
    assert watched.verdicts("s-3") == [HELD]
    assert watched.figure("carob_watch_spans_total", what="repeated") == 2 * len(spans)


@pytest.mark.parametrize("missing", [1, -1], ids=["tool", "root"])
def test_what_a_lost_span_hides_is_unknown(start: Start, missing: int) -> None:
    watched = start()
    spans = turn(PLAIN)
    del spans[missing]
    watched.send(*spans)
    watched.wait(PATIENCE)
    session = "s-2" if missing != -1 else spans[0]["traceId"]  # the root names the session
    [verdicts] = watched.verdicts(session)
    assert verdicts["never-refund"] == "unknown"
    assert "broken" not in verdicts.values()
    assert watched.figure("carob_watch_conversations_incomplete_total") == (missing == -1)


def test_what_later_spans_repeat_is_not_lost(start: Start) -> None:
    watched = start()
    watched.send(*turn(PLAIN)[1:])  # the second call of the model was given what the first one said
    watched.wait()
    assert watched.verdicts("s-2") == [HELD]


def test_later_turns_are_judged_by_what_came_before(start: Start) -> None:
    """The second turn cancels without looking; the first turn looked."""
    watched = start()
    looks, cancels = turn(PLAIN), turn(FORGETS_TO_LOOK, session="s-2")
    watched.send(*looks)
    watched.wait()
    watched.send(*msgspec.json.decode(msgspec.json.encode(cancels).replace(b"A-8", b"A-2")))
    watched.wait()
    assert watched.verdicts("s-2") == [HELD, HELD]
    last = watched.collector.events[-1][1]
    assert last["trace"] == cancels[0]["traceId"]


def test_a_trace_becomes_part_of_its_session_when_a_span_says_so(start: Start) -> None:
    watched = start()
    *children, root = turn(PLAIN)
    watched.send(*children)
    watched.send(root)
    watched.send(*turn(PLAIN, 1))
    watched.wait()
    assert watched.verdicts("s-2") == [HELD]
    assert watched.verdicts(root["traceId"]) == []


def test_spans_of_no_agent_are_no_conversation(start: Start) -> None:
    watched = start()
    span = {"traceId": "77" * 16, "spanId": "11" * 8, "name": "GET /", "startTimeUnixNano": 1, "endTimeUnixNano": 2}
    watched.send(span)
    watched.wait()
    assert watched.figure("carob_watch_conversations_without_agent_total") == 1
    assert watched.figure(JUDGED) == 0


def test_what_was_let_go_may_have_been_anything(start: Start) -> None:
    """The lookup of the first turn is gone: that there was none cannot be said. That nobody said yes can."""
    watched = start(keep_seconds=60.0)
    watched.send(*turn(PLAIN))
    watched.wait()
    watched.wait(100)
    assert watched.figure("carob_watch_conversations_let_go_total") == 1
    assert watched.figure("carob_watch_held_spans") == 0
    watched.send(*turn(UNASKED_AND_UNSEEN, session="s-2"))
    watched.wait()
    assert watched.verdicts("s-2")[-1]["explicit-yes"] == "broken"
    assert watched.verdicts("s-2")[-1]["look-first"] == "unknown"


def test_a_late_span_of_what_was_let_go_makes_it_unknown(start: Start) -> None:
    watched = start(keep_seconds=60.0)
    spans = turn(PLAIN)
    watched.send(*spans[1:])
    watched.wait()
    watched.wait(100)
    watched.send(spans[0])
    watched.wait(PATIENCE)
    assert "held" not in watched.verdicts("s-2")[-1].values()


@pytest.mark.parametrize(
    ("pause", "expected"), [pytest.param(2.0, "broken", id="short"), pytest.param(600.0, "unknown", id="long")]
)
def test_a_turn_may_be_missing_after_a_stop(start: Start, pause: float, expected: str) -> None:
    """A session goes on after a stop: unless it was so short that exporters tried again, a turn may have been lost."""
    watched = start()
    watched.send(*turn(7, session="s-8"))  # nothing but words
    watched.wait()
    watched.close()
    Watched.latest += pause
    watched = start()
    cancels = msgspec.json.decode(msgspec.json.encode(turn(FORGETS_TO_LOOK)))
    later = [{**span, **{key: int(Watched.latest * 1e9) + n for key in TIMES}} for n, span in enumerate(cancels)]
    watched.send(*later)
    watched.wait()
    assert watched.verdicts("s-8")[-1]["look-first"] == expected


TIMES = ("startTimeUnixNano", "endTimeUnixNano")


@pytest.mark.parametrize(
    ("pause", "expected"), [pytest.param(2.0, "broken", id="short"), pytest.param(600.0, "unknown", id="long")]
)
def test_a_session_that_is_new_after_a_stop_may_have_begun_before(start: Start, pause: float, expected: str) -> None:
    watched = start()
    watched.wait(1)
    watched.close()
    Watched.latest += pause
    watched = start()
    watched.send(*turn(FORGETS_TO_LOOK))
    watched.wait()
    assert watched.verdicts("s-8")[-1]["look-first"] == expected


def test_a_restart_loses_nothing_and_judges_nothing_twice(start: Start) -> None:
    watched = start()
    watched.send(*turn(PLAIN))
    watched.wait()
    *children, root = turn(PLAIN + 1)
    watched.send(*children)
    watched = start()
    watched.wait()
    watched.send(root)
    watched.wait()
    assert watched.verdicts("s-2") == watched.verdicts("s-3") == [HELD]


def test_the_end_judges_what_is_complete_and_keeps_the_rest(start: Start) -> None:
    watched = start()
    watched.send(*turn(PLAIN), *turn(PLAIN + 1)[:-1])
    watched.close()
    assert watched.verdicts("s-2") == [HELD]
    assert watched.watch.waiting == 1
    assert "1 conversation judged" in watched.watch.summarize()[0]


@pytest.mark.parametrize(
    "name", [path.name for path in sorted(FILES.glob("*-otlp.*"))] + ["made"], ids=lambda name: name
)
def test_the_same_spans_in_a_file_come_out_the_same(start: Start, tmp_path: Path, name: str) -> None:
    """As `carob check` says of a file that the SDK of a platform sent."""
    policy = POLICY + "  - { id: lookups, each: { call: lookup_order }, where: each.arguments.order != '' }\n"
    if name == "made":
        path = tmp_path / "made.jsonl"
        path.write_bytes(b"\n".join(msgspec.json.encode({"resourceSpans": [{"scopeSpans": [{"spans": turn(n)}]}]})
                                    for n in range(1, 12)))  # fmt: skip
    else:
        path = FILES / name
    watched = start(policy=policy)
    judge = carob.prepare_judge(str(watched.policy))
    data = path.read_bytes()
    for body in split_requests(data) if path.suffix == ".pb" else data.splitlines():
        kind = "application/x-protobuf" if path.suffix == ".pb" else "application/json"
        assert watched.post(body, Content_Type=kind) == 200
    watched.wait(PATIENCE)
    expected = {}
    for conversation in carob.read_conversations(path):
        verdicts = judge.judge(conversation.trace, conversation.tags, conversation.metadata)  # type: ignore[union-attr]
        expected[conversation.id] = {v.rule: v.outcome.value for v in verdicts if v.outcome != "not_triggered"}
    assert {name: watched.verdicts(name)[-1:] for name in expected} == {
        name: [rules] if rules else [] for name, rules in expected.items()
    }
    assert any(expected.values())


SPANS = [span for number in (2, 7, 8, 10) for span in turn(number)] + turn(2, 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=12)
@given(data=st.data())
def test_neither_order_nor_repetition_nor_loss_lends_evidence(
    tmp_path_factory: pytest.TempPathFactory, collector: Collector, data: st.DataObject
) -> None:
    """Whatever comes in whatever order, in whatever pieces: each comes out as a check of what came of it alone."""
    collector.events.clear()
    folder = tmp_path_factory.mktemp("stream")
    spans = data.draw(st.lists(st.sampled_from(range(len(SPANS))), min_size=1, max_size=2 * len(SPANS)))
    watched = Watched(folder, collector, running_since=1_900_000_000.0)
    try:
        for index in spans:
            watched.send(SPANS[index])
            if data.draw(st.integers(0, 9)) == 0:
                watched.wait(PATIENCE)
        watched.wait(PATIENCE)
    finally:
        watched.close()
    kept = [SPANS[index] for index in dict.fromkeys(spans)]
    for name, rules in check_spans(folder, kept).items():
        last = watched.verdicts(name)[-1:] or [{}]
        assert {rule: label for rule, label in last[0].items() if label != "not_triggered"} == rules


VALUES: st.SearchStrategy[Json] = st.recursive(
    st.one_of(
        st.text().map(lambda text: {"stringValue": text}),
        st.integers(-(10**19), 10**19).map(lambda number: {"intValue": str(number)}),
        st.booleans().map(lambda value: {"boolValue": value}),
        st.floats().map(lambda value: {"doubleValue": str(value)}),
        st.just({}),
    ),
    lambda values: st.lists(values, max_size=3).map(lambda listed: {"arrayValue": {"values": listed}}),
    max_leaves=4,
)
KEYS = st.sampled_from(
    ["gen_ai.operation.name", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.name", "session.id",
     "gen_ai.tool.call.arguments", "openinference.span.kind", "input.value", "carob.case", "metadata", "user.id"]
)  # fmt: skip
TEXTS = st.sampled_from(["chat", "execute_tool", "invoke_agent", "LLM", "TOOL", '[{"role": "user", "parts": 3}]', "{"])
HOSTILE = st.fixed_dictionaries(
    {
        "traceId": st.sampled_from(["0" * 32, "ab" * 16, "cd" * 16]),
        "spanId": st.sampled_from(["0" * 16, "1" * 16, "2" * 16, "3" * 16]),
        "parentSpanId": st.sampled_from(["", "1" * 16, "2" * 16, "9" * 16]),
        "name": st.text(max_size=20),
        "startTimeUnixNano": st.integers(0, 10**19),
        "endTimeUnixNano": st.integers(0, 10**19),
        "attributes": st.lists(
            st.builds(
                lambda key, value: {"key": key, "value": value},
                KEYS,
                st.one_of(VALUES, TEXTS.map(lambda text: {"stringValue": text})),
            ),
            max_size=5,
        ),
    }
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=25)
@given(spans=st.lists(HOSTILE, min_size=1, max_size=6))
def test_hostile_spans_end_nothing(
    tmp_path_factory: pytest.TempPathFactory, collector: Collector, spans: list[Json]
) -> None:
    """Whatever they hold, the request is answered, what can be judged is, and the next conversation as well."""
    collector.events.clear()
    watched = Watched(tmp_path_factory.mktemp("hostile"), collector, running_since=1_900_000_000.0)
    try:
        watched.send(*spans)
        watched.send(*turn(PLAIN, session="after"))
        watched.wait(PATIENCE)
        assert watched.verdicts("after") == [HELD]
        assert watched.figure("carob_watch_open_conversations") == 0
        assert "Traceback" not in "".join(watched.lines)
    finally:
        watched.close()


KINDS = ({"user": "*"}, {"says": "*"}, {"call": "pay"}, {"call": "pay", "success": True}, {"asks_approval": "*"},
         {"approved": "*"}, {"denied": "*"}, {"handoff": "*"})  # fmt: skip
FORMS = ({"needs": {"before": {"call": "x"}}}, {"forbids": {"after": {"handoff": "y"}}}, {"at_most": 1})


def test_of_a_turn_that_was_not_seen_every_rule_is_unknown() -> None:
    """Whatever it is about, and in whatever form."""
    pairs = [(each, form) for each in KINDS for form in FORMS]
    rules = [{"id": f"r{number}", "each": each, **form} for number, (each, form) in enumerate(pairs)]
    judge = carob.prepare_judge({"carob": 1, "rules": rules})
    verdicts = judge.judge(missing_turn("it was not seen"))  # type: ignore[union-attr]
    assert {verdict.outcome for verdict in verdicts} == {"unknown"}


def test_what_cannot_be_judged_is_unknown_and_says_why(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no such thing")

    watched = start()
    monkeypatch.setattr("carob.features.watch.judging.assemble", fail)
    watched.send(*turn(PLAIN))
    watched.wait()
    assert watched.verdicts("s-2") == [UNKNOWN]
    assert "no such thing" in watched.collector.events[0][1]["gen_ai.evaluation.explanation"]
