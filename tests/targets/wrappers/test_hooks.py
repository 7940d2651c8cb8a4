from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar

import pytest

from carob.engine.work import run_target
from carob.errors import ConfigError
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.targets.base import RunContext, TargetError
from carob.targets.capabilities import Limits
from carob.targets.config import TargetConfig
from carob.targets.wrappers.hooks import WithHooks
from targets.conftest import case, opened

MODULE = """
import asyncio
calls = []
started = asyncio.Event()

def setup(case):
    calls.append(f"setup {case.id}")
    return {"db": case.id}
async def asetup(case): return setup(case)
def teardown(case, context): calls.append(f"teardown {case.id} {context}")
async def ateardown(case, context): teardown(case, context)
def bare(): calls.append("bare")
def broken(case): raise OSError("no database")
def exits(case): raise SystemExit(1)
class Stop(BaseException): ...
async def stops(case): raise Stop("enough")
async def hangs(case): await asyncio.sleep(3600)

def agent(prompt, context): calls.append(f"agent {context}"); return "x"
def crash(prompt): raise ValueError("agent broke")
async def wait(prompt): started.set(); await asyncio.sleep(3600)
"""


@pytest.fixture
def hooks(tmp_path: Path) -> Path:
    file = tmp_path / f"hooks_{abs(hash(tmp_path)):x}.py"
    file.write_text(MODULE)
    return file


def calls(file: Path) -> list[str]:
    import importlib

    names: list[str] = importlib.import_module(file.stem).calls
    return names


@pytest.mark.parametrize(("setup", "teardown"), [("setup", "teardown"), ("asetup", "ateardown")])
async def test_around_each_case(hooks: Path, setup: str, teardown: str) -> None:
    name = hooks.stem
    async with opened(
        "python", f"{name}:agent", hooks.parent, setup=f"{name}:{setup}", teardown=f"{name}:{teardown}"
    ) as target:
        for case_id in ("a", "b"):
            assert (await target.run(case("p", case_id), RunContext())).final_message == "x"
    assert calls(hooks) == [
        step
        for one in "ab"
        for step in (f"setup {one}", f"agent {{'db': '{one}'}}", f"teardown {one} {{'db': '{one}'}}")
    ]


@pytest.mark.parametrize(
    ("agent", "setup", "teardown", "kind", "message", "expected"),
    [
        pytest.param(
            "agent",
            "broken",
            "teardown",
            "setup-hook",
            "the setup hook raised OSError: no database",
            ["teardown one None"],
            id="setup",
        ),
        pytest.param("agent", "exits", None, "setup-hook", "SystemExit: 1", [], id="setup-exits"),
        pytest.param("agent", "stops", None, "setup-hook", "Stop: enough", [], id="setup-stops"),
        pytest.param(
            "agent", None, "broken", "teardown-hook", "the teardown hook raised OSError", ["agent None"], id="teardown"
        ),
        pytest.param("crash", "bare", "bare", "agent", "ValueError: agent broke", ["bare", "bare"], id="agent"),
        pytest.param(
            "crash", None, "broken", "agent", "agent broke; then the teardown hook raised OSError", [], id="both"
        ),
    ],
)
async def test_failures(
    hooks: Path, agent: str, setup: str | None, teardown: str | None, kind: str, message: str, expected: list[str]
) -> None:
    name = hooks.stem
    async with opened(
        "python",
        f"{name}:{agent}",
        hooks.parent,
        setup=setup and f"{name}:{setup}",
        teardown=teardown and f"{name}:{teardown}",
    ) as target:
        with pytest.raises(TargetError) as caught:
            await target.run(case("p"), RunContext())
    assert caught.value.kind == kind
    assert message in caught.value.message
    assert calls(hooks) == expected
    if kind == "teardown-hook":
        assert caught.value.partial is not None
        assert caught.value.partial.final_message == "x"


async def started(hooks: Path) -> None:
    import importlib

    await importlib.import_module(hooks.stem).started.wait()


async def test_a_cancelled_case_is_reset(hooks: Path) -> None:
    name = hooks.stem
    async with opened("python", f"{name}:wait", hooks.parent, teardown=f"{name}:teardown") as target:
        running = asyncio.create_task(target.run(case("p"), RunContext()))
        await started(hooks)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert calls(hooks) == ["teardown one None"]


@pytest.mark.parametrize(
    ("teardown", "grace", "said"),
    [("hangs", 0.05, "took longer than 0.05 s"), ("broken", 60, "raised OSError: no database")],
)
async def test_a_reset_that_fails_does_not_hold_up_cancelling(
    hooks: Path, teardown: str, grace: float, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carob.targets.wrappers.hooks.RESET_GRACE", grace)
    name = hooks.stem
    async with opened("python", f"{name}:wait", hooks.parent, teardown=f"{name}:{teardown}") as target:
        running = asyncio.create_task(target.run(case("p"), RunContext()))
        await started(hooks)
        running.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await running
    assert caught.value.__notes__ == [f"then the teardown hook {said}"]


async def test_a_hook_that_is_not_there(hooks: Path) -> None:
    with pytest.raises(ConfigError, match=r"has no 'setpu'. Did you mean 'setup'\?"):
        async with opened("python", f"{hooks.stem}:agent", hooks.parent, setup=f"{hooks.stem}:setpu"):
            pass


class Stop(BaseException):
    """What libraries raise that want to get past `except Exception`."""


class Breaks:
    """A target that breaks its contract: it raises something else than TargetError."""

    limits = Limits()
    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, error: BaseException) -> None:
        self._error = error

    async def open(self) -> None: ...

    async def run(self, case: Case, context: RunContext) -> Trace:
        raise self._error

    async def close(self) -> None: ...


BREAKS = [
    pytest.param(ValueError("broke"), "harness", id="exception"),
    pytest.param(TimeoutError("slow"), "agent", id="a-time-out-of-its-own"),
    pytest.param(asyncio.CancelledError("not asked for"), "agent", id="cancelled-by-nobody"),
    pytest.param(GeneratorExit("closed"), "agent", id="generator-exit"),
    pytest.param(SystemExit(1), "agent", id="system-exit"),
    pytest.param(Stop("enough"), "agent", id="past-except-exception"),
]


@pytest.mark.parametrize("teardown", ["teardown", "broken"])
@pytest.mark.parametrize(("error", "kind"), BREAKS)
async def test_a_target_that_breaks_its_contract_is_reset_too(
    hooks: Path, error: BaseException, kind: str, teardown: str
) -> None:
    name = hooks.stem
    config = TargetConfig(kind="breaks", spec="", root=hooks.parent, teardown=f"{name}:{teardown}")
    target = WithHooks(Breaks(error), config)
    await target.open()
    trace = await run_target(case("p"), target, 60.0, RunContext())
    await target.close()
    assert trace.error is not None
    assert trace.error.kind == kind
    if teardown == "broken":
        assert trace.error.message.endswith("; then the teardown hook raised OSError: no database")
    else:
        assert calls(hooks) == ["teardown one None"]
