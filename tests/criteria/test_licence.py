"""What a judge has to show before its opinions decide."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from carob.criteria.files import LabelFiles
from carob.criteria.index import DIRECTIONS, JudgeTerms, LabelIndex, LicenceScope
from carob.criteria.licence import error_bound, evidence_against, is_enough, least_labels
from carob.criteria.records import Agent

from .label_lines import CRITERION, evidence_hash, label, opinion

DESK = LicenceScope(CRITERION, Agent("desk"))
WORDS = {"m": "met", "n": "not met", "c": "cannot tell"}
XSTEST = Path(__file__).with_name("xstest.txt")


@pytest.mark.parametrize(
    ("labels", "wrong", "promise", "judges", "enough"),
    [
        (41, 0, 0.10, 1, False),
        (42, 0, 0.10, 1, True),
        (65, 1, 0.10, 1, False),
        (66, 1, 0.10, 1, True),
        (84, 2, 0.10, 1, False),
        (85, 2, 0.10, 1, True),
        (102, 3, 0.10, 1, False),
        (103, 3, 0.10, 1, True),
        (19, 0, 0.20, 1, False),
        (20, 0, 0.20, 1, True),
        (86, 0, 0.05, 1, False),
        (87, 0, 0.05, 1, True),
        (60, 0, 0.10, 5, False),
        (61, 0, 0.10, 5, True),
    ],
)
def test_enough_labels(labels: int, wrong: int, promise: float, judges: int, enough: bool) -> None:
    assert is_enough(labels, wrong, promise, judges) is enough
    if enough:
        assert least_labels(wrong, promise, judges) == labels


def test_nothing_is_shown_by_no_label() -> None:
    assert evidence_against(0, 0, 0.1) == pytest.approx(1)
    assert error_bound(0, 0) == 1.0


def test_the_bound_is_where_the_licence_begins() -> None:
    assert error_bound(42, 0) <= 0.10 < error_bound(41, 0)
    assert error_bound(46, 0) == pytest.approx(0.0915, abs=1e-4)


def _xstest() -> dict[str, dict[str, str]]:
    rows: dict[str, dict[str, str]] = {}
    for line in XSTEST.read_text().splitlines():
        if not line.startswith("#"):
            agent, source, letters = line.split()
            rows.setdefault(agent, {})[source] = letters
    return rows


def _licensed(agent: str, source: str) -> dict[str, tuple[int, int, bool]]:
    """Of a judge on the answers of an agent: how many labels, how many wrong, and whether that is a licence."""
    rows = _xstest()[agent]
    kept = [
        (i, truth, said)
        for i, (truth, said) in enumerate(zip(rows["people"], rows[source], strict=True))
        if truth != "p"
    ]
    labels = tuple(label(i, WORDS[truth], i) for i, truth, _ in kept)
    opinions = tuple(opinion(i, WORDS[said], i) for i, _, said in kept)
    index = LabelIndex(LabelFiles(labels, opinions), JudgeTerms("j"))
    found = {direction: index.licence(DESK, direction) for direction in DIRECTIONS}
    return {direction: (one.wrong, one.labels, one.is_given) for direction, one in found.items()}


def test_published_opinions_earn_what_they_show() -> None:
    found = {agent: _licensed(agent, "gpt4") for agent in _xstest()}
    assert found["gpt4"] == {"met": (0, 230, True), "not met": (20, 211, True)}
    given = {agent: [way for way, (_, _, is_given) in ways.items() if is_given] for agent, ways in found.items()}
    assert given == {
        "gpt4": ["met", "not met"],
        "llama2new": ["met"],
        "llama2orig": ["met"],
        "mistralguard": ["met"],
        "mistralinstruct": [],
    }


def test_a_second_person_as_the_judge_earns_both() -> None:
    for agent in _xstest():
        assert all(is_given for _, _, is_given in _licensed(agent, "person2").values()), agent


def test_order_and_doubles_of_lines_change_nothing() -> None:
    labels = [label(i, "not met" if i % 3 else "met", i) for i in range(90)] + [label(3, "met", 99, by="ben")]
    opinions = [opinion(i, "not met" if i % 7 else "met", i) for i in range(90)]
    first = [
        LabelIndex(LabelFiles(tuple(labels), tuple(opinions)), JudgeTerms("j")).licence(DESK, way) for way in DIRECTIONS
    ]
    draw = random.Random(7)
    for _ in range(5):
        draw.shuffle(labels)
        draw.shuffle(opinions)
        files = LabelFiles(tuple(dict.fromkeys([*labels, *labels])), tuple(opinions) * 2)
        assert [LabelIndex(files, JudgeTerms("j")).licence(DESK, way) for way in DIRECTIONS] == first


def _given(labels: list, opinions: list, scope: LicenceScope = DESK, way: str = "met"):  # type: ignore[no-untyped-def,type-arg]
    return LabelIndex(LabelFiles(tuple(labels), tuple(opinions)), JudgeTerms("j")).licence(scope, way)  # type: ignore[arg-type]


def test_a_licence_is_refused() -> None:
    bad = [label(i, "not met", i) for i in range(60)]
    right = [opinion(i, "not met", i) for i in range(60)]
    assert _given(bad, right).is_given
    others = {
        "another agent": [label(i, "not met", i, target="other") for i in range(60)],
        "another model": [label(i, "not met", i, agent_model="m2") for i in range(60)],
        "seen": [label(i, "not met", i, blind=False) for i in range(60)],
        "doubtful": [label(i, "not met", i, queue="doubtful") for i in range(60)],
        "one case": [label(i, "not met", i, case="same") for i in range(60)],
        "disputed": [*bad, *(label(i, "met", i, by="ben") for i in range(60))],
        "unknown agent": [label(i, "not met", i, target="") for i in range(60)],
    }
    for why, labels in others.items():
        assert not _given(labels, right).is_given, why
    assert not _given(bad, [*right, *(opinion(i, "met", i, judge=f"j{i}") for i in range(5))]).is_given
    for kind, verdict in (("again", "met"), ("padded", "met"), ("ordered", "met"), ("turned", "not met")):
        probes = [opinion(i, verdict, i, kind=kind) for i in range(20)]
        assert "the judge" in _given(bad, [*right, *probes]).refused
        assert _given(bad, [*right, *probes[:19]]).is_given
    assert "several models" in _given(bad, [*right[1:], opinion(0, "not met", 0, model_returned="m2")]).refused


def test_a_corrected_label_saves_no_judge() -> None:
    bad = [label(i, "not met", i) for i in range(60)]
    said = [opinion(i, "met" if i < 9 else "not met", i) for i in range(60)]
    corrected = [*bad, *(label(i, "met", 100 + i, blind=False) for i in range(9))]
    assert _given(corrected, said)[:3] == _given(bad, said)[:3] == ("met", 60, 9)


def test_people_who_disagree_refuse_the_criterion() -> None:
    ana = [label(i, "not met" if i < 8 else "met", i) for i in range(20)]
    ben = [label(i, "not met" if 5 <= i < 10 else "met", i, by="ben") for i in range(20)]
    index = LabelIndex(LabelFiles(tuple(ana + ben)), JudgeTerms("j"))
    assert index.disagreement(CRITERION) == "people disagree on this criterion (7 of 20): rewrite it"
    assert {line.by for line in index.find_disputed(CRITERION)} == {"ana", "ben"}


def test_a_family_shares_labels_but_each_criterion_shows_five() -> None:
    texts = [f"names fact {n}" for n in "abcdefghi"]
    made = [(label(f"{text} {i}", "not met", i, text=text, family="facts"), text) for text in texts for i in range(5)]
    labels = [one for one, _ in made]
    right = [opinion("", "not met", i, criterion=one.criterion).__class__(
        judge="j", criterion=one.criterion, evidence=one.evidence, verdict="not met", at=one.at, kind="first"
    ) for i, one in enumerate(labels)]  # fmt: skip
    scope = LicenceScope(labels[0].criterion, Agent("desk"), "facts")
    assert _given(labels, right, scope).is_given
    assert _given(labels, right, scope._replace(family="")).is_given is False
    assert "4 of 5" in _given(labels[1:], right, scope).refused


LABELS = 300


class Drawn(NamedTuple):
    """One answer of a simulated run, in the order of the random queue."""

    name: str
    case: int
    is_good: bool
    is_judged_good: bool


def draw_answers(seed: int, good: float, answers: int) -> list[Drawn]:
    """Answers of an agent that is so good, and of a judge that passes one bad answer in ten: exactly the promise."""
    draw = random.Random(seed)
    made = []
    for number in range(LABELS):
        is_good = draw.random() < good
        says_met = draw.random() < (0.9 if is_good else 0.1)
        made.append(Drawn(f"{seed} {number}", number // answers, is_good, says_met))
    return sorted(made, key=lambda one: evidence_hash(one.name))


def count_errors(drawn: list[Drawn]) -> Iterator[tuple[int, int]]:
    """Labels and errors of the judge after each answer: of a case the first counts, which has the smallest hash."""
    cases: set[int] = set()
    n = k = 0
    for one in drawn:
        if not one.is_good and one.case not in cases:
            cases.add(one.case)
            n, k = n + 1, k + one.is_judged_good
        yield n, k


@pytest.mark.parametrize("good", [0.7, 0.9, 0.95])
@pytest.mark.parametrize("answers", [1, 10])
def test_a_judge_at_the_promise_seldom_gets_a_licence(good: float, answers: int) -> None:
    """Looked at after every label, over 1,000 seeds: at most 5 % of licences are wrong."""
    seeds = range(1000)
    wrong = sum(any(is_enough(n, k, 0.1) for n, k in count_errors(draw_answers(seed, good, answers))) for seed in seeds)
    assert wrong <= 50


@pytest.mark.parametrize("answers", [1, 10])
@pytest.mark.parametrize("corrects", [False, True])
def test_the_index_counts_as_the_simulation_does(answers: int, corrects: bool) -> None:
    """Also where a person corrects half of the labels that differ, after the opinion was shown."""
    for seed in range(5):
        drawn = draw_answers(seed, 0.7, answers)
        labels = [
            label(one.name, "met" if one.is_good else "not met", i, case=str(one.case)) for i, one in enumerate(drawn)
        ]
        opinions = [opinion(one.name, "met" if one.is_judged_good else "not met", i) for i, one in enumerate(drawn)]
        differing = [i for i, one in enumerate(drawn) if one.is_good is not one.is_judged_good]
        for i in differing[::2] if corrects else ():
            changed = "met" if drawn[i].is_judged_good else "not met"
            labels.append(label(drawn[i].name, changed, 1000 + i, case=str(drawn[i].case), blind=False))
        found = _given(labels, opinions)
        assert (found.labels, found.wrong) == list(count_errors(drawn))[-1]
