"""The library of the first files of a project: what `carob` offers of it in Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from carob.plugins.project import find_project
from carob.system.sync_async import make_sync
from carob.targets.config import read_config

if TYPE_CHECKING:
    from carob.features.setup.inspect.inspection import Inspection
    from carob.features.setup.survey.findings import FoundAgent, Survey
    from carob.features.setup.write.plan import InitPlan


async def ainspect(
    where: str,
    *,
    prompt: str | Sequence[str] | None = None,
    name: str | None = None,
    kind: str | None = None,
    options: Mapping[str, object] | None = None,
) -> Inspection:
    """Look at an agent that has no target yet, and find a target that works for it.

    `where` is an address, a spec such as `langgraph:module:graph`, or a name of carob.toml; `kind` says what answers at
    an address. The prompt is sent to see what comes of it, and again to prove the target. A service takes several: one
    for which a tool is called, one for which it fails.
    """
    from carob.features.setup.inspect.catalog import inspect_target, target
    from carob.features.setup.inspect.inspection import without_passwords

    config = target(where, kind, name, options or {}, find_project())
    prompts = (prompt,) if isinstance(prompt, str) else tuple(prompt or ())
    return without_passwords(await inspect_target(config, prompts))


inspect = make_sync(ainspect)


def add_target(inspection: Inspection) -> Path:
    """Add an inspected target to the configuration of this folder, which must have none of its name; the file."""
    from carob.features.setup.inspect.inspection import add

    return add(inspection, find_project())


def survey_project(folder: str | Path = ".") -> Survey:
    """See what a project holds that a first suite can build on. Its files are read; nothing of it is run or asked."""
    from carob.features.setup.survey.survey import survey_folder

    return survey_folder(Path(folder), os.environ)


def choose_agent(survey: Survey, spec: str | None = None, *, may_ask: bool = False) -> FoundAgent | None:
    """The agent that a spec or its place names, else the likeliest found.

    With `may_ask`, the first that can be reached now.
    """
    from carob.features.setup.survey.findings import parse_agent
    from carob.features.setup.survey.ownership import why_foreign
    from carob.features.setup.survey.probe import is_listening
    from carob.targets.catalog import require_kind
    from carob.targets.config import resolve

    if spec is not None:
        found = [agent for agent in survey.agents if spec in (agent.use, agent.where)]
        if len(found) == 1:
            return found[0]._replace(is_trusted=True)
        agent = parse_agent(spec)
        require_kind(resolve(spec, read_config(find_project(survey.folder)), survey.folder))
        return agent
    agents = [agent for agent in survey.agents if not agent.is_model] or survey.agents
    reached = (agent for agent in agents if may_ask and agent.is_local and is_listening(agent))
    ours = (agent for agent in reached if not why_foreign(agent, survey.folder))
    return next(ours, next(iter(agents), None))


def doubt(survey: Survey, agent: FoundAgent) -> str:
    """Why what answers at the address of an agent may be another project's; empty if it is this one's, or none does."""
    from carob.features.setup.survey.ownership import why_foreign
    from carob.features.setup.survey.probe import is_listening

    return why_foreign(agent, survey.folder) if agent.is_local and is_listening(agent) else ""


async def aplan_init(
    survey: Survey,
    agent: FoundAgent | None = None,
    *,
    prompts: Sequence[str] = (),
    may_ask: bool = False,
    allow_effects: bool = False,
) -> InitPlan:
    """Plan the first files of a project for one of its agents; nothing is written.

    With `may_ask`, the agent is loaded, or asked at its loopback address, and the suite drafted from what it does: with
    a greeting, and with `prompts` only if `allow_effects`, because its tools may change something.
    """
    from carob.features.setup.write.plan import Consent, plan_files

    consent = Consent(may_ask, allow_effects)
    return await plan_files(survey, agent, tuple(prompts), find_project(survey.folder), consent)


plan_init = make_sync(aplan_init)


def plan_example(folder: str | Path = ".") -> InitPlan:
    """Plan the example: a tiny agent with a bug to find, and the suite that finds it."""
    from carob.features.setup.write.plan import plan_example

    return plan_example(Path(folder), find_project(folder))


async def ainit(
    folder: str | Path = ".",
    agent: str | None = None,
    *,
    prompts: Sequence[str] = (),
    may_ask: bool = False,
    allow_effects: bool = False,
) -> InitPlan:
    """Write the first files of a project, as `carob init` does: `agent` is a spec, by default what is found there.

    The other arguments are those of `plan_init`. A file that is there is never overwritten.
    """
    survey = survey_project(folder)
    target = choose_agent(survey, agent, may_ask=may_ask)
    plan = await aplan_init(survey, target, prompts=prompts, may_ask=may_ask, allow_effects=allow_effects)
    write_plan(plan)
    return plan


init = make_sync(ainit)


def write_plan(plan: InitPlan) -> None:
    """Write the files of a plan, all of them or none; a file that is there is never overwritten."""
    from carob.features.setup.write.plan import write_together

    write_together(plan.folder, plan.files)
