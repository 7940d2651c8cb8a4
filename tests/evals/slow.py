"""The canvas app with a brain that thinks before it speaks, so that a test can find it thinking."""

from __future__ import annotations

import asyncio
import sys

from canvas_app.__main__ import main
from canvas_app.brain.base import Turn
from canvas_app.brain.rule_based import RuleBasedBrain

THOUGHT = 1.0


def think_first() -> None:
    answer = RuleBasedBrain.answer

    async def slowly(self: RuleBasedBrain, turn: Turn) -> None:
        await asyncio.sleep(THOUGHT)
        await answer(self, turn)

    RuleBasedBrain.answer = slowly


if __name__ == "__main__":
    think_first()
    sys.exit(main(sys.argv[1:]))
