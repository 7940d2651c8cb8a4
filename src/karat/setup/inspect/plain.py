"""`karat inspect` of what needs no mapping: a function, a program, a service that speaks a protocol."""

from __future__ import annotations

from msgspec import structs

from karat.errors import ConfigError
from karat.setup.inspect.inspection import Inspection, Observation
from karat.setup.inspect.proof import describe_trace, prove_target
from karat.setup.inspect.services import get_json
from karat.targets.base import TargetError
from karat.targets.config import WIRE_KINDS, TargetConfig


async def inspect_plain(config: TargetConfig, *prompts: str) -> Inspection:
    """Send the prompts to the target as it is, each in a conversation of its own."""
    observations: list[Observation] = []
    if config.kind == "openai" and "model" not in config.options:
        models = await _models(config)
        observations.append(Observation("models", models or ("none are listed: set `model` with -o model=NAME",)))
        if models:
            config = structs.replace(config, options={**config.options, "model": models[0]})
    table: dict[str, object] = {"use": config.use}
    if config.options:
        table |= config.options if config.kind in WIRE_KINDS else {"options": config.options}
    first = None
    for prompt in prompts:
        try:
            trace = await prove_target(config, prompt)
        except (TargetError, ConfigError) as error:
            return Inspection(config.name, table, tuple(observations), None, error.message.rstrip("."))
        first = first or trace
        observations.append(Observation("a turn records", (f"for {prompt!r}:", *describe_trace(trace))))
    return Inspection(config.name, table, tuple(observations), first)


async def _models(config: TargetConfig) -> tuple[str, ...]:
    """The models that an OpenAI-compatible service lists."""
    value = await get_json(config, f"{config.spec.rstrip('/')}/models")
    listed = value.get("data") if isinstance(value, dict) else None
    ids = [entry.get("id") for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return tuple(entry for entry in ids if isinstance(entry, str))[:10]
