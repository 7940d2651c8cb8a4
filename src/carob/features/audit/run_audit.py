"""Auditing a recorded run: controls, mutants, equivalents, and which checks the kills hang on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from msgspec import structs

from carob.checks.base import has_lost_secret
from carob.checks.catalog import CheckCatalog
from carob.features.audit import model
from carob.features.audit.case_audit import Count, audit_case
from carob.features.audit.judging import NOTHING_ALLOWED, Allowance, judge_trace
from carob.features.audit.operators.base import Subject, is_same
from carob.features.audit.operators.catalog import EVERY_OPERATOR
from carob.features.audit.survivors import Spelling
from carob.journal.views import RunView
from carob.model.run import CaseRecord
from carob.model.suite import judged_part
from carob.model.verdict import CaseStatus
from carob.scoring.tally import case_status
from carob.text.folding import fold

LOST = "what was expected held a secret, which is not in the journal"


def audit(run: RunView, seed: int = 0, allowance: Allowance = NOTHING_ALLOWED) -> model.AuditReport:
    """Try every case of a run; the same journal and seed give the same report."""
    return Auditor(run, seed, allowance).report()


@dataclass
class Auditor:
    """An audit in progress: gives each case as it is done, and keeps nothing of it but figures."""

    run: RunView
    seed: int = 0
    allowance: Allowance = NOTHING_ALLOWED
    _total: Count = field(default_factory=Count)
    _operators: dict[str, Count] = field(
        default_factory=lambda: {operator.name: Count() for operator in EVERY_OPERATOR}
    )
    _apart: dict[str, model.UnratedOperator] = field(default_factory=dict)
    _figures: Counter[str] = field(default_factory=Counter)
    _caught_by: Counter[str] = field(default_factory=Counter)
    _lacking: Counter[str] = field(default_factory=Counter)

    def cases(self) -> Iterator[model.CaseAudit | model.UnauditedCase]:
        """Every case in suite order. To give a case the answer of another, the first waits for the second."""
        waiting: Subject | None = None
        # The last two cases that differ: at least one of them is another case than any that comes.
        earlier: list[Subject] = []
        for _, records in groupby(self.run.records(), key=lambda record: record.index):
            subject = self._baseline(records)
            if isinstance(subject, model.UnauditedCase):
                self._figures["set_aside"] += 1
                yield subject
                continue
            another = next((candidate for candidate in earlier if differ(candidate, subject)), None)
            if another is None and waiting is None:
                waiting = subject
            else:
                if waiting is not None:
                    yield self._audit_and_count(waiting, subject if differ(subject, waiting) else None)
                    waiting = None
                yield self._audit_and_count(subject, another)
            if earlier and not differ(earlier[0], subject):
                earlier = [subject, *earlier[1:]]
            else:
                earlier = [subject, *earlier[:1]]
        if waiting is not None:
            yield self._audit_and_count(waiting, None)

    def report(self) -> model.AuditReport:
        """All cases at once."""
        entries = list(self.cases())
        return model.AuditReport(
            summary=self.summary(),
            cases=tuple(entry for entry in entries if isinstance(entry, model.CaseAudit)),
            set_aside=tuple(entry for entry in entries if isinstance(entry, model.UnauditedCase)),
        )

    def summary(self) -> model.AuditSummary:
        """What has been counted, once `cases` is exhausted."""
        header = self.run.header
        rates = [model.OperatorAudit(o.name, o.about, self._operators[o.name].rate) for o in EVERY_OPERATOR]
        summary = model.AuditSummary(
            journal=self.run.path,
            suite=header.suite,
            target=header.target,
            seed=self.seed,
            rate=self._total.rate,
            operators=tuple(operator for operator in rates if operator.rate.tried),
            remedies=tuple(model.Remedy(name, n, self._lacking[name]) for name, n in self._caught_by.most_common()),
            apart=tuple(self._apart[o.name] for o in EVERY_OPERATOR if o.name in self._apart),
        )
        return structs.replace(summary, **self._figures)

    def _baseline(self, records: Iterable[CaseRecord]) -> Subject | model.UnauditedCase:
        """The trace to start from: the first repeat that passes, of a case that passes as a whole."""
        statuses: Counter[CaseStatus] = Counter()
        first: CaseRecord | None = None
        bad: tuple[CaseRecord, str] | None = None
        for recorded in records:
            # What only another tool can judge kills no mutant, and is not a reason to audit nothing.
            record = structs.replace(recorded, case=judged_part(recorded.case))
            status, reason = _today(record, self.run.catalog)
            statuses[status] += 1
            if status is CaseStatus.PASS:
                first = first or record
            else:
                bad = bad or (record, reason)
        some = first or (bad[0] if bad else None)
        assert some is not None  # a group is never empty
        status = case_status(statuses, some.case.min_pass_rate, some.until)
        if first is not None and status is CaseStatus.PASS:
            return Subject(first.case, first.trace, self.seed)
        return model.UnauditedCase(some.case.id, status, _why(statuses, bad))

    def _audit_and_count(self, subject: Subject, another: Subject | None) -> model.CaseAudit:
        header, catalog = self.run.header, self.run.catalog
        spelling = Spelling(header.suite_format, header.suite_version, catalog)
        audit = audit_case(subject, another, spelling, catalog, self.allowance)
        for name, (killed, tried) in audit.operators.items():
            self._operators[name].add(killed, tried)
            self._total.add(killed, tried)
        self._count_unrated(audit)
        fields = [survivor.field for survivor in audit.survivors]
        self._caught_by.update(fields)
        self._lacking.update(set(fields))
        self._figures["audited"] += 1
        self._figures["blind"] += bool(audit.unseen)
        for name in ("survivors", "controls", "brittle", "redundant"):
            self._figures[name] += len(getattr(audit, name))
        self._figures["partial"] += audit.partial
        self._figures["undecided"] += audit.undecided
        return audit

    def _count_unrated(self, audit: model.CaseAudit) -> None:
        unseen = {mutant.operator: mutant.help for mutant in audit.unseen}
        for name in audit.apart:
            about = next(operator.about for operator in EVERY_OPERATOR if operator.name == name)
            count = self._apart.get(name, model.UnratedOperator(name, about))
            blind = count.unseen + (name in unseen)
            self._apart[name] = model.UnratedOperator(
                name, about, count.cases + 1, blind, count.help or unseen.get(name, "")
            )


def differ(another: Subject, subject: Subject) -> bool:
    """Whether the answer of another case does not answer this one: the same question asked again is excluded."""
    trace = subject.trace
    own = {name: getattr(trace, name) for name in ("input", "spans", "duration_ms", "timings", "steps", "tokens")}
    differ = fold(another.case.prompt) != fold(subject.case.prompt)
    return differ and not is_same(structs.replace(another.trace, **own), trace)


def _today(record: CaseRecord, catalog: CheckCatalog) -> tuple[CaseStatus, str]:
    """How a record comes out by today's checks; unknown for an expectation that lost a secret."""
    if any(has_lost_secret(spec, record.trace) for _, spec in record.case.all_checks):
        return CaseStatus.PARTIAL, LOST
    verdict = judge_trace(record.case, record.trace, catalog)
    return verdict.status, verdict.reason


def _why(statuses: Counter[CaseStatus], bad: tuple[CaseRecord, str] | None) -> str:
    if bad is None:
        return ""
    record, reason = bad
    if statuses.total() > 1:
        return f"{statuses[CaseStatus.PASS]} of {statuses.total()} repeats passed; {reason}"
    return f"recorded as PASS, judged again: {reason}" if record.status is CaseStatus.PASS else reason
