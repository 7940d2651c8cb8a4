"""Every operator, one family per file."""

from __future__ import annotations

from karat.audit.operators import answers, content, surroundings, tool_calls
from karat.audit.operators.base import Operator

OPERATORS: tuple[Operator, ...] = (
    *tool_calls.OPERATORS,
    *answers.OPERATORS,
    *content.OPERATORS,
    *surroundings.OPERATORS,
)
