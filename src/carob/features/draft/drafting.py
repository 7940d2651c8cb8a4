"""From traces to a draft: read once to learn, once more to judge what was learned, then audited and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from carob.checks.base import excerpt
from carob.checks.catalog import CheckCatalog
from carob.errors import UsageError
from carob.features.draft import proving
from carob.features.draft.cases import draft_case
from carob.features.draft.draft import DraftOptions, DraftSummary, SuiteDraft
from carob.features.draft.expectations import RUNS, AllKinds, Noted, most_of_all
from carob.features.draft.trace_groups import APART, Findings, SourceTrace, TraceGroup, TraceGroups
from carob.features.draft.writing import comment, head, lines, plain_value, tail
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.redaction.personal_data import Masker
from carob.text.tool_effects import known_effects
from carob.text.tool_names import effect_tools, is_any_named
from carob.text.wording import pluralize

NO_TRACES = "there is no trace to draft from."
FIX = "Name journals, recordings or span exports with runs of the agent."
OF_ALL = (
    "only_effects", "grounded_numbers", "no_false_success", "valid_arguments", "ended", "max_seconds",
    "max_first_token_seconds", "max_steps", "max_tokens", "max_cost_usd", "max_words", "max_tool_calls",
    "min_words",
)  # fmt: skip
"""What is written once for all cases, if all have it."""
BUDGETS = frozenset(("max_seconds", "max_first_token_seconds", "max_steps", "max_tokens", "max_cost_usd"))
"""What a run may cost: such a line is for all cases or for none."""
KINDS = {"grounded_numbers": "number", "no_false_success": "claim"}


def draft_from_traces(
    traces: Iterable[Trace | SourceTrace], catalog: CheckCatalog, options: DraftOptions | None = None
) -> SuiteDraft:
    """Draft a suite. The traces are read twice, one after the other, so that they need not fit into memory.

    Raises UsageError if there is nothing to draft from.
    """
    return _Drafting(catalog, options or DraftOptions()).draft(traces)


class _DraftedGroup(NamedTuple):
    """One case while it is drafted."""

    group: TraceGroup
    case: proving.DraftCase
    examples: list[Trace]
    tally: proving.LineTally


class _Drafting:
    """One draft in the making."""

    def __init__(self, catalog: CheckCatalog, options: DraftOptions) -> None:
        self._catalog = catalog
        self._options = options
        self._findings = Findings()
        self._kinds = TraceGroups(options, self._findings)
        self._rates = proving.Rates()
        self._masker = Masker(options.keep_personal_data)
        self._top: dict[str, Any] = {}
        self._held_out = [0, 0]

    def draft(self, traces: Iterable[Trace | SourceTrace]) -> SuiteDraft:
        self._kinds.read(_as_source_trace(trace) for trace in traces)
        groups = self._require(self._kinds.groups())
        drafted = self._learn(groups)
        self._judge(drafted, traces)
        for member in drafted:
            self._settle(member)
            member.case.fill()
        self._audit(drafted)
        return self._write(drafted)

    def _require(self, groups: list[TraceGroup]) -> list[TraceGroup]:
        if groups:
            return groups
        if not self._kinds.count:
            raise UsageError(NO_TRACES, fix=FIX, slug="no-traces")
        first = next(iter(self._findings.all()), None)
        message = f"none of the {pluralize(self._kinds.count, 'trace')} can be a contract: all failed or are rare."
        raise UsageError(message, fix=f"The first: {first.text if first else 'unknown'}.", slug="no-traces")

    def _learn(self, groups: list[TraceGroup]) -> list[_DraftedGroup]:
        declared = self._options.effects
        effects = known_effects(self._kinds.tools, declared)
        changing = {tool for tool in self._kinds.tools if is_any_named(effect_tools(effects), tool)}
        if effects and effects != declared:
            self._top["effects"] = {tool: [*words] for tool, words in effects.items()}
        around = AllKinds(effects, most_of_all([group.learned for group in groups]), frozenset(changing))
        used_names: set[str] = set()
        drafted = []
        for group in groups:
            case, examples = draft_case(group, around, used_names, self._masker)
            drafted.append(_DraftedGroup(group, case, examples, self._tally(case)))
        return drafted

    def _tally(self, case: proving.DraftCase) -> proving.LineTally:
        (read,) = proving.read_cases(self._top, [case.plain_tree(variables=False)], self._catalog)
        return proving.LineTally(read, self._catalog)

    def _judge(self, drafted: list[_DraftedGroup], traces: Iterable[Trace | SourceTrace]) -> None:
        """Judge every trace by the case of its group."""
        places = self._kinds.places
        for trace, number, is_held_out in zip(traces, places.groups, places.held_out, strict=True):
            if number == APART:
                continue
            passed = drafted[number].tally.judge(_as_source_trace(trace).trace)
            if is_held_out:
                self._held_out[0] += 1
                self._held_out[1] += passed

    def _settle(self, drafted: _DraftedGroup) -> None:
        """Write the support of each line; loosen those that too many traces do not hold."""
        tally, all_runs = drafted.tally, drafted.tally.judged
        for line, missed in tally.missed.items():
            why = tally.reasons[line]
            kind = KINDS.get(line.field, "differs")
            finding = f"{drafted.group.name or drafted.case.tree['id']}: {line.shown}: {excerpt(why.found)}"
            self._findings.add(kind, finding, count=missed)
        bad = [line for line in tally.missed if not tally.is_marked(line)]
        _support(drafted.case, lambda line: "" if line in bad else _of_runs(all_runs - tally.missed[line], all_runs))
        are_all_kept = all(tally.missed[line] <= proving.SAMPLES for line in bad)
        samples = {id(trace): trace for line in bad for trace in tally.samples[line]}
        for _ in range(proving.ROUNDS if bad else 0):
            for line in sorted(bad, key=lambda line: line.path, reverse=True):
                drafted.case.loosen(line, tally.samples[line])
            tally = self._tally(drafted.case)
            for trace in samples.values():
                tally.judge(trace)
            bad = [*tally.missed]
            if not bad:
                break
        # Runs that missed no line before hold what asks for less too.
        others = all_runs - len(samples) if are_all_kept else 0
        again = "" if are_all_kept else " that were judged again"
        total = others + tally.judged
        _support(drafted.case, lambda line: _of_runs(others + tally.judged - tally.missed[line], total) + again)

    def _audit(self, drafted: list[_DraftedGroup]) -> None:
        """Drop what catches nothing of its own, and count what is noticed and what is not."""
        before: tuple[Case, Trace] | None = None
        proved = []
        for member in drafted:
            if (passing := self._passing(member)) is None:
                self._findings.add("unproved", f"{member.case.tree['id']}: none of its traces passes the whole case")
                continue
            proved.append((member, before, proving.audit_draft(*passing, before, self._catalog).useless))
            before = passing
        budgets = [{line.path for line in useless if line.path in BUDGETS} for _, _, useless in proved]
        needless = set.intersection(*budgets) if budgets else set()
        for member, another, useless in proved:
            for line in sorted(useless, key=lambda line: (line.turn or 0, _order(line)), reverse=True):
                if line.path not in BUDGETS or line.path in needless:
                    member.case.drop(line)
            if (passing := self._passing(member)) is not None:
                self._rates.add(proving.audit_draft(*passing, another, self._catalog).audit)

    def _passing(self, member: _DraftedGroup) -> tuple[Case, Trace] | None:
        """The case of a row with the trace that it is from, if that passes."""
        cases = proving.read_cases(self._top, [member.case.plain_tree()], self._catalog)
        for case, trace in zip(cases, member.examples, strict=False):
            tally = proving.LineTally(case, self._catalog)
            if tally.judge(trace):
                return case, trace
        return None

    def _write(self, drafted: list[_DraftedGroup]) -> SuiteDraft:
        masker = self._masker
        shared = _find_shared(drafted)
        cases = []
        for member in drafted:
            expected = {field: value for field, value in member.case.expected.items() if field not in shared}
            cases.append(masker.redact(_tree(member.case, expected)))
        top: dict[str, Any] = {"carob": 1, "draft": True, "name": self._options.name or "Draft"}
        if "effects" in self._top:
            top["effects"] = {
                tool: words if tool in self._options.effects else Noted(words, "guessed from its name")
                for tool, words in self._top["effects"].items()
            }
        if self._options.stubs:
            note = "the tool itself did not run for this draft"
            top["stubs"] = {tool: Noted(stub, note) for tool, stub in self._options.stubs.items()}
        if shared:
            top["defaults"] = {"expected": shared}
        findings = tuple(finding._replace(text=masker.text(finding.text)) for finding in self._findings.all())
        covered = sum(member.group.total for member in drafted)
        summary = DraftSummary(
            traces=self._kinds.count,
            cases=len(drafted),
            covered=covered,
            apart=self._kinds.count - covered,
            masked=masker.counts,
            held_out=self._held_out[0],
            held_out_passed=self._held_out[1],
            rate=self._rates.all.rate,
            rate_of_facts=self._rates.facts.rate,
            unseen=self._rates.describe_unseen(),
        )
        recording = b"".join(_encode_runs(member, masker) for member in drafted)
        body = [*lines(top), "cases:"]
        for case in cases:
            body += ["", *_case_lines(case)]
        text = "\n".join([*head(summary), *body, *tail(findings), ""])
        return SuiteDraft(text, findings, summary, recording)


def _encode_runs(member: _DraftedGroup, masker: Masker) -> bytes:
    """The traces that the rows of a case are from, as a recording that `replay:` reads, without personal data."""
    is_table = "each" in member.case.tree
    found = []
    for number, trace in enumerate(member.examples, 1):
        name = str(plain_value(member.case.tree["id"]))
        own = structs.replace(trace, case_id=name.replace("{row}", str(number)) if is_table else name, attachments={})
        found.append(
            msgspec.json.encode({"trace": masker.redact(msgspec.json.decode(msgspec.json.encode(own)))}) + b"\n"
        )
    return b"".join(found)


def _as_source_trace(trace: Trace | SourceTrace) -> SourceTrace:
    return trace if isinstance(trace, SourceTrace) else SourceTrace(trace)


def _order(line: proving.DraftLine) -> int:
    """The number of an entry in its list: later ones are taken out first, so that the others keep theirs."""
    digits = "".join(char for char in line.path.partition("[")[2] if char.isdigit())
    return int(digits or 0)


def _of_runs(holding: int, runs: int) -> str:
    return f"{holding} of {pluralize(runs, 'run')}"


def _support(case: proving.DraftCase, support: Callable[[proving.DraftLine], str]) -> None:
    """Put into every comment in how many runs its line held, where that is known."""
    trees = [(None, case.expected), *((number, of_turn) for number, (_, of_turn) in enumerate(case.turns, 1))]
    for turn, expected in trees:
        for field, value in expected.items():
            if isinstance(value, list):
                expected[field] = [
                    _with_runs(entry, support(proving.DraftLine(turn, f"{field}[{index}]")))
                    for index, entry in enumerate(value)
                ]
            else:
                expected[field] = _with_runs(value, support(proving.DraftLine(turn, field)))


def _with_runs(value: Any, runs: str) -> Any:
    if isinstance(value, Noted):
        return Noted(value.value, value.note.replace(RUNS, runs)) if runs else value
    if isinstance(value, dict):
        return {key: _with_runs(below, runs) for key, below in value.items()}
    return value


def _find_shared(drafted: list[_DraftedGroup]) -> dict[str, Any]:
    """What every case expects alike, written once with the support of all."""
    if len(drafted) < 2:
        return {}
    shared = {}
    runs = sum(member.tally.judged for member in drafted)
    for field in OF_ALL:
        values = [member.case.expected[field] for member in drafted if field in member.case.expected]
        if len(values) == len(drafted) and all(plain_value(value) == plain_value(values[0]) for value in values):
            note = values[0].note if field.startswith("max_") else f"{runs} runs"
            shared[field] = Noted(plain_value(values[0]), note)
    return shared


def _tree(case: proving.DraftCase, expected: dict[str, Any]) -> dict[str, Any]:
    tree = dict(case.tree)
    if case.turns:
        tree["turns"] = [
            {"prompt": prompt, **({"expected": of_turn} if of_turn else {})} for prompt, of_turn in case.turns
        ]
    return tree | ({"expected": expected} if expected else {})


def _case_lines(case: dict[str, Any]) -> list[str]:
    """A case, its support as a comment above it."""
    support = case.pop("x-support", "")
    prompt = case.get("prompt")
    if isinstance(prompt, Noted):
        support, case["prompt"] = prompt.note, prompt.value
    first, *others = lines(case, 4)
    return [comment(support, 2), f"  - {first.lstrip(' ')}", *others]
