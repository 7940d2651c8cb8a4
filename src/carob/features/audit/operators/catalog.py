"""Every operator, one family per file."""

from __future__ import annotations

from carob.features.audit.operators import answers, content, literal_words, measures, rules, tool_calls, workspace
from carob.features.audit.operators import observations as surroundings
from carob.features.audit.operators.base import Operator

OPERATORS: tuple[Operator, ...] = (
    *tool_calls.OPERATORS,
    *answers.OPERATORS,
    *content.OPERATORS,
    *surroundings.OPERATORS,
    *measures.OPERATORS,
    *literal_words.OPERATORS,
    *workspace.OPERATORS,
)

OF_CALLS = frozenset(operator.name for operator in OPERATORS if operator.name.startswith(("tool-", "precondition-")))
"""Those that change calls of tools. Where the deeds were seen, what an agent's log says of them decides little."""

EVERY_OPERATOR: tuple[Operator, ...] = (*OPERATORS, *rules.OPERATORS)
"""Those that fields of a case notice, and those that rules do."""
