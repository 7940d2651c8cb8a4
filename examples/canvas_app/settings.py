"""Configuration, read once from an environment that is handed in."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from canvas_app.catalog import Source
from canvas_app.clock import Clock, clock_from


@dataclass(frozen=True, slots=True)
class ModelSettings:
    name: str
    base_url: str
    api_key: str | None


@dataclass(frozen=True, slots=True)
class Settings:
    clock: Clock
    database: str = ":memory:"
    telemetry_log: Path | None = None
    otlp_endpoint: str | None = None
    off: tuple[Source, ...] = ()
    model: ModelSettings | None = None


def sources_called(text: str, where: str) -> tuple[Source, ...]:
    """`slack,posthog` as sources; a name that is no source is an error."""
    names: Iterable[str] = (name.strip().casefold() for name in text.split(",") if name.strip())
    found = []
    for name in names:
        if name not in {source.value for source in Source}:
            raise ValueError(f"{where}: {name!r} is no integration; use {', '.join(Source)}")
        found.append(Source(name))
    return tuple(found)


def settings_from(environment: Mapping[str, str]) -> Settings:
    """A model is used when `CANVAS_MODEL` (or `OPENAI_MODEL`) names one; without it the brain is rule-based."""
    model = environment.get("CANVAS_MODEL") or environment.get("OPENAI_MODEL")
    log = environment.get("TELEMETRY_LOG_PATH")
    return Settings(
        clock=clock_from(environment.get("CANVAS_NOW")),
        database=environment.get("CANVAS_DB") or ":memory:",
        telemetry_log=Path(log) if log else None,
        otlp_endpoint=environment.get("OTEL_EXPORTER_OTLP_ENDPOINT") or None,
        off=sources_called(environment.get("CANVAS_OFF", ""), "CANVAS_OFF"),
        model=ModelSettings(
            model,
            (environment.get("OPENAI_BASE_URL") or "https://api.openai.com/v1").rstrip("/"),
            environment.get("OPENAI_API_KEY") or None,
        )
        if model
        else None,
    )
