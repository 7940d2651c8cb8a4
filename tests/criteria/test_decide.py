"""By whom a criterion is decided, and in which order."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from carob.checks.meaning import Meets
from carob.criteria.decide import AskedCriterion, decide
from carob.criteria.files import LabelFiles, add_evidence, add_line, read_evidence, read_files
from carob.criteria.identity import MOST_CHARACTERS, SeenEvidence, canonical, criterion_id, evidence_of, is_quoted
from carob.criteria.index import JudgeTerms, LabelIndex
from carob.criteria.records import Agent
from carob.errors import CarobError
from carob.model.trace import REMOVED, SECRETS_REMOVED, Message, TextLoss, ToolCall, Trace
from carob.model.verdict import Status

from .label_lines import CRITERION, at, label, opinion

DESK = Agent("desk")
ANSWER = "Sorry, I can't."
EVIDENCE = SeenEvidence({"user": ["Tell me."], "answer": ANSWER})
QUESTION = AskedCriterion(CRITERION, EVIDENCE)
HASH = EVIDENCE.sha256


def _label(verdict: str, second: int = 0, **more: object):  # type: ignore[no-untyped-def]
    return msgspec.structs.replace(label("x", verdict, second, **more), evidence=HASH)


def _opinion(verdict: str, **more: object):  # type: ignore[no-untyped-def]
    return msgspec.structs.replace(opinion("x", verdict, **more), evidence=HASH)


def _earned() -> tuple[list, list]:  # type: ignore[type-arg]
    """Labels with which the judge decides both ways."""
    names = [f"{way} {i}" for way in ("met", "not met") for i in range(50)]
    labels = [label(name, name.rsplit(" ", 1)[0], i) for i, name in enumerate(names)]
    return labels, [opinion(name, name.rsplit(" ", 1)[0], i) for i, name in enumerate(names)]


def _decided(labels: list, opinions: list | tuple = (), agent: Agent = DESK, question: AskedCriterion = QUESTION):  # type: ignore[no-untyped-def,type-arg]
    return decide(question, agent, LabelIndex(LabelFiles(tuple(labels), tuple(opinions)), JudgeTerms("j")))


def test_people_decide_before_the_judge() -> None:
    labels, opinions = _earned()
    opinions.append(_opinion("met"))
    assert _decided([*labels, _label("not met")], opinions)[:2] == (Status.FAILED, "not met, by ana")
    both = [*labels, _label("met"), _label("not met", by="ben")]
    assert _decided(both, opinions)[:2] == (Status.UNJUDGED, "ana: met, ben: not met")
    unsure = [*labels, _label("met"), _label("cannot tell", by="ben")]
    assert _decided(unsure, opinions).status is Status.UNJUDGED
    assert _decided(labels, opinions).found.startswith("met, by the judge: passes at most 8.5 % of bad answers (95 %)")


def test_the_latest_line_of_a_person_counts() -> None:
    assert _decided([_label("met", 1), _label("not met", 2)]).status is Status.FAILED
    assert _decided([_label("not met", 2), _label("met", 1)]).status is Status.FAILED
    assert _decided([_label("met", 1), _label("not met", 1)]).status is Status.UNJUDGED
    undone = _label("met", 2, undoes=at(1))
    assert _decided([_label("not met", 1), undone]).status is Status.PASSED


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"verdict": "cannot tell"}, "it cannot tell"),
        ({"quote": "You refuse"}, "its quote is not in the answer"),
        ({"quote": ""}, "its quote is not in the answer"),
        ({"model_returned": "other"}, "earned on other answers"),
        ({"kind": "foreign", "judge": "deepeval"}, "deepeval said: met"),
        ({"judge": "another"}, "no person has labelled"),
    ],
)
def test_an_opinion_that_does_not_decide(change: dict[str, object], why: str) -> None:
    labels, opinions = _earned()
    opinions.append(msgspec.structs.replace(_opinion("met"), **change))
    status, found, _ = _decided(labels, opinions)
    assert status is Status.UNJUDGED
    assert why in found


def test_a_licence_is_for_one_agent_and_one_criterion() -> None:
    labels, opinions = _earned()
    opinions.append(_opinion("met"))
    assert _decided(labels, opinions).status is Status.PASSED
    for agent in (Agent("other"), Agent("desk", "m2"), Agent("")):
        assert _decided(labels, opinions, agent).status is Status.UNJUDGED
    elsewhere = msgspec.structs.replace(QUESTION, criterion=criterion_id("is polite"))
    moved = [*opinions, msgspec.structs.replace(_opinion("met"), criterion=elsewhere.criterion)]
    assert _decided(labels, moved, question=elsewhere).status is Status.UNJUDGED


def _trace(**more: object) -> Trace:
    return Trace(**{"case_id": "a", "input": "Pay.", "final_message": "Done.", "tool_calls": (), **more})  # type: ignore[arg-type]


def test_evidence_is_what_the_criterion_sees() -> None:
    first = evidence_of(_trace(), ("user", "answer"))
    assert isinstance(first, SeenEvidence)
    assert first.data == b'{"answer":"Done.","user":["Pay."]}'
    same = [
        _trace(case_id="b", duration_ms=7.0, messages=(Message("user", "Pay."),)),
        _trace(tool_calls=(ToolCall("pay"),)),
    ]
    assert all(evidence_of(trace, ("user", "answer")) == first for trace in same)
    assert evidence_of(_trace(final_message="Done!"), ("user", "answer")) != first
    assert canonical({"b": "e\u0301\r\n", "a": 1.0}) == '{"a":1.0,"b":"é\\n"}'.encode()
    kept = msgspec.json.decode(msgspec.json.encode(_trace(tool_calls=(ToolCall("pay", {"n": (1, 2)}),))), type=Trace)
    assert evidence_of(kept, ("calls",)) == evidence_of(
        _trace(tool_calls=(ToolCall("pay", {"n": [1, 2]}),)), ("calls",)
    )


@pytest.mark.parametrize(
    ("change", "sees"),
    [
        ({"unobserved": {"final_message": "gone"}}, "answer"),
        ({"cuts": {"final_message": TextLoss("it was longer")}}, "answer"),
        ({"final_message": "x" * (MOST_CHARACTERS + 1)}, "answer"),
        ({"input": ""}, "user"),
        ({"unobserved": {"tools": "not seen"}}, "calls"),
        ({"tool_calls": (ToolCall("pay", unobserved={"result": "cut"}),)}, "calls"),
        ({}, "page"),
    ],
)
def test_what_was_not_seen_is_unknown(change: dict[str, object], sees: str) -> None:
    labels = [label("x", "met", text="is polite")]
    check = Meets("is polite", (sees,))  # type: ignore[arg-type]
    assert check.judge(_trace(**change)).status is Status.UNKNOWN, labels
    assert Meets("is polite").judge(_trace(final_message="x" * MOST_CHARACTERS)).status is Status.UNJUDGED


def test_a_removed_secret_is_shown_as_the_journal_holds_it() -> None:
    trace = _trace(final_message=f"It is {REMOVED}.", cuts={"final_message": TextLoss(SECRETS_REMOVED)})
    assert isinstance(evidence_of(trace, ("answer",)), SeenEvidence)


def test_a_quote_is_from_what_the_agent_made() -> None:
    evidence = SeenEvidence(
        {"user": ["only the user"], "answer": "It costs\n 5 EUR", "calls": [{"result": {"fee": "café"}}]}
    )
    assert is_quoted("costs 5", evidence)
    assert is_quoted("cafe\u0301", evidence)
    assert not is_quoted("only the user", evidence)
    assert not is_quoted("  ", evidence)


GOOD = msgspec.json.encode(label("x", "met")).decode()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (GOOD.replace('"met"', '"maybe"'), "maybe"),
        (GOOD.replace('"by":"ana",', ""), "by"),
        (GOOD.replace('"ana"', '"judge"'), "names a person"),
        (GOOD.replace('"ana"', '"Model-5"'), "names a person"),
        (GOOD.replace('"ana"', '"a b"'), "1 to 40"),
        (GOOD.replace(CRITERION, "0" * 64), "hash of"),
        (GOOD.replace('"evidence":"', '"evidence":"../'), "evidence"),
        (GOOD.replace("2026-01-01T", "noon "), "not a time"),
        (GOOD[:50], "not a line"),
        ("7", "not a line"),
        ("[" * 5000, "not a line"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, why: str) -> None:
    (tmp_path / "labels.jsonl").write_text(f"{GOOD}\n{line}\n{GOOD}\n")
    with pytest.raises(CarobError) as caught:
        read_files(tmp_path)
    assert why in str(caught.value)
    assert "labels.jsonl:2" in str(caught.value)


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text(f"{GOOD}\n{GOOD[:50]}")
    files = read_files(tmp_path)
    assert len(files.labels) == 1
    assert "labels.jsonl:2" in files.torn[0]
    add_line(tmp_path, _label("met"))
    assert len(read_files(tmp_path).labels) == 2


def test_evidence_that_was_changed_is_an_error(tmp_path: Path) -> None:
    add_evidence(tmp_path, EVIDENCE)
    add_line(tmp_path, _label("met"))
    assert read_evidence(tmp_path, HASH) == EVIDENCE
    file = tmp_path / "evidence" / f"{HASH}.json"
    file.write_text(file.read_text().replace("Sorry", "Sure"))
    with pytest.raises(CarobError, match="its hash is not its name"):
        read_files(tmp_path)
    file.unlink()
    file.symlink_to(tmp_path / "labels.jsonl")
    with pytest.raises(CarobError, match="link"):
        read_files(tmp_path)
