"""Runs in memory for the reports: one with every status, every kind of evidence and hostile text, and a plain one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from carob.checks.catalog import CheckCatalog
from carob.model.check import CheckSpec
from carob.model.cost import TokenPrices
from carob.model.run import CaseRecord, Header, Summary
from carob.model.suite import Case
from carob.model.trace import Message, ToolCall, Trace, TraceError
from carob.model.verdict import CaseStatus, CheckResult, EvidenceLocation, Group, GroupScore, SoftScore, Status, Verdict
from carob.scoring.intervals import pass_rate, single_clusters
from catalogs import CATALOG

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07 | a | b |\n\n# head `code` <script>alert(1)</script> [x](javascript:alert(1)) ![i](http://e.x/i)"
    " **b** _i_ ~~s~~ \ud800 \x00 \u202egnp.exe\u202c z\u200bw \x9b31m https://evil.example www.evil.example"
    " a@evil.example @everyone #1 &lt; \\| $x$ 宽字符 🙂\r\n- item\n> quote\n===\n"
)
HEADER = Header(
    run_id="r1",
    suite="evals/minimum_set.json",
    suite_format="eval-set",
    suite_sha256="0" * 64,
    target="replay:traces.jsonl",
    started_at="2026-11-15T18:30:11Z",
    total=6,
)
NO_SCORE = SoftScore(None, None, None)
HUGE = "lorem " * ((1 << 20) // 6)


@dataclass(frozen=True)
class MemoryRun:
    """A `RunView` over a list."""

    cases: tuple[CaseRecord, ...]
    summary: Summary
    header: Header = HEADER
    finished_at: str = "2026-11-15T18:30:14.400000Z"
    path: str = "minimum_set-20261115T183011Z.jsonl"
    file: str = "minimum_set-20261115T183011Z.jsonl"
    catalog: CheckCatalog = CATALOG
    prices: TokenPrices | None = None

    def __len__(self) -> int:
        return len(self.cases)

    def records(self, first: int = 0, count: int | None = None) -> Iterator[CaseRecord]:
        return iter(self.cases[first : None if count is None else first + count])


@dataclass
class Kept:
    """A sink that keeps what it is given."""

    chunks: list[bytes] = field(default_factory=list)

    def write(self, data: bytes, /) -> None:
        self.chunks.append(data)

    @property
    def data(self) -> bytes:
        return b"".join(self.chunks)


def summary_of(**counts: Any) -> Summary:
    """A summary with the rate and the repeats that follow from its counts."""
    summary = Summary(**{"fewest": counts.get("repeat", 0), "most": counts.get("repeat", 0)} | counts)
    rate = pass_rate(single_clusters(+Counter({(1, 1): summary.passed, (0, 1): summary.judged - summary.passed})))
    return msgspec.structs.replace(summary, clusters=summary.judged, rate_low=rate.low, rate_high=rate.high)


Row = tuple[CheckSpec, CheckResult]


def check(
    path: str,
    group: Group,
    status: Status,
    *,
    args: dict[str, Any] | None = None,
    expected: str = "something",
    found: str = "",
    at: EvidenceLocation | None = None,
) -> Row:
    """A check as the suite asks for it, and how it was judged; `path` such as `must_not_say[1]`."""
    name = path.partition("[")[0]
    spec = CheckSpec(name, msgspec.Raw(msgspec.json.encode(args or {})), path)
    return spec, CheckResult(name, group, status, expected, found, at)


def record(
    case_id: str,
    status: CaseStatus,
    rows: Iterable[Row] = (),
    *,
    index: int = 0,
    category: str = "github",
    reason: str = "",
    trace: Trace | None = None,
    hard: tuple[Group, ...] = (),
    soft: SoftScore = NO_SCORE,
    repeat: int = 0,
) -> CaseRecord:
    rows = tuple(rows)
    results = tuple(result for _, result in rows)
    groups = {
        group: GroupScore(
            sum(r.status is Status.PASSED for r in results if r.group is group), sum(r.group is group for r in results)
        )
        for group in dict.fromkeys(r.group for r in results)
    }
    return CaseRecord(
        index=index,
        repeat=repeat,
        case=Case(
            id=case_id,
            prompt="What happened?",
            category=category,
            outcome="response_only",
            checks=tuple(spec for spec, _ in rows),
        ),
        trace=trace or Trace(case_id=case_id, final_message="12 commits."),
        verdict=Verdict(status, results, groups, soft, hard, reason),
        duration_ms=420.0,
    )


def _passing() -> CaseRecord:
    row = check(
        "must_say_any",
        Group.FORMATTING,
        Status.PASSED,
        expected="'commits'",
        found="commits",
        at=EvidenceLocation("final_message", 3, 10),
    )
    source = check("required_sources[0]", Group.SYNTHESIS_COVERAGE, Status.PASSED, args={"source": "GitHub"})
    trace = Trace(case_id="G1", final_message="12 commits.", tool_calls=(ToolCall("get_activity", success=True),))
    return record("G1", CaseStatus.PASS, (row, source), trace=trace, soft=SoftScore(1.0, 0.8, True))


def _failing() -> CaseRecord:
    """Evidence of each kind: spans of three texts, entries of three lists, a place without a span, and none."""
    trace = Trace(
        case_id="G2_all",
        final_message="Hello. As an AI model I cannot say more about this, " + "and so on " * 30,
        messages=(Message("user", "hi"), Message("assistant", "let me look")),
        tool_calls=(ToolCall("lookup", success=True), ToolCall("delete_all", error="refused")),
        telemetry=('{"source":"tool.lookup","event":"start"}', "plain line"),
        page="- heading 'My Activity'\n- list",
        page_before="- heading 'Loading'",
    )
    hygiene, brief = Group.TOOL_HYGIENE, Group.MORNING_BRIEF_CONTRACT
    failed, unknown = Status.FAILED, Status.UNKNOWN
    rows = (
        check(
            "must_not_say[0]",
            Group.FORMATTING,
            failed,
            expected="no 'As an AI'",
            found="As an AI",
            at=EvidenceLocation("final_message", 7, 15),
        ),
        check(
            "tool_calls_none[0]",
            hygiene,
            failed,
            expected="no call to 'delete_all'",
            found="delete_all (error)",
            at=EvidenceLocation("tool_calls", index=1),
        ),
        check(
            "telemetry[0]",
            hygiene,
            failed,
            expected="tool.lookup result",
            found="start",
            at=EvidenceLocation("telemetry", index=0),
        ),
        check("ui[0]", hygiene, failed, expected="a table", found="a list", at=EvidenceLocation("page", 26, 32)),
        check("ui[1]", hygiene, failed, expected="no heading", at=EvidenceLocation("page_before")),
        check("x_message", hygiene, failed, expected="an offer", at=EvidenceLocation("messages", index=1)),
        check(
            "x_nowhere",
            hygiene,
            unknown,
            expected="a row",
            found="not observed",
            at=EvidenceLocation("database", index=4),
        ),
        check("required_sources[0]", Group.SYNTHESIS_COVERAGE, failed, args={"source": "Slack", "phrases": ["Slack"]}),
        check("required_sources[1]", Group.SYNTHESIS_COVERAGE, Status.PASSED, args={"source": "GitHub"}),
        check("required_sources[2]", Group.SYNTHESIS_COVERAGE, unknown, args={"source": "Jira"}),
        check("must_ground_numbers[0]", Group.NUMERIC_GROUNDING, failed, args={"label": "risk", "regex": "[0-9]+"}),
        check("must_ground_numbers[1]", Group.NUMERIC_GROUNDING, failed, args={"value": "12", "context_any": ["PR"]}),
        check("must_ground_numbers[2]", Group.NUMERIC_GROUNDING, unknown, args={"regex": "RISK: [0-9]+"}),
        check("must_allow_override_actions[0]", brief, failed, expected="'Snooze'"),
        check("must_allow_override_actions[1]", brief, failed, expected="'Lower priority'"),
        check("required_levers", brief, Status.PASSED, expected="2 levers"),
    )
    return record(
        "G2_all",
        CaseStatus.FAIL,
        rows,
        index=1,
        reason="hard-fail group tool_hygiene, formatting",
        trace=trace,
        hard=(Group.TOOL_HYGIENE, Group.FORMATTING),
        soft=SoftScore(0.3125, 0.8, False),
    )


def _hostile() -> CaseRecord:
    end = len(HOSTILE)
    rows = (
        check(
            f"must_not_say[0]{HOSTILE}",
            Group.FORMATTING,
            Status.FAILED,
            expected=HOSTILE,
            found=HOSTILE,
            at=EvidenceLocation("final_message", 20, 60),
        ),
        check("required_sources[0]", Group.SYNTHESIS_COVERAGE, Status.FAILED, args={"source": "\x1b[2J|<b>@all"}),
        check(
            "must_match_regex[0]",
            Group.FORMATTING,
            Status.UNKNOWN,
            expected=HOSTILE,
            at=EvidenceLocation("final_message", end - 9, end),
        ),
    )
    trace = Trace(case_id=HOSTILE, final_message=HOSTILE, tool_calls=(ToolCall("\x1b[31mdrop|table"),))
    return record(HOSTILE, CaseStatus.PARTIAL, rows, index=2, category="|\x1b[1m", reason=HOSTILE, trace=trace)


def _huge() -> CaseRecord:
    middle = len(HUGE) // 2
    row = check(
        "must_not_match_regex[0]",
        Group.FORMATTING,
        Status.FAILED,
        expected=HUGE,
        found=HUGE,
        at=EvidenceLocation("final_message", 5, 5 + middle),
    )
    return record(
        "huge", CaseStatus.FAIL, (row,), index=3, reason=HUGE, trace=Trace(case_id="huge", final_message=HUGE)
    )


def _broken() -> tuple[CaseRecord, CaseRecord]:
    crashed = Trace(case_id="E1", error=TraceError("crash", "the agent left with code 1", f"a long log\n{HOSTILE}"))
    asked = (check("required_sources[0]", Group.SYNTHESIS_COVERAGE, Status.PASSED, args={"source": "GitHub"}),)
    unjudged = record(
        "E1", CaseStatus.ERROR, asked, index=4, category="", reason="crash: the agent left with code 1", trace=crashed
    )
    unjudged = msgspec.structs.replace(
        unjudged, verdict=Verdict(CaseStatus.ERROR, reason="crash: the agent left with code 1")
    )
    row = check(
        "must_match_regex[0]",
        Group.FORMATTING,
        Status.ERROR,
        expected="a match of /(a+)+$/",
        found="TimeoutError: too slow",
    )
    return unjudged, record("宽-E2", CaseStatus.ERROR, (row,), index=5, reason="a check could not be carried out")


def every_status() -> MemoryRun:
    cases = (_passing(), _failing(), _hostile(), _huge(), *_broken())
    return MemoryRun(cases, summary_of(passed=1, failed=2, partial=1, error=2, total=6, avg_soft_score=0.65625))


def passing(count: int = 1) -> MemoryRun:
    cases = tuple(record(f"G{index}", CaseStatus.PASS, index=index) for index in range(count))
    return MemoryRun(cases, summary_of(passed=count, total=count))


def interrupted() -> MemoryRun:
    summary = summary_of(passed=1, total=1, incomplete="stopped by <b>Ctrl-C</b>\x1b[2J", interrupted=True)
    return MemoryRun((_passing(),), summary, finished_at="")


def tried_again(*errors: TraceError) -> MemoryRun:
    """One case that passed after these errors."""
    attempts = tuple(Trace(case_id="G1", error=error) for error in errors)
    return MemoryRun((msgspec.structs.replace(_passing(), attempts=attempts),), summary_of(passed=1, total=1))


def repeated() -> MemoryRun:
    """Three runs of each case: flaky, flaky but good enough, steady, and broken once after a first attempt."""
    no, yes = CaseStatus.FAIL, CaseStatus.PASS
    said = (check("must_say_any", Group.FORMATTING, Status.FAILED, expected="'commits'", found="12 PRs."),)
    cases = [
        record(
            case_id,
            status,
            said if status is no else (),
            index=index,
            repeat=turn,
            reason="a check failed" * (status is no),
        )
        for index, (case_id, statuses) in enumerate(
            (("G1", (no, yes, yes)), ("G2_ok", (yes, no, yes)), ("G3", (yes,) * 3))
        )
        for turn, status in enumerate(statuses)
    ]
    cases[3:6] = [
        msgspec.structs.replace(run, case=msgspec.structs.replace(run.case, min_pass_rate=0.6)) for run in cases[3:6]
    ]
    gone = TraceError("agent", "the agent's process ended: exit code 3")
    broke = record(
        "E1",
        CaseStatus.ERROR,
        index=3,
        repeat=1,
        reason=f"agent: {gone.message}",
        trace=Trace(case_id="E1", error=gone),
    )
    busy = Trace(case_id="E1", error=TraceError("agent", "429 <b>slow down</b>"))
    broke = msgspec.structs.replace(broke, attempts=(busy,))
    cases += [record("E1", yes, index=3), broke, record("E1", yes, index=3, repeat=2)]
    summary = summary_of(
        passed=2,
        failed=1,
        error=1,
        total=4,
        repeat=3,
        pass_all=0.25,
        pass_any=1.0,
        flaky=2,
        runs=12,
        avg_soft_score=0.9,
    )
    return MemoryRun(tuple(cases), summary, header=msgspec.structs.replace(HEADER, total=12, repeat=3))


def interrupted_repeats() -> MemoryRun:
    whole = repeated()
    summary = summary_of(
        passed=1,
        failed=1,
        total=2,
        repeat=3,
        pass_all=0.0,
        pass_any=1.0,
        flaky=1,
        runs=4,
        avg_soft_score=0.9,
        incomplete="interrupted",
        interrupted=True,
    )
    return MemoryRun(whole.cases[:4], summary, whole.header)
