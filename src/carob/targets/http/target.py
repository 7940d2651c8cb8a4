"""A service as a target: opened once per worker, a conversation of its own for each case."""

from __future__ import annotations

import asyncio
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from time import perf_counter, time
from typing import ClassVar, Generic, TypeVar
from urllib.parse import urlsplit

from msgspec import structs

from carob.errors import ConfigError
from carob.evidence.short_form import NO_PAGE, NO_TELEMETRY
from carob.model.suite import Case
from carob.model.trace import Message, Trace
from carob.redaction.key_names import is_secret_header
from carob.targets.app_process import AppProcess
from carob.targets.base import DENIED, RunContext, TargetError
from carob.targets.config import TargetConfig, place_of, read_options
from carob.targets.conversation import converse
from carob.targets.http.conversation import AnswerReader, HttpConversation, PastTurn, TurnBuffer
from carob.targets.http.options import ServiceOptions
from carob.targets.http.service import Service, WireRequest
from carob.targets.http.templates import Template, variables

WireOptions = TypeVar("WireOptions", bound=ServiceOptions)

PLAIN = ("http", "https")
NO_STATE = "the service sent no state"
SHORTEST = 4
"""A shorter value cannot be distinguished from plain text."""


class ServiceTarget(ABC, Generic[WireOptions]):
    """What all services have in common. A protocol says what is sent for a prompt, and what the answer means."""

    form: ClassVar[type[ServiceOptions]]
    takes_decisions: ClassVar[bool] = False
    """Whether a turn may approve, deny or edit calls that wait for approval."""

    def __init__(self, config: TargetConfig) -> None:
        self.limits = config.limits
        self.options = config.identity
        self._config = config
        self._options: WireOptions = read_options(config, self.form)  # type: ignore[assignment]
        self.secrets = tuple(sorted(set(_secrets(config, self._options))))
        self._url: Template
        self._headers: dict[str, Template] = {}
        self._service: Service | None = None
        self._app: AppProcess | None = None
        self._started_spec = ""
        self._restarting = asyncio.Lock()
        self._understood = False
        """Whether anything that the service said was ever understood."""

    async def open(self) -> None:
        if self._options.start:
            await self._start(self._options)
        self._open_client()

    async def _start(self, options: ServiceOptions) -> None:
        """Start the service, and learn its address. Raises ConfigError."""
        config = self._config
        app = AppProcess(options.start, config.root, {**config.env, **options.start_env})
        address = urlsplit(f"{config.kind}:{config.spec}" if config.spec.startswith("//") else config.spec)
        ready = options.ready if "://" in options.ready else f"{address.scheme}://{address.netloc}{options.ready}"
        try:
            await app.start(ready, options.start_timeout)
        except ConfigError as error:
            await app.stop()
            error.where = place_of(config, "start")
            raise
        self._app = app
        self._started_spec = config.spec
        self._config = structs.replace(config, spec=app.fill(config.spec))

    def _open_client(self) -> None:
        self._url = self.template("use", _address(self._config))
        headers = {name: self.template("headers", value) for name, value in self._options.headers.items()}
        self._headers = {name: value for name, value in headers.items() if not value.fixed}
        fixed = {name: str(value.fill({})) for name, value in headers.items() if value.fixed}
        self.prepare()
        self._service = Service(self._options, fixed, urlsplit(_address(self._config)).scheme == "https")
        try:
            self._service.open()
        except ConfigError as error:
            error.where = place_of(
                self._config, "ca" if self._options.ca else "proxy" if self._options.proxy else "use"
            )
            raise

    async def close(self) -> None:
        if self._service is not None:
            await self._service.close()
        if self._app is not None:
            await self._app.stop()

    async def run(self, case: Case, context: RunContext) -> Trace:
        if self._service is None:
            raise RuntimeError("the target is not open")
        if self._app is not None and not self._app.alive:
            async with self._restarting:
                if not self._app.alive:
                    await self._app.restart()
                    self._config = structs.replace(self._config, spec=self._app.fill(self._started_spec))
                    await self._service.close()
                    self._open_client()
        talk = HttpConversation(self._service, case, context, self._service.cookies())
        self.greet(talk)
        try:
            await self.apply_preconditions(talk)
        except TargetError as error:
            raise self._raise_if_config(error) from error

        async def turn(prompt: str) -> Trace:
            buffer = TurnBuffer()
            try:
                return await self._turn(talk, prompt, buffer)
            except TargetError as error:
                buffer.into(context.recorder)
                raise self._raise_if_config(error) from error
            except BaseException:
                buffer.into(context.recorder)
                raise

        seconds, takes = self._config.turn_timeout, self.takes_decisions
        return await converse(case, context, turn, seconds, takes_decisions=takes)

    async def _turn(self, talk: HttpConversation, prompt: str, buffer: TurnBuffer) -> Trace:
        talk.begin()
        started_at = time()
        await self.converse(talk, prompt, buffer)
        self._understood = True
        answer = buffer.final_message
        said = [Message("user", prompt)] if talk.context.decision is None else []
        talk.past.append(PastTurn(prompt, answer, buffer.call_log.calls))
        unobserved = {"telemetry": NO_TELEMETRY, "tools": buffer.no_tools, "tool_results": buffer.no_results}
        unobserved |= {"state": "" if buffer.state else NO_STATE, "page": NO_PAGE if self._options.has_page else ""}
        return Trace(
            case_id=talk.case.id,
            input=talk.case.prompt,
            final_message=answer,
            messages=(*said, *buffer.earlier, Message("assistant", answer)),
            tool_calls=buffer.call_log.calls,
            possible_calls=buffer.possible_calls,
            ended_by=buffer.ended_by,
            unobserved={channel: why for channel, why in unobserved.items() if why},
            started_at=started_at,
            duration_ms=round((perf_counter() - buffer.began) * 1000, 3),
            timings={} if buffer.first_token_ms is None else {"first_token_ms": buffer.first_token_ms},
            tokens=buffer.tokens,
            state=buffer.state,
            metadata={"conversation": talk.id, "traceparent": talk.traceparent, **buffer.metadata},
        )

    async def converse(self, talk: HttpConversation, prompt: str, buffer: TurnBuffer) -> None:
        """One turn: ask once and read the answer. A protocol that asks more often says how."""
        await talk.exchange(self.build_request(talk, prompt), self.reader(talk, buffer))

    def headers(self, talk: HttpConversation, prompt: str) -> dict[str, str]:
        """The headers that differ from one conversation to another."""
        if not self._headers:
            return {}
        fields = values(talk, prompt)
        return {name: str(value.fill(fields) or "") for name, value in self._headers.items()}

    def prepare(self) -> None:
        """Read what else the options ask for; ConfigError where it cannot be followed."""

    def greet(self, talk: HttpConversation) -> None:
        """A new conversation begins."""

    async def apply_preconditions(self, talk: HttpConversation) -> None:
        """Bring about what the case lists as preconditions."""

    @abstractmethod
    def build_request(self, talk: HttpConversation, prompt: str) -> WireRequest:
        """What is sent for a prompt."""

    def reader(self, talk: HttpConversation, buffer: TurnBuffer) -> AnswerReader:
        """What reads the answer of one request, where a turn has no more than one."""
        raise NotImplementedError

    def template(self, option: str, content: object) -> Template:
        try:
            return Template(content, os.environ)
        except ValueError as error:
            raise self.option_error(option, str(error)) from error

    def option_error(self, option: str, problem: str, fix: str = "") -> ConfigError:
        return ConfigError(f"`{option}`: {problem}.", where=place_of(self._config, option), fix=fix, slug="bad-options")

    def address(self, talk: HttpConversation, prompt: str = "") -> str:
        return self._url.address(values(talk, prompt))

    def _raise_if_config(self, error: TargetError) -> TargetError:
        """An error of the configuration, not of a case, ends the run: access is denied, or it is not such a service."""
        if error.kind == DENIED or (error.kind == "config" and not self._understood):
            where = place_of(self._config, "use")
            denied = TargetError(DENIED, f"{where}: {error.message}" if where else error.message, detail=error.detail)
            denied.partial = error.partial
            return denied
        return error


def values(talk: HttpConversation, prompt: str) -> Mapping[str, object]:
    """What can be filled in."""
    return {"prompt": prompt, "messages": talk.messages(prompt), "conversation.id": talk.id, "case.id": talk.case.id}


def _address(config: TargetConfig) -> str:
    """The URL of a target: `http://…` as it is, or what follows the name of a protocol."""
    address = f"{config.kind}:{config.spec}" if config.kind in PLAIN and config.spec.startswith("//") else config.spec
    parts = urlsplit(address.replace("{port}", "80") if config.options.get("start") else address)
    try:
        is_complete = parts.scheme in PLAIN and bool(parts.hostname) and (parts.port or True)
    except ValueError:
        is_complete = False
    if not is_complete:
        example = "http://127.0.0.1:8080/chat" if config.kind in PLAIN else f"{config.kind}:http://127.0.0.1:8080"
        message, fix = f"{config.use!r} is not the address of a service.", f"Write it as '{example}'."
        if config.kind == "openai" and re.fullmatch(r"[\w.-]+", config.spec):
            fix = f"A model has a base URL: openai:https://api.openai.com/v1 -o model={config.spec}"
        raise ConfigError(message, where=place_of(config, "use"), fix=fix, slug="bad-options")
    return address


def _secrets(config: TargetConfig, options: ServiceOptions) -> Iterator[str]:
    """What comes from the environment, what headers say that let people in, and the password of an address."""
    for name in {*variables(config.spec), *variables(config.options)}:
        value = os.environ.get(name, "")
        if len(value) >= SHORTEST:
            yield value
    for name, value in options.headers.items():
        if is_secret_header(name) and "{" not in value:
            yield from (part for part in {value, value.rpartition(" ")[2]} if len(part) >= 2 * SHORTEST)
    password = urlsplit(_address(config)).password
    if password and len(password) >= SHORTEST:
        yield password
