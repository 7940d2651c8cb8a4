"""A record as its page shows it: what was said, what was called, how each check came out, and where it looked."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from typing import Final

from karat.checks.catalog import CheckCatalog
from karat.journal.broken import label
from karat.model.run import CaseRecord, Header
from karat.model.trace import REMOVED, Trace
from karat.model.verdict import CheckResult, Status
from karat.reports.escaping import clip
from karat.reports.facts import log, reasons
from karat.reports.html.calls import duration, shown_json
from karat.reports.html.differences import alike, difference
from karat.reports.html.evidence import EvidencePlaces
from karat.reports.html.marks import escape_text
from karat.reports.html.screen import SCREENSHOT, screen_view
from karat.reports.html.views import CaseView, CheckView, FileView

MOST_CHECKS: Final = 500
MOST_FILES: Final = 50
CHECK_TEXT: Final = 1_500

Address = Callable[[str], str | None]
"""Where a file of the run can be seen, or None if it cannot."""


def anchor_of(index: int, repeat: int) -> str:
    """The name of a case on a page, from which those of its checks and their evidence begin."""
    return f"c{index}r{repeat}"


def case_view(record: CaseRecord, header: Header, address: Address, catalog: CheckCatalog) -> CaseView:
    """The page of a record. `address`: where its files can be seen."""
    trace, verdict, case = record.trace, record.verdict, record.case
    anchor = anchor_of(record.index, record.repeat)
    checks = verdict.checks[:MOST_CHECKS]
    pages = EvidencePlaces(trace, checks, anchor, catalog)
    turns = [pages.turn(number, turn) for number, turn in enumerate(trace.turns or (trace,))]
    views = [_check(record, number, result, pages) for number, result in enumerate(checks)]
    soft = verdict.soft
    return CaseView(
        anchor=anchor,
        id=case.id,
        index=record.index,
        repeat=record.repeat,
        status=verdict.status,
        category=case.category,
        tags=case.tags,
        reasons=[clip(reason, CHECK_TEXT) for reason in reasons(record)],
        log=log(record),
        broken=sorted(filter(_is_broken, views), key=lambda view: view.status != Status.FAILED),
        passed=[view for view in views if not _is_broken(view)],
        checks_left_out=len(verdict.checks) - len(checks),
        turns=turns,
        groups={name: (score.passed, score.judged) for name, score in verdict.groups.items()},
        soft="" if soft.value is None else f"{soft.value:.2f}" + (f" of {soft.threshold:g}" if soft.threshold else ""),
        took=duration(record.duration_ms),
        tokens=tokens_of(trace),
        attempts=[f"{one.error.kind}: {clip(one.error.message, CHECK_TEXT)}" for one in record.attempts if one.error],
        preconditions=case.preconditions,
        attachments=_attachments(trace, checks, address),
        more=_more(trace),
        command=command(header, case.id),
    )


def _is_broken(view: CheckView) -> bool:
    return view.status != Status.PASSED


def tokens_of(trace: Trace) -> str:
    known = trace.tokens
    if known is None or (known.input is None and known.output is None):
        return ""
    return f"{known.input or 0:,} in, {known.output or 0:,} out"


def command(header: Header, case_id: str) -> str:
    """What runs this case again; what is secret is not known here."""
    options = header.options.get("overrides")
    given = [f"{key}={_plain(value)}" for key, value in options.items()] if isinstance(options, dict) else []
    words = ["karat", "run", header.suite, "--target", header.target, "--cases", case_id]
    words += [word for pair in given if REMOVED not in pair for word in ("-o", pair)]
    return shlex.join(words)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _check(record: CaseRecord, number: int, result: CheckResult, pages: EvidencePlaces) -> CheckView:
    expected, found = clip(result.expected, CHECK_TEXT), clip(result.found, CHECK_TEXT)
    differs = result.status != Status.PASSED and alike(expected, found)
    return CheckView(
        number=number,
        label=label(record, number),
        group=result.group,
        status=result.status,
        expected=escape_text(expected),
        found=escape_text(found),
        diff=difference(expected, found) if differs else "",
        evidence=pages.anchor_for(number),
        where=result.at.channel.replace("_", " ") if result.at else "",
        turn=result.turn,
    )


def _attachments(trace: Trace, checks: Sequence[CheckResult], address: Address) -> list[FileView]:
    """The files of a record, the screenshot with what can be lit on it."""
    screen = screen_view(trace, checks)
    files = []
    for name, file in list(trace.attachments.items())[:MOST_FILES]:
        link = address(file) or ""
        picture = link if link.startswith("data:") else ""
        files.append(FileView(name, file, picture, link, screen if name == SCREENSHOT else None))
    return files


def _more(trace: Trace) -> dict[str, str]:
    """What else the target saw."""
    each = {"database": trace.database, "state": trace.state, "metadata": trace.metadata, "timings": trace.timings}
    return {name: shown for name, value in each.items() if (shown := shown_json(value))}
