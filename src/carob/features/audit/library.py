"""The library of the audit: what `carob` offers of it in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from carob.engine import rescoring
from carob.engine.rescoring import (
    AnyJournal,
    AnySuite,
    load_in,
    open_journal,
    project_for,
)
from carob.plugins.project import find_project
from carob.targets.config import read_config

if TYPE_CHECKING:
    from carob.features.audit.model import AuditReport
    from carob.features.audit.recorded_claims import ClaimSentence
    from carob.features.audit.run_audit import Auditor


def auditor(journal: AnyJournal, suite: AnySuite | None = None, *, seed: int = 0) -> Auditor:
    """An audit that gives one case after the other, for journals too large for one report."""
    from carob.features.audit.judging import Allowance
    from carob.features.audit.run_audit import Auditor

    config = read_config(project_for(suite, journal))
    project = config.project
    loaded = None if suite is None else load_in(suite, project)
    run = rescoring.require_auditable(open_journal(journal, project), loaded)
    return Auditor(run, seed, Allowance(*rescoring.resolve_allowances(None, None, None, config)[:2]))


def audit(journal: AnyJournal, suite: AnySuite | None = None, *, seed: int = 0) -> AuditReport:
    """Prove that the suite of a recorded run can fail: make right traces wrong, one change at a time, and judge again.

    With `suite`, a journal that is not of that suite as it is now is refused.
    """
    return auditor(journal, suite, seed=seed).report()


def read_claims(journal: AnyJournal) -> Iterator[ClaimSentence]:
    """The sentences of recorded answers: which claim an effect, which nearly do, and which do not."""
    from carob.engine.rescoring import open_journal
    from carob.features.audit.recorded_claims import read_claims

    project = find_project()
    return read_claims(open_journal(journal, project).records(), project)
