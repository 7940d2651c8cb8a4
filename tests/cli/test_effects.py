"""`carob audit --claims JOURNAL`: which recorded sentences are claims, which nearly are, and which are not."""

from __future__ import annotations

import json
from pathlib import Path

from cli.support import Carob, journal_of, traces

ANSWERS = {
    "A": "I have refunded A-9. Your refund will be there on Monday. Goodbye.",
    "B": "Your order was refunded. Shall I have it refunded?",
    "C": "It rains.",
}


def run(carob: Carob, effects: object, expected: object) -> str:
    cases = [{"id": name, "prompt": f"Say {name}.", "expected": expected} for name in ANSWERS]
    suite = {"carob": 1, **({"effects": effects} if effects else {}), "cases": cases}
    Path("desk.carob.json").write_text(json.dumps(suite))
    carob("run", "desk.carob.json", "-t", traces(**ANSWERS))
    return str(journal_of("carob-results"))


def test_sentences_are_claims_nearly_or_not(carob: Carob) -> None:
    journal = run(carob, {"issue_refund": ["refunded"]}, {"no_false_success": True})
    ran = carob("audit", "--claims", journal)
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "claim   A: refunded (issue_refund): I have refunded A-9.",
        "nearly  A: refunded (issue_refund): Your refund will be there on Monday.",
        "nearly  B: refunded (issue_refund): Your order was refunded.",
        "nearly  B: refunded (issue_refund): Shall I have it refunded?",
        "1 claim, 3 sentences nearly, 2 not (--all shows them)",
    ]
    assert "not     C: It rains." in carob("audit", "--claims", journal, "--all").out


def test_effects_of_the_project_are_used_for_cases_without_their_own(carob: Carob) -> None:
    journal = run(carob, None, {"must_say_any": ["refund"]})
    refused = carob("audit", "--claims", journal)
    assert refused.code == 4
    assert "no effects are declared" in refused.err
    Path("carob.toml").write_text('[effects]\nissue_refund = ["refunded"]\n')
    assert carob("audit", "--claims", journal).out.startswith(
        "claim   A: refunded (issue_refund): I have refunded A-9."
    )


def test_what_an_agent_says_cannot_write_on_the_terminal(carob: Carob) -> None:
    suite = {
        "carob": 1,
        "effects": {"pay": ["paid"]},
        "cases": [{"id": "A", "prompt": "Pay.", "expected": {"no_false_success": True}}],
    }
    Path("desk.carob.json").write_text(json.dumps(suite))
    carob("run", "desk.carob.json", "-t", traces(A="I have paid \x1b[31m it."))
    assert "\x1b" not in carob("audit", "--claims", str(journal_of("carob-results"))).out
