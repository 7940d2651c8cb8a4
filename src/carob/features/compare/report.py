"""The rows of a comparison, which a terminal and the viewer draw too, and the comparison as JSON, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

import msgspec
from msgspec import structs

from carob.features.compare import model
from carob.reports.escaping import markdown_cell, terminal
from carob.reports.html.markup import side_by_side
from carob.text.wording import count, describe_move, dollars, pluralize, points

VERDICTS: Final = {"met": "met", "broken": "BROKEN", "undecided": "UNDECIDED"}
SECTIONS: Final = (
    (model.Change.BROKE, "Broke"),
    (model.Change.FELL, "Fell: passed before and fail now, in too few runs to exclude chance"),
    (model.Change.FIXED, "Fixed"),
    (model.Change.FLAKY, "Flaky: passed in some runs and not in others; the difference may be chance"),
    (model.Change.RED, "Stayed red"),
    (model.Change.ERRED, "Ended in an error in one of the runs, not compared"),
    (model.Change.PROMPT_CHANGED, "Prompt changed, not compared"),
    (model.Change.EXPECTATIONS_CHANGED, "Expectations changed, not compared"),
    (model.Change.ANOTHER_JUDGE, "Criteria decided by another judge, not comparable"),
    (model.Change.SKIPPED, "Skipped or known to fail, not compared"),
    (model.Change.NEW, "New, not in the base"),
    (model.Change.REMOVED, "Gone, only in the base"),
)
MARKDOWN_LISTED: Final = 50
MARKDOWN_LINE: Final = 400
HTML_LINE: Final = 500
NOT_GATED: Final = (
    "NO GATE: only a run that is significantly worse, or incomplete, fails."
    " Set one, such as --max-new-failures 0, or [gate] in carob.toml"
)
UNCOMPARED: Final = (
    (model.Change.FLAKY, "flaky"),
    (model.Change.RED, "stayed red"),
    (model.Change.ERRED, "ended in an error"),
    (model.Change.PROMPT_CHANGED, "ask otherwise now"),
    (model.Change.EXPECTATIONS_CHANGED, "expect otherwise now"),
    (model.Change.ANOTHER_JUDGE, "not comparable: another judge decided criteria"),
    (model.Change.SKIPPED, "were skipped or known to fail"),
    (model.Change.NEW, "are new"),
    (model.Change.REMOVED, "are gone"),
)


class ChangeSection(NamedTuple):
    """The cases of one change: how many there are, and those that are listed."""

    change: model.Change
    title: str
    total: int
    cases: list[model.CaseChange]


class ComparisonView(NamedTuple):
    """The rows of a comparison, whatever draws them: a terminal, Markdown, a page of a report or of the viewer."""

    preamble: list[str]
    """What is to be known before the results: what else differs between the runs, and that nothing was gated."""
    headline: str
    uncompared: str
    """What was not compared, in one line; empty if everything was."""
    gates: list[tuple[str, str]]
    """Each gate's verdict, and what it says."""
    notes: tuple[str, ...]
    sections: list[ChangeSection]
    figures: list[str]
    """The pass rates of all cases, then what they took."""
    groups: list[tuple[str, str]]
    """Each category and tag, and how it came out."""
    sides: tuple[str, str]


def view_comparison(comparison: model.Comparison) -> ComparisonView:
    """Everything that is shown of a comparison, in words."""
    preamble = [f"the runs differ in {'; '.join(comparison.differs)}"] if comparison.differs else []
    sections = [
        ChangeSection(change, title, comparison.count(change), cases)
        for change, title in SECTIONS
        if (cases := [case for case in comparison.changes if case.change is change])
    ]
    return ComparisonView(
        preamble=preamble if comparison.gates else [*preamble, NOT_GATED],
        headline=headline(comparison),
        uncompared=", ".join(f"{n} {words}" for change, words in UNCOMPARED if (n := comparison.count(change))),
        gates=[(VERDICTS[gate.verdict], _describe_gate(gate)) for gate in comparison.gates],
        notes=comparison.notes,
        sections=sections,
        figures=[_describe_rates(comparison.overall), *map(_describe_measure, comparison.measures)],
        groups=[(group.scope, _describe_group(group)) for group in comparison.groups],
        sides=(describe_side("base", comparison.base), describe_side("new", comparison.new)),
    )


def headline(comparison: model.Comparison) -> str:
    """`11 of 120 cases passed before and fail now: chance is excluded for 3, not for 8; 9 were fixed; ...`."""
    fixed = comparison.count(model.Change.FIXED)
    level = f"significant at {comparison.overall.confidence * 100:g} %"
    certainty = f"which is {'' if comparison.overall.sure else 'not '}{level}"
    falls = model.describe_falls(
        comparison.count(model.Change.BROKE), comparison.count(model.Change.FELL), comparison.compared
    )
    return f"{falls}; {fixed} {_were(fixed)} fixed; {_describe_change(comparison.overall)}, {certainty}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _describe_change(scope: model.ScopeComparison) -> str:
    """How the pass rate moved, with the interval of the true change."""
    change = scope.difference
    return f"the pass rate {describe_move(change.value, change.low, change.high)}"


def _describe_size(scope: model.ScopeComparison) -> str:
    """How much was compared: `120 cases in 12 clusters`."""
    cases = pluralize(scope.cases, "case")
    return cases if scope.clusters == scope.cases else f"{cases} in {pluralize(scope.clusters, 'cluster')}"


def describe_side(name: str, run: model.RunSide) -> str:
    """One of the runs in a line."""
    commit = f"commit {run.commit[:10]}{' with changes' if run.dirty else ''}" if run.commit else ""
    version = f"version {run.version}" if run.version else ""
    errors = f", {run.errors} ended in an error" if run.errors else ""
    judged = f"{pluralize(run.cases, 'case')}, {pluralize(run.runs, 'run')} judged{errors}"
    return f"{name}: " + ", ".join(filter(None, (run.path, run.started_at[:19], commit, version, run.figures, judged)))


def _describe_rates(scope: model.ScopeComparison) -> str:
    """Of the cases that were compared, which may be fewer than those of either run."""
    before, now = model.with_interval(scope.base), model.with_interval(scope.new)
    of = f"passed runs, by case, of the {_describe_size(scope)} compared"
    return f"{of}: {before} before, {now} now; {scope.test} p = {_p_value(scope.p)}"


def _p_value(p: float) -> str:
    return "under 0.0001" if p < 0.0001 else f"{p:.4f}".rstrip("0").rstrip(".")


def _describe_group(group: model.ScopeComparison) -> str:
    changed = f"{group.broke} broke, {group.fixed} fixed of {_describe_size(group)}"
    sure = f"; {group.sure}, significant" if group.sure else ""
    return f"{changed}; {_describe_change(group)}; p = {_p_value(group.p)} after Holm's correction{sure}"


def _describe_measure(measure: model.Measure) -> str:
    """`time per case: 1.2 s before, 1.5 s now, 1.25 times (1.10 to 1.42), over 120 cases`."""
    ratio = measure.ratio
    times = f", {ratio.value:.2f} times ({ratio.low:.2f} to {ratio.high:.2f})" if ratio else ""
    before, now = (quantity(measure.name, value) for value in (measure.base, measure.new))
    name = "time" if measure.name == "seconds" else measure.name
    return f"{name} per case: {before} before, {now} now{times}, over {pluralize(measure.cases, 'case')}"


def quantity(name: str, value: float) -> str:
    """A mean in the unit that people read it in."""
    if name == "cost":
        return dollars(value)
    if name == "seconds":
        return f"{value:.3g} s" if value >= 1 else f"{value * 1000:.3g} ms"
    return count(round(value)) if name == "tokens" else f"{value:.3g}"


def _describe_gate(gate: model.GateVerdict) -> str:
    decides = f"; would decide: {gate.decides}" if gate.decides else ""
    return f"{gate.gate}: {gate.says}{decides}"


def describe_flip(flip: model.Flip) -> str:
    return f"{flip.check} {flip.before}, then {flip.after}"


def heading(comparison: model.Comparison) -> str:
    """What one of several comparisons is about."""
    return f"{comparison.new.suite} against {comparison.new.target}"


def summarize(comparisons: Sequence[model.Comparison]) -> str:
    """`3 runs compared; 1 failed: refunds.yaml against support`."""
    failed = [heading(comparison) for comparison in comparisons if comparison.exit_code]
    names = f": {', '.join(failed)}" if failed else ""
    return f"{pluralize(len(comparisons), 'run')} compared; {len(failed)} failed{names}"


def comparison_json(*comparisons: model.Comparison) -> bytes:
    """Everything that was found; what is not finite is null. A list of several comparisons."""
    documents = [
        {
            "headline": headline(comparison),
            "verdict": comparison.overall.sure or "not sure",
            "gated": bool(comparison.gates),
            "exit_code": int(comparison.exit_code),
            **structs.asdict(comparison),
        }
        for comparison in comparisons
    ]
    data = msgspec.json.encode(documents[0] if len(documents) == 1 else documents)
    return msgspec.json.format(data, indent=1) + b"\n"


def comparison_markdown(*comparisons: model.Comparison) -> bytes:
    """The words, the gates, the cases that changed, the rates; of several comparisons, each under its suite."""
    if len(comparisons) == 1:
        lines = [*_markdown_lines(comparisons[0])]
    else:
        lines = [summarize(comparisons), ""]
        for comparison in comparisons:
            lines += [f"## {_markdown_text(heading(comparison))}", "", *_markdown_lines(comparison), ""]
    return "".join(f"{line}\n" for line in lines).encode()


def _markdown_text(value: str) -> str:
    return markdown_cell(value, MARKDOWN_LINE)


def _markdown_lines(comparison: model.Comparison) -> Iterator[str]:
    view = view_comparison(comparison)
    yield from (f"{_markdown_text(line)}\n" for line in view.preamble)
    yield f"**{view.headline}**"
    if view.uncompared:
        yield f"\n{view.uncompared}"
    if view.gates:
        yield "\n| Gate | Verdict |\n|---|---|"
        yield from (f"| {_markdown_text(says)} | {verdict} |" for verdict, says in view.gates)
    if view.notes:
        yield ""
        yield from (f"- {_markdown_text(note)}" for note in view.notes)
    for section in view.sections:
        yield from _markdown_section(section)
    yield "\n| Cases | | Pass rate before | Now | Difference in points | p |\n|---|---|---|---|---|---|"
    for group in (comparison.overall, *comparison.groups[:MARKDOWN_LISTED]):
        change = group.difference
        cells = (
            markdown_cell(group.scope or "all"),
            _describe_size(group),
            model.with_interval(group.base),
            model.with_interval(group.new),
            f"{points(change.value)} ({points(change.low)} to {points(change.high)})",
            _p_value(group.p) + (f", {group.sure}" if group.sure else ""),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield from (f"- {figure}" for figure in view.figures[1:])  # the table has the rates
    yield ""
    yield from (f"- {_markdown_text(side)}" for side in view.sides)


def _markdown_section(section: ChangeSection) -> Iterator[str]:
    opened = " open" if section.change is model.Change.BROKE else ""
    yield f"\n<details{opened}><summary>{section.title}: {section.total}</summary>\n"
    yield "| Case | Before | Now | Expectations that flipped |\n|---|---|---|---|"
    for case in section.cases[:MARKDOWN_LISTED]:
        flips = "; ".join(describe_flip(flip) + (f": {flip.found}" if flip.found else "") for flip in case.flips)
        yield f"| {markdown_cell(case.id)} | {case.base} | {case.new} | {_markdown_text(flips)} |"
    if len(section.cases) > MARKDOWN_LISTED:
        yield f"\nand {len(section.cases) - MARKDOWN_LISTED} more"
    yield "\n</details>"


def comparison_html(comparison: model.Comparison) -> str:
    """Nothing that an agent said becomes markup."""
    return _render("section", comparison)


def comparison_page(*comparisons: model.Comparison) -> bytes:
    """The fragment as a page that needs nothing else; the fragments of several under the names of their suites."""
    summary = summarize(comparisons) if len(comparisons) > 1 else ""
    from carob.reports.html.pages import assets, page_policy  # late, as below

    style = " ".join(assets().style.split("\n"))
    return f"{_render('page', comparisons, summary, style, page_policy(style))}\n".encode()


def _render(macro: str, *arguments: object) -> str:
    """A part of the template, in one line: no text in it has a line end of its own."""
    from carob.reports.html.pages import environment  # late: templates take time to load, and a terminal needs none

    templates = environment()
    functions = (_html_text, _html_sides, view_comparison, heading, describe_flip)
    templates.filters |= {function.__name__.lstrip("_"): function for function in functions}
    rendered = getattr(templates.get_template("comparison.html").module, macro)(*arguments)
    return "".join(rendered.split("\n"))


def _html_text(value: str) -> str:
    return escape(terminal(value, HTML_LINE))


def _html_sides(case: model.CaseChange) -> list[tuple[str, str]]:
    """What was said and called in both runs; where they are alike enough, with what the other lacks marked."""
    base, new = (excerpt or model.RunExcerpt() for excerpt in (case.base_excerpt, case.new_excerpt))
    answers = _mark_sides(terminal(base.answer, HTML_LINE), terminal(new.answer, HTML_LINE))
    calls = _mark_sides(*("\n".join(terminal(call, HTML_LINE) for call in side.calls) for side in (base, new)))
    return list(zip(answers, calls, strict=True))


def _mark_sides(before: str, now: str) -> tuple[str, str]:
    """In one line each, as the whole page is."""
    marked = side_by_side(before, now)
    return marked[0].replace("\n", "<br>"), marked[1].replace("\n", "<br>")
