"""Counts how rules come out over conversations, in memory that does not grow with them."""

from __future__ import annotations

import heapq
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final
from zlib import crc32

from carob.evidence.exports.record import RecordedConversation
from carob.features.check.model import (
    NOT_SAID,
    ConversationExample,
    Figures,
    GroupKey,
    Outcomes,
    UnknownCause,
)
from carob.rules.events import RuleOutcome, RuleVerdict
from carob.scoring.intervals import CONFIDENCE, Clusters, Runs, pass_rate, single_clusters

BINS: Final = 1024
"""Users are counted in so many bins: those of one bin are taken for one, which makes intervals wider, if anything."""
EXAMPLES: Final = 3
MOST_CAUSES: Final = 40
MOST_GROUPS: Final = 1_000
MOST_PLACES: Final = 100
"""So many places of what could not be read are kept."""
MOST_USERS: Final = 5_000
"""So many groups, or users as groups, are counted apart; the others together."""
LATEST: Final = 253_402_300_800.0
"""The end of the year 9999: no clock says a later moment."""
OTHERS: Final = "(others)"
_PLACE: Final = re.compile(r"^event \d+: (?:\w+ )?[^\s(]+(?:\(.*?\))?(?:: |(?= has ))", re.DOTALL)
_VALUE: Final = re.compile(r"""'[^']*'|"[^"]*"|\b\d[\w.,:-]*""")
_BROKEN: Final = RuleOutcome.BROKEN
_UNKNOWN: Final = RuleOutcome.UNKNOWN
_BROKE: Final[Runs] = (1, 1)
_HELD: Final[Runs] = (0, 1)


class RuleCounts:
    """How one rule came out in one group of conversations."""

    __slots__ = ("broken", "held", "of_users", "unknown")

    def __init__(self) -> None:
        self.held = self.broken = self.unknown = 0
        self.of_users: array[int] | None = None
        """Held and broken for each bin of users, one after the other; None where no conversation names its user."""

    def add(self, outcome: RuleOutcome, user_bin: int) -> None:
        if outcome is _UNKNOWN:
            self.unknown += 1
            return
        is_broken = outcome is _BROKEN
        if is_broken:
            self.broken += 1
        else:
            self.held += 1
        if user_bin >= 0:
            if self.of_users is None:
                self.of_users = array("I", bytes(8 * BINS))
            self.of_users[2 * user_bin + is_broken] += 1

    def clusters(self, unknown_is: Runs | None = None) -> Clusters[Runs]:
        """The decided conversations by user; those that may be either count as `unknown_is`."""
        users = self.of_users or array("I")
        pairs = Counter(zip(users[::2], users[1::2], strict=True))
        del pairs[0, 0]
        alone = Counter({_HELD: self.held - sum(held * n for (held, _), n in pairs.items())})
        alone[_BROKE] = self.broken - sum(broken * n for (_, broken), n in pairs.items())
        if unknown_is is not None:
            alone[unknown_is] += self.unknown
        clusters = Counter(single_clusters({kind: n for kind, n in alone.items() if n}))
        for (held, broken), n in pairs.items():
            clusters[tuple((kind, count) for kind, count in ((_HELD, held), (_BROKE, broken)) if count)] += n
        return clusters

    def figures(self, confidence: float = CONFIDENCE) -> Figures:
        share = pass_rate(self.clusters(), confidence) if self.held or self.broken else None
        return Figures(self.held, self.broken, self.unknown, share)


def join_counts(cells: Sequence[RuleCounts]) -> RuleCounts:
    """All of these groups as one."""
    joined = RuleCounts()
    for cell in cells:
        joined.held += cell.held
        joined.broken += cell.broken
        joined.unknown += cell.unknown
        if cell.of_users is not None:
            users = joined.of_users or array("I", bytes(8 * BINS))
            joined.of_users = array("I", [a + b for a, b in zip(users, cell.of_users, strict=True)])
    return joined


class Examples:
    """The first conversations that broke a rule, and those that broke it most often."""

    __slots__ = ("_first", "_worst")

    def __init__(self) -> None:
        self._first: list[tuple[float, int, ConversationExample]] = []
        self._worst: list[tuple[float, int, ConversationExample]] = []

    def add(self, example: ConversationExample, number: int) -> None:
        moment = float("inf") if example.started_at is None else example.started_at
        _keep(self._first, (-moment, -number, example))
        _keep(self._worst, (example.findings, -number, example))

    @property
    def first(self) -> tuple[ConversationExample, ...]:
        return tuple(entry[2] for entry in sorted(self._first, key=lambda entry: (-entry[0], -entry[1])))

    @property
    def worst(self) -> tuple[ConversationExample, ...]:
        """Those that broke it more often than once, and are not among the first."""
        first = {example.id for example in self.first}
        ordered = sorted(self._worst, key=lambda entry: (-entry[0], -entry[1]))
        return tuple(entry[2] for entry in ordered if entry[0] > 1 and entry[2].id not in first)


def _keep(heap: list[tuple[float, int, ConversationExample]], entry: tuple[float, int, ConversationExample]) -> None:
    """Keep the entries that are greatest by their first two members."""
    if len(heap) < EXAMPLES:
        heapq.heappush(heap, entry)
    elif entry[:2] > heap[0][:2]:
        heapq.heapreplace(heap, entry)


class Causes:
    """Why a rule could not be judged, each cause with the first conversation that it was seen in."""

    __slots__ = ("_counts", "_examples")

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    def add(self, verdict: RuleVerdict, conversation_id: str) -> None:
        cause = name_cause(verdict.first.why if verdict.first else "")
        if cause not in self._counts and len(self._counts) >= MOST_CAUSES:
            cause = OTHERS
        self._counts[cause] += 1
        self._examples.setdefault(cause, conversation_id)

    def __iter__(self) -> Iterator[UnknownCause]:
        """The most frequent first."""
        for cause, count in sorted(self._counts.items(), key=lambda entry: (-entry[1], entry[0])):
            yield UnknownCause(cause, count, self._examples[cause])


def name_cause(why: str) -> str:
    """What several findings have in common: without the event that they are about, and without its values."""
    cause = _PLACE.sub("", why).strip()
    return _VALUE.sub("…", cause) or "it is not known why"


class RuleTally:
    """One rule: in all, and in each group."""

    __slots__ = ("causes", "examples", "groups", "total")

    def __init__(self) -> None:
        self.total = RuleCounts()
        self.groups: dict[str, RuleCounts] = {}
        self.causes = Causes()
        self.examples = Examples()


class ConversationTally:
    """Counts conversations as they are judged."""

    def __init__(self, rules: int, by: GroupKey | None) -> None:
        self.rules = [RuleTally() for _ in range(rules)]
        self.judged = self.clean = self.broken = self.unknown = self.untriggered = self.without_session = 0
        self.unread = 0
        self.unread_at: list[str] = []
        self.unguarded = 0
        self.first_unguarded: ConversationExample | None = None
        self.first_at: float | None = None
        self.last_at: float | None = None
        self.formats: dict[str, None] = {}
        self.groups: dict[str, int] = {}
        """The groups in the order in which they were seen, with their conversations."""
        self._by = by
        self._most = MOST_USERS if by == "user" else MOST_GROUPS
        self._users = bytearray(1 << 13)
        self._days: dict[int, str] = {}

    @property
    def users(self) -> int:
        """About how many users there are: exact for few, an estimate from 64k bits for many."""
        bits = len(self._users) * 8
        empty = bits - sum(byte.bit_count() for byte in self._users)
        return round(bits * math.log(bits / max(empty, 1)))

    def add(self, conversation: RecordedConversation, outcomes: Outcomes) -> bool:
        """Count one conversation; whether it broke a rule, left one unknown, or passed its guard by."""
        self.judged += 1
        if conversation.unread:
            self.unread += 1
            if len(self.unread_at) < MOST_PLACES:
                self.unread_at.append(f"{conversation.source}: {conversation.unread}")
        self.formats[conversation.format] = None
        self.without_session += not conversation.has_session
        moment = conversation.started_at
        if moment is not None:
            self.first_at = moment if self.first_at is None or moment < self.first_at else self.first_at
            self.last_at = moment if self.last_at is None or moment > self.last_at else self.last_at
        user_bin = self._note_user(conversation.user) if conversation.user else -1
        group = self._group_of(conversation) if self._by else ""
        worst = 0
        for number, verdict in outcomes:
            rule, outcome = self.rules[number], verdict.outcome
            rule.total.add(outcome, user_bin)
            if self._by:
                cell = rule.groups.get(group)
                if cell is None:
                    cell = rule.groups[group] = RuleCounts()
                cell.add(outcome, -1 if self._by == "user" else user_bin)
            if outcome is _BROKEN:
                worst = 2
                self._note_example(rule, conversation, verdict)
            elif outcome is _UNKNOWN:
                worst = worst or 1
                rule.causes.add(verdict, conversation.id)
        self.broken += worst == 2
        self.unknown += worst == 1
        self.clean += not worst and bool(outcomes)
        self.untriggered += not outcomes
        if conversation.unguarded:
            self._note_unguarded(conversation)
        return worst > 0 or bool(conversation.unguarded)

    def _note_unguarded(self, conversation: RecordedConversation) -> None:
        self.unguarded += 1
        if self.first_unguarded is None:
            why = conversation.unguarded[0] or "a call of which the tool is not known"
            about = (conversation.id, conversation.source, why, conversation.started_at, conversation.user)
            self.first_unguarded = ConversationExample(*about, len(conversation.unguarded))

    def _note_user(self, user: str) -> int:
        value = crc32(user.encode("utf-8", "surrogatepass"))
        bit = (value >> 10) & 0xFFFF
        self._users[bit >> 3] |= 1 << (bit & 7)
        return value % BINS

    def _note_example(self, rule: RuleTally, conversation: RecordedConversation, verdict: RuleVerdict) -> None:
        broken = [finding for finding in verdict.findings if finding.broken]
        why = broken[0].why if broken else ""
        example = ConversationExample(
            conversation.id, conversation.source, why, conversation.started_at, conversation.user, len(broken)
        )
        rule.examples.add(example, self.judged)

    def _group_of(self, conversation: RecordedConversation) -> str:
        name = self._name_group(conversation) or NOT_SAID
        if name not in self.groups and len(self.groups) >= self._most:
            name = OTHERS
        self.groups[name] = self.groups.get(name, 0) + 1
        return name

    def _name_group(self, conversation: RecordedConversation) -> str:
        if self._by == "model":
            return conversation.model
        if self._by == "version":
            return conversation.version
        if self._by == "user":
            return conversation.user
        moment = conversation.started_at
        if moment is None or not 0 <= moment < LATEST:
            return ""
        number = int(moment // 86_400)
        if (name := self._days.get(number)) is None:
            if len(self._days) >= MOST_GROUPS:
                self._days.clear()
            name = self._days[number] = name_day(number, self._by or "day")
        return name


def name_day(days: int, by: str) -> str:
    """The day so many days after 1970 began, or the Monday of its week."""
    if by == "week":
        days -= (days + 3) % 7  # 1970 began on a Thursday
    return datetime.fromtimestamp(days * 86_400, UTC).date().isoformat()


def name_moment(moment: float | None) -> str | None:
    """A moment in UTC, `2026-11-18T09:30:00Z`; None where none is known or no clock says it."""
    if moment is None or not 0 <= moment < LATEST:
        return None
    return f"{datetime.fromtimestamp(moment, UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"
