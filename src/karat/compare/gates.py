"""What a change must hold to be let through, and whether it does: met, broken, or undecided."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct, field, structs

from karat.compare.builder import ComparisonBuilder, Scope, Source
from karat.compare.stats import Pairs, Runs, difference, fisher, marginals, pass_rate
from karat.errors import ConfigError
from karat.model.comparison import Bounds, Change, Comparison, GateVerdict, Weighed
from karat.plugins.project import Project
from karat.plugins.tables import dotted, line_of, read
from karat.text.wording import counted, did_you_mean

Decision: TypeAlias = Literal["met", "broken", "undecided"]
FACTORS = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100)
NAMED = 5
MOST = 1 << 20
CONFIDENCE = 0.95

RATIOS: Mapping[str, str] = {
    "max_seconds_ratio": "seconds",
    "max_tokens_ratio": "tokens",
    "max_cost_ratio": "cost",
}


def of_rate(pairs: Pairs, confidence: float) -> Bounds:
    return Bounds(*pass_rate(marginals(pairs)[1], confidence))


def of_difference(pairs: Pairs, confidence: float) -> Bounds:
    return Bounds(*difference(pairs, confidence))


def enough_cases(rate: float, confidence: float) -> int:
    """The fewest cases that prove a rate if all of them pass."""
    low, high = 0, 1
    while high < MOST and pass_rate({(1, 1): high}, confidence).low < rate:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if pass_rate({(1, 1): middle}, confidence).low < rate else (low, middle)
    return high


def what_would_decide(scope: Scope, decided: Callable[[Pairs], Decision]) -> str:
    """The least that would, if all goes on as it went; `decided` judges made-up counts as the gate would."""
    if decided(scope.pairs) != "undecided":
        return ""
    flaky = [pair for pair in scope.pairs if is_flaky(pair)]
    for factor in FACTORS if flaky else ():
        if decided(_repeated(scope.pairs, factor)) != "undecided":
            runs = max(runs for pair in flaky for _, runs in pair) * factor
            count = sum(scope.pairs[pair] for pair in flaky)
            return f"about {runs} repeats of {counted(count, 'flaky case')}: {named(scope.flaky)}"
    for factor in FACTORS:
        if decided({pair: count * factor for pair, count in scope.pairs.items()}) != "undecided":
            first = _single(scope) if scope.worse else ""
            return f"{first}about {scope.pairs.total() * factor} cases like these"
    return f"{_single(scope) if scope.worse else ''}no practical number: the rate is too close to the bound"


def repeats_of_flaky(scope: Scope, confidence: float) -> str:
    """How many repeats would show which of the flaky cases broke, at the same rates."""
    needed = [
        runs * next((factor for factor in FACTORS if fisher(*_scaled(pair, factor)) <= 1 - confidence), FACTORS[-1])
        for pair in scope.pairs
        if is_flaky(pair) and (runs := max(runs for _, runs in pair))
    ]
    count = scope.changes[Change.FLICKERS]
    runs = max(needed, default=0)
    return f"about {runs} repeats of {counted(count, 'flaky case')}: {named(scope.flaky)}"


def is_flaky(pair: tuple[Runs, Runs]) -> bool:
    return any(0 < passed < runs for passed, runs in pair)


def _scaled(pair: tuple[Runs, Runs], factor: int) -> tuple[Runs, Runs]:
    (b, b_runs), (n, n_runs) = pair
    return (b * factor, b_runs * factor), (n * factor, n_runs * factor)


def _single(scope: Scope) -> str:
    """Single runs do not show whether a case broke or is flaky: that is the first thing to find out."""
    if any(runs > 1 for pair in scope.pairs for _, runs in pair):
        return ""
    return f"repeat these 5 times to see whether they are flaky: {named(scope.worse)}; otherwise "


def _repeated(pairs: Pairs, factor: int) -> Pairs:
    """As if each case had been run so many times as often, and passed as often as it did."""
    return {_scaled(pair, factor): count for pair, count in pairs.items()}


def named(cases: Sequence[str]) -> str:
    """Some of the cases whose repeats would show most."""
    more = f" and {len(cases) - NAMED} more" if len(cases) > NAMED else ""
    return ", ".join(cases[:NAMED]) + more


class GateTable(Struct, forbid_unknown_fields=True, kw_only=True):
    """The gates of one scope, as a file or a command line gives them."""

    max_new_failures: int | None = None
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


def gates(project: Project, given: Mapping[str, float | None], confidence: float | None) -> Gates:
    """The gates of the configuration, those of the command line in place of the same ones there."""
    place, file = dotted(project.section, "gate"), Path(project.file)
    form = _read(project, place)
    wanted = confidence if confidence is not None else form.confidence
    sure = CONFIDENCE if wanted is None else wanted
    if not 0.5 <= sure < 1:
        where = line_of(file, place, "confidence") if project.file and confidence is None else "--confidence"
        raise ConfigError(f"a confidence of {sure:g} is none.", where=where, fix="Use 0.95, or another under 1.")
    found = {(gate.scope, gate.name): gate for gate in _of_file(form, file, place)}
    for name, bound in given.items():
        if name not in GateTable.__struct_fields__:
            fix = did_you_mean(name, GateTable.__struct_fields__)
            raise ConfigError(f"no gate is called {name!r}.", fix=fix, slug="unknown-gate")
        if bound is not None:
            found["", name] = Gate(name, bound, where=f"--{name.replace('_', '-')}")
    for gate in found.values():
        _check_provable(gate)
    return Gates(tuple(found.values()), sure)


def _read(project: Project, place: str) -> GateTables:
    asked = project.content.get("gate", {})
    return read(asked, GateTables, Path(project.file), place) if isinstance(asked, dict) else GateTables()


def _of_file(form: GateTables, file: Path, place: str) -> Iterator[Gate]:
    scopes: list[tuple[str, str, GateTable]] = [("", place, form)]
    scopes += [(f"tag {name}", dotted(place, "tags", name), table) for name, table in form.tags.items()]
    scopes += [
        (f"category {name}", dotted(place, "categories", name), table) for name, table in form.categories.items()
    ]
    for scope, at, table in scopes:
        for name in GateTable.__struct_fields__:
            if (bound := getattr(table, name)) is not None:
                yield Gate(name, bound, scope, line_of(file, at, name))


def _check_provable(gate: Gate) -> None:
    """A gate that no run can meet, or that every run meets, whatever the cases are."""
    name, bound = gate.name, gate.bound
    if name == "min_pass_rate":
        never_met, never_fails, fix = (
            bound >= 1,
            bound <= 0,
            "No number of runs proves 1: use 0.95, or max_new_failures = 0.",
        )
    elif name == "non_inferior":
        never_met, never_fails, fix = bound < 0, bound >= 1, "It is a share: 0.03 lets a run be worse by 3 points."
    elif name == "max_new_failures":
        never_met, never_fails, fix = bound < 0, False, "Use 0 to let no case break."
    else:
        never_met, never_fails, fix = bound <= 0, math.isinf(bound), "1.2 lets a run take a fifth more."
    if never_met or never_fails or math.isnan(bound):
        how = "never fail" if never_fails else "never be met"
        raise ConfigError(f"the gate {gate} can {how}.", where=gate.where, fix=fix, slug="hopeless-gate")


def compare(base: Source, new: Source, wanted: Gates) -> Comparison:
    """Compare two runs, and hold what was found against the gates."""
    builder = ComparisonBuilder(base, new, wanted.confidence)
    found = builder.comparison()
    return structs.replace(found, gates=tuple(_verdicts(wanted, builder, found.new.incomplete)))


def _verdicts(wanted: Gates, builder: ComparisonBuilder, incomplete: str) -> Iterator[GateVerdict]:
    """What each gate says. None is met over cases with errors, or by a run that is not complete."""
    for gate in wanted.gates:
        scope = _scope(gate, builder)
        found = _verdict(gate, scope, builder.confidence)
        erred = builder.erred[gate.scope]
        if found.verdict == "met" and (erred or incomplete):
            what = (
                f"{counted(erred, 'case')} ended in an error and could not be compared"
                if erred
                else f"the run is not complete: {incomplete}"
            )
            decides = "run the cases with errors again: karat rerun" if erred else "finish the run: karat resume"
            found = GateVerdict(gate=str(gate), verdict="undecided", says=f"{found.says}; but {what}", decides=decides)
        yield found


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


def _verdict(gate: Gate, scope: Scope, confidence: float) -> GateVerdict:
    if gate.name == "max_new_failures":
        return _new_failures(gate, scope, confidence)
    if gate.name in RATIOS:
        return _ratio(gate, scope, confidence)
    weighed = scope.weighed(gate.scope, confidence)
    return _pass_rate(gate, scope, weighed) if gate.name == "min_pass_rate" else _non_inferior(gate, scope, weighed)


def _new_failures(gate: Gate, scope: Scope, confidence: float) -> GateVerdict:
    """Cases that broke count; flaky ones may count or not."""
    cases, broke, doubtful = scope.pairs.total(), scope.changes[Change.BROKE], scope.changes[Change.FLICKERS]
    if gate.bound >= cases:
        fix = f"Allow fewer than the {counted(cases, 'case')} that are compared."
        raise ConfigError(f"the gate {gate} can never fail.", where=gate.where, fix=fix, slug="hopeless-gate")
    decision: Decision = "broken" if broke > gate.bound else "met" if broke + doubtful <= gate.bound else "undecided"
    says = f"{broke} of {cases} cases broke" + (f", {doubtful} flaky" if doubtful else "")
    return _gate_verdict(gate, decision, says, repeats_of_flaky(scope, confidence) if decision == "undecided" else "")


def _pass_rate(gate: Gate, scope: Scope, weighed: Weighed) -> GateVerdict:
    cases, confidence = weighed.cases, weighed.confidence
    needed = enough_cases(gate.bound, confidence)
    if cases < needed:
        best = of_rate({((1, 1), (1, 1)): cases}, confidence).low
        message = f"the gate {gate} can never be met with {counted(cases, 'case')}: all passed would prove {best:.2f}."
        raise ConfigError(message, where=gate.where, fix=f"Have {needed} cases, or ask for less.", slug="hopeless-gate")

    def decided(found: Bounds) -> Decision:
        return "met" if found.low >= gate.bound else "broken" if found.high < gate.bound else "undecided"

    says = f"the pass rate is {_percent(weighed.new)}"
    decides = what_would_decide(scope, lambda pairs: decided(of_rate(pairs, confidence)))
    return _gate_verdict(gate, decided(weighed.new), says, decides)


def _non_inferior(gate: Gate, scope: Scope, weighed: Weighed) -> GateVerdict:
    def decided(found: Bounds) -> Decision:
        return "met" if found.low >= -gate.bound else "broken" if found.high < -gate.bound else "undecided"

    found = weighed.difference
    says = (
        f"the pass rate changed by {found.value * 100:+.1f} points ({found.low * 100:+.1f} to {found.high * 100:+.1f})"
    )
    decides = what_would_decide(scope, lambda pairs: decided(of_difference(pairs, weighed.confidence)))
    return _gate_verdict(gate, decided(found), says, decides)


def _ratio(gate: Gate, scope: Scope, confidence: float) -> GateVerdict:
    name = RATIOS[gate.name]
    known = scope.ratios.get(name)
    measure = known.measure(confidence) if known else None
    if measure is None or measure.ratio is None:
        return _gate_verdict(gate, "undecided", f"no case has {name} in both runs", f"a target that reports its {name}")
    ratio = measure.ratio
    decision: Decision = "met" if ratio.high <= gate.bound else "broken" if ratio.low > gate.bound else "undecided"
    says = f"{name} are {ratio.value:.2f} times the base ({ratio.low:.2f} to {ratio.high:.2f})"
    return _gate_verdict(
        gate,
        decision,
        says,
        f"more repeats of the {counted(measure.cases, 'case')}: about {_times(ratio, gate.bound)} times as many",
    )


def _times(ratio: Bounds, bound: float) -> int:
    """How many times the runs would bring the interval to this side of the bound; its width shrinks with their root."""
    if not ratio.low > 0 or ratio.value == bound:
        return 100
    return max(2, min(100, math.ceil((math.log(ratio.high / ratio.value) / abs(math.log(bound / ratio.value))) ** 2)))


def _gate_verdict(gate: Gate, verdict: Decision, says: str, decides: str) -> GateVerdict:
    return GateVerdict(gate=str(gate), verdict=verdict, says=says, decides=decides if verdict == "undecided" else "")


def _percent(bounds: Bounds) -> str:
    return f"{bounds.value:.1%} ({bounds.low:.1%} to {bounds.high:.1%})"
