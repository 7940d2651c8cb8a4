"""A record as its page shows it: what was said, what was called, how each check came out, and where it looked."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from karat.checks.catalog import CheckCatalog
from karat.journal.failures import label
from karat.model.cost import COST, TokenPrices, count_spent
from karat.model.run import CaseRecord, Header
from karat.model.trace import REMOVED, Trace
from karat.model.verdict import CheckResult, Status
from karat.reports.escaping import clip
from karat.reports.facts import log, reasons
from karat.reports.html.calls import MOST_ROOM, TextRoom, call_views, duration, render_json
from karat.reports.html.differences import difference, has_useful_difference
from karat.reports.html.evidence import EvidencePlaces
from karat.reports.html.expectations import expectations_view
from karat.reports.html.marks import escape_text
from karat.reports.html.screen import SCREENSHOT, screen_view
from karat.reports.html.story import MOST_CALLS
from karat.reports.html.suite_lines import SuiteLines
from karat.reports.html.unobserved import Unobserved
from karat.reports.html.views import CaseView, CheckView, FileView
from karat.scoring.figures import cost_words, token_words

MOST_CHECKS: Final = 500
MOST_FILES: Final = 50
CHECK_TEXT: Final = 1_500

Address = Callable[[str], str | None]
"""Where a file of the run can be seen, or None if it cannot."""


def anchor_of(index: int, repeat: int) -> str:
    """The name of a case on a page, from which those of its checks and their evidence begin."""
    return f"c{index}r{repeat}"


@dataclass(frozen=True, slots=True)
class CaseSetting:
    """What the pages of the cases of one run share. Without `lines` a page is kept short: it is but a transcript."""

    header: Header
    catalog: CheckCatalog
    prices: TokenPrices | None
    lines: SuiteLines | None
    room: TextRoom = field(default_factory=lambda: TextRoom(MOST_ROOM))


def case_view(record: CaseRecord, setting: CaseSetting, address: Address, at: str = "") -> CaseView:
    """The page of a record. `address`: where its files can be seen; `at`: where the whole record is."""
    trace, verdict, case = record.trace, record.verdict, record.case
    anchor = anchor_of(record.index, record.repeat)
    checks = verdict.checks[:MOST_CHECKS]
    pages = EvidencePlaces(trace, checks, anchor, setting.catalog, setting.room)
    turns = [pages.turn(number, turn) for number, turn in enumerate(trace.turns or (trace,))]
    unobserved = Unobserved(trace)
    views = [_check(record, number, result, pages, unobserved) for number, result in enumerate(checks)]
    soft, spent = verdict.soft, count_spent(trace.tokens, trace.metadata.get(COST))
    expectations = None
    if setting.lines:
        by_number = {view.number: view for view in views}
        expectations = expectations_view(record, by_number, setting.header.suite, setting.lines.find(case.id))
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
        setup=[clip(prompt, CHECK_TEXT) for prompt in case.setup_prompts[:MOST_CHECKS]],
        setup_calls=call_views(trace, trace.setup_calls[:MOST_CALLS], 0, setting.room),
        turns=turns,
        unobserved=unobserved.views(),
        expectations=expectations,
        groups={name: (score.passed, score.judged) for name, score in verdict.groups.items()},
        soft="" if soft.value is None else f"{soft.value:.2f}" + (f" of {soft.threshold:g}" if soft.threshold else ""),
        took=duration(record.duration_ms),
        tokens=token_words(spent),
        cost=cost_words(spent, setting.prices),
        attempts=[f"{one.error.kind}: {clip(one.error.message, CHECK_TEXT)}" for one in record.attempts if one.error],
        preconditions=case.preconditions,
        attachments=_attachments(trace, checks, address),
        more=_more(trace),
        command=command(setting.header, case.id),
        record=at,
    )


def _is_broken(view: CheckView) -> bool:
    return view.status != Status.PASSED


def command(header: Header, case_id: str) -> str:
    """What runs this case again; what is secret is not known here."""
    options = header.options.get("overrides")
    given = [f"{key}={_as_text(value)}" for key, value in options.items()] if isinstance(options, dict) else []
    words = ["karat", "run", header.suite, "--target", header.target, "--cases", case_id]
    words += [word for pair in given if REMOVED not in pair for word in ("-o", pair)]
    return shlex.join(words)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _check(
    record: CaseRecord, number: int, result: CheckResult, pages: EvidencePlaces, unobserved: Unobserved
) -> CheckView:
    expected, found = clip(result.expected, CHECK_TEXT), clip(result.found, CHECK_TEXT)
    mention = pages.mention(result)
    differs = result.status != Status.PASSED and mention is None and has_useful_difference(expected, found)
    missed = unobserved.find(result.found) if result.status == Status.UNKNOWN else ""
    anchor = anchor_of(record.index, record.repeat)
    shown = escape_text(found)
    if missed:
        shown = f'not observed: <a href="#{anchor}-unobserved">{escape_text(missed)}</a>'
    elif mention:
        words = found[mention.start : mention.end] + (f" of turn {result.turn}" if result.turn else "")
        link = f'<a href="#{anchor}-call{mention.number}">{escape_text(words)}</a>'
        shown = escape_text(found[: mention.start]) + link + escape_text(found[mention.end :])
    return CheckView(
        number=number,
        label=label(record, number),
        group=result.group,
        status=result.status,
        expected=escape_text(expected),
        found=shown,
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
    return {name: shown for name, value in each.items() if (shown := render_json(value))}
