"""The tables of an audit of a grader, which a terminal draws too, and the audit as JSON, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from carob.features.audit.report import INTERVAL, rate_cells
from carob.features.graders.model import (
    ClaimFigures,
    FormFigures,
    GraderAudit,
    OperatorFigures,
    TraceFigures,
    cut,
)
from carob.reports.escaping import encode, markdown_cell
from carob.reports.sections import CELL, ReportSection, html_sections, markdown_sections
from carob.text.wording import pluralize

FEW_ROWS: Final = 8
"""A terminal shows so many of a table, but for that of the operators."""
NOTHING: Final = "-"


def grader_sections(audit: GraderAudit) -> list[ReportSection]:
    """Everything that is shown, whatever draws it; empty tables are left out."""
    sections = [
        ReportSection(
            "Biases", ("bias", "what it means", "what shows it"),
            [(bias.name, bias.says, bias.evidence) for bias in audit.biases], is_marked=True,
        ),
        ReportSection(
            "No verdict", ("trace", "asked about", "what happened", "printed"),
            [(f.trace_id, f.asked, f"{f.kind}: {f.error}", f.printed) for f in audit.fault_examples],
            f"{pluralize(audit.faults, 'question')} got no verdict; they count neither for the grader nor against it",
            is_marked=True,
        ),
        ReportSection(
            "Idle agents", ("agent", "accepted", "first"),
            [(form.name.removeprefix("idle: "), f"{form.wrong} of {form.tried}", form.example) for form in audit.idle],
        ),
        ReportSection(
            "Claims", ("claims about", "caught", "share and interval", "may gate", "what is meant"),
            [_claim_row(claim, audit) for claim in audit.claims],
            "the share of wrong traces that it refused; the interval of 95% takes a trace as the unit",
        ),
        ReportSection(
            "Operators", ("operator", "caught", "rate", INTERVAL, "may be right", "reviewed", *_unmoved_title(audit),
                          "what is wrong"),
            [_operator_row(operator, audit) for operator in audit.operators],
            "caught: of the traces that are certainly wrong; may be right: of so many that may be, it refused so many",
            bars={operator.name: operator.caught.value for operator in audit.operators if operator.caught.tried},
        ),
        ReportSection(
            "Right traces in other forms", ("form", "refused", "first"),
            [_form_row(form) for form in audit.forms],
        ),
        ReportSection(
            "Wrong, and accepted", ("trace", "operator", "change", "seen"),
            [(e.trace_id, e.operator, e.change, e.seen) for e in audit.accepted if not e.doubt],
            "the shortest of each operator first; the JSON report has the whole traces",
            is_marked=True,
        ),
        ReportSection(
            "Traces of which most was accepted",
            ("trace", "accepted", "by operator"),
            [_trace_row(entry) for entry in _weakest(audit)],
        ),
        ReportSection(
            "Accepted, and may be right", ("trace", "operator", "change", "why it may be right", "review as"),
            [(e.trace_id, e.operator, e.change, e.doubt, e.id) for e in audit.accepted if e.doubt],
            'to review one, write {"mutant": "ID", "right": true} into a line of a file, and name it with --reviews',
        ),
        ReportSection(
            "Not audited", ("trace", "why"), [(entry.trace_id, entry.reason) for entry in audit.unaudited_examples],
            f"{pluralize(audit.unaudited, 'trace')}: nothing can be made wrong of what is not accepted",
        ),
    ]  # fmt: skip
    return [
        section._replace(terminal_rows=section.terminal_rows if section.bars else FEW_ROWS)
        for section in sections
        if section.rows
    ]


def basis(audit: GraderAudit) -> str:
    """What was done, and what it took."""
    kept = f", {audit.kept} verdicts were kept ones" if audit.kept else ""
    each = f" ({1000 * audit.seconds / audit.calls:.1f} ms each)" if audit.calls else ""
    cost = f", {audit.cost_usd:.4f} USD" if audit.cost_usd is not None else ""
    asked = f"{pluralize(audit.calls, 'call')} of the grader in {audit.seconds:.1f} s{each}{cost}{kept}"
    return f"{pluralize(audit.audited, 'trace')} audited, {audit.unaudited} not, seed {audit.seed}; {asked}"


def headline(audit: GraderAudit) -> str:
    """The figures in one sentence."""
    caught = sum(operator.caught.killed for operator in audit.operators)
    tried = sum(operator.caught.tried for operator in audit.operators)
    if not tried:
        return "Nothing certainly wrong was tried"
    words = f"It accepted {tried - caught} of {pluralize(tried, 'wrong trace')}"
    idle = sum(form.tried for form in audit.idle)
    refused = sum(form.wrong for form in audit.forms)
    forms = sum(form.tried for form in audit.forms)
    words += f", {audit.idle_passes} of {pluralize(idle, 'idle agent')}, and refused {refused} of {forms} right ones"
    uncertain, reviewed = review_counts(audit)
    if uncertain + reviewed:
        words += f". {uncertain + reviewed} more may be right, of which {reviewed} were reviewed"
    return words


def review_counts(audit: GraderAudit) -> tuple[int, int]:
    """How many traces may be right and wait for a review, and how many were reviewed."""
    return sum(o.uncertain for o in audit.operators), sum(o.reviewed for o in audit.operators)


def verdict(audit: GraderAudit) -> str:
    """Whether the grader may gate what was asked for; nothing if nothing was."""
    if not audit.has_gate:
        return ""
    if audit.unmet:
        return f"MAY NOT GATE: {'; '.join(audit.unmet)}"
    names = ", ".join(f"{claim.name} ({claim.bound:g})" for claim in audit.claims if claim.bound is not None)
    return f"MAY GATE claims about {names}"


def remarks(audit: GraderAudit) -> Iterator[str]:
    """What the tables do not say."""
    if not audit.audited:
        yield "The grader accepted no recorded trace. Give it traces that it accepts, with what it needs of metadata."
    if audit.unknown_reviews:
        yield f"Of no mutant of this audit: {pluralize(audit.unknown_reviews, 'review')}"


def grader_json(audit: GraderAudit) -> bytes:
    uncertain, reviewed = review_counts(audit)
    share = round(reviewed / (uncertain + reviewed), 4) if uncertain + reviewed else None
    gate = {"gate": {"met": not audit.unmet, "unmet": audit.unmet}} if audit.has_gate else {}
    return encode({**gate, "reviewed_share": share, **msgspec.to_builtins(audit)}) + b"\n"


def grader_markdown(audit: GraderAudit) -> bytes:
    return "".join(f"{line}\n" for line in _markdown_lines(audit)).encode("utf-8", "backslashreplace")


def grader_html(audit: GraderAudit) -> bytes:
    """The tables in one file that needs no network, with a bar for the share that each operator's traces had caught."""
    return html_sections(
        "grader_page.html",
        grader_sections(audit),
        title=f"Audit of {audit.grader}",
        audit=audit,
        basis=basis(audit),
        headline=headline(audit),
        verdict=verdict(audit),
        remarks=[*remarks(audit)],
    )


def _markdown_lines(audit: GraderAudit) -> Iterator[str]:
    yield f"# Audit of {markdown_cell(audit.grader)}\n"
    if gate := verdict(audit):
        yield f"**{markdown_cell(gate, CELL)}**\n"
    yield f"{headline(audit)}\n"
    yield basis(audit)
    yield from (f"\n{remark}" for remark in remarks(audit))
    yield from markdown_sections(grader_sections(audit))


def _claim_row(claim: ClaimFigures, audit: GraderAudit) -> tuple[str, ...]:
    bounds = f"{cut(claim.share.low)} to {cut(claim.share.high)}, {claim.share.method}"
    share = f"{cut(claim.share.value)} ({bounds})" if claim.tried else NOTHING
    others = audit.idle_passes or audit.faults or audit.flipped
    gate = NOTHING if claim.bound is None else f"{'yes' if claim.is_met and not others else 'no'}, at {claim.bound:g}"
    return claim.name, f"{claim.caught} of {claim.tried}", share, gate, claim.about


def _operator_row(operator: OperatorFigures, audit: GraderAudit) -> tuple[str, ...]:
    killed, rate, interval = rate_cells(operator.caught)
    uncertain = f"{operator.uncertain_refused} of {operator.uncertain}" if operator.uncertain else NOTHING
    unmoved = (str(operator.unmoved),) if audit.gives_scores else ()
    if not operator.caught.tried:
        killed, rate, interval = NOTHING, NOTHING, NOTHING
    return operator.name, killed, rate, interval, uncertain, str(operator.reviewed), *unmoved, operator.about


def _weakest(audit: GraderAudit) -> list[TraceFigures]:
    """The traces of which a greater share was accepted first."""
    accepted = [entry for entry in audit.traces if entry.accepted]
    return sorted(accepted, key=lambda entry: (-entry.accepted_count / entry.tried, entry.trace_id))


def _trace_row(entry: TraceFigures) -> tuple[str, ...]:
    names = ", ".join(f"{name} {count}" for name, count in entry.accepted.items())
    return entry.trace_id, f"{entry.accepted_count} of {entry.tried}", names


def _unmoved_title(audit: GraderAudit) -> tuple[str, ...]:
    return ("score unmoved",) if audit.gives_scores else ()


def _form_row(form: FormFigures) -> tuple[str, ...]:
    return form.name, f"{form.wrong} of {form.tried}", form.example or NOTHING
