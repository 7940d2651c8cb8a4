"""What the user wants done around each case: a setup hook before it, a teardown hook after it, come what may."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import msgspec
from msgspec import structs

from carob.model.check import CheckSpec
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.plugins.code import load
from carob.targets.base import RunContext, Target, TargetError
from carob.targets.config import TargetConfig
from carob.targets.conversation import timeout
from carob.targets.user_code import Callee, DaemonThreads, build_error, from_outside
from carob.targets.wrappers.base import RESET_GRACE, WrappedTarget
from carob.text.clean import jsonable

DATABASE = "database"
OFFERED = ("case", "case_id", "context")


class WithHooks(WrappedTarget):
    """A target with hooks. A hook that fails makes its case an ERROR: what it was run on is unknown.

    Hooks are named like agents, `module:function`, and may be sync or async. The setup hook may take the case or its
    `case_id`, and what it returns is handed to the agent as `context`; the teardown hook may take these and `context`.
    A case that was lost with its process is torn down before the next one is set up, with a `context` of None.
    The database hook takes an SQL query (and `context`) and gives its rows: it is asked what the case's `database`
    checks ask.
    """

    def __init__(self, target: Target, config: TargetConfig) -> None:
        super().__init__(target)
        self._config = config
        self._threads = DaemonThreads("carob-hook")
        self._setup: Callee | None = None
        self._teardown: Callee | None = None
        self._database: Callee | None = None

    async def open(self) -> None:
        self._setup = self._load("setup", self._config.setup, "case", OFFERED[:2])
        self._teardown = self._load("teardown", self._config.teardown, "case", OFFERED)
        self._database = self._load("database", self._config.database, "sql", OFFERED)
        await super().open()

    async def close(self) -> None:
        self._threads.close()
        await super().close()

    def _load(self, kind: str, name: str | None, first: str, offered: Sequence[str]) -> Callee | None:
        if not name:
            return None
        function = load(name, self._config.root, self._config.import_path)
        return Callee(function, f"the {kind} hook {name!r}", first, offered)

    async def run(self, case: Case, context: RunContext) -> Trace:
        task = asyncio.current_task()
        for lost in context.needs_teardown:
            try:
                await self._reset(lost, RunContext())
            except TargetError as error:
                error.message = f"after case {lost.id!r} was lost, {error.message}"
                raise
        try:
            if self._setup is not None:
                context.given = await self._call("setup", self._setup, case, _hook_arguments(case))
            context.after_turn = partial(self._query_turn, case, context)
            trace = await self._query(case, context, case.checks, await self._target.run(case, context))
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) or not from_outside(error, task):
                await self._reset_after(error, case, context)
            raise
        try:
            await self._reset(case, context)
        except TargetError as error:
            error.partial = trace
            raise
        return trace

    async def _query_turn(self, case: Case, context: RunContext, number: int, trace: Trace) -> Trace:
        checks = case.turns[number - 1].checks if number <= len(case.turns) else ()
        return await self._query(case, context, checks, trace)

    async def _query(self, case: Case, context: RunContext, checks: Sequence[CheckSpec], trace: Trace) -> Trace:
        """The trace with what the database answers to the queries of these checks, before anything is reset."""
        queries = [str(msgspec.json.decode(spec.args)["sql"]) for spec in checks if spec.name == DATABASE]
        if self._database is None or not queries:
            return trace
        offered = _hook_arguments(case, context)
        rows = {sql: jsonable(await self._call("database", self._database, sql, offered)) for sql in queries}
        return structs.replace(trace, database={**trace.database, **rows})

    async def _reset(self, case: Case, context: RunContext) -> None:
        if self._teardown is not None:
            await self._call("teardown", self._teardown, case, _hook_arguments(case, context))

    async def _reset_after(self, error: BaseException, case: Case, context: RunContext) -> None:
        """Reset what broke or was cancelled too, but then not for ever: who cancelled is waiting."""
        task = asyncio.current_task()
        try:
            async with timeout(RESET_GRACE if task is not None and task.cancelling() else None):
                await self._reset(case, context)
        except TargetError as second:
            _add_note(error, second.message)
        except TimeoutError:
            _add_note(error, f"the teardown hook took longer than {RESET_GRACE:g} s")

    async def _call(self, kind: str, hook: Callee, first: object, offered: dict[str, object]) -> object:
        task = asyncio.current_task()
        try:
            return await hook.call(first, offered, self._threads)
        except BaseException as error:
            if from_outside(error, task, in_thread=not hook.is_async):
                raise
            raise build_error(f"{kind}-hook", error, f"the {kind} hook raised ") from error


def _hook_arguments(case: Case, context: RunContext | None = None) -> dict[str, object]:
    return {"case": case, "case_id": case.id, "context": context.given if context else None}


def _add_note(error: BaseException, then: str) -> None:
    """Add to an error what went wrong after it."""
    if isinstance(error, TargetError):
        error.message += f"; then {then}"
    else:
        error.add_note(f"then {then}")
