"""Whether the stubs and faults of a case can hit what they are for: which tools this process has."""

from __future__ import annotations

import gc

from carob.model.faults import Stub
from carob.proxy.faults.world import CaseWorld, matches_tool
from carob.targets.base import DENIED, TargetError
from carob.targets.in_process.tool_classes import ToolClass
from carob.targets.in_process.wrapping import WRAPPING
from carob.text.wording import join_words

_MOST_NAMED = 12
_known_tools: set[str] = set()
"""Names of tools that were seen: looking for them takes time."""


def require_tools(world: CaseWorld, *, elsewhere: bool = False) -> None:
    """Raise TargetError, before the agent runs, where a stubbed tool would really run or no fault can land.

    `elsewhere`: the agent can hand its tools to Carob itself, so that it is not known which.
    """
    if elsewhere or world.by_proxy or not world.hits_tools:
        return
    classes = WRAPPING.classes
    if not classes:
        message = "its stubs and faults are for tools, but the agent has loaded no tool class that Carob can reach"
        raise TargetError(DENIED, f"{message}: see `carob help faults`")
    exact = [stub for stub in world.stubs if "*" not in stub.tool]
    if not all(_is_known(stub, world) for stub in exact):
        _known_tools.update(_find_tools(classes))
    for stub in exact:
        if not _is_known(stub, world) and all(row.names is not None for row in classes.values()):
            names = join_words(sorted(_known_tools)[:_MOST_NAMED], "and") if _known_tools else "none"
            message = f"the agent has no tool {stub.tool!r} that Carob can reach (there are: {names}), so its stub has"
            raise TargetError(DENIED, f"{message} no effect and a function of that name would really run")


def _is_known(stub: Stub, world: CaseWorld) -> bool:
    return any(matches_tool(stub.tool, world.names.get(name, name)) for name in _known_tools)


def _find_tools(classes: dict[type, ToolClass]) -> set[str]:
    """The names of all tools of this process."""
    frozen, names = gc.get_freeze_count(), set[str]()
    if frozen:
        gc.unfreeze()  # what was loaded with the agent is not listed otherwise
    try:
        for candidate in gc.get_objects():
            row = next((classes[kind] for kind in type(candidate).__mro__ if kind in classes), None)
            if row is not None and row.names is not None:
                names.update(row.names(candidate))
    finally:
        if frozen:
            gc.freeze()
    return names
