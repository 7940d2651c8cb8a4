"""Who decides a criterion: people's labels, else an opinion with a licence, else no one."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct

from carob.criteria.files import read_files, state_of
from carob.criteria.identity import SeenEvidence, is_quoted
from carob.criteria.index import JudgeTerms, LabelIndex, LicenceScope
from carob.criteria.records import Agent, Decided, Opinion, Pair
from carob.criteria.settings import judge_settings, labels_folder
from carob.model.trace import Trace
from carob.model.verdict import Reading, Status
from carob.plugins.project import Project
from carob.text.wording import join_words

NOT_LABELLED = "not judged: no person has labelled this answer"
EARNED_ELSEWHERE = "earned on other answers"


class AskedCriterion(Struct, frozen=True):
    """One criterion and what it is judged by."""

    criterion: str
    evidence: SeenEvidence
    family: str = ""
    absence: bool = False

    @property
    def pair(self) -> Pair:
        return Pair(self.criterion, self.evidence.sha256)


class CriterionDecision(NamedTuple):
    """What came of it, who said so, and why in words."""

    status: Status
    found: str
    reading: Reading


def decide(question: AskedCriterion, agent: Agent, index: LabelIndex) -> CriterionDecision:
    """Apply labels and licences, in the one order that holds at every door."""
    pair = question.pair
    opinion = index.opinion(pair)
    thinks: Decided | str = opinion.verdict if opinion is not None else ""

    def conclude(status: Status, found: str, by: Literal["", "person", "judge"] = "") -> CriterionDecision:
        judge = index.judge.identity if by == "judge" and index.judge is not None else ""
        is_new = bool(by) and index.rests_on_uncommitted(pair, by)
        return CriterionDecision(status, found, Reading(pair.criterion, pair.evidence, by, thinks, judge, is_new))

    people = index.verdicts(pair)
    if people:
        agreed = {*people.values()}
        if agreed <= {"met"} or agreed <= {"not met"}:
            status = Status.PASSED if "met" in agreed else Status.FAILED
            return conclude(status, f"{agreed.pop()}, by {join_words([*people], 'and')}", "person")
        said = ", ".join(f"{by}: {verdict or 'two answers at one time'}" for by, verdict in people.items())
        return conclude(Status.UNJUDGED, said)
    if opinion is None:
        said = "".join(f"; {other.judge} said: {other.verdict}" for other in index.foreign(pair))
        return conclude(Status.UNJUDGED, NOT_LABELLED + said)
    if why := _why_not_licensed(question, opinion, agent, index):
        return conclude(Status.UNJUDGED, f"{NOT_LABELLED}; the judge thinks: {thinks}. It does not decide: {why}")
    direction = opinion.verdict
    assert direction != "cannot tell"
    bound = index.licence(LicenceScope(pair.criterion, agent, question.family), direction).bound
    status = Status.PASSED if direction == "met" else Status.FAILED
    return conclude(status, f"{direction}, by the judge: {bound}", "judge")


def _why_not_licensed(question: AskedCriterion, opinion: Opinion, agent: Agent, index: LabelIndex) -> str:
    if opinion.verdict == "cannot tell":
        return "it cannot tell"
    if not is_borne_out(opinion, question):
        return "its quote is not in the answer"
    scope = LicenceScope(question.criterion, agent, question.family)
    licence = index.licence(scope, opinion.verdict)
    if licence.refused:
        return licence.refused
    if not licence.is_given:
        kind = "bad" if licence.direction == "met" else "good"
        return (
            f"no licence for {opinion.verdict!r} yet, {licence.labels} {kind} answers labelled, {licence.wrong} wrong"
        )
    returned = index.models_returned(scope)
    return "" if returned == {opinion.model_returned} else EARNED_ELSEWHERE


def is_borne_out(opinion: Opinion, question: AskedCriterion) -> bool:
    """Whether what it quotes is in what the agent made; only what is missing has nothing to quote."""
    if opinion.quote.strip():
        return is_quoted(opinion.quote, question.evidence)
    return opinion.verdict == "not met" or question.absence


def agent_of(trace: Trace, target: str) -> Agent:
    """The agent of a trace: the target, and the models that were seen in it."""
    turns = (trace, *trace.turns)
    return Agent(target, ", ".join(sorted({span.model for turn in turns for span in turn.spans if span.model})))


class LabelReader:
    """The index of a project's labels, read again when a line was added."""

    def __init__(self, project: Project) -> None:
        self.target = project.agent
        self._project = project
        self._state: object = None
        self._index = LabelIndex()

    @property
    def folder(self) -> Path:
        return labels_folder(self._project)

    def index(self) -> LabelIndex:
        """Raises ConfigError where a file of labels or a table of carob.toml is wrong."""
        settings, folder = judge_settings(self._project), self.folder
        state = state_of(folder)
        if state != self._state:
            judge = None
            if settings is not None:
                judge = JudgeTerms(settings.identity, settings.false_pass, settings.false_fail)
            self._index, self._state = self._read(folder, judge), state
        return self._index

    def _read(self, folder: Path, judge: JudgeTerms | None) -> LabelIndex:
        from carob.criteria.committed import read_committed, read_head  # few projects have labels

        if revision := self._project.labels_from:
            files = read_committed(folder, revision)
            return LabelIndex(files, judge)
        files = read_files(folder)
        return LabelIndex(files, judge, read_head(folder) if files.labels or files.opinions else None)
