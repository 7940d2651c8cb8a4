"""Bugs to plant into the canvas app, in this process or in a live app: `python canvas_bugs.py BUG --port N`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from canvas_app import turns
from canvas_app.__main__ import main
from canvas_app.brain import lookups, rule_based
from canvas_app.brain.base import Turn
from canvas_app.brain.language import preferences, understand
from canvas_app.brain.language.steps import Call, Say, Step, Surroundings
from canvas_app.brain.rule_based import RuleBasedBrain
from canvas_app.store.conversation import Conversation
from canvas_app.store.workspace import Workspace
from canvas_app.synthesis import answer
from canvas_app.tools import components
from canvas_app.tools.base import ToolResult, refused
from canvas_app.turns import LiveTurn
from canvas_app.web import render
from canvas_app.wording import age_text

Plant = Callable[[object, str, Any], None]
"""How something of the app is replaced: `setattr`, or that of a MonkeyPatch."""

THOUGHT = 61.0


def _steps(plant: Plant, change: Callable[[list[Step]], Iterable[Step]]) -> None:
    """What the brain makes of a message is changed before it is done."""
    understood = rule_based.understand

    def wrongly(message: str, around: Surroundings) -> list[Step]:
        return [*change(understood(message, around))]

    plant(rule_based, "understand", wrongly)


def _words(plant: Plant, change: Callable[[ToolResult, str], str]) -> None:
    """What the assistant says about a tool's result is changed; the result is not."""
    told = rule_based.tool_answer
    plant(rule_based, "tool_answer", lambda result: change(result, told(result)))


def _with_arguments(steps: list[Step], change: Callable[[Mapping[str, str]], Mapping[str, str]]) -> list[Step]:
    return [replace(step, arguments=change(step.arguments)) if isinstance(step, Call) else step for step in steps]


def wrong_repository(plant: Plant) -> None:
    """Cards are narrowed to another repository than was asked for."""
    _steps(plant, lambda steps: _with_arguments(steps, lambda a: {**a, "repo": "atlas-api"} if "repo" in a else a))


def vercel_for_posthog(plant: Plant) -> None:
    """One integration is taken for another."""
    swap = {"integration": "posthog", "component": "signups"}
    _steps(plant, lambda s: _with_arguments(s, lambda a: swap if a.get("component") == "build_health" else a))


def last_things_first(plant: Plant) -> None:
    """Of several things, the last is done first."""
    _steps(plant, lambda steps: steps[::-1])


def stays_in_this_space(plant: Plant) -> None:
    """What belongs into another space is added to this one."""
    _steps(plant, lambda steps: [s for s in steps if not (isinstance(s, Call) and s.tool == "switch_space")])


def curt(plant: Plant) -> None:
    """Refusals do not say what could be asked instead."""
    _steps(plant, lambda steps: [Say("I cannot do that.") if isinstance(s, Say) else s for s in steps])


def calls_twice(plant: Plant) -> None:
    """Every tool is called twice, and only the first result is told."""
    used = LiveTurn.use

    async def twice(self: LiveTurn, tool: str, arguments: Mapping[str, object]) -> ToolResult:
        first = await used(self, tool, arguments)
        await used(self, tool, arguments)
        return first

    plant(LiveTurn, "use", twice)


def guesses(plant: Plant) -> None:
    """Where something has to be chosen, the first choice is taken and nobody is asked."""
    used = LiveTurn.use

    async def first_choice(self: LiveTurn, tool: str, arguments: Mapping[str, object]) -> ToolResult:
        result = await used(self, tool, arguments)
        if result.pending is None or not result.pending.options:
            return result
        return await used(self, tool, {**arguments, **result.pending.options[0].arguments})

    plant(LiveTurn, "use", first_choice)


def forgets_the_question(plant: Plant) -> None:
    """What was asked is forgotten before it is answered."""
    plant(Conversation, "set_pending", lambda self, pending: None)


def crashes(plant: Plant) -> None:
    """A tool breaks where it should refuse."""

    run_tool = turns.run_tool

    def broken(workspace: Workspace, name: str, arguments: Mapping[str, object]) -> ToolResult:
        result = run_tool(workspace, name, arguments)
        if result.code is not None:
            raise KeyError(result.code)
        return result

    plant(turns, "run_tool", broken)


def denies_its_success(plant: Plant) -> None:
    """A tool does its work and reports a failure, with the words of a success."""
    run_tool = turns.run_tool

    def denied(workspace: Workspace, name: str, arguments: Mapping[str, object]) -> ToolResult:
        result = run_tool(workspace, name, arguments)
        return refused("unknown", result.message, **result.data) if result.success else result

    plant(turns, "run_tool", denied)


def wrong_space_in_the_result(plant: Plant) -> None:
    """Results tell of another space than the one that was changed."""
    described = components.describe
    plant(components, "describe", lambda card, space: {**described(card, space), "space": "Back Office"})


def chatty(plant: Plant) -> None:
    """Every answer ends in a courtesy."""
    _words(plant, lambda result, said: f"{said} Is there anything else that I can do for you?")


def wordy(plant: Plant) -> None:
    """An answer goes on and on."""
    _words(plant, lambda result, said: f"{said} {'And so on. ' * 60}")


def makes_up_a_number(plant: Plant) -> None:
    """A number that nothing shows."""
    _words(plant, lambda result, said: f"{said} That makes 7,313 in all." if result.success else said)


def tells_another_number(plant: Plant) -> None:
    """The words tell an hour where the tool kept 45 minutes."""
    _words(plant, lambda result, said: said.replace("45 minutes", "60 minutes"))


def claims_it_anyway(plant: Plant) -> None:
    """What a tool refused is told as done."""
    _words(plant, lambda result, said: said if result.code is None else "Done: I added it to the canvas.")


def an_hour_off(plant: Plant) -> None:
    """What an answer lists is an hour older than it is."""
    plant(lookups, "age_text", lambda minutes: age_text(minutes + 60))


def _json(plant: Plant, change: Callable[[dict[str, Any]], object]) -> None:
    """Answers in JSON are changed."""
    made = answer._as_json
    plant(answer, "_as_json", lambda signals, request: json.dumps(change(json.loads(made(signals, request)))))


def numbers_as_text(plant: Plant) -> None:
    """The score is a text in the JSON."""
    _json(plant, lambda told: {**told, "risk_score": str(told["risk_score"])})


def stale_numbers_in_json(plant: Plant) -> None:
    """The JSON tells yesterday's commits as today's."""

    def stale(told: dict[str, Any]) -> dict[str, Any]:
        github = told["signals"]["github"]
        github["commits_today"] = github["commits_yesterday"]
        return told

    _json(plant, stale)


def thinks_for_a_minute(plant: Plant) -> None:
    """It answers as it should, more than a minute later."""
    answered = RuleBasedBrain.answer

    async def slowly(self: RuleBasedBrain, turn: Turn) -> None:
        await asyncio.sleep(THOUGHT)
        await answered(self, turn)

    plant(RuleBasedBrain, "answer", slowly)


def draws_nothing(plant: Plant) -> None:
    """The page stays as it was: no new card, no question, no other space."""
    parts = render.Renderer.parts
    first: dict[str, dict[str, str]] = {}

    def as_before(self: render.Renderer, workspace: Workspace, query: str) -> dict[str, str]:
        return first.setdefault(workspace.session, parts(self, workspace, query))

    plant(render.Renderer, "parts", as_before)


def reads_every_rule(plant: Plant) -> None:
    """No bug but a better reading: what would be a rule is taken for one, though nobody says that it stands."""
    meaning, standing = preferences._meaning, preferences.is_standing

    def stands(clause: str) -> bool:
        return standing(clause) or (meaning(clause) or {}).get("kind") == "max_age_minutes"

    for module in (preferences, understand):
        plant(module, "is_standing", stands)


BUGS: dict[str, Callable[[Plant], None]] = {
    bug.__name__.replace("_", "-"): bug
    for bug in (
        wrong_repository,
        vercel_for_posthog,
        last_things_first,
        stays_in_this_space,
        curt,
        calls_twice,
        guesses,
        forgets_the_question,
        crashes,
        denies_its_success,
        wrong_space_in_the_result,
        chatty,
        wordy,
        makes_up_a_number,
        tells_another_number,
        claims_it_anyway,
        an_hour_off,
        numbers_as_text,
        stale_numbers_in_json,
        thinks_for_a_minute,
        draws_nothing,
        reads_every_rule,
    )
}


if __name__ == "__main__":
    BUGS[sys.argv[1]](setattr)
    sys.exit(main(sys.argv[2:]))
