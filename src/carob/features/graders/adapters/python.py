"""`python:module:function`: a function, sync or async. Its parameters say by their names what it is given."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from carob.errors import ConfigError
from carob.features.graders.adapters.base import Judge, Loader
from carob.features.graders.forms import PARTS, GraderInput
from carob.text.wording import join_words


def build(name: str, loader: Loader) -> Judge:
    """The function that a spec names, as a judge."""
    return call_by_names(loader.load(name), f"python:{name}")


def call_by_names(function: Any, name: str) -> Judge:
    """A judge that gives a function what its parameters are named for."""
    if not callable(function):
        raise ConfigError(f"{name!r} is not a function.", slug="bad-grader")
    takes, first = _find_parts(function, name)

    def judge(given: GraderInput) -> object:
        positional = [given.part(first)] if first else []
        value = function(*positional, **{part: given.part(part) for part in takes})
        return asyncio.run(_wait(value)) if inspect.isawaitable(value) else value

    return judge


async def _wait(value: Any) -> object:
    return await value


def _find_parts(function: Callable[..., object], name: str) -> tuple[list[str], str]:
    """The parts that it is given by name, and the one that its only parameter without such a name gets."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # it is written in C
        return [], "trace"
    unnamed = [p for p in parameters if p.name not in PARTS and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    required = [p for p in unnamed if p.default is p.empty]
    takes = [p.name for p in parameters if p.name in PARTS]
    if len(required) > 1 or (takes and required) or any(p.kind is p.KEYWORD_ONLY for p in required):
        names = join_words([repr(p.name) for p in required], "and")
        fix = f"Name its parameters {join_words([*PARTS], 'or')}; give others a default."
        raise ConfigError(f"{name!r} takes {names}, which Carob does not know.", fix=fix, slug="bad-grader")
    if takes or not required:
        if not takes:
            raise ConfigError(
                f"{name!r} takes nothing.", fix="Give it a parameter `trace` or `messages`.", slug="bad-grader"
            )
        return takes, ""
    wanted = str(required[0].annotation).lower()
    return takes, "messages" if "list" in wanted or "sequence" in wanted else "trace"
