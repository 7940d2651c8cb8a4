"""`where`: a condition in CEL on the events of a rule, or matchers by path. What cannot be evaluated is not known."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct

from carob.errors import UsageError
from carob.matchers.matcher import Matcher
from carob.matchers.values import MISSING
from carob.rules.patterns import LOST, MEMBERS, Fit, Occurrence
from carob.rules.values import Steps, Undecided, ValuePath, format_steps, holds_removed
from carob.text.regexes import lazy
from carob.text.wording import did_you_mean, shorten

if TYPE_CHECKING:
    from carob.rules.cel_tree import CelNode

LONGEST: Final = 4_000
NOW: Final = "now"
ALWAYS: Final = "empty-expectation"
FUNCTIONS: Final = (
    "size", "contains", "startsWith", "endsWith", "matches", "has", "all", "exists", "exists_one", "map", "filter",
    "int", "uint", "double", "string", "bool", "bytes", "timestamp", "duration", "type", "dyn", "getFullYear",
    "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes", "getSeconds",
    "getMilliseconds",
)  # fmt: skip
_COMPLAINT = lazy.pattern(r"<input>:(?P<line>\d+):(?P<column>-?\d+): (?P<what>.*?)(?: \(in container '.*?'\))?$", re.M)
_UNDECLARED = lazy.pattern(r"undeclared reference to '(?P<name>[^']*)'")
_EXPECTING = lazy.pattern(r" expecting .*", re.DOTALL)
"""The tokens of the grammar that may follow: no one writes by them."""
_TEXT = lazy.pattern(r"'[^']*'|\"[^\"]*\"")
_FOREIGN = tuple(
    (lazy.pattern(pattern), other, sign)
    for pattern, other, sign in (
        (r"=<", "=<", "<="), (r"=>", "=>", ">="), (r"===", "===", "=="), (r"!==", "!==", "!="), (r"<>", "<>", "!="),
        (r"(?<![=!<>])=(?!=)", "=", "=="), (r"\band\b", "and", "&&"), (r"\bor\b", "or", "||"),
        (r"\bnot\b", "not", "!"), (r"\bis\b", "is", "=="),
    )
)  # fmt: skip
_OTHER_NAMES = {
    "len": "size(...)", "length": "size(...)", "count": "size(...)", "str": "string(...)", "float": "double(...)",
    "number": "double(...)", "any": "exists(...)", "some": "exists(...)", "every": "all(...)", "True": "true",
    "False": "false", "None": "null", "undefined": "null",
}  # fmt: skip
"""What other languages call a function or a constant of CEL."""
_CODE = lazy.pattern(r"^[A-Z_]+: |\s*\[[A-Z_]+\]$")


class ConditionError(Exception):
    """A condition that makes no sense: what is wrong with it."""

    def __init__(self, message: str, slug: str = "bad-condition") -> None:
        super().__init__(message)
        self.slug = slug


class Condition(Protocol):
    """What must hold of the events of a rule, by the names that the rule gives them."""

    @property
    def words(self) -> str: ...

    @property
    def paths(self) -> tuple[ValuePath, ...]:
        """The values that it reads."""
        ...

    def holds(self, events: Mapping[str, Occurrence]) -> Fit: ...


def find_denied_flag(tree: CelNode) -> str:
    """The flag in `!each.parallel`, which policies ask of every call; empty for another condition."""
    from carob.rules.cel_tree import NodeKind
    from carob.rules.plain_conditions import FLAGS

    inner = tree.parts[0] if tree.name == "!_" and len(tree.parts) == 1 else tree
    is_flag = inner is not tree and inner.kind is NodeKind.MEMBER and inner.name in FLAGS
    return inner.name if is_flag and inner.parts[0].kind is NodeKind.NAME else ""


class Matched(Struct, frozen=True):
    """`where` as matchers by path: `{each.arguments.amount: {$lte: 500}}`."""

    parts: tuple[tuple[ValuePath, Matcher], ...]

    @property
    def words(self) -> str:
        return " and ".join(
            f"{path.root}.{format_steps(path.steps)} is {matcher.words}" for path, matcher in self.parts
        )

    @property
    def paths(self) -> tuple[ValuePath, ...]:
        return tuple(path for path, _ in self.parts)

    def holds(self, events: Mapping[str, Occurrence]) -> Fit:
        doubt: Fit = True
        for path, matcher in self.parts:
            event = events[path.root]
            value = event.at(path.steps)
            if value is MISSING and (not matcher.about_absence or event.part(str(path.steps[0])) is MISSING):
                doubt = f"{event} has no {format_steps(path.steps)}"
            elif not matcher.holds(value):
                return False
        return doubt


class _Program:
    """An expression that is compiled once."""

    def __init__(self, source: str, names: Collection[str], serialized: bytes = b"") -> None:
        """Compile it, unless it was before. Raises ConditionError, and UsageError if the library is missing."""
        from carob.rules.cel_tree import read_tree  # few rules have a condition in CEL

        self.source = " ".join(source.split())
        self._text = source
        self._names = names
        self.serialized = serialized or self._compiled.serialize()
        self.tree = read_tree(self.serialized)

    @cached_property
    def _compiled(self) -> Any:
        source = self._text
        if len(source) > LONGEST:
            raise ConditionError(f"the condition has {len(source)} characters, more than {LONGEST}. Split it.")
        try:
            compiled = _environment(tuple(sorted(self._names))).compile(source)
        except RuntimeError as error:
            raise ConditionError(_explain(str(error), source, self._names)) from None
        if (gives := compiled.return_type().name()) not in ("BOOL", "DYN"):
            raise ConditionError(f"a condition is true or false, and this gives {gives}.")
        return compiled

    def judge(self, values: Mapping[str, Any]) -> Fit:
        """Whether it holds for these values; a text says why that is not known."""
        try:
            value = self._compiled.eval(data=values)
            kind, plain = value.type().name(), value.plain_value()
        except (RuntimeError, TypeError, ValueError) as error:
            return self._explain_doubt(str(error))
        # The value of an error is a text, which Python takes for true.
        if kind == "BOOL":
            return plain is True
        return self._explain_doubt(str(plain) if kind == "ERROR" else f"it gives {kind}")

    def _explain_doubt(self, why: str) -> str:
        why = _CODE.sub("", why.splitlines()[0] if why else "it failed").strip()
        return f"`{self.source}` could not be evaluated: {why}"


class CelCondition:
    """`where` as an expression, compiled once."""

    def __init__(self, source: str, names: Collection[str], serialized: bytes = b"") -> None:
        """Compile it. Raises ConditionError, and UsageError if the library is missing.

        `serialized`: what the library made of it before; then it is only asked for what is not plain.
        """
        from carob.rules.cel_tree import find_paths
        from carob.rules.plain_conditions import compile_plain

        self._program = _Program(source, names, serialized)
        self.text = source
        self.serialized = self._program.serialized
        self.source = self._program.source
        tree = self._program.tree
        reads = tuple(dict.fromkeys(find_paths(tree, {*names, NOW})))
        _check_reads(reads, tree)
        self._reads_now = any(name == NOW for name, _ in reads)
        self._reads = _shortest([(name, steps) for name, steps in reads if name != NOW])
        self._plain = compile_plain(tree, names)
        self.denied_flag = find_denied_flag(tree)
        """The flag of `each` that must not be set, if that is all it says."""

    @property
    def words(self) -> str:
        return self.source

    @property
    def paths(self) -> tuple[ValuePath, ...]:
        return tuple(ValuePath(name, steps) for name, steps in self._reads)

    def holds(self, events: Mapping[str, Occurrence]) -> Fit:
        if self._plain is not None:
            try:
                if isinstance(plain := self._plain(events), bool):
                    return plain
            except Undecided:
                pass
        return self.ask_library(events)

    def ask_library(self, events: Mapping[str, Occurrence]) -> Fit:
        """What the library says, which also knows why a condition cannot be evaluated."""
        values: dict[str, Any] = {}
        for name, steps in self._reads:
            _copy(events[name], steps, values.setdefault(name, {}))
        if self._reads_now:
            moment = events["each"].event.time
            if moment is None:
                return f"the time of {events['each']} was not observed"
            values[NOW] = datetime.fromtimestamp(moment, UTC)
        if any(events[name].doubt for name, _ in self._reads) and holds_removed(values):
            return LOST
        return self._program.judge(values)


class ValueCondition:
    """A condition in CEL on plain values by name, such as what is known of a conversation."""

    def __init__(self, source: str, names: Collection[str]) -> None:
        """Compile it. Raises ConditionError, and UsageError if the library is missing."""
        from carob.rules.cel_tree import find_paths

        self._program = _Program(source, names)
        self.names = frozenset(name for name, _ in find_paths(self._program.tree, {*names}))
        """Those that it reads."""

    def holds(self, values: Mapping[str, Any]) -> Fit:
        """Whether it holds; a text says why that is not known."""
        return self._program.judge({name: values[name] for name in self.names})


def _copy(event: Occurrence, steps: Steps, target: dict[str, Any]) -> None:
    """Copy what an expression reads of an event, and nothing else: the library converts all that it is given."""
    for name in (str(steps[0]),) if steps else MEMBERS:
        value = event.part(name)
        if value is MISSING:
            continue
        inner = target
        for step in map(str, steps[1:]):
            if not isinstance(value, dict):
                break
            inner = inner.setdefault(name, {})
            if step not in value:
                break
            name, value = step, value[step]
        else:
            inner[name] = value
            continue
        if not isinstance(value, dict):
            inner[name] = value


def _shortest(reads: list[tuple[str, Steps]]) -> tuple[tuple[str, Steps], ...]:
    """Those of the paths that no other one begins with."""
    return tuple(
        (name, steps)
        for name, steps in reads
        if not any(other == name and len(s) < len(steps) and steps[: len(s)] == s for other, s in reads)
    )


def _check_reads(reads: tuple[tuple[str, Steps], ...], tree: CelNode) -> None:
    from carob.rules.cel_tree import always_holds

    if always_holds(tree):
        raise ConditionError("this always holds, so nothing can break the rule. Say what must be true.", ALWAYS)
    if not reads:
        raise ConditionError("this reads nothing of an event, so it is the same for all of them.", ALWAYS)
    for name, steps in reads:
        if name != NOW and steps and steps[0] not in MEMBERS:
            hint = did_you_mean(str(steps[0]), MEMBERS) or f"It has {', '.join(MEMBERS)}."
            raise ConditionError(f"an event has no {str(steps[0])!r}. {hint}")


def _explain(error: str, source: str, names: Collection[str]) -> str:
    """What the library complains of first, with its place and what may have been meant."""
    complaint = _COMPLAINT.search(error)
    if complaint is None:
        return f"this is not CEL: {_CODE.sub('', error.splitlines()[0])}."
    problem = complaint["what"]
    where = f"line {complaint['line']}, " if "\n" in source.strip() else ""
    hint = ""
    if undeclared := _UNDECLARED.search(problem):
        root = undeclared["name"].lstrip(".").split(".")[0]
        hint = did_you_mean(root, (*names, NOW, *FUNCTIONS)) or f"This rule knows {', '.join((*names, NOW))}."
        if root in _OTHER_NAMES:
            hint = f"Write {_OTHER_NAMES[root]}."
        if root in MEMBERS and "each" in names:
            hint = f"Did you mean 'each.{undeclared['name'].lstrip('.')}'?"
    else:
        problem = shorten(_EXPECTING.sub("", problem), 120)
        hint = _suggest_sign(source) or ("It ends too early: say what follows." if "<EOF>'" in problem else "")
    return f"{where}column {complaint['column']}: {problem}. {hint}".rstrip()


def _suggest_sign(source: str) -> str:
    """The sign of CEL for one of other languages that is in the source, outside of quotes."""
    bare = _TEXT.sub("", source)
    return next((f"Write {sign} for {other}." for pattern, other, sign in _FOREIGN if pattern.search(bare)), "")


@lru_cache(maxsize=64)
def _environment(names: tuple[str, ...]) -> Any:
    cel = _load()
    return cel.NewEnv(variables={**dict.fromkeys(names, cel.Type.DYN), NOW: cel.Type.TIMESTAMP})


def _load() -> ModuleType:
    try:
        from cel_expr_python import cel  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        from carob.system.installing import install_extra

        message = f"`where` needs the package cel-expr-python, which cannot be imported: {error}."
        raise UsageError(message, fix=f"Install it: {install_extra('cel')}.", slug="missing-extra") from error
    return cel  # type: ignore[no-any-return]
