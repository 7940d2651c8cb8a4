"""A stub or a fault that could not land is refused before the agent runs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import carob
from carob.proxy.faults.world import CaseWorld
from carob.targets.base import TargetError
from carob.targets.in_process import reach


@pytest.mark.parametrize(
    ("stubs", "elsewhere", "refused"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_without_a_tool_class_no_stub_can_land(
    stubs: bool, elsewhere: bool, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world_of = {"stubs": {"get": {"result": 1}}} if stubs else {"faults": [{"model": {"hang": True}}]}
    suite = carob.load_suite(
        {"carob": 1, "cases": [{"id": "A", "prompt": "?", "expected": {"min_words": 1}, **world_of}]}
    )
    world = CaseWorld.of(suite.cases[0])
    assert world is not None
    monkeypatch.setattr(reach, "WRAPPING", SimpleNamespace(classes={}))
    if not refused:
        reach.require_tools(world, elsewhere=elsewhere)
        return
    with pytest.raises(TargetError, match="has loaded no tool class"):
        reach.require_tools(world, elsewhere=elsewhere)
