"""`--judge`: the judge of carob.toml is asked about the criteria of a run, before that run is judged again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from carob.criteria.decide import LabelReader
from carob.criteria.settings import JudgeSettings, judge_settings
from carob.errors import ConfigError
from carob.features.labels.asking import OpinionAsker, plan_asks
from carob.features.labels.graders import is_undated, open_grader
from carob.features.labels.items import read_items
from carob.features.labels.work import project_of
from carob.journal.reader import Journal
from carob.plugins.project import Project
from carob.text.wording import pluralize


def check_judge(project: Project, environ: Mapping[str, str] = os.environ) -> None:
    """Raise the error that asking would end with, before a run is paid for."""
    open_grader(_settings(project), environ)


def _settings(project: Project) -> JudgeSettings:
    settings = judge_settings(project)
    if settings is None:
        fix = 'Add [judge] with model = "openai:NAME" to carob.toml.'
        raise ConfigError("no judge is configured.", where=project.file, fix=fix, slug="no-judge")
    return settings


def ask_judge(
    run: Journal,
    project: Project,
    say: Callable[[str], None],
    key_name: str = "",
    environ: Mapping[str, str] = os.environ,
) -> dict[str, Any]:
    """Ask about what no label of this run decides; what came of it, for the journal."""
    settings = _settings(project)
    grader = open_grader(settings, environ, key_name)
    labels = LabelReader(project_of(run, project))
    plan = plan_asks(read_items([run]), labels.index(), labels.folder, settings.max_asks)
    if is_undated(settings):
        say(f"warning: {settings.model!r} may mean another model tomorrow: name a dated one")
    if not plan.asks:
        say("the judge has nothing to be asked: labels or opinions are there for all criteria")
        return {"identity": settings.identity, "asked": 0}
    asks = pluralize(len(plan.asks), "opinion")
    say(f"asks {grader.place} for {asks} in at most {plan.requests} requests: criterion and evidence")
    outcome = OpinionAsker(grader, settings, labels.index(), labels.folder).ask_all(plan)
    say(str(outcome))
    return {
        "identity": settings.identity,
        "asked": len(plan.asks),
        "opinions": outcome.opinions,
        "canaries": {"asked": outcome.canaries, "changed": outcome.changed},
    }
