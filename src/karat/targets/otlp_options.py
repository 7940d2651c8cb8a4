"""What a target's configuration says of spans: whether they are received, where, and how long they are waited for."""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from karat.targets.config import TargetConfig

OTLP = "{otlp}"

Given = TypeVar("Given")


class Otlp(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`telemetry.otlp`: the port of the receiver (0: a free one), and how long to wait for the spans of a turn."""

    port: Annotated[int, Meta(ge=0, le=65535)] = 0
    wait_ms: Annotated[int, Meta(gt=0, le=600_000)] = 6_000
    """The exporters of most SDKs send every five seconds unless they are flushed."""


def otlp_of(config: TargetConfig) -> Otlp | None:
    """The receiver that a target asks for, or None. What is wrong with the table is told by who reads all of it."""
    given = config.telemetry.get("otlp", False)
    if given is False:
        return None
    try:
        return Otlp() if given is True else msgspec.convert(given, Otlp)
    except msgspec.ValidationError:
        return None


def handed_on(config: TargetConfig, endpoint: str) -> TargetConfig:
    """The configuration with the receiver's address in it, and in the environment of what Karat starts."""
    told = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
    }
    filled = msgspec.structs.replace(
        config, spec=config.spec.replace(OTLP, endpoint), options=_filled(config.options, endpoint)
    )
    return msgspec.structs.replace(filled, env={**told, **_filled(config.env, endpoint)})


def _filled(value: Given, endpoint: str) -> Given:
    filled: object = value
    if isinstance(value, str):
        filled = value.replace(OTLP, endpoint)
    elif isinstance(value, dict):
        filled = {key: _filled(item, endpoint) for key, item in value.items()}
    elif isinstance(value, list):
        filled = [_filled(item, endpoint) for item in value]
    return filled  # type: ignore[return-value]
