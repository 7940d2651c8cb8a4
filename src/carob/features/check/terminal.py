"""A check in a terminal: how far it is, then figures of each rule, what changed, and examples."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import Final, TextIO

from carob.evidence.exports.files import Source
from carob.features.check.model import IN_TIME, CheckReport, RuleReport, UnknownCause
from carob.features.check.report import (
    NOT_TESTED,
    NOTHING_TESTED,
    about_lines,
    change_words,
    example_words,
    gate_words,
    headline,
    interval_words,
    rule_counts,
    share_words,
    unit_words,
)
from carob.reports.escaping import terminal
from carob.terminal.bar import span
from carob.terminal.screen import BOLD, DIM, GREEN, RED, YELLOW, paint, show, wrap
from carob.text.wording import join_words, pluralize

NAME: Final = 48
LINE: Final = 300
GROUPS: Final = 6
CAUSES: Final = 3
WIDEST: Final = 120
EVERY: Final = 0.2
BARS: Final = "▁▂▃▄▅▆▇█"
MOST_BARS: Final = 60
PEEK: Final = 1 << 20
_GATES: Final = {"met": ("met", GREEN), "broken": ("BROKEN", RED), "undecided": ("UNDECIDED", YELLOW)}


class Progress:
    """One line that is redrawn: how many, how fast, how long it will take where that can be seen."""

    def __init__(self, out: TextIO, sources: Sequence[Source]) -> None:
        self._out = out
        self._began = self._shown = time.monotonic()
        self._sizes = {str(path): path.stat().st_size for path in sources if isinstance(path, Path) and path.is_file()}
        self._total = sum(self._sizes.values())
        self._done: dict[str, float] = {}
        self._lines: dict[str, float] = {}

    def __call__(self, judged: int, source: str) -> None:
        now = time.monotonic()
        if now - self._shown < EVERY:
            return
        self._shown = now
        seconds = max(now - self._began, 1e-9)
        left = self._estimate_left(source, seconds)
        line = f"{judged:,} conversations, {judged / seconds:,.0f} a second{left}"
        self._out.write(f"\r\x1b[2K{line[: get_terminal_size().columns - 1]}")
        self._out.flush()

    def end(self) -> None:
        self._out.write("\r\x1b[2K")
        self._out.flush()

    def _estimate_left(self, source: str, seconds: float) -> str:
        """How long the rest will take, by the bytes of lines that were read."""
        path, _, line = source.rpartition(":")
        if path not in self._sizes or not line.isdecimal():
            return ""
        self._done[path] = min(int(line) * self._line_size(path), self._sizes[path])
        done = sum(self._done.values())
        return f", ~{span((self._total - done) / done * seconds)} left" if done else ""

    def _line_size(self, path: str) -> float:
        if path not in self._lines:
            with open(path, "rb") as file:
                beginning = file.read(PEEK)
            self._lines[path] = len(beginning) / max(beginning.count(b"\n"), 1)
        return self._lines[path]


def write_check(report: CheckReport, out: TextIO, *, colour: bool = False) -> None:
    """Write what was found, as wide as the terminal is."""
    columns = min(get_terminal_size().columns, WIDEST) if out.isatty() else sys.maxsize
    show(out, "".join(f"{wrap(line, columns)}\n" for line in _lines(report, colour)))


def _lines(report: CheckReport, colour: bool) -> Iterator[str]:
    style = RED if report.broken or report.unguarded else YELLOW if report.unknown else GREEN
    yield paint(headline(report), BOLD + style, colour)
    if not report.selected.read:
        return
    yield from (f"  {terminal(line, LINE)}" for line in about_lines(report))
    if not report.judged:
        return
    yield ""
    yield from _table(report, colour)
    for rule in report.rules:
        if rule.figures.broken or rule.changes:
            yield ""
            yield from _details(rule, report, colour)
    yield from _unknown_lines(report, colour)
    gates = [rule.gate for rule in report.rules if rule.gate is not None]
    if gates:
        yield ""
        for gate in gates:
            word, style = _GATES[gate.side]
            yield f"gate {paint(word, style, colour)}: {terminal(gate_words(gate, report), LINE)}"
    if not report.tested:
        yield ""
        yield NOTHING_TESTED


def _table(report: CheckReport, colour: bool) -> Iterator[str]:
    width = min(max([len(rule.id) for rule in report.rules] + [4]), NAME)
    yield paint(f"{'rule':<{width}}  {'judged':>9}  {'broken':>9}  {'unknown':>9}  share broken", DIM, colour)
    for rule in report.rules:
        name, figures = f"{terminal(rule.id, NAME):<{width}}", rule.figures
        if not figures.applied:
            yield f"{name}  {paint(NOT_TESTED, YELLOW, colour)}"
            continue
        broken = paint(f"{figures.broken:>9,}", RED if figures.broken else "", colour)
        unknown = paint(f"{figures.unknown:>9,}", YELLOW if figures.unknown else "", colour)
        yield f"{name}  {figures.judged:>9,}  {broken}  {unknown}  {interval_words(figures.share)}"
    yield paint(unit_words(report), DIM, colour)


def _details(rule: RuleReport, report: CheckReport, colour: bool) -> Iterator[str]:
    why = f"  {terminal(rule.why, LINE)}" if rule.why else ""
    yield f"{paint(terminal(rule.id, NAME), BOLD, colour)}{why}"
    for change in rule.changes:
        style = RED if change.difference.value > 0 else GREEN
        yield f"  {paint('changed', style, colour)}  {terminal(change_words(change, report), LINE)}"
    yield from _groups(rule, report)
    for title, examples in (("first", rule.first), ("worst", rule.worst)):
        for example in examples[:2]:
            times = f"{example.findings} times, " if example.findings > 1 else ""
            yield f"  {title}    {terminal(example_words(example), LINE)}"
            yield f"           {times}{terminal(example.why, LINE)}"


def _unknown_lines(report: CheckReport, colour: bool) -> Iterator[str]:
    """Why rules are unknown: each cause once, with the rules that lack what is missing."""
    causes: dict[str, list[tuple[str, UnknownCause]]] = {}
    for rule in report.rules:
        for cause in rule.causes:
            causes.setdefault(cause.cause, []).append((rule.id, cause))
    ordered = sorted(causes.values(), key=lambda entries: -sum(cause.conversations for _, cause in entries))
    for entries in ordered[:CAUSES]:
        names = join_words([f"{terminal(rule, NAME)} {cause.conversations:,}" for rule, cause in entries], "and")
        first = entries[0][1]
        yield ""
        yield f"{paint('unknown', YELLOW, colour)}  {terminal(first.cause, LINE)}"
        yield f"         {names}, such as {terminal(first.example, LINE)}"
    if len(ordered) > CAUSES:
        yield f"         and {pluralize(len(ordered) - CAUSES, 'more cause')}: -o FILE.html or FILE.json has all"


def _groups(rule: RuleReport, report: CheckReport) -> Iterator[str]:
    judged = [group for group in rule.groups if group.figures.share is not None]
    if not judged or not rule.figures.broken:
        return
    if report.by in IN_TIME:
        if len(judged) < 2:
            return
        shown = judged[-MOST_BARS:]
        shares = [group.figures.share.value for group in shown if group.figures.share]
        most = max(shares)
        bars = "".join(BARS[round(share / most * (len(BARS) - 1))] if most else BARS[0] for share in shares)
        yield f"  {f'by {report.by}':<9}{bars}  {shown[0].name} to {shown[-1].name}, at most {share_words(most)}"
        return
    for group in judged[:GROUPS]:
        yield f"  {terminal(group.name, NAME)}: {interval_words(group.figures.share)}, {rule_counts(group.figures)}"
    if len(judged) > GROUPS:
        yield f"  and {len(judged) - GROUPS} more groups"
