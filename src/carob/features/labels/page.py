"""The page Labels of the viewer, and what is shown below a case: a person labels answers and reviews checks."""

from __future__ import annotations

import base64
import threading
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta, Struct

from carob.criteria.decide import LabelReader
from carob.criteria.files import LABELS, REVIEWS, append_line
from carob.criteria.index import LabelIndex
from carob.criteria.records import Decided, Opinion, Pair, PersonLabel, Queue
from carob.criteria.settings import label_settings
from carob.errors import UsageError
from carob.features.labels.items import LabelItem, items_of, older_wordings, read_items
from carob.features.labels.reviews import Review, ReviewVerdict, answer_of, read_reviews, reviews_csv
from carob.features.labels.session import LabelSession, time_now
from carob.features.labels.status import criterion_lines, list_criteria
from carob.journal.failures import label
from carob.journal.index import IndexedRun
from carob.journal.reader import Journal
from carob.model.run import CaseRecord
from carob.model.verdict import ACCEPTED
from carob.reports.html.calls import json_words
from carob.reports.html.run_pages import MissingPageError, PageRequest
from carob.targets.catalog import agent_name

QUEUES: Final = {"random": "drawn at random", "doubtful": "where the judge doubts or differs"}
MOST_RUNS: Final = 50
MOST_DISPUTED: Final = 100
LONGEST_NOTE: Final = 2_000
_NAMES: Final = {
    "user": "The user said",
    "answer": "The agent answered",
    "calls": "The agent called",
    "page": "The page",
}


Place = Annotated[int, Meta(ge=0, lt=1 << 31)]


class Sent(Struct, forbid_unknown_fields=True, kw_only=True):
    """What the page sends: `act` is one of those of `_ACTS`; the rest says on what."""

    act: str
    run: str
    queue: Queue = "random"
    criterion: str = ""
    evidence: str = ""
    verdict: str = ""
    note: str = ""
    index: Place = 0
    repeat: Place = 0
    check: Place = 0


class Said(NamedTuple):
    """The last label of this person, and the opinion that is shown from then on."""

    case: str
    verdict: Decided
    opinion: Opinion | None


class Desk:
    """One person at work on a run. `said`: what is reported next; `is_asked`: whether to keep evidence is known."""

    def __init__(self, session: LabelSession, version: str, is_asked: bool) -> None:
        self.session = session
        self.version = version
        self.is_asked = is_asked
        self.said: Said | str = ""
        self.lock = threading.Lock()


def _desk(asked: PageRequest, run: IndexedRun) -> Desk:
    """The desk of the person for this run; the items are read again when the run has gone on."""
    desks: dict[str, Desk] = asked.memory.setdefault("labels", {})
    desk = desks.get(run.key)
    if desk is None or desk.version != run.version:
        items = read_items([Journal(run.path, project=asked.project)])
        if desk is not None:
            desk.session.items, desk.version = items, run.version
            return desk
        labels, keep = _labels(asked, run), label_settings(asked.project).evidence
        session = LabelSession(items, labels, asked.person or "reader", keep=keep)
        is_asked = not keep or (session.folder / LABELS).exists()
        desk = desks.setdefault(run.key, Desk(session, run.version, is_asked))
    return desk


def _labels(asked: PageRequest, run: IndexedRun) -> LabelReader:
    return LabelReader(asked.project.judging(_agent(run), run.header.suite))


def _agent(run: IndexedRun) -> str:
    return agent_name(run.header.target, run.header.options.get("target", {}))


def labels_page(asked: PageRequest) -> dict[str, Any]:
    """What the template needs: the next answer for this person, and the state of all criteria."""
    runs = [run for run in asked.index.runs() if run.summary.criteria][:MOST_RUNS]
    if not runs:
        raise UsageError("no run here holds a criterion.", fix="Write some under `meets`, and run the suite.")
    wanted = asked.query.get("run", "")
    run = asked.find_run(wanted) if wanted else runs[0]
    desk = _desk(asked, run)
    session = desk.session
    queue: Queue = "doubtful" if asked.query.get("queue") == "doubtful" else "random"
    with desk.lock:
        session.queue = queue
        index = session.labels.index()
        item = session.next() if asked.person else None
        said, desk.said = desk.said, ""
        reviews = read_reviews(session.folder)
        return {
            "person": asked.person, "chosen": run, "runs": runs, "queue": queue, "queues": QUEUES, "said": said,
            "item": item, "left": session.count_left() if asked.person else 0,
            "progress": session.progress(item) if item else "",
            "older": older_wordings(item, list(session.items.values()), index) if item else [],
            "evidence": _show_evidence(item) if item else [],
            "keep": None if desk.is_asked or item is None else session.personal_data() or "nothing that Carob knows",
            "folder": str(session.folder),
            "criteria": [(text, list(criterion_lines(index, criterion))) for criterion, text in list_criteria(index)],
            "disputed": _list_disputed(asked, index),
            "torn": index.files.torn, "reviews": len(reviews),
            "table": "data:text/csv;base64," + base64.b64encode(reviews_csv(reviews).encode()).decode(),
        }  # fmt: skip


def _show_evidence(item: LabelItem) -> list[tuple[str, list[str]]]:
    """Each part of the evidence under its name, as texts."""
    content = item.question.evidence.content
    return [(name, _texts(content[part])) for part, name in _NAMES.items() if part in content]


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [entry if isinstance(entry, str) else json_words(entry) for entry in value]


def _list_disputed(asked: PageRequest, index: LabelIndex) -> list[tuple[str, str, Sequence[PersonLabel]]]:
    """Answers on which people differ, with their notes; none that this person has still to read blind."""
    found = [
        (lines[-1].text, lines[-1].case, lines)
        for criterion, _ in list_criteria(index)
        for pair, lines in index.labels.items()
        if pair.criterion == criterion and len({*index.verdicts(pair).values()}) > 1
        if not asked.person or asked.person in index.verdicts(pair)
    ]
    return found[:MOST_DISPUTED]


def write(asked: PageRequest, content: Mapping[str, Any]) -> None:
    """Do what the page sent; it is on disk when this returns."""
    try:
        sent = msgspec.convert(content, Sent)
    except msgspec.ValidationError as error:
        raise UsageError(f"not what the page sends: {error}.") from error
    if len(sent.note) > LONGEST_NOTE:
        raise UsageError(f"the note has {len(sent.note):,} characters, more than {LONGEST_NOTE:,}.", fix="Shorten it.")
    asked.index.refresh()
    run, act = asked.find_run(sent.run), _ACTS.get(sent.act)
    if sent.act == "review":
        _review(asked, run, sent)
    elif act is None:
        raise UsageError(f"not what the page sends: {sent.act!r}.")
    else:
        desk = _desk(asked, run)
        with desk.lock:
            desk.session.queue = sent.queue
            act(desk, sent)


def _label(desk: Desk, sent: Sent) -> None:
    if not desk.is_asked:
        raise UsageError("whether the evidence is kept was not answered yet.", fix="Answer the question on the page.")
    verdict = msgspec.convert(_one_of(sent.verdict, ("met", "not met", "cannot tell")), Decided)
    item = _item(desk, sent)
    opinion = desk.session.label(item, verdict, sent.note.strip())
    desk.said = Said(item.case, verdict, opinion)


def _one_of(word: str, known: Sequence[str]) -> str:
    if word not in known:
        raise UsageError(f"not a verdict: {word!r}.", fix=f"Known: {', '.join(known)}.")
    return word


def _item(desk: Desk, sent: Sent) -> LabelItem:
    item = desk.session.items.get(Pair(sent.criterion, sent.evidence))
    if item is None:
        raise MissingPageError
    return item


def _skip(desk: Desk, sent: Sent) -> None:
    desk.session.skip(_item(desk, sent))


def _undo(desk: Desk, sent: Sent) -> None:
    if desk.session.undo() is None:
        desk.said = "Nothing to undo, or its opinion was shown."


def _keep(desk: Desk, sent: Sent) -> None:
    desk.session.keep = _one_of(sent.verdict, ("evidence", "hashes")) == "evidence"
    desk.is_asked = True


def _review(asked: PageRequest, run: IndexedRun, sent: Sent) -> None:
    record = asked.index.record(run, sent.index, sent.repeat)
    if record is None or not sent.check < len(record.verdict.checks):
        raise MissingPageError
    review = Review(
        case=record.case.id, check=label(record, sent.check), who=asked.person, when=time_now(),
        verdict=msgspec.convert(_one_of(sent.verdict, ("right", "wrong")), ReviewVerdict),
        note=sent.note.strip(), answer=answer_of(record.trace),
    )  # fmt: skip
    append_line(_labels(asked, run).folder / REVIEWS, review)


_ACTS: Final = {"label": _label, "skip": _skip, "undo": _undo, "keep": _keep}


def _failing_first(record: CaseRecord) -> list[int]:
    """The checks by their numbers, those that did not pass first."""
    checks = record.verdict.checks
    return sorted(range(len(checks)), key=lambda number: checks[number].status in ACCEPTED)


def reviews_of_case(asked: PageRequest, record: CaseRecord, run: IndexedRun) -> dict[str, Any]:
    """What people noted on a case: reviews of its checks, and notes of their labels. Whoever sees it is not blind."""
    labels = _labels(asked, run)
    index, answer, reviews = labels.index(), answer_of(record.trace), read_reviews(labels.folder)
    items = [*items_of(record, labels.target)]
    if asked.person and items:
        _desk(asked, run).session.reveal([item.pair for item in items])
    return {
        "person": asked.person, "run": run.key, "record": record,
        "checks": [(number, label(record, number)) for number in _failing_first(record)],
        "reviews": [one for one in reviews if one.case == record.case.id and one.answer in ("", answer)],
        "notes": [(item.text, line) for item in items for line in index.labels.get(item.pair, ()) if line.note],
    }  # fmt: skip
