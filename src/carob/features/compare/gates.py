"""What a change must hold to be let through, and whether it does: met, broken, or undecided."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct, field

from carob.errors import ConfigError
from carob.features.compare.builder import ComparisonBuilder, Scope
from carob.features.compare.model import Bounds, Change, GateVerdict, describe_falls, with_interval
from carob.features.compare.stats import Pair, Pairs, chance_of_fall, difference, marginals
from carob.plugins.project import Project, join_dotted, line_of, read_settings
from carob.scoring.intervals import CONFIDENCE, Cluster, Runs, pass_rate, single_clusters
from carob.text.wording import describe_move, did_you_mean, pluralize

Decision: TypeAlias = Literal["met", "broken", "undecided"]
FACTORS = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100)
NAMED = 5
MOST = 1 << 20
CONFIRM = 5
POOL = 5
"""How often to run a case again, and how many runs to pool as a base: with five of each, a break shows."""

RATIOS: Mapping[str, str] = {
    "max_seconds_ratio": "seconds",
    "max_tokens_ratio": "tokens",
    "max_cost_ratio": "cost",
}


def of_rate(pairs: Pairs, confidence: float) -> Bounds:
    return Bounds(*pass_rate(marginals(pairs)[1], confidence))


def of_difference(pairs: Pairs, confidence: float) -> Bounds:
    return Bounds(*difference(pairs, confidence))


class Certainty(NamedTuple):
    """How sure a gate must be: to be met, and, with all gates of the command together, to be called broken."""

    met: float
    broken: float

    @classmethod
    def for_gates(cls, confidence: float, gates: int) -> Certainty:
        """A run passes only if every gate is met, so that only false alarms add up."""
        return cls(confidence, 1 - (1 - confidence) / max(gates, 1))

    def decide(self, estimate: Callable[[float], Bounds], bound: float, *, at_least: bool) -> Decision:
        """On which side of a bound the true figure is, or that this is not known."""
        sure, surer = estimate(self.met), estimate(self.broken)
        if at_least:
            return "met" if sure.low >= bound else "broken" if surer.high < bound else "undecided"
        return "met" if sure.high <= bound else "broken" if surer.low > bound else "undecided"


def enough_cases(rate: float, confidence: float) -> int:
    """The fewest cases of their own that prove a rate if all of them pass."""

    def proves(cases: int) -> bool:
        return pass_rate(single_clusters({(1, 1): cases}), confidence).low >= rate

    return 1 + bisect_left(range(1, MOST), True, key=proves)


def what_would_decide(scope: Scope, decide: Callable[[Pairs], Decision]) -> str:
    """The least that would, if all goes on as it went; `decide` judges made-up counts as the gate would."""
    pairs = scope.pairs
    if decide(pairs) != "undecided":
        return ""
    flaky = [pair for cluster in pairs for pair, _ in cluster if is_flaky(pair)]
    for factor in FACTORS if flaky else ():
        if decide(_repeat_pairs(pairs, factor)) != "undecided":
            runs = max(runs for pair in flaky for _, runs in pair) * factor
            return f"about {runs} repeats of {pluralize(len(flaky), 'flaky case')}: {list_some(scope.flaky)}"
    for factor in FACTORS:
        if decide({cluster: count * factor for cluster, count in pairs.items()}) != "undecided":
            more = "cases" if scope.clusters == scope.cases else f"cases in {scope.clusters * factor} clusters"
            return f"{_single(scope)}about {scope.cases * factor} {more} like these"
    return f"{_single(scope)}no practical number: the rate is too close to the bound"


def runs_of_fallen(scope: Scope, confidence: float) -> str:
    """How often to run the cases again that fell in too few runs, so that a break would show."""
    pairs = {pair for cluster in scope.pairs for pair, _ in cluster if pair[0][0] == pair[0][1] and not pair[1][0]}
    needed = [_runs_to_show(base, len(scope.fell), confidence) for base, _ in pairs]
    again = max([runs - 1 for runs in needed if runs] or [CONFIRM])
    base = "BASE" if all(needed) else f"@last-{POOL}"
    return f"carob run --baseline {base} --confirm {again}, which runs {list_some(scope.fell)} again"


def _runs_to_show(base: Runs, looks: int, confidence: float) -> int:
    """How many failed runs show that a case broke which passed in all of the base; 0 if too many for anybody."""
    enough = (runs for runs in range(2, 2 * CONFIRM + 2) if chance_of_fall(base, (0, runs)) * looks <= 1 - confidence)
    return next(enough, 0)


def is_flaky(pair: Pair) -> bool:
    return any(0 < passed < runs for passed, runs in pair)


def _single(scope: Scope) -> str:
    """Single runs do not show whether a case broke or is flaky: that is the first thing to find out."""
    if not scope.fell:
        return ""
    return f"repeat these 5 times to see whether they are flaky: {list_some(scope.fell)}; otherwise "


def _repeat_pairs(pairs: Pairs, factor: int) -> Pairs:
    """As if each case had been run so many times as often, and passed as often as it did."""
    return {
        tuple(
            (((b * factor, n * factor), (a * factor, m * factor)), cases) for ((b, n), (a, m)), cases in cluster
        ): count
        for cluster, count in pairs.items()
    }


def list_some(cases: Sequence[str]) -> str:
    """Some of the cases whose repeats would show most."""
    more = f" and {len(cases) - NAMED} more" if len(cases) > NAMED else ""
    return ", ".join(cases[:NAMED]) + more


class GateTable(Struct, forbid_unknown_fields=True, kw_only=True):
    """The gates of one scope, as a file or a command line gives them."""

    max_new_failures: int | None = None
    max_lost_cases: int | None = None
    min_pass_rate: float | None = None
    non_inferior: float | None = None
    max_seconds_ratio: float | None = None
    max_tokens_ratio: float | None = None
    max_cost_ratio: float | None = None


class GateTables(GateTable, forbid_unknown_fields=True, kw_only=True):
    """`[gate]`: what holds for all cases, and for those of a tag or a category."""

    confidence: float | None = None
    tags: dict[str, GateTable] = field(default_factory=dict)
    categories: dict[str, GateTable] = field(default_factory=dict)


class Gate(NamedTuple):
    """One bound on one scope, and where it was asked for."""

    name: str
    bound: float
    scope: str = ""
    where: str = ""

    def __str__(self) -> str:
        return f"{self.name} = {self.bound:g}" + (f" ({self.scope})" if self.scope else "")


class Gates(NamedTuple):
    """The gates that are to hold, and how sure they must be."""

    gates: tuple[Gate, ...]
    confidence: float = CONFIDENCE
    together: int = 1
    """How many runs one command compares: all of them give a false alarm no more often than a single one."""

    @property
    def verdicts(self) -> int:
        """How many verdicts the command gives; without a gate, each run may be called worse."""
        return max(len(self.gates), 1) * self.together

    @property
    def of_each_run(self) -> float:
        """How sure to be of what a single run came to."""
        return Certainty.for_gates(self.confidence, self.together).broken


def read_gates(project: Project, bounds: Mapping[str, float | None], confidence: float | None) -> Gates:
    """The gates of the configuration, those of the command line in place of the same ones there."""
    section, file = join_dotted(project.section, "gate"), Path(project.file)
    tables: GateTables = read_settings(project, "gate")
    chosen = confidence if confidence is not None else tables.confidence
    level = CONFIDENCE if chosen is None else chosen
    if not 0.5 <= level < 1:
        where = line_of(file, section, "confidence") if project.file and confidence is None else "--confidence"
        raise ConfigError(
            f"confidence must be at least 0.5 and under 1, not {level:g}.",
            where=where,
            fix="Use 0.95, or another under 1.",
        )
    gates = {(gate.scope, gate.name): gate for gate in _of_file(tables, file, section)}
    for name, bound in bounds.items():
        if name not in GateTable.__struct_fields__:
            fix = did_you_mean(name, GateTable.__struct_fields__)
            raise ConfigError(f"no gate is called {name!r}.", fix=fix, slug="unknown-gate")
        if bound is not None:
            gates["", name] = Gate(name, bound, where=f"--{name.replace('_', '-')}")
    for gate in gates.values():
        _check_provable(gate)
    return Gates(tuple(gates.values()), level)


def _of_file(tables: GateTables, file: Path, section: str) -> Iterator[Gate]:
    scopes: list[tuple[str, str, GateTable]] = [("", section, tables)]
    for scope, key, listed in (("tag", "tags", tables.tags), ("category", "categories", tables.categories)):
        scopes += [(f"{scope} {name}", join_dotted(section, key, name), table) for name, table in listed.items()]
    for scope, section_of_scope, table in scopes:
        for name in GateTable.__struct_fields__:
            if (bound := getattr(table, name)) is not None:
                yield Gate(name, bound, scope, line_of(file, section_of_scope, name))


def _check_provable(gate: Gate) -> None:
    """A gate that no run can meet, or that every run meets, whatever the cases are."""
    bound = gate.bound
    never_met, never_fails, fix = {
        "min_pass_rate": (bound >= 1, bound <= 0, "No number of runs proves 1: use 0.95, or max_new_failures = 0."),
        "non_inferior": (bound < 0, bound >= 1, "It is a share: 0.03 lets a run be worse by 3 points."),
        "max_new_failures": (bound < 0, False, "Use 0 to let no case break."),
        "max_lost_cases": (bound < 0, False, "Use 0 to let no case of the base go missing."),
    }.get(gate.name, (bound <= 0, math.isinf(bound), "1.2 lets a run take a fifth more."))
    if never_met or never_fails or math.isnan(bound):
        raise _hopeless(gate, "never fail" if never_fails else "never be met", fix)


def _hopeless(gate: Gate, how: str, fix: str) -> ConfigError:
    return ConfigError(f"the gate {gate} can {how}.", where=gate.where, fix=fix, slug="hopeless-gate")


def correction_note(gates: Gates) -> Iterator[str]:
    """That several gates were asked at once, and what that does to each."""
    if (number := gates.verdicts) > 1:
        level = Certainty.for_gates(gates.confidence, number).broken
        plural, worst = ("gates", "broken") if gates.gates else ("runs", "worse")
        yield (
            f"{number} {plural} of one command: each is called {worst} only at {level * 100:.4g} %, so that all of them"
            f" together give a false alarm at most {(1 - gates.confidence) * 100:.3g} % of the time"
        )


def gate_verdicts(gates: Gates, builder: ComparisonBuilder, incomplete: str) -> Iterator[GateVerdict]:
    """What each gate says. None is met over cases with errors, or by a run that is not complete."""
    certainty = Certainty.for_gates(gates.confidence, gates.verdicts)
    allows_lost = any(gate.name == "max_lost_cases" for gate in gates.gates)
    for gate in gates.gates:
        if gate.name == "max_lost_cases":
            yield _lost_cases(gate, builder.lost[gate.scope])
            continue
        verdict = _verdict(gate, _scope(gate, builder), certainty, builder)
        if verdict.verdict == "met" and (erred := builder.erred[gate.scope]):
            doubt = f"{pluralize(erred, 'case')} ended in an error and could not be compared"
            verdict = _doubt(gate, verdict, doubt, "run the cases with errors again: carob run --failed")
        elif verdict.verdict == "met" and incomplete:
            doubt = f"a run is not complete: {incomplete}"
            verdict = _doubt(gate, verdict, doubt, "a run that is whole: carob run --resume")
        elif verdict.verdict == "met" and (lost := builder.lost[gate.scope]) and not allows_lost:
            doubt = f"{pluralize(lost, 'case')} of the base {'are' if lost > 1 else 'is'} missing"
            verdict = _doubt(gate, verdict, doubt, f"all cases of the base, or max_lost_cases = {lost} under [gate]")
        yield verdict


def _doubt(gate: Gate, verdict: GateVerdict, doubt: str, decides: str) -> GateVerdict:
    return _gate_verdict(gate, "undecided", f"{verdict.says}; but {doubt}", decides)


def _scope(gate: Gate, builder: ComparisonBuilder) -> Scope:
    if not gate.scope:
        return builder.overall
    if gate.scope not in builder.scopes:
        fix = did_you_mean(gate.scope, builder.scopes) or "Name one that the suite has."
        raise ConfigError(
            f"the gate {gate} looks at no case: none that was compared has this {gate.scope.split()[0]}.",
            where=gate.where,
            fix=fix,
        )
    return builder.scopes[gate.scope]


def _verdict(gate: Gate, scope: Scope, certainty: Certainty, builder: ComparisonBuilder) -> GateVerdict:
    if gate.name == "max_new_failures":
        return _new_failures(gate, scope, builder.confidence, builder.added_failures[gate.scope])
    if gate.name in RATIOS:
        return _ratio(gate, scope, certainty)
    return _pass_rate(gate, scope, certainty) if gate.name == "min_pass_rate" else _non_inferior(gate, scope, certainty)


def _lost_cases(gate: Gate, lost: int) -> GateVerdict:
    says = f"{pluralize(lost, 'case')} of the base {'is' if lost == 1 else 'are'} missing"
    return _gate_verdict(gate, "met" if lost <= gate.bound else "broken", says, "")


def _new_failures(gate: Gate, scope: Scope, confidence: float, added: int) -> GateVerdict:
    """Cases that broke count, and those that fail and are new or changed; flaky ones do not.

    Those that fell in too few runs to tell may count or not.
    """
    cases, broke, doubtful = scope.cases, scope.changes[Change.BROKE], scope.changes[Change.FELL]
    if gate.bound >= cases:
        raise _hopeless(gate, "never fail", f"Allow fewer than the {pluralize(cases, 'case')} that are compared.")
    failing = broke + added
    decision: Decision = (
        "broken" if failing > gate.bound else "met" if failing + doubtful <= gate.bound else "undecided"
    )
    flaky = scope.changes[Change.FLAKY]
    says = describe_falls(broke, doubtful, cases)
    says += f"; {flaky} flaky, which chance explains" if flaky else ""
    says += f"; {pluralize(added, 'new or changed case')} {'fails' if added == 1 else 'fail'}" if added else ""
    return _gate_verdict(gate, decision, says, runs_of_fallen(scope, confidence) if decision == "undecided" else "")


def _pass_rate(gate: Gate, scope: Scope, certainty: Certainty) -> GateVerdict:
    best = pass_rate(_all_passed(scope.pairs), certainty.met)
    if best.low < gate.bound:
        clustered = scope.clusters < scope.cases
        number = pluralize(scope.cases, "case") + (f" in {pluralize(scope.clusters, 'cluster')}" if clustered else "")
        how = f"never be met with {number}: all passed would prove {best.low:.2f}"
        plural = "clusters" if clustered else "cases"
        raise _hopeless(gate, how, f"Have {enough_cases(gate.bound, certainty.met)} {plural}, or ask for less.")
    return _decide_rate(gate, gate.bound, scope, certainty, of_rate, lambda rate: f"is {with_interval(rate)}")


def _non_inferior(gate: Gate, scope: Scope, certainty: Certainty) -> GateVerdict:
    def describe(difference: Bounds) -> str:
        return describe_move(difference.value, difference.low, difference.high)

    return _decide_rate(gate, -gate.bound, scope, certainty, of_difference, describe)


def _decide_rate(
    gate: Gate,
    bound: float,
    scope: Scope,
    certainty: Certainty,
    estimate: Callable[[Pairs, float], Bounds],
    describe: Callable[[Bounds], str],
) -> GateVerdict:
    def decide(pairs: Pairs) -> Decision:
        return certainty.decide(lambda confidence: estimate(pairs, confidence), bound, at_least=True)

    says = f"the pass rate {describe(estimate(scope.pairs, certainty.met))}"
    return _gate_verdict(gate, decide(scope.pairs), says, what_would_decide(scope, decide))


def _all_passed(pairs: Pairs) -> Counter[Cluster[Runs]]:
    """The same clusters, as if every case had been run once and had passed."""
    passed: Counter[Cluster[Runs]] = Counter()
    for cluster, count in pairs.items():
        passed[(((1, 1), sum(cases for _, cases in cluster)),)] += count
    return passed


def _ratio(gate: Gate, scope: Scope, certainty: Certainty) -> GateVerdict:
    name = RATIOS[gate.name]
    measured = scope.ratios.get(name)
    measure = measured.measure(certainty.met) if measured else None
    if measured is None or measure is None or measure.ratio is None:
        return _gate_verdict(gate, "undecided", f"no case has {name} in both runs", f"a target that reports its {name}")

    def estimate(confidence: float) -> Bounds:
        return measured.measure(confidence).ratio or Bounds(1.0, 0.0, math.inf)

    ratio = measure.ratio
    decision = certainty.decide(estimate, gate.bound, at_least=False)
    says = f"{name} are {ratio.value:.2f} times the base ({ratio.low:.2f} to {ratio.high:.2f})"
    times = f"about {_times(ratio, gate.bound)} times as many"
    return _gate_verdict(gate, decision, says, f"more repeats of the {pluralize(measure.cases, 'case')}: {times}")


def _times(ratio: Bounds, bound: float) -> int:
    """How many times the runs would bring the interval to this side of the bound; its width shrinks with their root."""
    if not ratio.low > 0 or ratio.value == bound:
        return 100
    return max(2, min(100, math.ceil((math.log(ratio.high / ratio.value) / abs(math.log(bound / ratio.value))) ** 2)))


def _gate_verdict(gate: Gate, verdict: Decision, says: str, decides: str) -> GateVerdict:
    return GateVerdict(gate=str(gate), verdict=verdict, says=says, decides=decides if verdict == "undecided" else "")
