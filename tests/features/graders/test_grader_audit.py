"""`carob.audit_grader`: what it shows of honest, biased and broken judges."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import carob
from carob.features.audit.operators.catalog import EVERY_OPERATOR
from carob.features.graders.model import GraderAudit
from carob.features.graders.mutants import CLAIMS, claim_of

JUDGES = Path(__file__).with_name("judges.py")


def audit(judge: str, recording: str, **options: object) -> GraderAudit:
    return carob.audit_grader(f"python:{JUDGES}:{judge}", recording, **options)  # type: ignore[arg-type]


def test_honest_judge_is_caught_accepting_nothing(recording: str) -> None:
    report = audit("honest", recording, min_caught=["0.5"])
    assert (report.audited, report.unaudited, report.faults, report.flipped) == (6, 0, 0, 0)
    caught = {row.name: row.caught for row in report.operators}
    assert caught["tool-doubled"].killed == caught["tool-doubled"].tried == 6
    assert report.idle_passes == 0
    # It takes one spelling of the answer for right, and looks at no result: both are said of it.
    assert {row.name: row.wrong for row in report.forms} == {"white-space": 6, "letter-case": 6}
    assert {entry.operator for entry in report.accepted if not entry.doubt} == {"result-changed"}


@pytest.mark.parametrize(
    ("judge", "bias"),
    [
        pytest.param("likes_long_answers", "swayed-by-length", id="length"),
        pytest.param("ignores_tool_calls", "ignores-calls", id="calls"),
        pytest.param("always_yes", "always-yes", id="yes"),
        pytest.param("flips_a_coin", "not-repeatable", id="coin"),
        pytest.param("fooled_by_verified", "swayed-by-verified", id="verified"),
    ],
)
def test_planted_bias_is_named(recording: str, judge: str, bias: str) -> None:
    names = [entry.name for entry in audit(judge, recording).biases]
    assert bias in names
    swayed = {"swayed-by-length", "swayed-by-verified", "always-yes", "not-repeatable"} - {bias}
    assert swayed.isdisjoint(names)


def test_honest_judge_has_no_bias_but_what_it_ignores(recording: str) -> None:
    assert [entry.name for entry in audit("honest", recording).biases] == []


@pytest.mark.parametrize(
    ("judge", "kind", "words"),
    [
        pytest.param("raises", "raised", "ValueError: two calls please", id="raises"),
        pytest.param("ends", "ended", "its process ended with exit status 7", id="process-ends"),
        pytest.param("leaves", "raised", "SystemExit", id="sys-exit"),
        pytest.param("gives_nan", "bad-verdict", "it returned the score nan", id="nan"),
        pytest.param("gives_words", "bad-verdict", "it returned 'yes'", id="another-type"),
    ],
)
def test_no_verdict_is_an_error_with_the_trace_and_never_a_verdict(
    recording: str, judge: str, kind: str, words: str
) -> None:
    Path(recording).write_text(Path(recording).read_text().splitlines()[0] + "\n")
    report = audit(judge, recording, min_caught=["calls=0"], asks=1)
    assert report.audited == 1
    fault = report.fault_examples[0]
    assert (fault.trace_id, fault.kind) == ("c0", kind)
    assert words in fault.error
    # None of them counts: neither as caught nor as accepted.
    assert sum(row.tried for row in report.idle) == 0
    assert "tool-dropped" not in [row.name for row in report.operators]
    assert report.exit_code == carob.ExitCode.FAILED
    assert f"{report.faults} questions got no verdict" in report.unmet


def test_judge_that_hangs_is_ended(recording: str) -> None:
    one = Path(recording).read_text().splitlines()[:1]
    Path(recording).write_text(one[0] + "\n")
    report = audit("hangs", recording, timeout=0.2, asks=1)
    assert report.audited == 1
    assert {fault.kind for fault in report.fault_examples} == {"hung"}
    # After three of them, no further second is spent on this trace.
    assert "not asked: 3 questions" in report.fault_examples[3].error
    assert "no verdict within 0.2 s" in report.fault_examples[0].error
    assert report.operators == ()


def test_noise_of_a_judge_is_captured(recording: str, capfd: pytest.CaptureFixture[str]) -> None:
    report = audit("prints", recording, asks=1)
    assert report.fault_examples[0].printed == "noise of the grader\nnoise of a program\n"
    assert "noise" not in "".join(capfd.readouterr())


def test_each_judge_gets_a_trace_of_its_own(recording: str) -> None:
    report = audit("changes_the_trace", recording)
    assert (report.audited, report.faults) == (6, 0)
    assert [entry.name for entry in report.biases] == ["always-yes"]


@pytest.mark.parametrize("judge", ["asynchronous", "as_the_reference"])
def test_what_a_judge_is_given_is_in_its_parameters(recording: str, judge: str) -> None:
    report = audit(judge, recording)
    assert (report.audited, report.faults, report.idle_passes > 0) == (6, 0, judge == "asynchronous")


def test_mutants_that_may_be_right_count_once_they_are_reviewed(recording: str, tmp_path: Path) -> None:
    report = audit("honest", recording)
    dropped = next(row for row in report.operators if row.name == "tool-dropped")
    assert (dropped.caught.tried, dropped.uncertain, dropped.uncertain_refused) == (6, 6, 0)
    accepted = [entry for entry in report.accepted if entry.operator == "tool-dropped"]
    assert {entry.change for entry in accepted} == {"get_order was not called"}
    reviews = tmp_path / "reviews.jsonl"
    lines = [{"mutant": accepted[0].id, "right": True}, {"mutant": accepted[1].id, "right": False}, {"mutant": "no"}]
    reviews.write_text("".join(json.dumps({"right": True, **line}) + "\n" for line in lines))
    again = audit("honest", recording, reviews=reviews)
    reviewed = next(row for row in again.operators if row.name == "tool-dropped")
    assert (reviewed.caught.tried, reviewed.caught.killed, reviewed.uncertain, reviewed.reviewed) == (7, 6, 4, 2)
    # Two operators make the same trace, and a review is of the trace.
    assert [(row.tried, row.wrong) for row in again.forms if row.name == "reviewed as right"] == [(2, 0)]
    assert again.unknown_reviews == 1


def test_kept_verdicts_are_not_asked_for_again(recording: str, tmp_path: Path) -> None:
    first = audit("honest", recording, verdicts=tmp_path / "verdicts.db")
    again = audit("honest", recording, verdicts=tmp_path / "verdicts.db")
    assert (again.calls, again.kept) == (0, first.calls)
    assert again.operators == first.operators
    other = audit("always_yes", recording, verdicts=tmp_path / "verdicts.db")
    assert other.kept == 0


def test_errors_are_not_kept(recording: str, tmp_path: Path) -> None:
    first = audit("raises", recording, verdicts=tmp_path / "verdicts.db", asks=1)
    again = audit("raises", recording, verdicts=tmp_path / "verdicts.db", asks=1)
    assert again.kept == first.calls - again.calls
    assert again.faults == first.faults > 0
    assert again.calls > 0


@pytest.mark.parametrize(
    ("min_caught", "met"),
    [
        pytest.param(["calls=0.4"], True, id="claim"),
        pytest.param(["calls=0.99"], False, id="interval-is-too-wide"),
        pytest.param(["surroundings=0.1"], False, id="nothing-tried"),
    ],
)
def test_gate_asks_for_the_low_end_of_the_interval(recording: str, min_caught: list[str], met: bool) -> None:
    report = audit("honest", recording, min_caught=min_caught)
    assert (report.exit_code == carob.ExitCode.OK, not report.unmet) == (met, met)


def test_idle_agent_that_passes_closes_the_gate(recording: str) -> None:
    report = audit("asynchronous", recording, min_caught=["answer=0"])
    assert any("idle agent" in why for why in report.unmet)


def test_judge_that_accepts_no_trace_audits_nothing(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(json.dumps({"case_id": "x", "final_message": "Hm.", "tool_calls": []}) + "\n")
    report = audit("honest", str(path), min_caught=["0"])
    assert (report.audited, report.unaudited, report.exit_code) == (0, 1, carob.ExitCode.NOTHING_SELECTED)
    assert report.unaudited_examples[0].trace_id == "x"


def test_conversation_that_broke_is_not_audited(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(json.dumps({"case_id": "x", "error": "it broke", "tool_calls": []}) + "\n")
    report = audit("always_yes", str(path))
    assert (report.audited, report.unaudited) == (0, 1)
    assert report.unaudited_examples[0].reason.startswith("the conversation ended in an error")


def test_turns_of_messages_are_changed_one_at_a_time(tmp_path: Path) -> None:
    """Every reader of exports will do: here two conversations as chat completions have them."""
    call = {"id": "1", "type": "function", "function": {"name": "cancel_order", "arguments": '{"order": "A1"}'}}
    messages = [
        {"role": "user", "content": "Cancel A1."},
        {"role": "assistant", "content": "Are you sure?"},
        {"role": "user", "content": "Yes."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": '{"ok": true}'},
        {"role": "assistant", "content": "Cancelled."},
    ]
    path = tmp_path / "messages.jsonl"
    path.write_text("".join(json.dumps({"id": f"m{n}", "messages": messages}) + "\n" for n in range(2)))
    (tmp_path / "same.py").write_text(
        f"MESSAGES = {messages!r}\n"
        "def same(messages):\n"
        "    return [m.get('content') for m in messages] == [m.get('content') for m in MESSAGES]\n"
    )
    report = carob.audit_grader(f"python:{tmp_path / 'same.py'}:same", str(path))
    assert report.audited == 2
    changes = {entry.change for entry in report.accepted}
    assert any(change.startswith("turn 2: cancel_order was called with another order") for change in changes)
    rows = {row.name: row for row in report.operators}
    assert rows["answer-emptied"].caught.tried == 2  # the last answer; that of an earlier turn may not matter
    assert rows["answer-emptied"].uncertain == 2


def test_every_operator_belongs_to_a_claim() -> None:
    claims = {operator.name: claim_of(operator.name) for operator in EVERY_OPERATOR}
    assert set(claims.values()) == set(CLAIMS)
    assert claims["tool-dropped"] == "calls"
    assert claims["answer-retracted"] == "answer"
    assert claims["number-changed"] == claims["result-changed"] == "numbers"
    assert claims["rule-broken"] == "rules"
    assert claims["budget-spent"] == claims["answer-padded"] == "cost"


def test_no_process_is_left(recording: str) -> None:
    before = _children()
    audit("always_yes", recording, asks=1)
    assert _children() <= before


def _children() -> set[str]:
    """The processes of this one: other tests in it may have some of their own."""
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def test_a_grader_is_judged_by_what_it_is_for(recording: str) -> None:
    whole, phrases = (
        audit("ignores_tool_calls", recording),
        audit("ignores_tool_calls", recording, purposes=["phrases"]),
    )
    assert {row.claim for row in whole.operators} > {"answer"} == {row.claim for row in phrases.operators}
    assert "ignores-calls" in {entry.name for entry in whole.biases}
    assert "ignores-calls" not in {entry.name for entry in phrases.biases}
    assert phrases.calls < whole.calls


def test_what_a_grader_is_for_is_never_in_doubt(recording: str) -> None:
    by_claim, by_name = (audit("always_yes", recording, purposes=[name]) for name in ("calls", "often,order"))
    doubtful = {row.name: row.uncertain for row in by_claim.operators if row.uncertain}
    assert doubtful
    assert {row.name for row in by_name.operators} <= {
        "tool-doubled",
        "tool-moved",
        "tool-retried",
        "precondition-dropped",
    }
    assert {row.uncertain for row in by_name.operators} == {0}


def test_a_purpose_that_is_not_known_is_refused(recording: str) -> None:
    with pytest.raises(carob.UsageError, match=r"--for: a grader cannot be for 'amount'\. Did you mean 'amounts'"):
        audit("honest", recording, purposes=["amount"])
