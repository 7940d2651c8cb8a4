"""The tools that no rule names: they pass a guard unseen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from carob.features.guard.policy import GuardPolicy


def find_unnamed(policy: GuardPolicy, tools: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The tools that no rule names, each with a question whether a name in a rule was meant, if one is like it."""
    for tool in dict.fromkeys(tools):
        if not policy.concerns(tool):
            yield tool, policy.did_you_mean(tool)
