"""The parts of a draft: masks, effects by name, and where a value came from."""

from __future__ import annotations

from pathlib import Path

import pytest

from carob.features.audit.operators.measures import round_up
from carob.features.draft.cases import name_prompts
from carob.features.draft.origins import Origins, is_stable, shape_of
from carob.features.draft.trace_groups import LOOP, Findings
from carob.features.draft.trace_statistics import Replies
from carob.model.trace import ToolCall, Trace
from carob.redaction.personal_data import PATTERNS, Masker, is_iban, passes_luhn
from carob.text.tool_effects import known_effects, likely_effects

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.kind)
def test_each_kind_is_masked_and_documented(pattern: object) -> None:
    kind, example = pattern.kind, pattern.example  # type: ignore[attr-defined]
    masker = Masker()
    masked = masker.text(f"Mine is {example}, again {example}.")
    assert example not in masked
    assert masker.counts == {kind: 1}
    assert masked.split(",")[0].removeprefix("Mine is ") == masked.split("again ")[1].removesuffix(".")
    assert f"| {kind} | `{example}` |" in (ROOT / "docs" / "draft.md").read_text()


@pytest.mark.parametrize(
    "text",
    [
        "on 2026-03-20 at 12:30",
        "order 4242 4242 4242 4243",
        "vehicle 42 of 4,800 lbs",
        "from 2026-04-01 to 2026-04-02",
        "version 1.2.3",
        "GB00 1234 5678 9012 34",
        "A-17",
        "sketches_of_the_old_house.png and pk_customers_and_orders",
    ],
)
def test_what_is_not_personal_is_left(text: str) -> None:
    assert Masker().text(text) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("4242 4242 4242 4242", "4242424242424242"),
        ("DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        ("+49 170 1234567", "+49 170 123 4567"),
        ("Anna.Lind@mail.example.org", "anna.lind@mail.example.org"),
    ],
)
def test_a_value_is_masked_alike_however_it_is_written(one: str, other: str) -> None:
    masker = Masker()
    assert masker.text(one) == masker.text(other) not in (one, other)
    assert masker.counts.total() == 1


def test_small_letters_hide_nothing() -> None:
    """Prompts are compared in small letters, and so named in findings."""
    keys = [pattern.example.lower() for pattern in PATTERNS]
    assert not [key for key in keys if key in Masker().text(f"mine is {key}.")]


def test_names_of_prompts_have_no_personal_data() -> None:
    assert [*name_prompts(["I am anna.lind@mail.example.org", "Call +49 170 1234567"])] == [
        "i-am-person1-example-com",
        "call-1-555-0101",
    ]


def test_a_card_number_is_masked_as_a_number_too() -> None:
    masker = Masker()
    written = masker.text("Charge 4242 4242 4242 4242.")
    assert masker.redact({"card": 4242424242424242, "cents": 1999, "is_new": True}) == {
        "card": int(written.removeprefix("Charge ").removesuffix(".")),
        "cents": 1999,
        "is_new": True,
    }


@pytest.mark.parametrize("text", ["password=hunter2secret", "PWD=hunter2", "Authorization: Bearer abcdef.123456-78"])
def test_a_secret_with_its_name_is_masked(text: str) -> None:
    assert "key-masked-1" in Masker().text(f"login failed for {text} at 9")
    assert "hunter2" not in Masker().text(text)


def test_masks_are_sound_values() -> None:
    masker = Masker()
    assert passes_luhn(masker.text("4242 4242 4242 4242"))
    assert is_iban(masker.text("DE89 3704 0044 0532 0130 00"))


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("issue_refund", ("issued", "refunded")),
        ("auto_allocate_vehicle", ("allocated",)),
        ("cancelBooking", ("cancelled", "canceled")),
        ("send_email", ("sent", "emailed")),
        ("orders.pay", ("paid",)),
        ("apply_template", ("applied",)),
        ("get_order_update", None),
        ("reset_password", ("reset",)),
        ("order_lookup", None),
        ("ticketSearch", None),
        ("refund_status", None),
        ("update_status", ("updated",)),
        ("schedule_check", ("scheduled",)),
        ("mark_read", ("marked",)),
        ("search_and_book", ("booked",)),
        ("find_or_create_user", ("created",)),
        ("rollback_deploy", ("rolled back", "deployed")),
        ("find_available_dynos", None),
        ("completed_tests_count", None),
        ("transfer_to_billing_agent", None),
        ("transfer_back_to_triage", None),
        ("triage__handoff_to_sales", None),
        ("transfer_to_savings", ("transferred",)),
        ("transfer_money", ("transferred",)),
    ],
)
def test_effects_by_name(tool: str, words: tuple[str, ...] | None) -> None:
    assert likely_effects([tool]).get(tool) == words


def test_declared_effects_come_first() -> None:
    declared = {"pay_*": ("settled",), "@effects": ("done",), "other_tool": ("x",)}
    assert known_effects(["pay_bill", "book_slot", "get_bill"], declared) == {
        "pay_*": ("settled",),
        "book_slot": ("booked",),
        "@effects": ("done",),
    }
    assert known_effects(["get_bill"], declared) == {}


@pytest.mark.parametrize(
    ("value", "prompt", "is_there"),
    [
        ("19:00", "今夜19:00に4名で予約をお願いします。田中です。", True),
        ("田中", "今夜19:00に4名で予約をお願いします。田中です。", True),
        ("서울", "서울에서 부산까지", True),
        ("田", "田中です。", False),
        ("ber", "Bitte über Berlin", False),
        ("Берлин", "в Берлине", False),
    ],
)
def test_words_of_scripts_without_spaces_are_found(value: str, prompt: str, is_there: bool) -> None:
    assert Origins(Trace(case_id="a", tool_calls=()), prompt).in_prompt(value) is is_there


def test_a_sentence_without_spaces_is_wording() -> None:
    assert not is_stable("お客様は商品が壊れていたと言っています。")
    assert is_stable("田中 太郎")


@pytest.mark.parametrize(
    ("value", "origin"),
    [
        ("A-17", "prompt"),
        (42, "prompt"),
        ("brake", "prompt"),
        ("17", "prompt"),
        ("A-1", ""),
        (4, ""),
        ("P-9", "result of find"),
        ("p-9", "result of find"),
        (12.5, "result of find"),
        (["A-17", "P-9"], "result of several"),
        ({"id": "P-9"}, "result of find"),
        ("2027-01-16", "clock"),
        ("1999-01-16", ""),
        ("0b7c2d1e-5a4f-4c3b-9d2e-1f0a9b8c7d6e", "id"),
        (True, ""),
        (None, ""),
    ],
)
def test_where_a_value_came_from(value: object, origin: str) -> None:
    origins = Origins(Trace(case_id="a", tool_calls=(), started_at=1_800_000_000.0), "Brake test of A-17 for 42.")
    origins.add_result("find", {"parts": [{"id": "P-9", "price": 12.5}]})
    assert origins.of(value) == origin


@pytest.mark.parametrize(
    ("value", "shape"),
    [("A-17", r"^[A-Z]+-\d+$"), ("v1.2", r"^[a-z]+\d+\.\d+$"), ("brake", ""), ("one two three four", "")],
)
def test_shapes(value: str, shape: str) -> None:
    assert shape_of(value) == shape


def test_what_may_be_the_same_tomorrow() -> None:
    assert is_stable("open")
    assert not is_stable("2026-03-12T09:00:00+00:00")
    assert not is_stable("It was a fine day.")


@pytest.mark.parametrize(("value", "up"), [(0.3, 0.5), (1, 1), (1.1, 2), (42, 50), (900, 1000), (2835, 5000)])
def test_budgets_are_round(value: float, up: float) -> None:
    assert round_up(value) == up


def _spoken(*messages: str) -> list[Trace]:
    """A conversation: what the user says, the answer, and so on."""
    pairs = zip(messages[::2], messages[1::2], strict=True)
    return [Trace(case_id="a", input=said, final_message=answer) for said, answer in pairs]


def test_no_script_is_made_of_a_user_who_was_not_asked() -> None:
    order, reason = "What is your order number?", "What is the reason?"
    one = _spoken("Refund.", order, "It is A-17.", reason, "It broke.", "Done.")
    other = _spoken("Refund.", reason, "It broke.", order, "It is A-17.", "Done.")
    unasked = _spoken("Refund.", "An order number begins with A.", "It is A-17.", reason, "It broke.", "Done.")
    scripts = []
    for conversations in ((one, other), (one, other, unasked)):
        replies = Replies()
        for turns in conversations:
            replies.add(turns)
        scripts.append([reply["say"] for reply in replies.script()])
    assert scripts == [["It is A-17.", "It broke."], []]


def test_replies_are_let_go_once_another_conversation_is_among_them() -> None:
    one, other = (
        _spoken("Refund.", "Which order?", "A-17.", "Done."),
        _spoken("Cancel.", "Which order?", "A-17.", "Ok."),
    )
    replies, more = Replies(), Replies()
    for turns in (one, other, one):
        replies.add(turns)
    more.add(one)
    more.merge(replies)
    more.add(one)
    assert (replies.script(), more.script()) == ([], [])


def test_calls_that_are_the_same_again_and_again_are_a_loop() -> None:
    same, other = ToolCall("look", {"id": 1}), ToolCall("look", {"id": 2})
    found = []
    for calls in ([same] * LOOP, [same] * (LOOP - 1), [same, other] * LOOP):
        findings = Findings()
        found.append((findings.is_stuck(Trace(case_id="a", tool_calls=tuple(calls)), ("Hi",)), len(findings.all())))
    assert found == [(True, 1), (False, 0), (False, 0)]
