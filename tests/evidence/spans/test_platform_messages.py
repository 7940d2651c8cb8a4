"""What platforms keep of a model's answer, in each of the forms that they keep it in."""

from __future__ import annotations

import pytest

from carob.evidence.spans.otlp import NOT_RECORDED
from carob.evidence.spans.platforms import answered_messages, finish_reason

SAID = {"role": "assistant", "content": "Paid."}
FORMS: dict[str, tuple[object, object]] = {
    "a message": (SAID, [SAID]),
    "a text": ("Paid.", [SAID]),
    "an empty text": ("", NOT_RECORDED),
    "a number": (5, NOT_RECORDED),
    "a list": ([SAID, SAID], [SAID, SAID]),
    "a list in a list": ([[SAID]], [SAID]),
    "choices": ({"choices": [{"message": SAID}, {"message": {}}]}, [SAID]),
    "generations": ({"generations": [[{"message": SAID}]]}, [SAID]),
    "no choice": ({"choices": []}, []),
    "messages": ({"messages": [SAID]}, [SAID]),
    "output": ({"output": "Paid."}, [SAID]),
    "one message": ({"message": SAID}, [SAID]),
    "a message with an output of its own": ({**SAID, "output": "x"}, [{**SAID, "output": "x"}]),
    "calls alone": ({"tool_calls": []}, [{"tool_calls": []}]),
    "something else": ({"score": 1}, NOT_RECORDED),
    "JSON": ('{"message": {"role": "assistant", "content": "Paid."}}', [SAID]),
}


@pytest.mark.parametrize(("kept", "messages"), FORMS.values(), ids=FORMS)
def test_the_messages_of_an_answer_are_found_in_every_form(kept: object, messages: object) -> None:
    assert answered_messages(kept) == messages


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        ({"choices": [{"finish_reason": "length"}]}, "length"),
        ({"stop_reason": "end_turn"}, "end_turn"),
        ({"choices": []}, NOT_RECORDED),
        ({"choices": ["stop"]}, NOT_RECORDED),
        ("stop", NOT_RECORDED),
    ],
)
def test_why_a_model_stopped(kept: object, reason: object) -> None:
    assert finish_reason(kept) == reason
