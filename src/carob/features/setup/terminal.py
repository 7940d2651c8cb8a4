"""What `carob init` found and would write, for a person to read."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

import click

from carob.redaction.redactor import Redactor
from carob.text.wording import pluralize, shorten, visible

if TYPE_CHECKING:
    from carob.features.setup.survey.findings import FoundAgent, Survey
    from carob.features.setup.write.plan import InitPlan, PlannedFile

BY_FUNCTION = "Carob asks it through a function of yours that takes a prompt (`carob help targets`)"
BY_PRESET = "a preset tests whether a coding agent obeys it (`carob help coding-agents`)"
FOR_VITEST = "each case is a test with the npm package carob (`carob help typescript`)"
FOR_PYTEST = "collects *.carob.yaml files as tests"


def show_survey(survey: Survey) -> None:
    """What was found, and where."""
    rows = [(agent.what, f"{agent.where}: {agent.use}") for agent in survey.agents]
    rows += [("agent of a framework", f"{where}: {BY_FUNCTION}") for where in survey.others]
    rows += [(f"suite ({suite.format})", suite.path) for suite in survey.suites]
    rows += [("instructions", f"{name}: {BY_PRESET}") for name in survey.instructions]
    rows += [(f"MCP server {server.name!r}", server.where) for server in survey.servers]
    rows += (
        [("pytest", FOR_PYTEST + (f" in {survey.tests}/" if survey.tests else ""))] if survey.tests is not None else []
    )
    rows += [("vitest or node:test", FOR_VITEST)] if survey.recorder else []
    rows += [("configuration of Carob", survey.config)] if survey.config else []
    _echo("Found here:" if rows else "Found no agent, no suite, and nothing else that Carob knows.")
    width = max((len(label) for label, _ in rows), default=0)
    for label, where in rows:
        _echo(f"  {label:<{width}}  {where}")


def show_question(agent: FoundAgent | None, prompts: int) -> None:
    """What is asked now, since it may take a while."""
    whom = agent.use if agent is not None else "the target of carob.toml"
    request = pluralize(prompts, "prompt") if prompts else "a greeting"
    _echo(f"Asking {whom}: {request}, a few times ...")


def show_plan(plan: InitPlan) -> None:
    """What would be written, as a diff shows it."""
    for note in plan.notes:
        _echo(f"note: {note}")
    if not plan.files:
        message = "Nothing to write: all files already exist."
        _echo(f"{message} Run the suite with: carob run {quote(plan.suite)}")
        return
    _echo("\nTo be written:")
    for file in plan.files:
        _show_file(file)
    _echo("")


def _show_file(file: PlannedFile) -> None:
    if file.note:
        _echo(f"+++ {file.path} ({file.note})")
        return
    _echo(f"+++ {file.path}{'' if file.before is None else ' (lines are added)'}")
    for line in file.text[len(file.before or "") :].splitlines():
        _echo(f"+ {line}".rstrip())


def _echo(text: str) -> None:
    """Print text that may quote files of the project: it cannot steer the terminal, and shows no password."""
    click.echo("\n".join(shorten(visible(line), 400) for line in Redactor().text(text).split("\n")))
