"""The library of drafts: what `carob` offers of it in Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from carob.engine.rescoring import (
    AnyJournal,
    as_journals,
    name_run,
    trusting,
)
from carob.plugins.project import find_project
from carob.system.sync_async import make_async, make_sync
from carob.targets.config import read_config

if TYPE_CHECKING:
    from carob.engine.request import AnyTarget, ResumeKeywords
    from carob.features.draft.contrast import ContrastDraft
    from carob.features.draft.draft import SuiteDraft
    from carob.features.draft.rules import RulesDraft


REPEATS = 5
"""How often a draft asks each prompt if the user does not say."""


def read_prompts(path: str | Path) -> list[str]:
    """The prompts of a file for a draft: one a line, or the column `prompt` of a .csv file."""
    from carob.features.draft.session import read_prompts

    return read_prompts(Path(path))


async def adraft(
    sources: AnyJournal | Sequence[AnyJournal] = (),
    target: AnyTarget | None = None,
    *,
    prompts: Sequence[str] = (),
    name: str = "",
    max_cases: int = 30,
    keep_personal_data: bool = False,
    allow_effects: bool = False,
    **how: Unpack[ResumeKeywords],
) -> SuiteDraft:
    """Draft a suite from recorded traces, or from what a target does when it is asked `prompts`.

    Each prompt is asked `repeat` times, five if not given.
    Nothing is written: `yaml` of the draft is the text of the suite. A target whose tools may change something is only
    asked with `allow_effects`. The other arguments are those of `run`.
    """
    from carob.features.draft.draft import DraftOptions
    from carob.features.draft.session import adraft_target, draft_sources

    options = DraftOptions(name=name, max_cases=max_cases, keep_personal_data=keep_personal_data)
    project = find_project()
    if prompts:
        config = trusting(read_config(project), how.get("trust_code"))
        return await adraft_target(
            target, prompts, how.get("repeat", REPEATS), options, config, allow_effects=allow_effects, how=how
        )
    return await make_async(draft_sources)([*map(name_run, as_journals(sources))], options, project)


draft = make_sync(adraft)


def draft_rules(sources: AnyJournal | Sequence[AnyJournal], *, name: str = "") -> RulesDraft:
    """Draft a contract: rules that all recorded conversations keep, learned from half of them, checked on the others.

    Nothing is written: `yaml` of the draft is the text of the contract.
    """
    from carob.features.draft.session import draft_rules_of_sources

    return draft_rules_of_sources([*map(name_run, as_journals(sources))], name, find_project())


def draft_contrast(
    good: AnyJournal | Sequence[AnyJournal],
    bad: AnyJournal | Sequence[AnyJournal],
    *,
    name: str = "",
    max_cases: int = 30,
    keep_personal_data: bool = False,
) -> ContrastDraft:
    """Draft what all good recorded sessions did and a bad one did not: commands, files, skills, calls and rules.

    Nothing is written: `yaml` of the draft is the text of a suite that every good session passes, and `lines` says
    which bad ones each line catches. Raises UsageError if they differ in nothing.
    """
    from carob.features.draft.draft import DraftOptions
    from carob.features.draft.session import draft_contrast_of_sources

    options = DraftOptions(name=name, max_cases=max_cases, keep_personal_data=keep_personal_data)
    good, bad = ([*map(name_run, as_journals(sources))] for sources in (good, bad))
    return draft_contrast_of_sources(good, bad, options, find_project())
