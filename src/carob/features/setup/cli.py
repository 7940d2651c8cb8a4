"""`carob init`"""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from carob.errors import ExitCode

if TYPE_CHECKING:
    from carob.features.setup.survey.findings import FoundAgent, Survey
    from carob.features.setup.write.plan import InitPlan

LATER = "fill it in later"
HERE = "May Carob load {agent.use} into this process and send it a few greetings?"
STARTED = "May Carob start the app ({agent.options[start]}) and send it a few greetings?"
THERE = "May Carob send the agent at {agent.address} a few greetings?"
DOUBT = "{0.address}: {1}. Is it the agent?"
PROMPTS = "What do people ask it? These prompts are sent, and tools act on them. (separate with |; Enter for none)"


@click.command()
@click.option("--yes", is_flag=True, help="Ask no questions: use the likeliest agent, call it, and write the files.")
@click.option("--example", is_flag=True, help="Write a tiny agent with a bug to find, and the suite that finds it.")
@click.option(
    "-t", "--target", metavar="SPEC", help="The agent, if Carob does not find it, such as python:agent.py:answer."
)
@click.option(
    "--prompt", "prompts", multiple=True, metavar="TEXT", help="A prompt that people send to the agent. Repeatable."
)
@click.option("--allow-effects", is_flag=True, help="Send the prompts of --prompt; the agent's tools act on them.")
@click.option("--no-ask", is_flag=True, help="Do not load or call the agent; write a suite to fill in.")
def command(
    yes: bool, example: bool, target: str | None, prompts: tuple[str, ...], allow_effects: bool, no_ask: bool
) -> int:
    """Find the agent in this folder, and write what a first run needs: carob.toml, a suite, and related files.

    Carob only reads files until you agree that it may call the agent, and it calls an address only on this machine. It
    shows every file first and overwrites nothing; a second run changes nothing. Without a terminal, it writes only with
    --yes.

    \b
    Examples:
      carob init
      carob init --yes --target python:agent.py:answer --prompt "Where is my order?" --allow-effects
      carob init --example
    """
    from carob.features.setup import library
    from carob.features.setup import terminal as console

    talks = not yes and sys.stdin.isatty() and sys.stdout.isatty()
    if example:
        plan = library.plan_example()
    else:
        survey = library.survey_project()
        console.show_survey(survey)
        agent = _choose(survey, target, may_ask=yes and not no_ask, talks=talks)
        may_ask = not no_ask and (yes or (talks and _may_ask(survey, agent)))
        if may_ask and talks and agent is not None:
            agent = _trust(survey, agent)
        if may_ask and talks and not prompts:
            prompts = _prompts()
            allow_effects = True
        if may_ask and (survey.targets or (agent is not None and agent.bridge is None)):
            console.show_question(agent, len(prompts) if allow_effects else 0)
        plan = library.plan_init(survey, agent, prompts=prompts, may_ask=may_ask, allow_effects=allow_effects)
    return _carry_out(plan, yes=yes, talks=talks)


def _carry_out(plan: InitPlan, *, yes: bool, talks: bool) -> int:
    """Show the plan, write it if that is wanted, and run the suite, or check it where no agent answered."""
    from carob.cli.main import print_error, run
    from carob.features.setup import library
    from carob.features.setup import terminal as console

    console.show_plan(plan)
    if not plan.files:
        return ExitCode.OK
    if not yes and not talks:
        print_error("carob: nothing was written: this is not a terminal. Add --yes to write these files. [usage]")
        return ExitCode.USAGE
    if not yes and not click.confirm("Write these files?", default=True):
        click.echo("Nothing was written.")
        return ExitCode.OK
    library.write_plan(plan)
    arguments = ["run", plan.suite] if plan.works else ["lint", "--errors-only", plan.suite]
    click.echo(f"Written. carob {shlex.join(arguments)}\n")
    return run(arguments)


def _choose(survey: Survey, target: str | None, *, may_ask: bool, talks: bool) -> FoundAgent | None:
    """The agent to write a target for: the likeliest, or the one that is named or chosen."""
    from carob.features.setup import library

    if survey.targets:
        return None
    if target is not None or not talks:
        return library.choose_agent(survey, target, may_ask=may_ask)
    if len(survey.agents) == 1:
        return survey.agents[0]
    if survey.agents:
        for number, agent in enumerate(survey.agents, 1):
            click.echo(f"  {number}  {agent.use}")
        choice = click.prompt(
            "Which one is the agent? (0: none)", type=click.IntRange(0, len(survey.agents)), default=1
        )
        return survey.agents[choice - 1] if choice else None
    spec = click.prompt(
        "How can Carob reach your agent? (such as python:agent.py:answer, or an http:// address)", default=LATER
    )
    return None if spec == LATER else library.choose_agent(survey, spec)


def _may_ask(survey: Survey, agent: FoundAgent | None) -> bool:
    if agent is None:
        return bool(survey.targets) and click.confirm("May Carob send the target in carob.toml a few greetings?")
    question = THERE if agent.address else STARTED if "start" in agent.options else HERE
    return agent.is_local and click.confirm(question.format(agent=agent))


def _trust(survey: Survey, agent: FoundAgent) -> FoundAgent:
    """The agent, trusted if what answers in its place may be another project's and the user says that it is not."""
    from carob.features.setup.library import doubt

    reason = doubt(survey, agent)
    return agent._replace(is_trusted=True) if reason and click.confirm(DOUBT.format(agent, reason)) else agent


def _prompts() -> tuple[str, ...]:
    answer = click.prompt(PROMPTS, default="", show_default=False)
    return tuple(part.strip() for part in answer.split("|") if part.strip())
