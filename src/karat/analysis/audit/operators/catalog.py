"""Every operator, one family per file."""

from __future__ import annotations

from karat.analysis.audit.operators import (
    additions,
    answers,
    content,
    literal_words,
    measures,
    surroundings,
    tool_calls,
)
from karat.analysis.audit.operators.base import Operator

OPERATORS: tuple[Operator, ...] = (
    *tool_calls.OPERATORS,
    *answers.OPERATORS,
    *additions.OPERATORS,
    *content.OPERATORS,
    *surroundings.OPERATORS,
    *measures.OPERATORS,
    *literal_words.OPERATORS,
)
