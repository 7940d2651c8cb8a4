"""`karat inspect http://…`: what a service takes and gives, guessed from its answer to one prompt, and then proved."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import cast
from uuid import uuid4

from msgspec import structs

from karat.errors import ConfigError
from karat.inspections.inspection import Inspection, Observation
from karat.inspections.proof import describe_trace, prove_target
from karat.suites.diagnostics import Json
from karat.targets.base import TargetError
from karat.targets.config import TargetConfig, place_of
from karat.targets.http.guess import answer_path, conversation_path, stream_paths, tool_call_paths
from karat.targets.http.options import Format, ServiceOptions
from karat.targets.http.service import Body, Service, WireRequest
from karat.targets.http.streams import Received, WireEvent, loads, parser
from karat.targets.http.templates import Template, variables
from karat.text.wording import shorten, visible

PROMPT = "{prompt}"
FIELDS = ("message", "prompt", "input", "question", "query", "text")
PATIENCE = 60.0
STREAMS: dict[str, Format] = {
    "text/event-stream": "sse",
    "application/x-ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/json-seq": "ndjson",
}


async def inspect_service(config: TargetConfig, prompt: str) -> Inspection:
    """Send one prompt in the usual shapes until one is taken, guess the mapping, and prove it by a turn."""
    given = dict(config.options)
    use = config.spec if "://" in config.spec else f"{config.kind}:{config.spec}"
    config = structs.replace(config, spec=use)
    bodies = [given["body"]] if "body" in given else list(_bodies())
    seen: list[str] = []
    problem = "no usual shape of a request was taken: set `body`"
    for body in bodies:
        try:
            kind, data = await _answer(config, body, prompt)
        except TargetError as error:
            seen.append(f"{body}: {error.message}")
            if error.kind == "timeout":  # it was taken; to try the others would take as long again
                problem = error.message
                break
            continue
        sightings = (
            Observation("takes", (str(body),)),
            Observation(f"gives {kind or 'no type'}", (_shown(data, config),)),
        )
        options = {"body": body, **_mapping(kind, data), **given}
        table: dict[str, object] = {"use": use, **options}
        try:
            trace = await prove_target(structs.replace(config, options=options), prompt)
        except (TargetError, ConfigError) as error:
            return Inspection(config.name, table, sightings, None, error.message)
        recorded = Observation("a turn records", tuple(_masked(line, config) for line in describe_trace(trace)))
        return Inspection(config.name, table, (*sightings, recorded), trace)
    return Inspection(config.name, {"use": use, **given}, (Observation("was refused", tuple(seen)),), None, problem)


def _bodies() -> Iterator[dict[str, object]]:
    for field in FIELDS:
        yield {field: PROMPT}
    yield {"messages": "{messages}"}


async def _answer(config: TargetConfig, body: object, prompt: str) -> tuple[str, bytes]:
    """What comes back, once what is sent has its places filled: `${NAME}` from the environment."""
    said = [{"role": "user", "content": prompt}]
    values = {"prompt": prompt, "messages": said, "conversation.id": str(uuid4()), "case.id": "inspected"}
    try:
        url = Template(config.spec, os.environ).address(values)
        headers = Template(config.options.get("headers") or {}, os.environ).filled(values)
        sent = Template(body, os.environ).filled(values)
    except ValueError as error:
        raise ConfigError(f"{error}.", where=place_of(config, "headers"), slug="bad-options") from error
    fixed = {str(name): str(value) for name, value in headers.items()} if isinstance(headers, dict) else {}
    service = Service(ServiceOptions(), fixed, url.startswith("https:"))
    service.open()
    try:
        async with asyncio.timeout(PATIENCE):
            return await service.raw(WireRequest(url, cast(Body, sent)), service.cookies(), Received())
    except TimeoutError as error:
        raise TargetError("timeout", f"no complete answer arrived within {PATIENCE:g} s") from error
    finally:
        await service.close()


def _mapping(kind: str, data: bytes) -> dict[str, object]:
    """What the answer seems to mean."""
    if kind in STREAMS:
        events = list(_events(STREAMS[kind], data))
        last = events[-1].data.strip() if events else ""
        values = [value for event in events if (value := _value(event.data)) is not None]
        paths = stream_paths(values, "" if _value(last) is not None else last)
        return {"stream": {"format": STREAMS[kind], **paths}} if paths else {}
    value = _value(data)
    if kind == "text/plain" or value is None:
        return {}
    calls, named = tool_call_paths(value), conversation_path(value)
    mapping: dict[str, object] = {"answer": answer_path(value)}
    mapping |= {"tool_calls": calls} if calls else {}
    return mapping | ({"conversation": {"id": named}} if named else {})


def _events(form: Format, data: bytes) -> Iterator[WireEvent]:
    reader = parser(form, len(data) + 1)
    yield from reader.feed(data)
    yield from reader.end()


def _value(text: str | bytes) -> Json:
    try:
        return loads(text)
    except ValueError:
        return None


def _shown(data: bytes, config: TargetConfig) -> str:
    return visible(shorten(_masked(data.decode("utf-8", "replace"), config), 300))


def _masked(text: str, config: TargetConfig) -> str:
    """A text without what the environment keeps to itself."""
    for name in {*variables(config.spec), *variables(config.options)}:
        text = text.replace(os.environ[name], f"${{{name}}}")
    return text
