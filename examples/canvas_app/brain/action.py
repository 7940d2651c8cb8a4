"""The brain of a button or a picker: one tool call that a person has already decided on."""

from collections.abc import Mapping

from canvas_app.brain.base import Turn
from canvas_app.brain.wording import answer_pieces, finished, tool_answer


class ActionBrain:
    name = "rule-based"

    def __init__(self, tool: str, arguments: Mapping[str, str]) -> None:
        self._tool = tool
        self._arguments = arguments

    async def answer(self, turn: Turn) -> None:
        result = await turn.use(self._tool, self._arguments)
        for piece in answer_pieces(finished([tool_answer(result)])):
            await turn.say(piece)
