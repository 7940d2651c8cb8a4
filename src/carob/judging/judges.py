"""What conversations are held to, compiled once: rules and expectations that need no prompt, or one case.

A judge is a value: it can be sent to another process, which compiles it again when it first judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import json, structs

from carob.checks.catalog import catalog_for
from carob.checks.rules import report_rule
from carob.engine.authoring import read_case, read_trace
from carob.errors import SuiteError, UsageError
from carob.evidence.conversation_events import ConversationEvents, read_conversation
from carob.evidence.exports.record import UNREAD, RecordedConversation
from carob.model.check import CheckSpec, CompiledCheck
from carob.model.suite import Case, Scoring
from carob.model.trace import Trace
from carob.model.verdict import OWN_RULE, SHARED_RULE, Status, Verdict
from carob.plugins.project import Project
from carob.rules.contract import Contract
from carob.rules.events import Facts, RuleFinding, RuleOutcome, RuleVerdict
from carob.rules.monitor import judge_events
from carob.scoring import verdicts
from carob.suites import loads
from carob.suites.documents.source import SuiteSource, source
from carob.suites.formats.base import SuiteFile, SuiteRule
from carob.suites.reading import read_file
from carob.suites.rules import compile_rule
from carob.text.wording import quoted

CONVERSATION: Final = "conversation"
"""The id of the case that the expectations of `defaults` are read as."""
ANY_PROMPT: Final = "(any)"
AROUND: Final = ("effects", "words", "tools", "claims", "vars")
"""Keys at the top of a suite that expectations depend on."""
NO_RULES: Final = "there is nothing to check the conversations against."
NAME_RULES: Final = (
    "Name rules with --rules policy.carob.yaml, or expectations with --suite. "
    "`carob draft --rules EXPORT -o policy.carob.yaml` writes first ones from the conversations."
)
_OUTCOMES: Final = {
    Status.PASSED: RuleOutcome.HELD,
    Status.FAILED: RuleOutcome.BROKEN,
    Status.NOT_TRIGGERED: RuleOutcome.NOT_TRIGGERED,
}
"""Of the checks of `expected`; what came out in any other way is unknown."""

AnyPolicy: TypeAlias = SuiteSource
"""A file of rules, its text, or the object that it would hold."""
AnyTrace: TypeAlias = Trace | RecordedConversation | Mapping[str, object]


class CaseJudge:
    """Judges traces of one case, as `carob.judge` does."""

    def __init__(self, case: Case, project: Project) -> None:
        self.case = case
        self.project = project

    def __call__(self, trace: AnyTrace) -> Verdict:
        observed = trace.trace if isinstance(trace, RecordedConversation) else read_trace(trace, self.case)
        return verdicts.judge_case(self.case, observed, catalog_for(self.project))


class ConversationJudge:
    """Judges conversations by rules, and by expectations that need no prompt."""

    def __init__(self, rules: Sequence[SuiteRule], specs: Sequence[CheckSpec], project: Project) -> None:
        self.rules = tuple(rules)
        self.specs = tuple(specs)
        self.project = project

    def __reduce__(self) -> tuple[Any, ...]:
        return ConversationJudge, (self.rules, self.specs, self.project)

    @property
    def names(self) -> tuple[str, ...]:
        """What it judges, in the order of its verdicts: the ids of rules, and the places of expectations."""
        return (*(rule.id for rule in self.rules), *(spec.path for spec in self.specs))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why each of them must hold, in the words of its author, or what it expects."""
        whys = (str(rule.args["rule"].get("why", "")) for rule in self.rules)  # type: ignore[union-attr]
        return (*whys, *(check.description for check in self._checks))

    @cached_property
    def _contracts(self) -> list[tuple[list[int], Contract]]:
        """The rules that read calls in the same way, each with the numbers of its rules."""
        compiled = [compile_rule(rule) for rule in self.rules]
        groups: dict[bytes, list[int]] = {}
        for number, rule in enumerate(compiled):
            groups.setdefault(json.encode(rule.reading, order="deterministic"), []).append(number)
        return [(numbers, Contract([compiled[number] for number in numbers])) for numbers in groups.values()]

    @cached_property
    def _checks(self) -> Sequence[CompiledCheck]:
        return catalog_for(self.project).checks(self.specs)

    @cached_property
    def _shape(self) -> Case:
        """The case as which a trace that is a dict is read."""
        return Case(id=CONVERSATION, prompt="", checks=())

    def __call__(self, trace: AnyTrace) -> Verdict:
        if isinstance(trace, RecordedConversation):
            return self.report(trace.trace, trace.tags, trace.metadata)
        return self.report(read_trace(trace, self._shape))

    def judge(
        self, trace: Trace, tags: tuple[str, ...] = (), metadata: Mapping[str, Any] | None = None
    ) -> list[RuleVerdict]:
        """How each rule and each expectation came out, in order."""
        return self.judge_events(read_conversation(trace), trace, tags, metadata)

    def report(self, trace: Trace, tags: tuple[str, ...] = (), metadata: Mapping[str, Any] | None = None) -> Verdict:
        """The verdict as that of a case: a check for each rule and each expectation."""
        conversation = read_conversation(trace)
        judged = self.judge_events(conversation, trace, tags, metadata)
        results = [
            report_rule(OWN_RULE, f"{rule.id}: {why}" if why else rule.id, verdict, conversation)
            for rule, why, verdict in zip(self.rules, self.reasons, judged, strict=False)
        ]
        if _is_unread(trace):
            return verdicts.verdict(tuple(results), Scoring(), trace.error)
        results += [verdicts.run_check(check, trace) for check in self._checks]
        return verdicts.verdict(tuple(results), Scoring())

    def judge_events(
        self,
        conversation: ConversationEvents,
        trace: Trace,
        tags: tuple[str, ...] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> list[RuleVerdict]:
        """The same where the events of the trace were read already."""
        if trace.error is not None and _is_unread(trace):
            why = (RuleFinding(False, f"it could not be read: {trace.error.message}"),)
            return [RuleVerdict(name, RuleOutcome.UNKNOWN, 0, why) for name in self.names]
        facts = Facts(tags, {**metadata, **trace.metadata} if metadata else trace.metadata)
        judged = self._judge_rules(conversation, facts)
        if self.specs:
            pairs = zip(self._checks, self.specs, strict=True)
            judged += [_judge_check(check, spec.path, trace) for check, spec in pairs]
        return judged

    def _judge_rules(self, conversation: ConversationEvents, facts: Facts) -> list[RuleVerdict]:
        by_number: dict[int, RuleVerdict] = {}
        for numbers, contract in self._contracts:
            judged = judge_events(contract, conversation.events, conversation.end, facts)
            if len(numbers) == len(self.rules):
                return judged
            by_number.update(zip(numbers, judged, strict=True))
        return [by_number[number] for number in range(len(self.rules))]

    def case_of(self, conversation: RecordedConversation) -> Case:
        """What a journal says of a conversation: the checks that it is held to."""
        tags = conversation.tags
        catalog = catalog_for(self.project)
        asked = [
            structs.replace(catalog.ask(OWN_RULE, rule.args, (rule.label,)).spec, path=rule.label)
            for rule in self.rules
            if rule.is_for(tags)
        ]
        turns = conversation.trace.turns or (conversation.trace,)
        return Case(
            id=conversation.id,
            prompt=turns[0].input or ANY_PROMPT,
            checks=(*asked, *self.specs),
            tags=tags,
            max_turns=len(turns),
        )


def _is_unread(trace: Trace) -> bool:
    return trace.error is not None and trace.error.kind == UNREAD


def _judge_check(check: CompiledCheck, name: str, trace: Trace) -> RuleVerdict:
    if trace.error is not None:
        return RuleVerdict(
            name, RuleOutcome.UNKNOWN, 0, (RuleFinding(False, f"the conversation broke off: {trace.error.message}"),)
        )
    result = verdicts.run_check(check, trace)
    outcome = _OUTCOMES.get(result.status, RuleOutcome.UNKNOWN)
    if outcome in (RuleOutcome.HELD, RuleOutcome.NOT_TRIGGERED):
        return RuleVerdict(name, outcome, int(outcome is RuleOutcome.HELD))
    return RuleVerdict(name, outcome, 1, (RuleFinding(outcome is RuleOutcome.BROKEN, result.found or result.expected),))


PreparedJudge: TypeAlias = CaseJudge | ConversationJudge


def prepare_judge(policy: AnyPolicy | Case, project: Project) -> PreparedJudge:
    """A judge of one case, or of any conversation by the rules of a file."""
    if isinstance(policy, Case):
        return CaseJudge(policy, project)
    if isinstance(policy, Mapping) and "rules" not in policy and "carob" not in policy:
        return CaseJudge(read_case(policy, project), project)
    return read_judge([policy], None, project)


def read_judge(policies: Sequence[AnyPolicy], suite: AnyPolicy | None, project: Project) -> ConversationJudge:
    """What files of rules say, and the `defaults` of a suite. Raises UsageError if that is nothing."""
    rules: dict[str, SuiteRule] = {}
    specs: list[CheckSpec] = []
    if not policies and suite is None:
        policies = [project.root / path for path in project.rules]
    files = [*policies, *([] if suite is None else [suite])]
    for policy in files:
        file = SuiteFile(*source(policy))
        for rule in read_file(file, catalog_for(project)).rules:
            if rules.setdefault(rule.id, rule).args != rule.args:
                message = f"two rules have the id {quoted(rule.id)}."
                raise UsageError(message, where=file.path, fix="Give each its own.", slug="duplicate-id")
        if policy is suite:
            specs += _read_defaults(file, project)
    if not (rules or specs):
        where = ", ".join(SuiteFile(*source(policy)).path for policy in files)
        fix = f"It has no rules. {NAME_RULES}" if policies else NAME_RULES
        if suite is not None:
            fix = "It has no `rules`, and no `defaults` with `expected`. What a case expects is for its own prompt."
        raise UsageError(NO_RULES, where=where, fix=fix, slug="no-rules")
    return ConversationJudge([*rules.values()], specs, project)


def _read_defaults(file: SuiteFile, project: Project) -> list[CheckSpec]:
    """What the `defaults` of a suite expect: it holds whatever the user asks."""
    tree = file.tree
    defaults = tree.get("defaults") if isinstance(tree, dict) and "carob" in tree else None
    if not isinstance(defaults, dict) or not defaults.get("expected"):
        return []
    around = {key: tree[key] for key in AROUND if key in tree}
    case = {
        "id": CONVERSATION,
        "prompt": ANY_PROMPT,
        "expected": defaults["expected"],
        "vars": defaults.get("vars", {}),
    }
    document = {"carob": 1, **around, "cases": [case]}
    try:
        [read] = loads(json.encode(document), file.path, catalog_for(project)).cases
    except SuiteError as error:
        problem = error.problems[0]
        fix = "Expectations of `defaults` must need no table and no prompt here."
        raise UsageError(f"`defaults`: {problem.message}", where=file.path, fix=fix, slug=problem.slug) from None
    return [spec for spec in read.checks if spec.name not in (OWN_RULE, SHARED_RULE)]


def name_policy(policy: AnyPolicy) -> str:
    """What a policy is called: its file."""
    is_text = isinstance(policy, str) and ("\n" in policy or policy.lstrip().startswith(("{", "[")))
    return str(policy) if isinstance(policy, str | Path) and not is_text else "(rules)"
