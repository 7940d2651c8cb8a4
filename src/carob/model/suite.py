"""A suite as every other part sees it, whatever file format it came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from msgspec import Struct, field, structs
from msgspec.json import encode as encode_json

from carob.model.check import CaseCatalog, CheckSpec
from carob.model.faults import Fault, Stub
from carob.model.verdict import Group

DEFAULT_WEIGHTS: dict[str, float] = {
    Group.TOOL_HYGIENE: 0.35,
    Group.SYNTHESIS_COVERAGE: 0.30,
    Group.NUMERIC_GROUNDING: 0.20,
    Group.UNCERTAINTY: 0.10,
    Group.FORMATTING: 0.05,
    Group.MORNING_BRIEF_CONTRACT: 0.35,
    Group.DECISION: 0.35,
    Group.QA: 0.35,
    Group.BUDGET: 0.10,
    Group.RULES: 0.35,
    Group.WORKSPACE: 0.35,
    Group.MEANING: 0.35,
}
ALWAYS_HARD = frozenset((Group.RULES,))
"""Groups in which a failed check fails the case, whatever its threshold."""
OTHER_WEIGHT = 0.35
"""What a group of another package weighs where a case gives no weights."""


class Scoring(Struct, frozen=True, omit_defaults=True, gc=False):
    """How group scores become a status. `weights` of None means the documented default weights.

    `allow_unjudged`: what is not judged by nature is left to another tool, as the user of this run says.
    """

    hard_fail: tuple[str, ...] = ()
    threshold: float | None = None
    weights: dict[str, float] | None = None
    allow_unjudged: bool = False


class TurnDecision(Struct, frozen=True, omit_defaults=True):
    """What the user decides, in place of words, about the calls that wait for approval. `*` in a name is any text."""

    approve: tuple[str, ...] = ()
    deny: dict[str, str] = {}
    """The tools whose calls may not run, each with the reason that the agent is given; empty: none."""
    edit: dict[str, dict[str, Any]] = {}
    """The tools whose calls may run, each with the arguments that are changed first."""

    def __str__(self) -> str:
        denied = [f"{name} ({why})" if why else name for name, why in self.deny.items()]
        edited = [f"{name} {encode_json(changed).decode()}" for name, changed in self.edit.items()]
        parts = {"approve": self.approve, "deny": denied, "edit": edited}
        return "; ".join(f"{verb}: {', '.join(names)}" for verb, names in parts.items() if names)


class Turn(Struct, frozen=True, omit_defaults=True, gc=False):
    """One prompt of a conversation, and what is expected of the answer to it."""

    prompt: str
    """What the user says; of a decision, what people read of it."""
    checks: tuple[CheckSpec, ...] = ()
    decision: TurnDecision | None = None


class Reply(Struct, frozen=True, gc=False):
    """What a scripted user says when the agent asks for one of these."""

    asks_for: tuple[str, ...]
    say: str


class Case(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """A conversation with the agent and what is expected of it, most often of one prompt.

    Without `turns` the one prompt is the conversation, and `checks` judge the answer to it. With them `prompt` is that
    of the first, and `checks` judge the whole conversation and its last answer. `skip`, `xfail`: why.
    """

    id: str
    prompt: str
    category: str = ""
    setup_prompts: tuple[str, ...] = ()
    preconditions: tuple[str, ...] = ()
    outcome: str = ""
    checks: tuple[CheckSpec, ...]
    scoring: Scoring = Scoring()
    min_pass_rate: float | None = None
    metadata: dict[str, object] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    skip: str = ""
    xfail: str = ""
    turns: tuple[Turn, ...] = ()
    replies: tuple[Reply, ...] = ()
    max_turns: int | None = None
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Word lists of the suite, by which a scripted user knows what he is asked."""
    cluster: str = ""
    """The name that it shares with the cases that it is a variant of; without one, it is a case of its own."""
    stubs: tuple[Stub, ...] = ()
    """What answers instead of tools: its own, then those of the suite and of the target."""
    faults: tuple[Fault, ...] = ()
    """What goes wrong around the agent, in the order in which it is tried."""

    @property
    def catalog(self) -> CaseCatalog | None:
        """The checks of the project in which its file was read; None for a case that was made otherwise."""
        return getattr(self.checks, "catalog", None)

    @property
    def is_conversation(self) -> bool:
        """Whether several turns may be played, each of which its trace then holds."""
        return bool(self.turns or self.replies)

    @property
    def all_checks(self) -> tuple[tuple[int | None, CheckSpec], ...]:
        """Every check in the order in which it is judged, with its turn: those of all turns come last."""
        in_turns = [(number, spec) for number, turn in enumerate(self.turns, 1) for spec in turn.checks]
        return (*in_turns, *((None, spec) for spec in self.checks))

    @property
    def has_criteria(self) -> bool:
        """Whether a person or a judge has a part in its verdict."""
        return any(spec.name == MEETS for _, spec in self.all_checks)

    @property
    def user_texts(self) -> tuple[str, ...]:
        """Every word of the user, as far as it does not hang on what the agent says."""
        return (*self.setup_prompts, *([turn.prompt for turn in self.turns] or [self.prompt]))


class Suite(Struct, frozen=True, kw_only=True):
    """A file of cases, read and checked."""

    file: str
    format: str
    version: str
    sha256: str
    name: str = ""
    description: str = ""
    cases: tuple[Case, ...]
    metadata: dict[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    target: str = ""
    """The target that the file names, used where the user names none."""
    target_options: dict[str, object] = field(default_factory=dict)
    """The options of that target."""
    target_is_code: bool = False
    """Whether that target is code which the file names: it is run only if the user trusts it."""
    draft: bool = False
    """Whether no person has approved yet what it expects."""
    rules: tuple[str, ...] = ()
    """The rules that hold in its cases, by their ids."""


UNJUDGED = "unjudged"
"""The name of the check that only says what another tool must judge."""
MEETS = "meets"
"""The name of the check of a criterion, which a reader judges."""
_BY_READERS = frozenset((UNJUDGED, MEETS))


def leave_unjudged(case: Case, allowed: bool) -> Case:
    """The case with what is not judged left to another tool, or not; most cases hold nothing of that kind."""
    if case.scoring.allow_unjudged is allowed or not any(spec.name in _BY_READERS for _, spec in case.all_checks):
        return case
    return structs.replace(case, scoring=structs.replace(case.scoring, allow_unjudged=allowed))


def judged_part(case: Case) -> Case:
    """The case without what only a reader or another tool can judge."""
    return without_checks(case, lambda spec: spec.name in _BY_READERS)


def without_checks(case: Case, left_out: Callable[[CheckSpec], bool]) -> Case:
    """The case without some of its checks, which still knows the catalog that read it."""
    if not any(left_out(spec) for _, spec in case.all_checks):
        return case

    def keep(checks: tuple[CheckSpec, ...]) -> tuple[CheckSpec, ...]:
        return type(checks)(spec for spec in checks if not left_out(spec))

    turns = tuple(structs.replace(turn, checks=keep(turn.checks)) for turn in case.turns)
    return structs.replace(case, checks=keep(case.checks), turns=turns)


def leave_unjudged_of(suite: Suite, allowed: bool) -> Suite:
    """The same for every case of a suite."""
    cases = tuple(leave_unjudged(case, allowed) for case in suite.cases)
    unchanged = all(new is old for new, old in zip(cases, suite.cases, strict=True))
    return suite if unchanged else structs.replace(suite, cases=cases)


class CaseChecks(tuple[CheckSpec, ...]):
    """The checks of a case that was read from a file, with the `catalog` that read them.

    What a name of a check means depends on the project. No file says which it was, and cases of two projects can be
    equal, so that this is not a field; as part of one it is kept where a case is changed.
    """

    __slots__ = ()

    catalog: ClassVar[CaseCatalog]

    def __reduce__(self) -> tuple[type[tuple[CheckSpec, ...]], tuple[tuple[CheckSpec, ...]]]:
        return tuple, (tuple(self),)  # for another process, which has other projects


def remember_catalog(cases: Iterable[Case], catalog: CaseCatalog) -> None:
    """Let these cases, which are new, know by which catalog they were read."""
    kind = type("CaseChecks", (CaseChecks,), {"__slots__": (), "catalog": catalog})
    for case in cases:
        structs.force_setattr(case, "checks", kind(case.checks))
