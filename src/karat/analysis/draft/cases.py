"""From a group of traces to a case: what is said to the agent, and what is expected of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from karat.analysis.draft.expectations import AllKinds, CaseContract, Noted, contract, loosen, turn_contract
from karat.analysis.draft.masking import Masker
from karat.analysis.draft.proving import DraftCase, fill
from karat.analysis.draft.trace_groups import TraceGroup, user_texts
from karat.analysis.draft.trace_statistics import LONGEST_PROMPT, TraceStatistics, argument_values
from karat.model.trace import Trace

MOST_ROWS = 3
OF_TURNS = ("outcome", "tool_calls", "tools_used", "tools_match", "tool_requires", "must_ground_numbers", "ui")
"""What is asked of each turn alone, where the user says the same in every trace."""
_SLUG = re.compile(r"[^a-z0-9]+")
LONGEST_ID = 48
OUTCOME_WORDS = {
    "needs_input": "asks",
    "graceful_block": "refuses",
    "graceful_error": "failure",
    "response_only": "answers",
    "completed": "answers",
}


def draft_case(group: TraceGroup, around: AllKinds, taken: set[str], masker: Masker) -> tuple[DraftCase, list[Trace]]:
    """The case of a group, and the traces that its rows are from."""
    learned = group.learned
    made = contract(learned, around)
    name = _name(group, taken, masker)
    examples = _examples(learned)
    tree: dict[str, Any] = {"id": name}
    if group.setup_prompts:
        tree["setup_prompts"] = [*group.setup_prompts]
    if group.preconditions:
        tree["preconditions"] = [*group.preconditions]
    comments = _comments(group, made)
    if examples[0].turns:
        return _conversation(tree, learned, made, around, examples[0], comments), examples[:1]
    if len(examples) == 1:
        tree["prompt"] = Noted(examples[0].input, comments)
        return DraftCase(tree, made.expected, [], _row(made, examples[0])), examples
    tree["id"] = f"{name}-{{row}}"
    tree["each"] = [{"row": number, "asked": one.input, **_row(made, one)} for number, one in enumerate(examples, 1)]
    tree["prompt"] = Noted("{asked}", comments)
    return DraftCase(tree, made.expected, [], {}), examples


def _conversation(
    tree: dict[str, Any], learned: TraceStatistics, made: CaseContract, around: AllKinds, example: Trace, comments: str
) -> DraftCase:
    """Turns with expectations of their own if every trace has the same script, else what all came to.

    A user who gave the same replies in another order is one who answers when asked.
    """
    row, prompts = _row(made, example), user_texts(example)
    if replies := learned.replies.script():
        loosen(made.expected, around)
        return DraftCase({**tree, "prompt": Noted(prompts[0], comments), "replies": replies}, made.expected, [], row)
    tree["x-support"] = comments
    if not (learned.has_one_script and len(learned.turns) == len(prompts)):
        loosen(made.expected, around)
        return DraftCase(tree, made.expected, [(prompt, {}) for prompt in prompts], row)
    whole = {field: value for field, value in made.expected.items() if field not in OF_TURNS}
    if deeds := [entry for entry in made.expected.get("tool_calls", ()) if entry["tool"] in around.is_effect]:
        whole = {"tool_calls": deeds, **whole}
    turns = []
    for prompt, turn, seen in zip(prompts, learned.turns, example.turns, strict=True):
        asked = turn_contract(turn, around)
        fill(asked.expected, _row(asked, seen))
        turns.append((prompt, asked.expected))
    return DraftCase(tree, whole, turns, row)


def _examples(learned: TraceStatistics) -> list[Trace]:
    """A few traces to take prompts from, the most frequent prompts first, each prompt once."""
    known = {user_texts(trace): trace for trace in reversed(learned.examples)}
    usable = [user for user in known if sum(map(len, user)) <= LONGEST_PROMPT] or [*known]
    usable.sort(key=lambda user: (-learned.prompts[user], sum(map(len, user))))
    return [known[user] for user in usable[:MOST_ROWS]]


def _row(made: CaseContract, trace: Trace) -> dict[str, Any]:
    """The value of each variable in a trace."""
    found = {}
    for name, (tool, number, path) in made.variables.items():
        calls = [call for call in trace.tool_calls if call.called and call.name == tool]
        found[name] = dict(argument_values(calls[number].arguments))[path]
    return found


def _comments(group: TraceGroup, made: CaseContract) -> str:
    prompts = len(group.learned.prompts)
    runs = f"{group.total} run{'s' * (group.total != 1)}"
    said = f"{runs} of {prompts} prompts" if prompts > 1 else runs
    return f"{said}; varied: {'; '.join(made.varied)}" if made.varied else said


def slug(text: str) -> str:
    found = _SLUG.sub("-", text.lower()).strip("-")
    return found[:LONGEST_ID].rpartition("-")[0] or found[:LONGEST_ID] if len(found) > LONGEST_ID else found


def name_prompts(prompts: Sequence[str]) -> dict[str, str]:
    """Prompts by a name for each, without personal data; one that is asked twice counts once."""
    found: dict[str, str] = {}
    masker = Masker()
    for prompt in dict.fromkeys(prompts):
        found[_unused_name(slug(masker.text(prompt)) or "prompt", found)] = prompt
    return found


def _unused_name(plain: str, taken: Collection[str]) -> str:
    numbered = (f"{plain}-{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (plain, *numbered) if name not in taken)


def _name(group: TraceGroup, taken: set[str], masker: Masker) -> str:
    kind = group.kinds[0]
    known = masker.text(group.name)
    given = known if len(known) <= LONGEST_ID and " " not in known else slug(known)
    does = slug("-".join(kind.tools[:2])) if kind.tools else ""
    how = OUTCOME_WORDS.get(kind.outcome, "")
    plain = given or "-".join(part for part in (does, how) if part) or "case"
    name = _unused_name(plain, taken)
    taken.add(name)
    return name
