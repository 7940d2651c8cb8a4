"""A comparison as JSON, Markdown and HTML, and the words that these share with the terminal and the viewer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

import msgspec

from karat.analysis.compare.model import (
    Bounds,
    CaseChange,
    Change,
    Comparison,
    Measure,
    RunExcerpt,
    RunSide,
    ScopeComparison,
)
from karat.reports.escaping import markdown_cell, terminal
from karat.reports.html.differences import difference
from karat.text.wording import count, describe_move, dollars, percent, pluralize, points

VERDICTS: Final = {"met": "met", "broken": "BROKEN", "undecided": "UNDECIDED"}
SECTIONS: Final = (
    (Change.BROKE, "Broke"),
    (Change.FELL, "Fell: passed before and failed in every run now, but there are too few runs to say that they broke"),
    (Change.FIXED, "Fixed"),
    (Change.FLAKY, "Flaky: passed in some runs and not in others; the difference may be chance"),
    (Change.RED, "Stayed red"),
    (Change.ERRED, "Ended in an error in one of the runs, not compared"),
    (Change.ASKS_OTHER, "Prompt changed, not compared"),
    (Change.EXPECTS_OTHER, "Expectations changed, not compared"),
    (Change.APART, "Skipped or known to fail, not compared"),
    (Change.NEW, "New, not in the base"),
    (Change.GONE, "Gone, only in the base"),
)
MARKDOWN_LISTED: Final = 50
MARKDOWN_LINE: Final = 400
HTML_LISTED: Final = 200
HTML_LINE: Final = 500
STYLE: Final = (
    ":root{color-scheme:light dark}body{background:Canvas;color:CanvasText;font:15px/1.5 system-ui,sans-serif;"
    "margin:2rem auto;max-width:70rem;padding:0 1rem;overflow-wrap:anywhere}"
    ".cases{padding-left:1.2rem}.cases>li{margin:.8rem 0}"
    ".diff{margin:.4rem 0;padding:.5rem .8rem;background:#8881;border-radius:6px;white-space:pre-wrap}"
    "del{background:#c001}ins{background:#0801;text-decoration:none;font-weight:600}"
)


NOT_GATED: Final = (
    "NO GATE: only a run that is significantly worse, or incomplete, fails."
    " Set one, such as --max-new-failures 0, or [gate] in karat.toml"
)


def headline(found: Comparison) -> str:
    """`3 of 120 cases broke, 9 were fixed; the pass rate rose by 5 points (true change: +1 to +9); sure at 95 %`."""
    broke, fell, fixed = (found.count(change) for change in (Change.BROKE, Change.FELL, Change.FIXED))
    too_few = f", {fell} fell in too few runs to tell" if fell else ""
    were = "was" if fixed == 1 else "were"
    changed = f"{broke} of {pluralize(found.compared, 'case')} broke{too_few}, {fixed} {were} fixed"
    return f"{changed}; {describe_change(found.overall)}; {certainty(found.overall)}"


def describe_change(weighed: ScopeComparison) -> str:
    """How the pass rate moved, with the interval of the true change."""
    change = weighed.difference
    return f"the pass rate {describe_move(change.value, change.low, change.high)}"


def certainty(weighed: ScopeComparison) -> str:
    at = f"{weighed.confidence * 100:g} %"
    return f"significant at {at}" if weighed.sure else f"not significant at {at}, it may be chance"


def describe_size(weighed: ScopeComparison) -> str:
    """How much was weighed: `120 cases in 12 clusters`."""
    cases = pluralize(weighed.cases, "case")
    return cases if weighed.clusters == weighed.cases else f"{cases} in {pluralize(weighed.clusters, 'cluster')}"


def preamble(found: Comparison) -> Iterator[str]:
    """What is to be known before the results: what else differs between the runs, and that nothing was gated."""
    if found.differs:
        yield f"the runs differ in {'; '.join(found.differs)}"
    if not found.gates:
        yield NOT_GATED


def describe_uncompared(found: Comparison) -> str:
    """What was not compared, in one line; nothing if everything was."""
    words = (
        (Change.FLAKY, "flaky"),
        (Change.RED, "stayed red"),
        (Change.ERRED, "ended in an error"),
        (Change.ASKS_OTHER, "ask otherwise now"),
        (Change.EXPECTS_OTHER, "expect otherwise now"),
        (Change.APART, "were skipped or known to fail"),
        (Change.NEW, "are new"),
        (Change.GONE, "are gone"),
    )
    return ", ".join(f"{count} {word}" for change, word in words if (count := found.count(change)))


def side(name: str, run: RunSide) -> str:
    """One of the runs in a line."""
    parts = [run.path, run.started_at[:19]]
    if run.commit:
        parts.append(f"commit {run.commit[:10]}{' with changes' if run.dirty else ''}")
    if run.version:
        parts.append(f"version {run.version}")
    errors = f", {run.errors} ended in an error" if run.errors else ""
    parts.append(run.figures)
    parts.append(f"{pluralize(run.cases, 'case')}, {pluralize(run.runs, 'run')} judged{errors}")
    return f"{name}: " + ", ".join(filter(None, parts))


def with_interval(bounds: Bounds) -> str:
    return f"{percent(bounds.value)} ({percent(bounds.low)} to {percent(bounds.high)})"


def rates(weighed: ScopeComparison) -> str:
    """Of the cases that were compared, which may be fewer than those of either run."""
    before, now = with_interval(weighed.base), with_interval(weighed.new)
    of = f"passed runs, by case, of the {describe_size(weighed)} compared"
    return f"{of}: {before} before, {now} now; {weighed.test} p = {p_value(weighed.p)}"


def p_value(p: float) -> str:
    return "under 0.0001" if p < 0.0001 else f"{p:.4f}".rstrip("0").rstrip(".")


def of_group(group: ScopeComparison) -> str:
    changed = f"{group.broke} broke, {group.fixed} fixed of {describe_size(group)}"
    sure = f"; {group.sure}, significant" if group.sure else ""
    return f"{changed}; {describe_change(group)}; p = {p_value(group.p)} after Holm's correction{sure}"


def of_measure(measure: Measure) -> str:
    """`time per case: 1.2 s before, 1.5 s now, 1.25 times (1.10 to 1.42), over 120 cases`."""
    ratio = measure.ratio
    times = f", {ratio.value:.2f} times ({ratio.low:.2f} to {ratio.high:.2f})" if ratio else ""
    before, now = (_quantity(measure.name, value) for value in (measure.base, measure.new))
    name = "time" if measure.name == "seconds" else measure.name
    return f"{name} per case: {before} before, {now} now{times}, over {pluralize(measure.cases, 'case')}"


def _quantity(name: str, value: float) -> str:
    """A mean in the unit that people read it in."""
    if name == "cost":
        return dollars(value)
    if name == "seconds":
        return f"{value:.3g} s" if value >= 1 else f"{value * 1000:.3g} ms"
    return count(round(value)) if name == "tokens" else f"{value:.3g}"


def gate_lines(found: Comparison) -> Iterator[tuple[str, str]]:
    """Each gate's verdict, and what it says."""
    for gate in found.gates:
        decides = f"; would decide: {gate.decides}" if gate.decides else ""
        yield VERDICTS[gate.verdict], f"{gate.gate}: {gate.says}{decides}"


def heading(found: Comparison) -> str:
    """What one of several comparisons is about."""
    return f"{found.new.suite} against {found.new.target}"


def summarize(found: Sequence[Comparison]) -> str:
    """`3 runs compared; 1 failed: refunds.yaml against support`."""
    failed = [heading(one) for one in found if one.exit_code]
    return f"{pluralize(len(found), 'run')} compared; {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}"


def comparison_json(*found: Comparison) -> bytes:
    """Everything that was found; what is not finite is null. A list of several comparisons."""
    documents = [_document(one) for one in found]
    data = msgspec.json.encode(documents[0] if len(documents) == 1 else documents)
    return msgspec.json.format(data, indent=1) + b"\n"


def _document(found: Comparison) -> dict[str, object]:
    return {
        "headline": headline(found),
        "verdict": found.overall.sure or "not sure",
        "gated": bool(found.gates),
        "exit_code": int(found.exit_code),
        **{name: getattr(found, name) for name in found.__struct_fields__},
    }


def comparison_markdown(*found: Comparison) -> bytes:
    """The words, the gates, the cases that changed, the rates; of several comparisons, each under its suite."""
    lines: list[str] = [summarize(found), ""] if len(found) > 1 else []
    for one in found:
        lines += [f"## {markdown_cell(heading(one), MARKDOWN_LINE)}", ""] if len(found) > 1 else []
        lines += [*_markdown_lines(one), ""] if len(found) > 1 else _markdown_lines(one)
    return "".join(f"{line}\n" for line in lines).encode()


def _markdown_lines(found: Comparison) -> Iterator[str]:
    yield from (f"{markdown_cell(line, MARKDOWN_LINE)}\n" for line in preamble(found))
    yield f"**{headline(found)}**"
    if others := describe_uncompared(found):
        yield f"\n{others}"
    yield from _markdown_gates(found)
    if found.notes:
        yield ""
        yield from (f"- {markdown_cell(note, MARKDOWN_LINE)}" for note in found.notes)
    for change, title in SECTIONS:
        cases = [case for case in found.changes if case.change is change]
        if cases:
            yield from _markdown_cases(f"{title}: {found.count(change)}", cases, opened=change is Change.BROKE)
    yield from _markdown_rates(found)
    yield ""
    yield from (
        f"- {markdown_cell(side(name, run), MARKDOWN_LINE)}" for name, run in (("base", found.base), ("new", found.new))
    )


def _markdown_gates(found: Comparison) -> Iterator[str]:
    if found.gates:
        yield "\n| Gate | Verdict |\n|---|---|"
        yield from (f"| {markdown_cell(says, MARKDOWN_LINE)} | {verdict} |" for verdict, says in gate_lines(found))


def _markdown_cases(title: str, cases: list[CaseChange], *, opened: bool) -> Iterator[str]:
    yield f"\n<details{' open' * opened}><summary>{title}</summary>\n"
    yield "| Case | Before | Now | Expectations that flipped |\n|---|---|---|---|"
    for case in cases[:MARKDOWN_LISTED]:
        flips = "; ".join(
            f"{flip.check} {flip.before}, then {flip.after}" + (f": {flip.found}" if flip.found else "")
            for flip in case.flips
        )
        yield f"| {markdown_cell(case.id)} | {case.base} | {case.new} | {markdown_cell(flips, MARKDOWN_LINE)} |"
    if len(cases) > MARKDOWN_LISTED:
        yield f"\nand {len(cases) - MARKDOWN_LISTED} more"
    yield "\n</details>"


def _markdown_rates(found: Comparison) -> Iterator[str]:
    yield "\n| Cases | | Pass rate before | Now | Difference in points | p |\n|---|---|---|---|---|---|"
    for group in (found.overall, *found.groups[:MARKDOWN_LISTED]):
        change = group.difference
        rise = f"{points(change.value)} ({points(change.low)} to {points(change.high)})"
        sure = f", {group.sure}" if group.sure else ""
        cells = (
            markdown_cell(group.scope or "all"),
            describe_size(group),
            with_interval(group.base),
            with_interval(group.new),
            rise,
            p_value(group.p) + sure,
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield from (f"- {of_measure(measure)}" for measure in found.measures)


def comparison_html(found: Comparison) -> str:
    """Nothing that an agent said becomes markup."""
    return f'<section class="karat-comparison">{"".join(_html_parts(found))}</section>'


def comparison_page(*found: Comparison) -> bytes:
    """The fragment as a page that needs nothing else; the fragments of several under the names of their suites."""
    head = f'<meta charset="utf-8"><title>Karat: comparison</title><style>{STYLE}</style>'
    each = [f"<h1>{_html_text(heading(one))}</h1>{comparison_html(one)}" for one in found]
    first = f"<p>{_html_text(summarize(found))}</p>" if len(found) > 1 else ""
    body = f"<main>{first}{''.join(each)}</main>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'.encode()


def _html_text(value: str) -> str:
    return escape(terminal(value, HTML_LINE))


def _html_parts(found: Comparison) -> Iterator[str]:
    yield from (f"<p>{_html_text(line)}</p>" for line in preamble(found))
    yield f"<p><strong>{_html_text(headline(found))}</strong></p>"
    if others := describe_uncompared(found):
        yield f"<p>{_html_text(others)}</p>"
    gates = "".join(f"<li><strong>{verdict}</strong> {_html_text(says)}</li>" for verdict, says in gate_lines(found))
    yield f"<h2>Gates</h2><ul>{gates}</ul>" if gates else ""
    notes = "".join(f"<li>{_html_text(note)}</li>" for note in found.notes)
    yield f"<ul>{notes}</ul>" if notes else ""
    for change, title in SECTIONS:
        cases = [case for case in found.changes if case.change is change]
        if cases:
            yield f"<h2>{escape(title)}: {found.count(change)}</h2>{_html_cases(cases)}"
    lines = [rates(found.overall), *map(of_measure, found.measures)]
    lines += [f"{group.scope}: {of_group(group)}" for group in found.groups[:HTML_LISTED]]
    lines += [side("base", found.base), side("new", found.new)]
    yield "<h2>Figures</h2><ul>" + "".join(f"<li>{_html_text(line)}</li>" for line in lines) + "</ul>"


def _html_cases(cases: list[CaseChange]) -> str:
    rows = "".join(_html_case(case) for case in cases[:HTML_LISTED])
    more = f"<p>and {len(cases) - HTML_LISTED} more</p>" if len(cases) > HTML_LISTED else ""
    return f"<ul class=cases>{rows}</ul>{more}"


def _html_case(case: CaseChange) -> str:
    rate = " → ".join(_html_text(rate) for rate in (case.base, case.new) if rate)
    flips = "".join(
        f"<li>{_html_text(f'{flip.check} {flip.before}, then {flip.after}')}"
        f"{f'<br>{_html_text(flip.found)}' if flip.found else ''}</li>"
        for flip in case.flips
    )
    seen = (
        _html_seen(case.base_seen or RunExcerpt(), case.new_seen or RunExcerpt())
        if case.base_seen or case.new_seen
        else ""
    )
    return f"<li><b>{_html_text(case.id)}</b> {rate}{f'<ul>{flips}</ul>' if flips else ''}{seen}</li>"


def _html_seen(base: RunExcerpt, new: RunExcerpt) -> str:
    """What was said and called in both runs, word by word."""
    answer = difference(terminal(base.answer, HTML_LINE), terminal(new.answer, HTML_LINE))
    calls = difference(*(terminal(", ".join(side.calls) or "called nothing", HTML_LINE) for side in (base, new)))
    return f"<p class=diff>{answer}</p><p class=diff>{calls}</p>"
