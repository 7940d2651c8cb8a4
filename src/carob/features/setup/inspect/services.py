"""`carob init --inspect http://…`: what a service takes and gives, guessed from one answer, then proved."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit
from uuid import uuid4

from msgspec import structs

from carob.errors import ConfigError
from carob.features.setup.inspect.drafts import Draft, draft_stream, draft_value
from carob.features.setup.inspect.events import last_key, read_json
from carob.features.setup.inspect.inspection import Inspection, Observation, describe_trace, inline, prove_target
from carob.features.setup.inspect.openapi import CONVERSATION, MESSAGES, PROMPT, paths_of, requests_at
from carob.features.setup.inspect.protocols import CHATKIT_BODY, hear
from carob.features.setup.survey.node_source import find_read_fields
from carob.features.setup.survey.survey import find_node_route
from carob.model.trace import Trace
from carob.providers.sse import ServerEvent
from carob.suites.diagnostics import Json
from carob.system.listeners import find_listeners
from carob.targets.base import TargetError
from carob.targets.config import WIRE_KINDS, TargetConfig, place_of
from carob.targets.http.jsonpath import JsonPath, conversation_path
from carob.targets.http.options import Format, ServiceOptions
from carob.targets.http.service import Body, Service, WireRequest
from carob.targets.http.streams import Received, parser
from carob.targets.http.templates import PLACES, Template, variables
from carob.text.wording import shorten, visible

_BROKE = re.compile(r" answered 5(?!01)\d\d\b")
_SSE = re.compile(rb"(?:data|event|id|retry)\s*:|:")
FOUND_BY_LOOKS: tuple[Format, ...] = ("ndjson", "frames", "json")
FIELDS = ("message", "prompt", "input", "question", "query", "text")
SECOND = "Thank you. What else can you do?"
"""The prompt after the first: what holds for both answers is proved."""
PATIENCE = 60.0
STREAMS: dict[str, Format] = {
    "text/event-stream": "sse",
    "application/x-ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/json-seq": "json",
}
OPENAPI = "/openapi.json"
NOTHING_TAKEN = "the service accepted none of the usual requests: set `body` or `form`"
GONE = "the service closed the connection, or ended, at"
BY_HAND = """-o 'body={"messages": "{messages}"}'"""
UNREAD = (
    "two different prompts got the same answer, so it is not proved that the service reads them: "
    "check `body` or `form`, or give other prompts with --prompt"
)
Answer = tuple[str, bytes]
"""What an answer says that it is, and its bytes."""


async def inspect_service(config: TargetConfig, prompt: str, *more: str) -> Inspection:
    """Send the prompts in the usual shapes until one is taken, draft the mapping, and prove it by turns."""
    options = dict(config.options)
    use = config.spec if "://" in config.spec else f"{config.kind}:{config.spec}"
    config = structs.replace(config, spec=use)
    prompts = (prompt, *(more or (SECOND,)))
    described, requests = await _requests(config)
    refused: list[str] = []
    problem, unproved, broke = NOTHING_TAKEN, None, ""
    for request in requests:
        try:
            answers = [await _answer(config, request, each) for each in prompts]
        except TargetError as error:
            refused.append(_mask(f"{_format_request(request)}: {error.message}", config))
            if not broke and _BROKE.search(error.message):
                broke = _say_it_broke(config, error.message)
            if error.kind == "timeout":  # it was taken; to try the others would take as long again
                problem = error.message
                break
            if error.kind == "gone":  # some servers end when a handler fails, and then no other request is answered
                problem = f"{GONE} {_format_request(request)}: start it again, and say what it takes: {BY_HAND}"
                break
            continue
        if (spoken := await _speak(config, request, answers, prompts)) is not None:
            return replace(spoken, sightings=(*described, *spoken.sightings))
        request, answers, uses_ours = await _with_conversation(config, request, answers, prompts)
        inspection = await _draft(config, request, answers, prompts, uses_ours=uses_ours)
        inspection = replace(inspection, sightings=(*described, *inspection.sightings))
        if inspection.problem != UNREAD:
            return inspection
        unproved = unproved or inspection
    if unproved is not None:
        return replace(unproved, problem="", sightings=(*unproved.sightings, Observation("not proved", (UNREAD,))))
    problem = broke if broke and problem == NOTHING_TAKEN else problem
    observations = (*described, Observation("was refused", tuple(refused)))
    return Inspection(config.name, {"use": use, **options}, observations, None, problem)


def _say_it_broke(config: TargetConfig, message: str) -> str:
    """That the application failed at a request, and where it says why."""
    logs = [each.log for each in find_listeners(urlsplit(config.spec).port or 80) if each.log]
    place = f" ({visible(logs[0])})" if logs else ""
    return f"the application broke: {_mask(message, config)}. Its log says why{place}"


async def _speak(
    config: TargetConfig, request: Mapping[str, object], answers: Sequence[Answer], prompts: Sequence[str]
) -> Inspection | None:
    """The target of a protocol that was heard in an answer; None if there is none, or it does not understand it."""
    form = stream_format(*answers[0])
    protocol = hear(list(_events(form, answers[0][1]))) if form in ("sse", "frames") else None
    if protocol is None:
        return None
    options: dict[str, object] = {**protocol.options, **config.options}
    spoken = structs.replace(config, kind=protocol.kind, options=options)
    found = await inspect_plain(spoken, *prompts)
    heard = Observation("heard", (f"{protocol.title}: a target of the kind {protocol.kind}",))
    return replace(found, sightings=(heard, *found.sightings)) if found.works else None


async def _with_conversation(
    config: TargetConfig, request: dict[str, object], answers: list[Answer], prompts: Sequence[str]
) -> tuple[dict[str, object], list[Answer], bool]:
    """The request with the id of the conversation, if that is taken, and whether the service then uses that id.

    A service that is sent none begins a new conversation with every turn, or has one for all.
    """
    body, path = request.get("body"), conversation_path(read_json(answers[0][1]))
    if not path or not isinstance(body, dict) or CONVERSATION in repr(request):
        return request, answers, False
    with_id: dict[str, object] = {**request, "body": {**body, last_key(path): CONVERSATION}}
    ids = [str(uuid4()) for _ in prompts]
    try:
        named = [await _answer(config, with_id, prompt, name) for prompt, name in zip(prompts, ids, strict=True)]
    except TargetError:
        return request, answers, False
    return with_id, named, _conversations(path, named) == ids


def _conversations(path: str, answers: Sequence[Answer]) -> list[Json]:
    """How the service names the conversation of each answer."""
    return [JsonPath(path).first(read_json(data)) for _, data in answers]


async def _draft(
    config: TargetConfig,
    request: dict[str, object],
    answers: Sequence[Answer],
    prompts: Sequence[str],
    *,
    uses_ours: bool,
) -> Inspection:
    """The target that the answers to a request lead to, proved by a turn for each prompt."""
    draft = _read_answers(answers, prompts)
    named = draft.options.get("conversation")
    if uses_ours:
        draft.options.pop("conversation", None)
    elif isinstance(named, dict) and len({str(each) for each in _conversations(str(named["id"]), answers)}) == 1:
        draft.unclear.append("both prompts were answered in one conversation, so cases would share it: check `body`")
    options = {**request, **draft.options, **config.options}
    options["headers"] = {**_table(request.get("headers")), **_table(config.options.get("headers"))}
    options = {name: value for name, value in options.items() if value != {} or name in config.options}
    table: dict[str, object] = {"use": config.spec, **options}
    observations = [Observation("takes", (_format_request(request),))]
    observations.append(Observation(f"gives {answers[0][0] or 'no type'}", (_excerpt(answers[0][1], config),)))
    observations += [Observation("events", tuple(_mask(line, config) for line in draft.kinds))] if draft.kinds else []
    observations += [Observation("not clear", tuple(draft.unclear))] if draft.unclear else []
    if draft.kinds and "stream" not in options:
        return Inspection(config.name, table, tuple(observations), None, draft.unclear[0])
    traces: list[Trace] = []
    for each in prompts:
        lines = [f"for {visible(shorten(each, 60))!r}:"]
        try:
            traces.append(await prove_target(structs.replace(config, options=options), each))
            lines += describe_trace(traces[-1])
        except (TargetError, ConfigError) as error:
            if not traces or not (isinstance(error, TargetError) and error.kind == "agent"):
                return Inspection(config.name, table, tuple(observations), None, error.message)
            lines.append(error.message)  # a service that refuses a prompt in its own words is understood
        observations.append(Observation("a turn records", tuple(_mask(line, config) for line in lines)))
    same = len(traces) > 1 and len({trace.final_message for trace in traces}) == 1 and bool(traces[0].final_message)
    return Inspection(config.name, table, tuple(observations), traces[0], UNREAD if same else "")


def _read_answers(answers: Sequence[Answer], prompts: Sequence[str]) -> Draft:
    """What the answers seem to mean: a stream where one looks like it, else a value or a text."""
    forms = [stream_format(kind, data) for kind, data in answers]
    form = next((form for form in forms if form is not None), None)
    if form is not None:
        streams = [
            list(_events(form, data))
            for (_, data), answer_form in zip(answers, forms, strict=True)
            if answer_form == form
        ]
        return draft_stream(form, streams, prompts)
    values = [value for kind, data in answers if kind != "text/plain" and (value := read_json(data)) is not None]
    draft = draft_value(values) if values else Draft()
    if values and "answer" not in draft.options:  # it may be a list of events
        listed = draft_stream("json", [[ServerEvent(data.decode())] for _, data in answers if read_json(data)], prompts)
        return listed if "stream" in listed.options else draft
    return draft


def stream_format(kind: str, data: bytes) -> Format | None:
    """How an answer is streamed, by what it says that it is, or by how it looks; None if it is not."""
    if kind in STREAMS:
        return STREAMS[kind]
    lines = [line.strip() for line in data.splitlines() if line.strip()]
    if lines and all(_SSE.match(line) for line in lines):
        return "sse"
    value = read_json(data)
    if value is not None and not (isinstance(value, list) and len(value) > 1):
        return None
    if value is not None:
        return "json" if all(isinstance(item, dict) for item in value) else None
    for form in FOUND_BY_LOOKS:
        try:
            events = list(_events(form, data))
        except ValueError:
            continue
        values = [read_json(event.data) for event in events if event.data]
        if len(values) > 1 and all(isinstance(value, dict | list | str) for value in values):
            return form
    return None


async def _requests(config: TargetConfig) -> tuple[tuple[Observation, ...], list[dict[str, object]]]:
    """The requests to try: what is given, what the service says that it takes, and the usual ones."""
    request: dict[str, object] = {name: config.options[name] for name in ("body", "form") if name in config.options}
    if request:
        return (), [request]
    parts = urlsplit(config.spec)
    document = await get_json(config, f"{parts.scheme}://{parts.netloc}{OPENAPI}")
    described = list(requests_at(document, parts.path or "/"))
    usual: list[dict[str, object]] = [{"body": {field: PROMPT}} for field in FIELDS]
    usual.append({"body": {"messages": MESSAGES}})
    usual = _by_source(config, usual)
    usual.insert(0 if "chatkit" in config.spec.lower() else len(usual), {"body": CHATKIT_BODY})
    usual += [{"form": {field: PROMPT}} for field in FIELDS]
    if not isinstance(document, dict) or "paths" not in document:
        return (), usual
    path = parts.path or "/"
    takes = tuple(map(_format_request, described)) or (
        f"no prompt at {path}; POST is for {', '.join(paths_of(document)[:10])}",
    )
    return (Observation(OPENAPI, takes),), [*described, *(request for request in usual if request not in described)]


def _by_source(config: TargetConfig, usual: list[dict[str, object]]) -> list[dict[str, object]]:
    """The usual requests, first those with a field that the source of the route reads: another may end the service."""
    route = find_node_route(Path(config.folder), config.spec)
    reads = find_read_fields(route[1], (*FIELDS, "messages")) if route else []
    return sorted(usual, key=lambda request: not any(field in reads for field in _table(request["body"])))


async def get_json(config: TargetConfig, url: str) -> Json:
    """What a service answers to a GET, if that is JSON."""
    try:
        _, data = await _send(config, WireRequest(url, method="GET"))
    except TargetError:
        return None
    return read_json(data)


async def _answer(config: TargetConfig, request: Mapping[str, object], prompt: str, conversation: str = "") -> Answer:
    """What comes back, once what is sent has its places filled: `${NAME}` from the environment."""
    messages = [{"role": "user", "content": prompt}]
    values = {
        "prompt": prompt,
        "messages": messages,
        "conversation.id": conversation or str(uuid4()),
        "case.id": "inspected",
    }
    form = "form" in request
    try:
        url = Template(config.spec, os.environ).address(values)
        body = Template(request["form" if form else "body"], os.environ).fill(values)
    except ValueError as error:
        raise ConfigError(f"{error}.", where=place_of(config, "body"), slug="bad-options") from error
    return await _send(config, WireRequest(url, cast(Body, body), form=form), request.get("headers"), values)


async def _send(
    config: TargetConfig, request: WireRequest, headers: object = None, values: Mapping[str, object] | None = None
) -> Answer:
    """Send one request with the headers of the target."""
    try:
        merged = {**_table(headers), **_table(config.options.get("headers"))}
        filled = _table(Template(merged, os.environ).fill(values or dict.fromkeys(PLACES, "")))
    except ValueError as error:
        raise ConfigError(f"{error}.", where=place_of(config, "headers"), slug="bad-options") from error
    fixed = {str(name): str(value) for name, value in filled.items()}
    service = Service(ServiceOptions(), fixed, request.url.startswith("https:"))
    service.open()
    try:
        async with asyncio.timeout(PATIENCE):
            return await service.raw(request, service.cookies(), Received())
    except TimeoutError as error:
        raise TargetError("timeout", f"no complete answer arrived within {PATIENCE:g} s") from error
    finally:
        await service.close()


def _table(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, Mapping) else {}


def _format_request(request: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {inline(value)}" for name, value in request.items())


def _events(form: Format, data: bytes) -> Iterator[ServerEvent]:
    reader = parser(form, len(data) + 1)
    yield from reader.feed(data)
    yield from reader.end()


def _excerpt(data: bytes, config: TargetConfig) -> str:
    return visible(shorten(_mask(data.decode("utf-8", "replace"), config), 300))


def _mask(text: str, config: TargetConfig) -> str:
    """A text without what the environment keeps to itself."""
    for name in {*variables(config.spec), *variables(config.options)}:
        text = text.replace(os.environ[name], f"${{{name}}}")
    return text


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
