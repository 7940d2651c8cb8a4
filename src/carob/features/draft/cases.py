"""From a group of traces to a case: what is said to the agent, and what is expected of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from carob.features.draft.expectations import AllKinds, CaseContract, Noted, loosen
from carob.features.draft.proving import DraftCase, fill
from carob.features.draft.trace_groups import TraceGroup, user_texts
from carob.features.draft.trace_statistics import LONGEST_PROMPT, TraceStatistics, argument_values
from carob.model.trace import Trace
from carob.redaction.personal_data import Masker

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


def draft_case(
    group: TraceGroup, around: AllKinds, used_names: set[str], masker: Masker
) -> tuple[DraftCase, list[Trace]]:
    """The case of a group, and the traces that its rows are from."""
    learned = group.learned
    agreed = CaseContract(learned, around)
    name = _name(group, used_names, masker)
    examples = _examples(learned)
    tree: dict[str, Any] = {"id": name}
    if group.setup_prompts:
        tree["setup_prompts"] = [*group.setup_prompts]
    if group.preconditions:
        tree["preconditions"] = [*group.preconditions]
    comments = _comments(group, agreed)
    if examples[0].turns:
        return _conversation(tree, learned, agreed, around, examples[0], comments), examples[:1]
    if len(examples) == 1:
        tree["prompt"] = Noted(examples[0].input, comments)
        return DraftCase(tree, agreed.expected, [], _row(agreed, examples[0])), examples
    tree["id"] = f"{name}-{{row}}"
    tree["each"] = [
        {"row": number, "asked": trace.input, **_row(agreed, trace)} for number, trace in enumerate(examples, 1)
    ]
    tree["prompt"] = Noted("{asked}", comments)
    return DraftCase(tree, agreed.expected, [], {}), examples


def _conversation(
    tree: dict[str, Any],
    learned: TraceStatistics,
    agreed: CaseContract,
    around: AllKinds,
    example: Trace,
    comments: str,
) -> DraftCase:
    """Turns with expectations of their own if every trace has the same script, else what all came to.

    A user who gave the same replies in another order is one who answers when asked.
    """
    row, prompts = _row(agreed, example), user_texts(example)
    if replies := learned.replies.script():
        loosen(agreed.expected, around)
        return DraftCase({**tree, "prompt": Noted(prompts[0], comments), "replies": replies}, agreed.expected, [], row)
    tree["x-support"] = comments
    if not (learned.has_one_script and len(learned.turns) == len(prompts)):
        loosen(agreed.expected, around)
        return DraftCase(tree, agreed.expected, [(prompt, {}) for prompt in prompts], row)
    overall = {field: value for field, value in agreed.expected.items() if field not in OF_TURNS}
    if deeds := [entry for entry in agreed.expected.get("tool_calls", ()) if entry["tool"] in around.is_effect]:
        overall = {"tool_calls": deeds, **overall}
    turns = []
    for prompt, turn, turn_trace in zip(prompts, learned.turns, example.turns, strict=True):
        turn_expected = CaseContract(turn, around, of_turn=True)
        fill(turn_expected.expected, _row(turn_expected, turn_trace))
        turns.append((prompt, turn_expected.expected))
    return DraftCase(tree, overall, turns, row)


def _examples(learned: TraceStatistics) -> list[Trace]:
    """A few traces to take prompts from, the most frequent prompts first, each prompt once."""
    by_prompt = {user_texts(trace): trace for trace in reversed(learned.examples)}
    usable = [user for user in by_prompt if sum(map(len, user)) <= LONGEST_PROMPT] or [*by_prompt]
    usable.sort(key=lambda user: (-learned.prompts[user], sum(map(len, user))))
    return [by_prompt[user] for user in usable[:MOST_ROWS]]


def _row(agreed: CaseContract, trace: Trace) -> dict[str, Any]:
    """The value of each variable in a trace."""
    values = {}
    for name, (tool, number, path) in agreed.variables.items():
        calls = [call for call in trace.tool_calls if call.called and call.name == tool]
        values[name] = dict(argument_values(calls[number].arguments))[path]
    return values


def _comments(group: TraceGroup, agreed: CaseContract) -> str:
    prompts = len(group.learned.prompts)
    runs = f"{group.total} run{'s' * (group.total != 1)}"
    support = f"{runs} of {prompts} prompts" if prompts > 1 else runs
    return f"{support}; varied: {'; '.join(agreed.varied)}" if agreed.varied else support


def slug(text: str) -> str:
    words = _SLUG.sub("-", text.lower()).strip("-")
    return words[:LONGEST_ID].rpartition("-")[0] or words[:LONGEST_ID] if len(words) > LONGEST_ID else words


def name_prompts(prompts: Sequence[str]) -> dict[str, str]:
    """Prompts by a name for each, without personal data; one that is asked twice counts once."""
    named_prompts: dict[str, str] = {}
    masker = Masker()
    for prompt in dict.fromkeys(prompts):
        named_prompts[_unused_name(slug(masker.text(prompt)) or "prompt", named_prompts)] = prompt
    return named_prompts


def _unused_name(plain: str, used_names: Collection[str]) -> str:
    numbered = (f"{plain}-{number}" for number in range(2, len(used_names) + 3))
    return next(name for name in (plain, *numbered) if name not in used_names)


def _name(group: TraceGroup, used_names: set[str], masker: Masker) -> str:
    kind = group.kinds[0]
    group_name = masker.text(group.name)
    is_id = len(group_name) <= LONGEST_ID and not any(map(str.isspace, group_name))
    slug_of_name = group_name if is_id and group_name.isprintable() else slug(group_name)
    does = slug("-".join(kind.tools[:2])) if kind.tools else ""
    how = OUTCOME_WORDS.get(kind.outcome, "")
    plain = slug_of_name or "-".join(part for part in (does, how) if part) or "case"
    name = _unused_name(plain, used_names)
    used_names.add(name)
    return name
