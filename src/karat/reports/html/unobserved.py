"""What was not observed of a case, each reason once, whichever channels and turns it is of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karat.model.trace import Trace
from karat.reports.escaping import clip
from karat.reports.html.views import UnobservedView

LONGEST: Final = 1_500
MOST_CALLS: Final = 500


class Unobserved:
    """The reasons why channels of a trace, of its turns and of its calls were not observed."""

    def __init__(self, trace: Trace) -> None:
        self._turns = trace.turns
        self._found: dict[str, dict[str, list[int]]] = {}
        for turn, channel, why in _reasons(trace):
            turns = self._found.setdefault(why, {}).setdefault(channel.replace("_", " "), [])
            if turn is not None and turn not in turns:
                turns.append(turn)

    def find(self, why: str) -> str:
        """What was not observed for this reason, or nothing if it is not one of them."""
        return ", ".join(self._found.get(why, ()))

    def views(self) -> list[UnobservedView]:
        words = {why: map(self._words, channels, channels.values()) for why, channels in self._found.items()}
        return [UnobservedView(clip(", ".join(what), LONGEST), clip(why, LONGEST)) for why, what in words.items()]

    def _words(self, channel: str, turns: list[int]) -> str:
        """`tools`, or `tools in turn 2` where other turns observed it."""
        if not turns or len(turns) == len(self._turns):
            return channel
        return f"{channel} in turn{'s' * (len(turns) > 1)} {', '.join(map(str, turns))}"


def _reasons(trace: Trace) -> Iterator[tuple[int | None, str, str]]:
    for number, turn in enumerate(trace.turns, 1):
        yield from ((number, channel, why) for channel, why in turn.unobserved.items())
    in_turns = {(channel, why) for turn in trace.turns for channel, why in turn.unobserved.items()}
    yield from ((None, channel, why) for channel, why in trace.unobserved.items() if (channel, why) not in in_turns)
    for call in trace.tool_calls[:MOST_CALLS]:
        yield from ((None, f"{part} of {call.name}", why) for part, why in call.unobserved.items())
