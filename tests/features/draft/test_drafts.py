"""What a draft expects of an agent, what it keeps apart, and what it never pins."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

import carob
from carob.errors import UsageError
from carob.evidence.merge import merge_turns
from carob.features.draft.draft import DraftOptions, SuiteDraft
from carob.features.draft.drafting import draft_from_traces
from carob.model.trace import ToolCall, Trace, TraceError
from catalogs import CATALOG

WORDING = ("must_say_any", "must_match_regex", "answer_equals", "expected_contains", "reason_contains", "answer_text")


FOUND = ToolCall("find_person", {"person": 7}, result={"id": 7}, success=True)


def refund(number: int = 0, **changes: Any) -> Trace:
    """A run in which an order is looked up and paid back: ids, wording and amounts differ from run to run."""
    arguments = {
        "order": "A-17",
        "paid": 40.5 + number,
        "note": f"The customer wrote {number} mails about it.",
        "mode": "full",
    }
    arguments |= changes
    calls = (
        ToolCall(
            "get_order",
            {"order": arguments["order"]},
            id=f"call_{number}a",
            result={"total": arguments["paid"]},
            success=True,
        ),
        ToolCall(
            "issue_refund",
            {
                "order": arguments["order"],
                "amount": arguments["paid"],
                "note": arguments["note"],
                "mode": arguments["mode"],
            },
            id=f"call_{number}b",
            result={"refunded": arguments["paid"]},
            success=True,
        ),
    )
    said = ("I refunded {} EUR.", "{} EUR have been refunded.", "Refunded: {} EUR. Anything else?")[number % 3]
    return Trace(
        case_id="refunds",
        input="Refund order A-17, please.",
        final_message=said.format(arguments["paid"]),
        tool_calls=calls,
    )


def drafted(traces: Sequence[Trace], **options: Any) -> SuiteDraft:
    return draft_from_traces(traces, CATALOG, DraftOptions(**options))


def expected(draft: SuiteDraft, case: int = 0) -> dict[str, Any]:
    tree = yaml.safe_load(draft.yaml)
    shared_and_own: dict[str, Any] = tree.get("defaults", {}).get("expected", {}) | tree["cases"][case]["expected"]
    return shared_and_own


@pytest.fixture(scope="module")
def of_refunds() -> SuiteDraft:
    return drafted([refund(number) for number in range(20)])


def test_it_reads_as_a_suite_that_is_a_draft(of_refunds: SuiteDraft) -> None:
    suite = carob.load_suite(of_refunds.yaml)
    assert suite.draft
    assert [case.id for case in suite.cases] == ["refunds"]
    assert not suite.warnings


def test_calls_and_arguments_are_asked_for_by_where_they_came_from(of_refunds: SuiteDraft) -> None:
    looked, paid = expected(of_refunds)["tool_calls"]
    assert looked["arguments"] == {"order": "A-17"}
    assert paid["arguments"] == {
        "order": "A-17",
        "amount": {"$type": "number"},
        "note": {"$type": "string"},
        "mode": "full",
    }
    assert (paid["times"], paid["success"]) == (1, True)
    assert expected(of_refunds)["tool_requires"] == {"issue_refund": ["get_order"]}
    assert expected(of_refunds)["only_effects"] == ["issue_refund"]


def test_every_line_has_its_support(of_refunds: SuiteDraft) -> None:
    assert "order: A-17  # from the prompt, 20 of 20 runs" in of_refunds.yaml
    assert "mode: full  # 20 of 20 runs" in of_refunds.yaml
    assert "# 20 of 20 runs, 16 values: from the result of get_order" in of_refunds.yaml


def test_no_wording_and_no_call_id_is_pinned(of_refunds: SuiteDraft) -> None:
    assert not expected(of_refunds).keys() & set(WORDING)
    assert "call_" not in of_refunds.yaml.replace("tool_calls", "")
    assert "mails about it" not in of_refunds.yaml


def test_it_says_what_it_notices_and_what_it_cannot_see(of_refunds: SuiteDraft) -> None:
    assert of_refunds.summary.rate_of_facts.value >= 0.9
    assert of_refunds.summary.rate.value < of_refunds.summary.rate_of_facts.value
    assert "# What this suite cannot catch:" in of_refunds.yaml
    assert any("retracted" in line for line in of_refunds.summary.unseen)


def test_a_right_run_passes_and_wrong_ones_do_not(of_refunds: SuiteDraft) -> None:
    case = carob.load_suite(of_refunds.yaml).cases[0]
    assert carob.judge(case, refund(77)).status == "PASS"
    for wrong in (
        refund(3, order="B-04"),
        refund(3, mode="half"),
        carob.Trace(case_id="refunds", input=refund().input, final_message="I refunded 43.5 EUR.", tool_calls=()),
    ):
        assert carob.judge(case, wrong).status == "FAIL"


def test_a_constant_needs_support() -> None:
    once = drafted([refund(0)])
    assert expected(once)["tool_calls"][1]["arguments"]["mode"] == {"$type": "string"}
    assert "tools_used" not in expected(once)


FILED = "Printer on floor 3 is broken"


def filed(number: int) -> Trace:
    """A ticket with an id of its own, a title that quotes the prompt, and a code."""
    ids = ("b3f1c2d4-0a1b-4c2d-8e3f-1a2b3c4d5e6f", "0d9e8f7a-6b5c-4d3e-a2f1-99aa88bb77cc")
    arguments = {"id": ids[number % 2], "title": FILED, "code": f"QX-{number + 10}"}
    call = ToolCall("file_ticket", arguments, result={"ok": True}, success=True)
    return Trace(case_id="t", input=f"The {FILED.lower()}.", final_message="It is filed.", tool_calls=(call,))


@pytest.mark.parametrize(
    ("runs", "arguments"),
    [
        (1, {"id": {"$type": "string"}, "title": {"$type": "string"}, "code": {"$type": "string"}}),
        (4, {"id": {"$type": "string"}, "title": FILED, "code": {"$regex": r"^[A-Z]+-\d+$"}}),
    ],
)
def test_few_runs_say_little_of_ids_shapes_and_quotes(runs: int, arguments: dict[str, Any]) -> None:
    (entry,) = expected(drafted([filed(number) for number in range(runs)]))["tool_calls"]
    assert entry["arguments"] == arguments


def test_arguments_that_look_like_matchers_or_variables_are_not_read_as_such() -> None:
    """Each prompt is a row, and a query of a database is an argument."""

    def searched(number: int) -> Trace:
        arguments = {"city": f"City{number}", "filter": {"price": {"$lt": 50}}, "template": "{asked}", "mode": "fast"}
        call = ToolCall("search", arguments, result={"hits": number}, success=True)
        said = f"Search {{city}} in City{number}."
        return Trace(case_id="", input=said, final_message="Done.", tool_calls=(call,))

    runs = [searched(number) for number in range(10, 50)]
    draft = drafted(runs)
    (entry,) = expected(draft)["tool_calls"]
    types = {"filter": {"price": {"$type": "object"}}, "template": {"$type": "string"}}
    assert entry["arguments"] == {"city": "{city}", "mode": "fast", **types}
    assert draft.findings == ()
    cases = carob.load_suite(draft.yaml).cases
    inputs = {run.input: run for run in runs}
    assert [carob.judge(case, inputs[case.prompt]).status for case in cases] == ["PASS"] * 3


def test_a_held_out_trace_loosens_what_it_does_not_hold() -> None:
    runs = [refund(number) for number in range(4)] + [refund(4, mode="half")]
    draft = drafted(runs)
    assert (draft.summary.held_out, draft.summary.held_out_passed) == (1, 0)
    assert "mode" not in expected(draft)["tool_calls"][1]["arguments"]
    assert "differs" in [finding.kind for finding in draft.findings]
    case = carob.load_suite(draft.yaml).cases[0]
    assert [carob.judge(case, run).status for run in runs] == ["PASS"] * 5


def test_the_support_of_a_loosened_line_is_that_of_what_is_left() -> None:
    traces = [refund(number, mode="partly" if number in (4, 9) else "full") for number in range(10)]
    text = drafted(traces).yaml
    assert "mode: " not in text.partition("cases:")[2].partition("# Questions")[0]
    assert "order: A-17  # from the prompt, 10 of 10 runs" in text
    assert " 8 of 10 runs" not in text


def test_where_calls_may_be_missing_none_are_counted() -> None:
    blind = Trace(case_id="talk", input="I want a refund.", final_message="Which order?")
    runs = [
        merge_turns([blind, carob.Trace(**{**_fields(refund(number)), "case_id": "talk", "input": "A-17."})])
        for number in range(6)
    ]
    draft = drafted(runs)
    (paid,) = expected(draft)["tool_calls"]
    assert paid["tool"] == "issue_refund"
    assert "times" not in paid
    assert " 0 of 6 runs" not in draft.yaml
    assert draft.findings == ()


def booking(number: int) -> Trace:
    """A conversation whose words differ from run to run, and whose arguments come from them."""
    day, room = f"2026-12-{number % 28 + 1:02d}", {"room": f"R{number}", "price": 80.5 + number}
    room_call = ToolCall("find_room", {"day": day, "people": number}, result=room, success=True)
    booked = ToolCall("book_room", {"room": f"R{number}", "day": day}, result={"ok": True}, success=True)
    turns = [
        Trace(case_id="", input=f"A room for {number}.", final_message="Which day?", tool_calls=()),
        Trace(case_id="", input=f"On {day}.", final_message="Shall I book it?", tool_calls=(room_call,)),
        Trace(case_id="", input="Yes", final_message="It is booked.", tool_calls=(booked,)),
    ]
    return merge_turns(turns)


def test_conversations_with_words_of_their_own_keep_what_came_from_them() -> None:
    draft = drafted([booking(number) for number in range(10, 60)])
    (case,) = yaml.safe_load(draft.yaml)["cases"]
    first = int(case["turns"][0]["prompt"].removeprefix("A room for ").removesuffix("."))
    searched, booked = (entry["arguments"] for entry in case["expected"]["tool_calls"])
    assert searched == {"day": f"2026-12-{first % 28 + 1:02d}", "people": first}
    assert booked["day"] == searched["day"]
    assert draft.findings == ()
    read = carob.load_suite(draft.yaml).cases[0]
    assert carob.judge(read, booking(first)).status == "PASS"
    assert carob.judge(read, booking(first + 1)).status == "FAIL"


@pytest.mark.parametrize(("prompts", "held_out"), [(50, 10), (6, 0)])
def test_a_fifth_is_held_out_where_prompts_differ_unless_each_is_a_case(prompts: int, held_out: int) -> None:
    summary = drafted([booking(number) for number in range(10, 10 + prompts)]).summary
    assert (summary.held_out, summary.held_out_passed) == (held_out, held_out)
    assert summary.cases == (1 if held_out else prompts)


def test_what_only_succeeds_at_times_is_named() -> None:
    def sent(number: int) -> Trace:
        call = ToolCall("send_link", {"to": 7}, result={"sent": number % 3 > 0}, success=number % 3 > 0)
        said = "It was sent." if number % 3 else "Sending it failed."
        return Trace(case_id="q", input="Send 7 a link.", final_message=said, tool_calls=(FOUND, call))

    assert "varied: send_link succeeded in 4 of 7 calls" in drafted([sent(number) for number in range(8)]).yaml


def test_a_line_that_hardly_any_run_misses_is_kept_and_marked() -> None:
    runs = [refund(number) for number in range(99)] + [refund(99)]
    odd = carob.Trace(
        case_id="refunds", input=runs[0].input, final_message="I refunded 7,313 EUR.", tool_calls=runs[60].tool_calls
    )
    runs[60] = odd
    draft = drafted(runs)
    assert "every number has a source in 99 of 100 runs" in draft.yaml
    assert ("number", 1) in [(finding.kind, finding.times) for finding in draft.findings]


def test_a_conversation_becomes_turns() -> None:
    asks = Trace(case_id="talk", input="I want a refund.", final_message="Which order?", tool_calls=())
    runs = [
        merge_turns([asks, carob.Trace(**{**_fields(refund(number)), "case_id": "talk", "input": "A-17."})])
        for number in range(6)
    ]
    draft = drafted(runs)
    (case,) = yaml.safe_load(draft.yaml)["cases"]
    assert [turn["prompt"] for turn in case["turns"]] == ["I want a refund.", "A-17."]
    assert case["turns"][0]["expected"]["outcome"] == "needs_input"
    (paid,) = case["expected"]["tool_calls"]
    assert (paid["tool"], paid["arguments"]["order"]) == ("issue_refund", "A-17")
    read = carob.load_suite(draft.yaml).cases[0]
    assert carob.judge(read, runs[0]).status == "PASS"


def _fields(trace: Trace) -> dict[str, Any]:
    return {name: getattr(trace, name) for name in trace.__struct_fields__}


ORDER, REASON = ("What is your order number?", "A-17."), ("May I ask for the reason?", "It broke.")
NUMBER, WHY = ("Please give me the number of the order.", "A-17."), ("I still need a reason.", "It broke.")


def talk(*exchanges: tuple[str, str]) -> Trace:
    """A user who answers what is asked, and gets his money."""
    said = ["I want a refund.", *(reply for _, reply in exchanges)]
    asks = [
        Trace(case_id="talk", input=before, final_message=question, tool_calls=())
        for before, (question, _) in zip(said, exchanges, strict=False)
    ]
    return merge_turns([*asks, carob.Trace(**{**_fields(refund()), "case_id": "talk", "input": said[-1]})])


def test_a_user_who_answers_in_any_order_becomes_replies() -> None:
    runs = [talk(ORDER, REASON), talk(WHY, NUMBER), talk(REASON, ORDER), talk(NUMBER, WHY)] * 2
    draft = drafted(runs)
    (case,) = yaml.safe_load(draft.yaml)["cases"]
    assert case["prompt"] == "I want a refund."
    assert case["replies"] == [{"asks_for": ["number"], "say": "A-17."}, {"asks_for": ["reason"], "say": "It broke."}]
    assert "turns" not in case
    assert [entry["tool"] for entry in case["expected"]["tool_calls"]] == ["get_order", "issue_refund"]
    read = carob.load_suite(draft.yaml).cases[0]
    assert {carob.judge(read, run).status for run in runs} == {"PASS"}
    undone = merge_turns([*runs[0].turns[:2], carob.Trace(case_id="talk", input="x", final_message="Done.")])
    assert carob.judge(read, undone).status != "PASS"


@pytest.mark.parametrize(
    "runs",
    [
        [talk(ORDER, REASON)] * 6,
        [talk(ORDER, REASON), talk(REASON, ORDER), talk(ORDER, ("Thank you.", "It broke."))] * 2,
        [talk(ORDER, REASON), talk(REASON, ORDER), talk(ORDER, ("Which order number?", "It broke."))] * 2,
        [talk(ORDER, REASON), talk(ORDER, REASON), talk(REASON, ORDER), talk(ORDER, (REASON[0], "Too late."))],
    ],
    ids=["one order", "an answer that asks nothing", "one question, two replies", "a reply given once"],
)
def test_what_no_script_would_say_again_becomes_turns(runs: list[Trace]) -> None:
    (case,) = yaml.safe_load(drafted(runs).yaml)["cases"]
    assert "replies" not in case
    assert case["turns"][0]["prompt"] == "I want a refund."


@pytest.mark.parametrize(("runs", "is_asked"), [(4, True), (3, False)])
def test_a_list_that_never_was_empty_must_not_be(runs: int, is_asked: bool) -> None:
    def listed(result: object) -> Trace:
        calls = (ToolCall("list_orders", {}, result=result, success=True),)
        return Trace(case_id="q", input="What did I order?", final_message="Two lamps.", tool_calls=calls)

    full = [{"order": "A-1"}, {"order": "B-2"}]
    read = carob.load_suite(drafted([listed(full[: 1 + number % 2]) for number in range(runs)]).yaml).cases[0]
    assert carob.judge(read, listed(full)).status == "PASS"
    assert [carob.judge(read, listed(empty)).status for empty in ([], "[]")] == ["FAIL" if is_asked else "PASS"] * 2


def test_a_failure_that_the_answer_hides_is_a_question() -> None:
    failed = ToolCall("book_slot", {"day": "Monday"}, success=False, error="taken")
    hides = Trace(case_id="books", input="Book Monday.", final_message="Booked for Monday.", tool_calls=(failed,))
    with pytest.raises(UsageError, match="none of the 4 traces can be a contract"):
        drafted([hides] * 4)
    draft = drafted([hides] * 4 + [refund(number) for number in range(4)])
    assert [finding.kind for finding in draft.findings] == ["failed"]
    assert "books" not in [case.id for case in carob.load_suite(draft.yaml).cases]


@pytest.mark.parametrize(
    ("traces", "says"),
    [
        pytest.param([], "there is no trace to draft from", id="none"),
        pytest.param(
            [Trace(case_id="a", input="Hi", tool_calls=(), error=TraceError("timeout", "no answer"))],
            r"none of the 1 trace can be a contract.*timeout: no answer",
            id="only-errors",
        ),
        pytest.param([Trace(case_id="a", final_message="Hi", tool_calls=())], "no prompt was recorded", id="no-prompt"),
    ],
)
def test_nothing_to_draft_from_is_one_clear_line(traces: list[Trace], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        drafted(traces)


def test_the_id_of_a_case_has_no_personal_data() -> None:
    prompt = "I am anna.lind@mail.example.org"
    runs = [Trace(case_id="", input=prompt, final_message="Hello.", tool_calls=()) for _ in range(3)]
    assert yaml.safe_load(drafted(runs).yaml)["cases"][0]["id"] == "i-am-person1-example-com"
    assert "anna" in yaml.safe_load(drafted(runs, keep_personal_data=True).yaml)["cases"][0]["id"]


def test_hostile_text_stays_a_comment() -> None:
    evil = "Hi\n- id: x\n# \x1b[31m {order} : [a, b"
    draft = drafted([Trace(case_id="a", input=evil, final_message="Hello there.", tool_calls=())] * 4)
    assert yaml.safe_load(draft.yaml)["cases"][0]["prompt"] == evil
    assert "\x1b" not in draft.yaml


HOSTILE_NAMES = ("@SUM(1)", "@effects", "*", " pad ", "\u200b")
HOSTILE = (" ", "", "\n", "\t \n", "\u00a0", "\u200b", "-", "#", "...", "=SUM(1)", *HOSTILE_NAMES)
PLACES = (
    "case_id", "input", "final_message", "argument", "key", "result", "name", "error", "state", "page", "line", "turn"
)  # fmt: skip


def with_text(place: str, text: str) -> Trace:
    """A run with a text in one place of it."""
    call: dict[str, Any] = {"name": "find", "arguments": {"order": "A-17"}, "result": {"n": 1}, "success": True}
    fields: dict[str, Any] = {"case_id": "a", "input": "Where is A-17?", "final_message": "There."}
    if place == "turn":
        said = ("Hi", text, "Bye")
        return merge_turns([Trace(case_id="a", input=one, final_message="Yes?", tool_calls=()) for one in said])
    parts: dict[str, dict[str, Any]] = {
        "argument": {"arguments": {"order": text}},
        "key": {"arguments": {text: "x"}},
        "result": {"result": text},
        "name": {"name": text},
        "error": {"error": text, "success": False, "result": None},
    }
    others: dict[str, dict[str, Any]] = {"state": {"state": {text: "x"}}, "line": {"telemetry": (text,)}}
    more = others.get(place, {place: text} if place not in parts else {})
    return Trace(**{**fields, **more}, tool_calls=(ToolCall(**{**call, **parts.get(place, {})}),))


@pytest.mark.parametrize("place", PLACES)
def test_no_text_of_a_run_ends_a_draft(place: str) -> None:
    for text in HOSTILE:
        runs = [with_text(place, text) for _ in range(5)]
        good = [Trace(case_id="b", input="Hello there", final_message="Hi!", tool_calls=()) for _ in range(5)]
        suite = carob.load_suite(drafted([*runs, *good]).yaml)
        assert "b" in {case.id for case in suite.cases}, (place, text)


def test_fields_of_a_structured_answer_that_never_change_are_expected() -> None:
    def run(number: int, blocked: bool = False) -> Trace:
        answer = json.dumps({"block_card": blocked, "kind": "lost", "note": f"Written anew, number {number}."})
        return Trace(case_id="a", input="My card is lost.", final_message=answer, tool_calls=())

    draft = drafted([run(number) for number in range(20)])
    properties = expected(draft)["answer_json"]["properties"]
    assert properties == {"block_card": {"const": False}, "kind": {"const": "lost"}, "note": {"type": "string"}}
    (case,) = carob.load_suite(draft.yaml).cases
    assert carob.judge(case, run(1)).status == "PASS"
    assert carob.judge(case, run(1, blocked=True)).status == "FAIL"


def test_a_field_that_changes_in_a_run_that_was_held_out_is_of_its_type() -> None:
    def run(number: int) -> Trace:
        answer = json.dumps({"block_card": number % 5 == 4, "kind": "lost"})
        return Trace(case_id="a", input="My card is lost.", final_message=answer, tool_calls=())

    answer = expected(drafted([run(number) for number in range(20)])).get("answer_json", {"properties": {}})
    assert "const" not in answer["properties"].get("block_card", {})


def test_a_key_that_is_personal_is_masked_as_a_value_is() -> None:
    call = ToolCall("save", {"people": {"anna@corp.example": 3}}, result={"ok": True}, success=True)
    runs = [Trace(case_id="a", input="Save it.", final_message="Saved.", tool_calls=(call,)) for _ in range(6)]
    draft = drafted(runs)
    assert "anna" not in draft.yaml
    assert b"anna" not in draft.recording
    assert "person1@example.com" in draft.yaml


def test_the_runs_that_a_draft_is_from_are_a_recording_of_it(tmp_path: Path) -> None:
    others = [
        Trace(case_id=f"c{number}", input=f"Mail anna{number}@corp.example", final_message="Done.", tool_calls=())
        for number in range(3)
    ]
    talk = [Trace(case_id="t", input=text, final_message="Yes?", tool_calls=()) for text in ("Hi", "Bye")]
    draft = drafted([*[refund(number) for number in range(6)], *others, merge_turns(talk)])
    (tmp_path / "d.yaml").write_text(draft.yaml)
    (tmp_path / "d.jsonl").write_bytes(draft.recording)
    run = carob.run(tmp_path / "d.yaml", f"replay:{tmp_path / 'd.jsonl'}", workers=0)
    assert {record.case.id: str(record.status) for record in run} == dict.fromkeys(
        (record.case.id for record in run), "PASS"
    )
    assert len(run.records) == 5


def test_the_rows_of_a_case_have_runs_of_their_own(tmp_path: Path) -> None:
    runs = [
        Trace(
            case_id=f"run-{number}",
            input=f"Where is order {chr(65 + number % 26)}-{number}?",
            final_message="It is there.",
            tool_calls=(
                ToolCall("find", {"order": f"{chr(65 + number % 26)}-{number}"}, result={"n": 1}, success=True),
            ),
        )
        for number in range(60)
    ]
    draft = drafted(runs, max_cases=5)
    (tmp_path / "d.yaml").write_text(draft.yaml)
    (tmp_path / "d.jsonl").write_bytes(draft.recording)
    run = carob.run(tmp_path / "d.yaml", f"replay:{tmp_path / 'd.jsonl'}", workers=0)
    assert [str(record.status) for record in run] == ["PASS"] * 3
