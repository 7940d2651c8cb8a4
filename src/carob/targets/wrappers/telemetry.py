"""What a target's configuration says of spans and of model traffic: whether, where and how they are read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct, structs

from carob.model.suite import Case
from carob.model.trace import ToolCall
from carob.targets.config import TargetConfig
from carob.text.clean import map_texts

OTLP = "{otlp}"

Form = TypeVar("Form", bound=Struct)


class Otlp(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`telemetry.otlp`: the port of the receiver (0: a free one), and what is to be known of the spans of a turn."""

    port: Annotated[int, Meta(ge=0, le=65535)] = 0
    wait_ms: Annotated[int, Meta(gt=0, le=600_000)] = 6_000
    """How long to wait for them. The exporters of most SDKs send every five seconds unless they are flushed."""
    tool_count: str = ""
    """The attribute of a turn's root that says how many tools were called."""
    complete: bool = False
    """Whether the user vouches that each call has a span, and that a turn whose root has arrived has lost none."""


class Models(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`telemetry.models`: the traffic with models is read."""

    complete: bool = False
    """Whether the user vouches that every model call of the agent comes by the proxy."""


def models_of(config: TargetConfig) -> Models | None:
    """Whether and how the traffic with models is read."""
    return _read_option(config, "models", Models)


def otlp_of(config: TargetConfig) -> Otlp | None:
    """The receiver that a target asks for, or None."""
    return _read_option(config, "otlp", Otlp)


def _read_option(config: TargetConfig, key: str, form: type[Form]) -> Form | None:
    """None also for what is wrong: that is reported by the reader of the table as a whole."""
    value = config.telemetry.get(key, False)
    try:
        return None if value is False else form() if value is True else msgspec.convert(value, form)
    except msgspec.ValidationError:
        return None


def add_endpoint(config: TargetConfig, endpoint: str) -> TargetConfig:
    """The configuration with the receiver's address in it, and in the environment of what Carob starts."""
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
    }
    return fill_address(config, OTLP, endpoint, variables)


def fill_address(config: TargetConfig, placeholder: str, address: str, variables: dict[str, str]) -> TargetConfig:
    """The configuration with an address for this placeholder, and with an environment that names it."""
    fill = partial(map_texts, change=lambda text: text.replace(placeholder, address))
    env = {**variables, **fill(config.env)}
    return structs.replace(config, spec=fill(config.spec), options=fill(config.options), env=env)


def plugins_left_out(plugins: Collection[str], case: Case, configured: Collection[str] = ()) -> frozenset[str]:
    """The plugins, as in `Desk-send_email`, that neither the checks of a case nor these names speak of."""
    if not plugins:
        return frozenset()
    texts = [bytes(spec.args) for _, spec in case.all_checks] + [name.encode() for name in configured]
    return frozenset(plugin for plugin in plugins if not any(plugin.encode() in text for text in texts))


def without_plugins(calls: Iterable[ToolCall], plugins: Iterable[str]) -> tuple[ToolCall, ...]:
    return tuple(structs.replace(call, name=without_plugin(call.name, plugins)) for call in calls)


def without_plugin(name: str, plugins: Iterable[str]) -> str:
    return next((name.removeprefix(plugin) for plugin in plugins if name.startswith(plugin)), name)
