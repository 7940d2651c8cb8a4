"""From a message to steps. Order matters: the more specific reading comes first."""

import re
from collections.abc import Callable

from canvas_app.brain.language.across import asks_across, has_layout, read_across
from canvas_app.brain.language.answers import is_clear_answer, read_answer
from canvas_app.brain.language.briefing import asks_for_brief, asks_why, read_brief, read_override
from canvas_app.brain.language.canvas import read_add, read_change, read_remove
from canvas_app.brain.language.lexicon import mentions_in
from canvas_app.brain.language.places import elsewhere, read_create, read_switch, read_template, unknown_place
from canvas_app.brain.language.preferences import is_standing, read_preference
from canvas_app.brain.language.questions import read_metric_question, read_small_talk, read_workspace_question
from canvas_app.brain.language.refusals import CAN_DO, is_injection, read_refusal, read_stranger
from canvas_app.brain.language.steps import Call, Say, Step, Surroundings, Tell
from canvas_app.brain.language.text import clauses, tidy, without_courtesy, without_negations
from canvas_app.signals.metrics import OTHER_TIME, far_back

NOT_UNDERSTOOD = f"I did not understand that. {CAN_DO}"

Reader = Callable[[str, Surroundings], list[Step]]


def _strictly_add(clause: str, around: Surroundings) -> list[Step]:
    return read_add(clause, around, strict=True)


COMMANDS: tuple[Reader, ...] = (
    read_override,
    read_preference,
    read_refusal,
    read_brief,
    read_template,
    read_create,
    read_switch,
    read_change,
    read_remove,
    _strictly_add,
)
QUESTIONS: tuple[Reader, ...] = (
    read_small_talk,
    read_workspace_question,
    read_metric_question,
    read_stranger,
    read_add,
)


def _first(readers: tuple[Reader, ...], clause: str, around: Surroundings) -> list[Step]:
    for reader in readers:
        steps = reader(clause, around)
        if steps:
            return steps
    return []


def _in_other_space(clause: str, around: Surroundings) -> list[Step]:
    """A command about another space: it is opened to add to it, and else it has to be opened first."""
    here, other = elsewhere(clause, around)
    adding = (read_brief, read_template, _strictly_add)
    if not other:
        missing = unknown_place(clause, around)
        calls = _first(adding, clause, around) if missing and not read_create(clause, around) else []
        return [Call("switch_space", {"name": missing})] if calls and isinstance(calls[0], Call) else []
    if re.match(r"(?:move|copy|send|push|bring)\b", without_courtesy(clause), re.I) and mentions_in(here):
        return [Say("I can't do that: a component stays in its space. I can add one like it to another.")]
    if any(isinstance(step, Call) and "title" in step.arguments for step in read_change(clause, around)):
        return []
    added = _first(adding, here, around)
    if added:
        return [Call("switch_space", {"name": other}), *added]
    if _first((read_change, read_remove, *QUESTIONS[2:3]), here, around):
        return [_open_first(other, around)]
    return []


def _open_first(other: str, around: Surroundings) -> Say:
    return Say(f"I can't do that from {around.here}: say “switch to {other}” first, then ask again.")


def _across(text: str, around: Surroundings) -> Step:
    other = next(
        (name for name in around.spaces if name != around.here and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)),
        None,
    )
    if other:
        return _open_first(other, around)
    return Say(OTHER_TIME) if far_back(text) else read_across(text)


def _commands(parts: list[str], around: Surroundings) -> tuple[list[Step], list[str]]:
    """The steps of the clauses that are commands, and the clauses that are none."""
    steps: list[Step] = []
    rest: list[str] = []
    for clause in parts:
        if asks_why(clause, around):
            steps.append(Tell("mission"))
            continue
        found = _in_other_space(clause, around) or _first(COMMANDS, clause, around)
        steps.extend(found)
        if not found:
            rest.append(clause)
    return steps, rest


def understand(message: str, around: Surroundings) -> list[Step]:
    """What to do about the message; at least one step."""
    text = tidy(message)
    if is_injection(text):
        return [Say(f"I keep to what I am here for, so I did nothing. {CAN_DO}")]
    if has_layout(text) and not asks_for_brief(text):
        return [read_across(text)]
    wanted = text if is_standing(text) else without_negations(text)
    parts = clauses(wanted)
    steps, rest = ([], parts) if is_clear_answer(text, around) else _commands(parts, around)
    if not steps and (answer := read_answer(text, around)) is not None:
        return [answer]
    if any(asks_across(clause) for clause in rest):
        return [*steps, read_across(text) if steps else _across(text, around)]
    for clause in rest:
        steps.extend(_first(QUESTIONS, clause, around))
    if not steps and wanted != text:
        return [Say("All right, I leave everything as it is.")]
    return steps or [Say(NOT_UNDERSTOOD)]
