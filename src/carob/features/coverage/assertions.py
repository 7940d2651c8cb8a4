"""Which tools the checks of a case require, allow as an alternative, or forbid."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from carob.checks.base import Check, ModifiedCheck
from carob.checks.catalog import CheckCatalog
from carob.checks.combined import ScoreOf
from carob.checks.effects.permitted import OnlyEffects
from carob.checks.numbers.required import MustGroundNumber
from carob.checks.telemetry import Telemetry, shorthand
from carob.checks.tools.calls import ToolCalls
from carob.checks.tools.names import ToolCallF1, ToolCallsAny, ToolCallsNone, ToolsUsed
from carob.checks.tools.order import ReferenceCall, ToolOrder, Trajectory
from carob.evidence.logs.events import PREFIX
from carob.model.check import CheckSpec
from carob.model.suite import Case
from carob.text.tool_names import OR, is_any_named, is_named, is_same_tool

Role: TypeAlias = Literal["required", "alternative", "forbidden"]
EVERY_TOOL = "*"
MATCHES_OTHERS = ("subset",)
"""Ways of comparing by which no call has to be made."""
ALLOWS_OTHERS = ("superset", "in_order")
"""Ways of comparing by which other calls may be made."""


class ToolMention(NamedTuple):
    """Tools that a check is about: that one is called, that one of them is, or that none is `besides` those listed."""

    role: Role
    tools: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    """The arguments whose values are expected."""
    besides: tuple[str, ...] = ()

    def names(self, called: Iterable[str]) -> bool:
        """Whether it speaks of a tool that was called by these names."""
        if self.role != "forbidden":
            return any(is_any_named(self.tools, name) for name in called)
        forbidden = (name for name in called if not is_any_named(self.besides, name))
        return any(is_same_tool(tool, name) for name in forbidden for tool in self.tools)


class CaseMention(NamedTuple):
    """What one check of a case says of tools. `key`: the check as it is recorded."""

    case_id: str
    key: tuple[str, bytes]
    mention: ToolMention


def spec_key(spec: CheckSpec) -> tuple[str, bytes]:
    """A check as suite and journal hold it alike."""
    return spec.name, bytes(spec.args)


def find_mentions(case: Case, catalog: CheckCatalog) -> Iterator[CaseMention]:
    """What the checks of a case, and of its turns, say of tools."""
    specs = [spec for _, spec in case.all_checks]
    for spec, check in zip(specs, catalog.checks(specs), strict=True):
        for mention in _read_check(check):
            tools, besides = _split_names(mention.tools), _split_names(mention.besides)
            yield CaseMention(case.id, spec_key(spec), mention._replace(tools=tools, besides=besides))


def _split_names(names: Sequence[str]) -> tuple[str, ...]:
    """Each name once; `book | refund` is two."""
    return tuple(dict.fromkeys(part for name in names for part in name.split(OR)))


def settle_mention(mention: ToolMention, known: Iterable[Collection[str]]) -> ToolMention:
    """The mention by names of known tools: a call that several tools can serve is required of none of them."""
    if mention.role != "required":
        return mention
    serving = [called for called in known if mention.names(called)]
    literal = [name for name in mention.tools if not any(is_named(name, tool) for tool in chain(*serving))]
    return mention._replace(role="alternative") if len(serving) + len(literal) > 1 else mention


def _read_check(check: Check) -> Iterator[ToolMention]:
    if isinstance(check, ModifiedCheck):
        inner = _read_check(check.inner)
        yield from (_negate(mention) for mention in inner) if check.negated else inner
    elif isinstance(check, ScoreOf):
        is_all = check.threshold == 1
        for part in check.of:
            for mention in _read_check(msgspec.convert(part.args, check.classes[part.check])):
                yield mention if is_all else mention._replace(role="alternative")
    else:
        yield from _read_plain(check)


def _negate(mention: ToolMention) -> ToolMention:
    """What `$not` makes of it. That not nothing was called requires a call, of whichever of the tools."""
    return mention._replace(role="alternative" if mention.role == "forbidden" else "forbidden", besides=())


def _read_plain(check: Check) -> Iterator[ToolMention]:
    match check:
        case ToolCallsAny():
            yield ToolMention("required", check.tools)  # settled later: of several, none is required
        case ToolCalls() if check.never or check.asks_for_a_call:
            names = [set(_argument_names(call.arguments)) for call in check.any_of or (check,)]
            role: Role = "forbidden" if check.never else "required"
            yield ToolMention(role, (check.tool,), tuple(sorted(set.intersection(*names))))
        case ToolCallsNone():
            yield ToolMention("forbidden", (check.tool,))
        case OnlyEffects():
            wanted = [call.tool for call in check.exactly or ()]
            yield ToolMention("forbidden", check.effects, besides=(*check.tools, *wanted))
        case ToolOrder():
            yield from (ToolMention("required", (tool,)) for tool in check.tools)
        case ToolCallF1():
            is_whole = check.threshold == 1
            yield from (ToolMention("required" if is_whole else "alternative", (tool,)) for tool in check.tools)
        case ToolsUsed():
            yield from _read_reference([ReferenceCall(tool) for tool in check.tools], check.match)
        case Trajectory():
            yield from _read_reference(check.reference, check.match)
        case MustGroundNumber() if check.from_tool:
            yield ToolMention("required", (check.from_tool,))
        case Telemetry():
            pattern = shorthand(check.entry)
            if pattern is not None and pattern.source is not None:
                yield ToolMention("required", (pattern.source.removeprefix(PREFIX),))


def _read_reference(calls: Sequence[ReferenceCall], match: str) -> Iterator[ToolMention]:
    """A list of calls, each of which is to be made, and next to which no others may be made, as `match` says."""
    if match not in MATCHES_OTHERS:
        yield from (ToolMention("required", (call.tool,), _argument_names(call.arguments)) for call in calls)
    if match not in ALLOWS_OTHERS:
        yield ToolMention("forbidden", (EVERY_TOOL,), besides=tuple(call.tool for call in calls))


def _argument_names(arguments: object) -> tuple[str, ...]:
    """The arguments that an expectation names; `{$eq: {...}}` names those of its value."""
    if not isinstance(arguments, Mapping):
        return ()
    names = [str(name) for name in arguments if not str(name).startswith("$")]
    whole = arguments.get("$eq")
    return tuple(names) if names or not isinstance(whole, Mapping) else tuple(map(str, whole))
