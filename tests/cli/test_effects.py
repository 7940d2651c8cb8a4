"""`karat effects JOURNAL`: which recorded sentences are claims, which nearly are, and which are not."""

from __future__ import annotations

import json
from pathlib import Path

from cli.support import Karat, journal_of, traces

ANSWERS = {
    "A": "I have refunded A-9. Your refund will be there on Monday. Goodbye.",
    "B": "Your order was refunded. Shall I have it refunded?",
    "C": "It rains.",
}


def run(karat: Karat, effects: object, expected: object) -> str:
    cases = [{"id": name, "prompt": f"Say {name}.", "expected": expected} for name in ANSWERS]
    suite = {"karat": 1, **({"effects": effects} if effects else {}), "cases": cases}
    Path("desk.karat.json").write_text(json.dumps(suite))
    karat("run", "desk.karat.json", "-t", traces(**ANSWERS))
    return str(journal_of("karat-results"))


def test_sentences_are_claims_nearly_or_not(karat: Karat) -> None:
    journal = run(karat, {"issue_refund": ["refunded"]}, {"no_false_success": True})
    ran = karat("effects", journal)
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "claim   A: refunded (issue_refund): I have refunded A-9.",
        "nearly  A: refunded (issue_refund): Your refund will be there on Monday.",
        "nearly  B: refunded (issue_refund): Your order was refunded.",
        "nearly  B: refunded (issue_refund): Shall I have it refunded?",
        "1 claim, 3 sentences nearly, 2 not (--all shows them)",
    ]
    assert "not     C: It rains." in karat("effects", journal, "--all").out


def test_effects_of_the_project_are_used_for_cases_without_their_own(karat: Karat) -> None:
    journal = run(karat, None, {"must_say_any": ["refund"]})
    refused = karat("effects", journal)
    assert refused.code == 4
    assert "no effects are declared" in refused.err
    Path("karat.toml").write_text('[effects]\nissue_refund = ["refunded"]\n')
    assert karat("effects", journal).out.startswith("claim   A: refunded (issue_refund): I have refunded A-9.")


def test_what_an_agent_says_cannot_write_on_the_terminal(karat: Karat) -> None:
    suite = {
        "karat": 1,
        "effects": {"pay": ["paid"]},
        "cases": [{"id": "A", "prompt": "Pay.", "expected": {"no_false_success": True}}],
    }
    Path("desk.karat.json").write_text(json.dumps(suite))
    karat("run", "desk.karat.json", "-t", traces(A="I have paid \x1b[31m it."))
    assert "\x1b" not in karat("effects", str(journal_of("karat-results"))).out
