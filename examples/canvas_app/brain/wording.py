"""How an answer is put together and cut into pieces for streaming."""

import re
from collections.abc import Iterator

from canvas_app.tools.base import ToolResult
from canvas_app.wording import listed

ANSWER_LIMIT = 8_000
WORDS_PER_PIECE = 6


def tool_answer(result: ToolResult) -> str:
    """What the assistant says about a tool's result."""
    if result.pending is None:
        return result.message
    labels = [option.label for option in result.pending.options]
    if not labels:
        return f"{result.message} You can type it below."
    return f"{result.message} You can choose below: {listed(labels, 'or')}."


def finished(paragraphs: list[str]) -> str:
    """The whole answer, bounded; the same thing is not said twice."""
    return "\n\n".join(dict.fromkeys(paragraph.strip() for paragraph in paragraphs))[:ANSWER_LIMIT]


def answer_pieces(text: str) -> Iterator[str]:
    """The text in small pieces that add up to it exactly."""
    words = re.findall(r"\S*\s*", text)
    for start in range(0, len(words), WORDS_PER_PIECE):
        piece = "".join(words[start : start + WORDS_PER_PIECE])
        if piece:
            yield piece
