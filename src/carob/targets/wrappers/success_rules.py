"""What a target's configuration says of its traces: what tools are called, when one succeeded, how its log is read."""

from __future__ import annotations

from collections.abc import Collection
from operator import is_
from typing import TypeVar

import msgspec
from msgspec import Struct, structs

from carob.errors import ConfigError
from carob.evidence.logs.dialects import LogEvents
from carob.evidence.logs.events import find_broken_backend, tool_calls
from carob.evidence.merge import merge_calls
from carob.model.suite import Case
from carob.model.trace import ToolCall, Trace
from carob.targets.base import RunContext, Target, TargetError
from carob.targets.config import TargetConfig, place_of
from carob.targets.wrappers.base import WrappedTarget
from carob.targets.wrappers.telemetry import Models, Otlp, plugins_left_out, without_plugin, without_plugins
from carob.text.tool_names import is_any_named, is_helper, is_named
from carob.text.tool_reading import SuccessRule, ToolReading
from carob.text.wording import did_you_mean, shorten, visible

Form = TypeVar("Form", bound=Struct)


class LogReading(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is to be known of the log, of spans, and of the traffic with models."""

    events: LogEvents = LogEvents()
    otlp: bool | Otlp = False
    models: bool | Models = False


class WithSuccessRules(WrappedTarget):
    """A target whose traces are read as its configuration says. A backend that broke makes a case an ERROR."""

    def __init__(self, target: Target, config: TargetConfig) -> None:
        super().__init__(target)
        rules = {tool: _rule(tool, table, config) for tool, table in config.success.items()}
        self._reading = ToolReading(rules, config.tool_names, config.plain_text)
        self._reported: set[str] = set()
        self._ignored = config.ignore_tools
        log = _convert(config.telemetry, LogReading, "telemetry", config)
        for flaw in log.events.validate():
            raise _option_error(config, "telemetry.events", flaw)
        self._dialect = msgspec.json.encode(log.events).decode() if log.events != LogEvents() else ""

    async def run(self, case: Case, context: RunContext) -> Trace:
        context.after_setup = self._refuse_broken
        context.recorder.dialect = self._dialect
        if context.world is not None:
            context.world.names = self._reading.tool_names

        async def join(trace: Trace, ended: bool) -> Trace:
            plugins = self._find_plugins(case, context)
            if plugins:
                schemas = context.tool_schemas.items()
                context.tool_schemas = {without_plugin(tool, plugins): schema for tool, schema in schemas}
                trace = _without_plugins(trace, plugins)
            return self._with_tools(self._read(trace), case, context) if ended else self._read(trace)

        trace = await self.run_joined(case, context, join)
        self._refuse_broken(trace)
        return trace

    def _with_tools(self, trace: Trace, case: Case, context: RunContext) -> Trace:
        """The trace with the schemas of the tools if a check asks for them; a name that no tool has is reported."""
        if not context.tool_schemas:
            return trace
        schemas = {self._reading.rename(name): schema for name, schema in context.tool_schemas.items()}
        if context.lists_tools:
            self._report_unknown(case, schemas, context)
        from carob.checks.tools.validity import judges_arguments  # few agents name their tools

        if not (judges_arguments(case) or context.next_prompt):
            return trace
        return _with_schemas(trace, schemas, context.more_tools)

    def _find_plugins(self, case: Case, context: RunContext) -> frozenset[str]:
        """The plugins that the framework names tools by, and that nothing here speaks of."""
        configured = (*self._reading.tool_names, *self._reading.success, *self._ignored)
        return plugins_left_out(frozenset(context.recorder.plugins), case, configured)

    def _report_unknown(self, case: Case, tools: Collection[str], context: RunContext) -> None:
        from carob.checks.tools.names import tools_named

        for name in tools_named(case):
            if name not in self._reported and not any(is_named(name, tool) for tool in tools):
                self._reported.add(name)
                near = did_you_mean(name, tools)
                context.notices.append(f"{case.id} names {name!r}, and the target has no such tool. {near}".rstrip())

    def _refuse_broken(self, trace: Trace) -> None:
        """Raise TargetError if the log shows that the backend broke: it proves nothing about the agent."""
        broke = find_broken_backend(trace.telemetry, self._dialect) if trace.telemetry else None
        if broke is not None:
            message = f"the log says that the backend failed: {visible(shorten(broke, 200))}"
            raise TargetError("backend", message, partial=trace)

    def _read(self, trace: Trace) -> Trace:
        if trace.turns:
            turns = tuple(map(self._read, trace.turns))
            calls = [call for turn in turns for call in turn.tool_calls]
            return structs.replace(trace, dialect=self._dialect, tool_calls=tuple(calls), turns=turns)
        if self._dialect and trace.telemetry:
            calls = merge_calls(trace.tool_calls, tool_calls(trace.telemetry, self._dialect), by_order=True)
            trace = structs.replace(trace, dialect=self._dialect, tool_calls=tuple(calls))
        if not trace.tool_calls:
            return trace
        from carob.evidence.commands import read_exit_code

        calls = [read_exit_code(call) for call in trace.tool_calls if not self._is_helper(call.full_name)]
        if self._reading:
            calls = [_read_call(self._reading, call) for call in calls]
        elif len(calls) == len(trace.tool_calls) and all(map(is_, calls, trace.tool_calls)):
            return trace
        return structs.replace(trace, tool_calls=tuple(calls))

    def _is_helper(self, name: str) -> bool:
        """Whether it is not a tool of the agent; a name that the configuration maps is one."""
        return not self._reading.maps(name) and (
            is_helper(name) or (bool(self._ignored) and is_any_named(self._ignored, name))
        )


def _read_call(reading: ToolReading, call: ToolCall) -> ToolCall:
    """A call as the configuration reads it."""
    name, success = reading.rename(call.full_name), call.success
    if call.error is None and not call.unfinished:
        success = reading.judge_success(name, success, call.result)
    if name != call.full_name:
        return structs.replace(call, name=name, server="", success=success)
    return call if success is call.success else structs.replace(call, success=success)


def _without_plugins(trace: Trace, plugins: frozenset[str]) -> Trace:
    """The trace with tools named by their function alone."""
    possible = [structs.replace(call, text=without_plugin(call.text, plugins)) for call in trace.possible_calls]
    return structs.replace(
        trace,
        tool_calls=without_plugins(trace.tool_calls, plugins),
        possible_calls=tuple(possible),
        turns=tuple(_without_plugins(turn, plugins) for turn in trace.turns),
    )


def _with_schemas(trace: Trace, schemas: dict[str, object], more: str) -> Trace:
    unobserved = {**trace.unobserved, **({"tool_schemas": more} if more else {})}
    turns = tuple(_with_schemas(turn, schemas, more) for turn in trace.turns)
    return structs.replace(trace, tool_schemas=schemas, unobserved=unobserved, turns=turns)


def _rule(tool: str, table: object, config: TargetConfig) -> SuccessRule:
    rule = _convert(table, SuccessRule, f"success.{tool}", config)
    if flaw := rule.flaw():
        raise _option_error(config, f"success.{tool}", flaw)
    return rule


def _convert(table: object, form: type[Form], where: str, config: TargetConfig) -> Form:
    try:
        return msgspec.convert(table, form)
    except msgspec.ValidationError as error:
        name = str(error).partition("`")[2].partition("`")[0] if "unknown field" in str(error) else ""
        keys = [key for struct in (form, LogEvents, Otlp, Models) for key in struct.__struct_encode_fields__]
        raise _option_error(config, where, f"{error}.", did_you_mean(name, keys) if name else "") from error


def _option_error(config: TargetConfig, table: str, cause: str, fix: str = "") -> ConfigError:
    message = f"[targets.{config.name or config.use}.{table}]: {cause}"
    return ConfigError(message, where=place_of(config, table.partition(".")[0]), fix=fix, slug="bad-options")
