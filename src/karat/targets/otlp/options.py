"""What a target's configuration says of spans and of model traffic: whether, where and how they are read."""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from karat.targets.config import TargetConfig

OTLP = "{otlp}"

Given = TypeVar("Given")


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
    """Whether and how the traffic with models is read. Flaws of the table are reported by the reader of all of it."""
    given = config.telemetry.get("models", False)
    if given is False:
        return None
    try:
        return Models() if given is True else msgspec.convert(given, Models)
    except msgspec.ValidationError:
        return None


def otlp_of(config: TargetConfig) -> Otlp | None:
    """The receiver that a target asks for, or None. Flaws of the table are reported by the reader of all of it."""
    given = config.telemetry.get("otlp", False)
    if given is False:
        return None
    try:
        return Otlp() if given is True else msgspec.convert(given, Otlp)
    except msgspec.ValidationError:
        return None


def add_endpoint(config: TargetConfig, endpoint: str) -> TargetConfig:
    """The configuration with the receiver's address in it, and in the environment of what Karat starts."""
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
    }
    return fill_address(config, OTLP, endpoint, variables)


def fill_address(config: TargetConfig, place: str, address: str, variables: dict[str, str]) -> TargetConfig:
    """The configuration with an address in this place, and with an environment that names it."""
    return msgspec.structs.replace(
        config,
        spec=config.spec.replace(place, address),
        options=_fill(config.options, place, address),
        env={**variables, **_fill(config.env, place, address)},
    )


def _fill(value: Given, place: str, address: str) -> Given:
    filled: object = value
    if isinstance(value, str):
        filled = value.replace(place, address)
    elif isinstance(value, dict):
        filled = {key: _fill(item, place, address) for key, item in value.items()}
    elif isinstance(value, list):
        filled = [_fill(item, place, address) for item in value]
    return filled  # type: ignore[return-value]
