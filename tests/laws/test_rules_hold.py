"""Laws 1 to 6 and 13 over every form of a rule: each conversation of the table of forms, changed as the law says."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from msgspec import structs

from carob.rules.contract import CompiledRule, Contract
from carob.rules.events import BY_ITSELF, ConversationEvent, RuleOutcome
from carob.rules.monitor import Monitor, judge_events
from laws.coverage import Coverage, require
from rules.lines import contract, events
from rules.test_forms import TABLE

BAD = (RuleOutcome.BROKEN, RuleOutcome.UNKNOWN)
ROWS = [(contract(rule), rule, events(*lines), lines) for rule, lines, _ in TABLE]
FORMS = ["before", "last", "last_user", "after", "forbids", "where", "at_most", "total", "same", "values_from", "needs"]


def judge(rules: Contract, made: list[ConversationEvent]) -> RuleOutcome:
    return judge_events(rules, made, BY_ITSELF)[0].outcome


def number(made: list[ConversationEvent]) -> list[ConversationEvent]:
    return [structs.replace(event, index=index) for index, event in enumerate(made)]


def names_every_tool(rule: object) -> bool:
    return '"*"' in repr(rule).replace("'", '"') or (isinstance(rule, dict) and rule["each"].get("call") == "*")


def test_law_1_a_further_rule_or_clause_never_makes_green(record_property: Callable[[str, object], None]) -> None:
    """Whatever else is asked: what is broken stays broken, and what is not known is not held."""
    coverage = Coverage(1, "rules: a further rule or clause never makes held", checks=FORMS)
    forms = {repr(rule): rules.rules[0] for rules, rule, _, _ in ROWS}
    for rules, rule, made, lines in ROWS:
        one, before = rules.rules[0], judge_events(rules, made)[0]
        for words, other in forms.items():
            both = Contract([one, structs.replace(other, id="another")])
            coverage.try_one(judge_events(both, made)[0] == before, f"{rule} beside {words}: {lines}")
            if other.each != one.each or other is one or {plan.name for plan in one.clauses} & _names(other):
                continue
            for clauses in (one.clauses + other.clauses, other.clauses + one.clauses):
                after = judge(Contract([structs.replace(one, clauses=clauses)]), made)
                is_kept = after is RuleOutcome.BROKEN if before.outcome is RuleOutcome.BROKEN else after in BAD
                coverage.try_one(before.outcome not in BAD or is_kept, f"{rule} with {words}: {lines}: {after}")
    require(coverage, record_property)


def _names(rule: CompiledRule) -> set[str]:
    """What conditions call the events of its clauses."""
    return {plan.name for plan in rule.clauses if plan.name}


def test_law_2_less_evidence_never_makes_green(record_property: Callable[[str, object], None]) -> None:
    """A result, or what the user said, is lost, and a gap says so."""
    coverage = Coverage(2, "rules: what is lost never makes held", checks=FORMS)
    for rules, rule, made, lines in ROWS:
        before = judge(rules, made)
        for place, event in enumerate(made):
            if event.kind not in ("result", "user") or event.is_setup:
                continue
            hides, tool = ("user", "") if event.kind == "user" else ("call", event.tool)
            gap = ConversationEvent(kind="gap", index=place, hides=hides, tool=tool, text="lost")
            after = judge(rules, [*made[:place], gap, *made[place + 1 :]])
            coverage.try_one(
                not (before in BAD and after is RuleOutcome.HELD), f"{rule}: {lines} without event {place}"
            )
    require(coverage, record_property)


def test_law_3_foreign_evidence_changes_nothing(record_property: Callable[[str, object], None]) -> None:
    """Calls of a tool that no rule names, anywhere."""
    coverage = Coverage(3, "rules: calls of other tools change nothing", checks=FORMS)
    for rules, rule, made, lines in ROWS:
        if names_every_tool(rule):
            continue
        before = judge(rules, made)
        for place in range(len(made) + 1):
            foreign = events("unrelated(id=A, t=7, user=u1, total=3, to=DE-1)")
            foreign = [structs.replace(event, call="foreign", message="foreign") for event in foreign]
            after = judge(rules, number([*made[:place], *foreign, *made[place:]]))
            # What the user says in two messages is one run of words, and a call between them ends it.
            is_between = 0 < place < len(made) and made[place - 1].kind == made[place].kind == "user"
            coverage.try_one(after is before or is_between, f"{rule}: {lines} at {place}: {before} is {after}")
    require(coverage, record_property)


def test_law_4_a_disguise_does_not_hide(record_property: Callable[[str, object], None]) -> None:
    """A call that breaks a rule breaks it, or is not known not to, by whatever spelling of its name."""
    coverage = Coverage(4, "rules: a disguised name is found", checks=FORMS)
    for rules, rule, made, lines in ROWS:
        if judge(rules, made) is not RuleOutcome.BROKEN:
            continue
        for disguise in (str.upper, lambda name: f"functions.{name}", lambda name: f" {name}\u200b", _widen):
            hidden = [structs.replace(event, tool=disguise(event.tool)) if event.tool else event for event in made]
            coverage.try_one(judge(rules, hidden) in BAD, f"{rule}: {lines} as {hidden[-1].tool!r}")
    require(coverage, record_property)


def _widen(name: str) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "a" <= char <= "z" else char for char in name)


def test_law_5_equal_things_are_equal(record_property: Callable[[str, object], None]) -> None:
    """The letters of the table as numbers: 7 where one event has it, 7.0 where the next has it."""
    coverage = Coverage(5, "rules: 7 and 7.0 are one value", checks=FORMS)
    for rules, rule, made, lines in ROWS:
        integers = [_replace(event, {"A": 7, "B": 8}) for event in made]
        mixed = [_replace(event, {"A": 7.0, "B": 8.0} if n % 3 else {"A": 7, "B": 8}) for n, event in enumerate(made)]
        if integers != made:
            outcome = judge(rules, integers)
            coverage.try_one(judge(rules, mixed) is outcome, f"{rule}: {lines} with 7.0")
    require(coverage, record_property)


def _replace(event: ConversationEvent, values: dict[str, object]) -> ConversationEvent:
    def change(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: change(member) for key, member in value.items()}
        if isinstance(value, list):
            return [change(member) for member in value]
        return values.get(value, value) if isinstance(value, str) else value

    return structs.replace(event, arguments=change(event.arguments), result=change(event.result))


def test_laws_6_and_13_every_way_to_feed_a_monitor_agrees(record_property: Callable[[str, object], None]) -> None:
    """At once, event by event with a question after each, and together with all other rules; a prefix stays broken."""
    coverage = Coverage(13, "rules: judged event by event or at once, the verdict is the same", checks=FORMS)
    together = Contract([structs.replace(rules.rules[0], id=f"row-{n}") for n, (rules, _, _, _) in enumerate(ROWS)])
    for n, (rules, rule, made, lines) in enumerate(ROWS):
        whole = judge(rules, made)
        monitor, prefixes = Monitor(rules), list[RuleOutcome]()
        for event in made:
            monitor.feed(event)
            prefixes.append(monitor.verdicts()[0].outcome)
        monitor.finish()
        coverage.try_one(monitor.verdicts()[0].outcome is whole, f"{rule}: {lines} in steps")
        coverage.try_one(judge_events(together, made)[n].outcome is whole, f"{rule}: {lines} with all others")
        for earlier, later in pairwise(prefixes):
            coverage.try_one(earlier is not RuleOutcome.BROKEN or later is earlier, f"{rule}: {lines} is whole again")
    require(coverage, record_property)
