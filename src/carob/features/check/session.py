"""A check of recorded conversations, from its options to its report: which rules are broken, and since when."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, get_args

from msgspec import Struct, structs

from carob.errors import UsageError
from carob.evidence.exports.files import Source, expand_sources, find_passed_over
from carob.evidence.exports.reading import read_conversations
from carob.features.check import model
from carob.features.check.cluster import ClusterCheck
from carob.features.check.judging import judge_in_order
from carob.features.check.kept import USUAL_MOST, KeptConversations
from carob.features.check.report import check_csv, check_json
from carob.features.check.selection import parse_since
from carob.features.check.shards import Judged, ShardWork, split_sources
from carob.features.check.tally import OTHERS, ConversationTally, RuleCounts, RuleTally, join_counts
from carob.features.check.verdict_rows import VerdictRows
from carob.features.compare.stats import independent_difference
from carob.judging.judges import AnyPolicy, ConversationJudge, name_policy, read_judge
from carob.options import ExecutorName
from carob.plugins.project import Project
from carob.redaction.named import named_redactor
from carob.redaction.personal_data import Discretion
from carob.reports.artifacts import open_atomic
from carob.scoring.intervals import CONFIDENCE, pass_rate
from carob.text.wording import join_words, quoted

MOST_CHANGES = 3
"""So many groups that differ from the others are shown of a rule."""


def find_changes(
    groups: Sequence[tuple[str, RuleCounts]], by: model.GroupKey, rules: int, show: Callable[[str], str] = str
) -> tuple[model.RuleChange, ...]:
    """Where the share of a rule changed. With so many rules, chance finds a change in 1 of 20 checks.

    Over time, the place at which the shares before and after differ most; else the groups that differ from all others.
    """
    judged = [(name, cell) for name, cell in groups if cell.held + cell.broken and name not in (model.NOT_SAID, OTHERS)]
    if len(judged) < 2:
        return ()
    splits = _split_in_time(judged) if by in model.IN_TIME else _split_by_group(judged)
    looks = (len(judged) - 1 if by in model.IN_TIME else len(judged)) * max(rules, 1)
    changes = []
    for name, before, after in splits:
        difference = independent_difference(before.clusters(), after.clusters(), 1 - (1 - CONFIDENCE) / looks)
        if difference.low > 0 or difference.high < 0:
            changes.append(model.RuleChange(show(name), before.figures(), after.figures(), difference, looks))
    changes.sort(key=lambda change: -abs(change.difference.value))
    return tuple(changes[:MOST_CHANGES])


def _split_in_time(groups: Sequence[tuple[str, RuleCounts]]) -> Iterator[tuple[str, RuleCounts, RuleCounts]]:
    """All before and all since the day at which the two differ most, measured in standard errors."""
    ordered = sorted(groups, key=lambda group: group[0])
    broken, judged = sum(cell.broken for _, cell in ordered), sum(cell.held + cell.broken for _, cell in ordered)
    best, at = -1.0, 1
    old_broken = old_judged = 0
    for place, (_, cell) in enumerate(ordered[:-1], 1):
        old_broken += cell.broken
        old_judged += cell.held + cell.broken
        distance = _distance(old_broken, old_judged, broken - old_broken, judged - old_judged)
        if distance > best:
            best, at = distance, place
    yield (
        ordered[at][0],
        join_counts([cell for _, cell in ordered[:at]]),
        join_counts([cell for _, cell in ordered[at:]]),
    )


def _distance(broken: int, judged: int, other_broken: int, other_judged: int) -> float:
    share = (broken + other_broken) / (judged + other_judged)
    spread = math.sqrt(share * (1 - share) * (1 / judged + 1 / other_judged))
    return abs(broken / judged - other_broken / other_judged) / spread if spread else 0.0


def _split_by_group(groups: Sequence[tuple[str, RuleCounts]]) -> Iterator[tuple[str, RuleCounts, RuleCounts]]:
    """Each group against all others together; of many, those that differ most."""
    whole = join_counts([cell for _, cell in groups])
    judged = whole.held + whole.broken

    def difference(entry: tuple[str, RuleCounts]) -> float:
        cell = entry[1]
        n = cell.held + cell.broken
        return _distance(cell.broken, n, whole.broken - cell.broken, judged - n) if judged > n else 0.0

    for name, cell in sorted(groups, key=difference, reverse=True)[:MOST_CHANGES]:
        yield name, join_counts([other for other_name, other in groups if other_name != name]), cell


def judge_gate(rule: str, cell: RuleCounts, most: float, rules: int) -> model.ShareGate | None:
    """Whether at most this share of conversations breaks a rule, at 95 % for all rules together.

    What is unknown counts against the gate: it is met only if they could all be broken, and broken only if they could
    all have held. None for a rule that nothing triggered.
    """
    if not (cell.held or cell.broken or cell.unknown):
        return None
    confidence = 1 - (1 - CONFIDENCE) / max(rules, 1)
    high = pass_rate(cell.clusters(unknown_is=(1, 1)), confidence).high
    low = pass_rate(cell.clusters(unknown_is=(0, 1)), confidence).low
    side = "met" if high <= most else "broken" if low > most else "undecided"
    return model.ShareGate(rule, side, low, high)  # type: ignore[arg-type]


MOST_ROWS: Final = 400
"""So many groups are in a report; of more, those with the greatest share of broken conversations."""
STDIN: Final = "-"
JOURNAL: Final = ".jsonl"
PARQUET: Final = ".parquet"

OnProgress = Callable[[int, str], None]
"""Called with how many conversations were judged, and where the last one is from."""


class CheckOptions(Struct, frozen=True, kw_only=True):
    """What is checked and how, as `carob check` has it."""

    by: model.GroupKey | None = None
    since: str = ""
    where: str = ""
    sample: int | None = None
    max_broken: float | None = None
    allow_unknown: bool = False
    workers: int | None = None
    executor: ExecutorName = "processes"
    ray_address: str | None = None
    format: str = ""
    keep_personal_data: bool = False
    outputs: tuple[Path, ...] = ()
    """What is written, each in the format of its suffix."""
    keep: int = USUAL_MOST

    def outputs_in(self, suffix: str) -> list[Path]:
        return [path for path in self.outputs if path.suffix == suffix]


def check_conversations(
    sources: Sequence[Source],
    policies: Sequence[AnyPolicy],
    suite: AnyPolicy | None,
    options: CheckOptions,
    project: Project,
    on_progress: OnProgress | None = None,
) -> model.CheckReport:
    """Judge the conversations of these files. Nothing is in memory but figures, examples and a random sample."""
    _refuse(options)
    judge = read_judge(policies, suite, project)
    source = _JudgedSources(judge, options)
    paths = expand_sources(sources)
    passed_over = tuple(str(file) for path in paths for file in find_passed_over(path))
    began = time.monotonic()
    tally = ConversationTally(len(judge.names), options.by)
    discretion = Discretion(options.keep_personal_data, named_redactor())
    with ExitStack() as files:
        kept = [
            files.enter_context(KeptConversations(path, judge, options.keep, discretion))
            for path in options.outputs_in(JOURNAL)
        ]
        rows = [files.enter_context(VerdictRows(path, judge.names, discretion)) for path in options.outputs_in(PARQUET)]
        for conversation, outcomes in source.judge(paths):
            if tally.add(conversation, outcomes):
                for journal in kept:
                    journal.add(conversation)
            for table in rows:
                table.add(conversation, outcomes)
            if on_progress is not None and not tally.judged % 64:
                on_progress(tally.judged, conversation.source)
        policy_names = [name_policy(policy) for policy in [*policies, *([suite] if suite is not None else [])]]
        report = build_report(judge, tally, options, discretion)
        report = structs.replace(
            named_redactor().redact(report),
            sources=tuple(map(str, paths)),
            passed_over=passed_over,
            policies=tuple(policy_names or project.rules),
            selected=source.selected,
            seconds=round(time.monotonic() - began, 3),
        )
        for journal in kept:
            journal.write(report)
            report = structs.replace(report, kept=journal.describe())
    for path in options.outputs:
        if path.suffix in FORMATS:
            write_report(report, path)
    return report


class _JudgedSources:
    """Where conversations are judged; `selected` says how many were chosen once all are judged."""

    def __init__(self, judge: ConversationJudge, options: CheckOptions) -> None:
        self._options = options
        now = datetime.now(UTC)
        since = parse_since(options.since, now) if options.since else None
        keep = options.keep if options.outputs_in(JOURNAL) else 0
        self._work = ShardWork(judge, options.format, since, options.where, options.sample, keep)
        self._selector = self._work.selector()
        self.selected = self._selector.counts

    def judge(self, paths: Sequence[Source]) -> Iterator[Judged]:
        """Each conversation with the outcomes of the rules that something in it triggered."""
        options = self._options
        if options.executor == "ray":
            if any(str(path) == STDIN for path in paths):
                message = "a Ray cluster cannot read standard input."
                raise UsageError(message, fix="Name the file, or leave out --executor ray.", slug="bad-option")
            cluster = ClusterCheck(self._work, options.ray_address, options.workers)
            yield from cluster.judge(split_sources(paths, options.format))
            self.selected = cluster.selected
            return
        chosen = self._selector.select(read_conversations(paths, format=options.format))
        yield from judge_in_order(self._work.judge, chosen, options.workers or 1)
        self.selected = self._selector.counts


def _refuse(options: CheckOptions) -> None:
    if options.by is not None and options.by not in model.GROUP_KEYS:
        message = f"{options.by!r} is not a way to group conversations."
        raise UsageError(message, fix=f"Group them by {join_words(model.GROUP_KEYS)}.", slug="bad-option")
    if options.max_broken is not None and not 0 <= options.max_broken < 1:
        fix = "Give a share from 0 to under 1, such as 0.005, or 0.5% on the command line."
        raise UsageError(f"{options.max_broken} is not a share.", fix=fix, slug="bad-option")
    if options.executor not in get_args(ExecutorName):
        fix = f"Use {join_words(get_args(ExecutorName))}."
        raise UsageError(f"{options.executor!r} is not an executor.", fix=fix, slug="bad-option")
    written = [*FORMATS, JOURNAL, PARQUET]
    if f".{options.format}" in written:
        message = f"--format is the format of the sources, and {quoted(options.format)} is none."
        raise UsageError(message, fix=f"For a report, write -o report.{options.format}", slug="bad-option")
    for path in options.outputs:
        if path.suffix not in (*FORMATS, JOURNAL, PARQUET):
            known = join_words([*FORMATS, f"{PARQUET} (verdicts)", f"{JOURNAL} (a journal)"])
            fix = f"Give it one of {known}."
            raise UsageError("its name does not say a format.", where=str(path), fix=fix, slug="bad-option")


def build_report(
    judge: ConversationJudge, tally: ConversationTally, options: CheckOptions, discretion: Discretion
) -> model.CheckReport:
    """The figures of everything that was counted."""
    tested = sum(1 for rule in tally.rules if rule.total.held or rule.total.broken or rule.total.unknown)
    rules = [
        _report_rule(name, why, rule, tested, options, discretion)
        for name, why, rule in zip(judge.names, judge.reasons, tally.rules, strict=True)
    ]
    return model.CheckReport(
        sources=(),
        policies=(),
        formats=tuple(tally.formats),
        rules=tuple(rules),
        judged=tally.judged,
        clean=tally.clean,
        broken=tally.broken,
        unknown=tally.unknown,
        untriggered=tally.untriggered,
        by=options.by,
        unit="user" if tally.users else "conversation",
        users=tally.users,
        without_session=tally.without_session,
        unread=tally.unread,
        unread_at=tuple(map(discretion.text, tally.unread_at)),
        unguarded=tally.unguarded,
        first_unguarded=None if tally.first_unguarded is None else _mask_example(discretion, tally.first_unguarded),
        first_at=tally.first_at,
        last_at=tally.last_at,
        max_broken=options.max_broken,
        allow_unknown=options.allow_unknown,
        masked=not options.keep_personal_data,
    )


def _report_rule(
    name: str, why: str, rule: RuleTally, tested: int, options: CheckOptions, discretion: Discretion
) -> model.RuleReport:
    gate = None if options.max_broken is None else judge_gate(name, rule.total, options.max_broken, tested)
    groups = [*rule.groups.items()]
    return model.RuleReport(
        name,
        why,
        rule.total.figures(),
        tuple(
            model.GroupFigures(discretion.text(group), cell.figures())
            for group, cell in _order_groups(groups, options.by)
        ),
        find_changes(groups, options.by, tested, discretion.text) if options.by else (),
        tuple(
            model.UnknownCause(discretion.text(c.cause), c.conversations, discretion.text(c.example))
            for c in rule.causes
        ),
        tuple(_mask_example(discretion, each) for each in rule.examples.first),
        tuple(_mask_example(discretion, each) for each in rule.examples.worst),
        gate,
    )


def _mask_example(discretion: Discretion, example: model.ConversationExample) -> model.ConversationExample:
    return structs.replace(discretion.redact(example), source=example.source)


def _order_groups(
    groups: Iterable[tuple[str, RuleCounts]], by: model.GroupKey | None
) -> Iterator[tuple[str, RuleCounts]]:
    """Days and weeks in order, others by how many conversations broke the rule; what is not known is last."""

    def place(group: tuple[str, RuleCounts]) -> tuple[bool, int, str]:
        name, cell = group
        return name in (model.NOT_SAID, OTHERS), 0 if by in model.IN_TIME else -cell.broken, name

    ordered = sorted(groups, key=place)
    yield from ordered[:MOST_ROWS] if by not in model.IN_TIME else ordered[-MOST_ROWS:]


FORMATS: Final = (".html", ".json", ".csv")


def write_report(report: model.CheckReport, path: Path) -> None:
    """Write a report in the format of its suffix."""
    data = render_report(report, path)
    with open_atomic(path, replace=True, elsewhere="choose another file") as out:
        out.write(data)


def render_report(report: model.CheckReport, path: Path) -> bytes:
    if path.suffix == ".html":
        from carob.features.check.page import check_page  # late: templates take time to load

        return check_page(report)
    return check_csv(report) if path.suffix == ".csv" else check_json(report)
