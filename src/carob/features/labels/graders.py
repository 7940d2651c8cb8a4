"""Whom opinions come from: a provider's model, a model at an address of one's own, or a command."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, urlsplit

from carob.criteria.settings import JudgeSettings
from carob.errors import ConfigError, UsageError
from carob.features.labels.prompts import SCHEMA, JudgePrompt, schema_with_quotes
from carob.providers.catalog import find_api
from carob.system.installing import install_extra

KEY_NAME = "CAROB_JUDGE_KEY"
"""The environment variable that names the one with the key of a `base_url`."""
MOST_BYTES = 1 << 20
UNREACHABLE = "the judge cannot be reached"
_DATED = re.compile(r"\d{4}-\d\d(?:-\d\d)?|\d{8}|-\d{3,4}$")
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class RawAnswer(NamedTuple):
    """What a grader said, and the model that it says it is; `error`: why it said nothing."""

    text: str = ""
    model: str = ""
    error: str = ""


class OpinionSource(Protocol):
    """Gives one reply to one prompt."""

    @property
    def place(self) -> str:
        """Who is asked, in words, without a secret."""

    def ask(self, prompt: JudgePrompt) -> RawAnswer: ...


class Provider(NamedTuple):
    """A provider: its own host, the variables that may hold its key, and the header that carries it."""

    host: str
    path: str
    keys: tuple[str, ...]
    header: str


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider("https://api.openai.com", "/v1/chat/completions", ("OPENAI_API_KEY",), "authorization"),
    "anthropic": Provider("https://api.anthropic.com", "/v1/messages", ("ANTHROPIC_API_KEY",), "x-api-key"),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com",
        "/v1beta/models/{model}:generateContent",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "x-goog-api-key",
    ),
}


def is_undated(settings: JudgeSettings) -> bool:
    """Whether the name of a provider's model may mean another one tomorrow."""
    return bool(settings.model) and not settings.base_url and not _DATED.search(settings.model)


def open_grader(settings: JudgeSettings, environ: Mapping[str, str], key_name: str = "") -> OpinionSource:
    """The grader of [judge]. Raises ConfigError where it cannot be asked, before anything is."""
    if settings.command:
        return CommandJudge(settings.command, settings.timeout)
    kind, colon, model = settings.model.partition(":")
    if settings.base_url:
        model = model if colon and kind == "openai" else settings.model
        address = _own_address(settings.base_url)
        variable = key_name or environ.get(KEY_NAME, "")
        if variable and variable not in environ:
            raise UsageError(f"{variable} is not set.", fix="Set it to the key of the judge.", slug="no-key")
        headers = {"authorization": f"Bearer {environ[variable]}"} if variable else {}
        return HttpJudge("openai", model, address, headers, settings.timeout)
    provider = PROVIDERS.get(kind)
    if provider is None or not model:
        known = ", ".join(f"{name}:MODEL" for name in PROVIDERS)
        message = f"[judge] names no provider: {settings.model!r}."
        raise ConfigError(message, fix=f"Write {known}, or add `base_url`.", slug="unknown-provider")
    key = next((environ[name] for name in provider.keys if environ.get(name)), "")
    if not key:
        message = f"[judge] asks {kind}, and {' or '.join(provider.keys)} is not set."
        raise ConfigError(message, fix="Set it, or run without --judge.", slug="no-key")
    address = provider.host + provider.path.format(model=quote(model, safe=""))
    value = f"Bearer {key}" if provider.header == "authorization" else key
    return HttpJudge(kind, model, address, {provider.header: value}, settings.timeout)


def _own_address(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        fix = "Use https, or an address of this machine."
        raise ConfigError("`base_url` of [judge] is neither https nor this machine.", fix=fix)
    return base_url.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"


class HttpJudge:
    """A model that is asked over HTTP, without redirects."""

    def __init__(self, kind: str, model: str, address: str, headers: Mapping[str, str], timeout: float) -> None:
        try:
            import httpx2
        except ImportError as error:
            raise ConfigError("httpx2 is not installed.", fix=install_extra("http")) from error
        self._kind, self._model, self._address = kind, model, address
        self._is_own = all(not address.startswith(provider.host) for provider in PROVIDERS.values())
        self._failures = (httpx2.HTTPError, httpx2.InvalidURL, OSError)
        version = {"anthropic-version": "2023-06-01"} if kind == "anthropic" else {}
        self._client = httpx2.Client(headers={**headers, **version}, timeout=timeout, follow_redirects=False)

    @property
    def place(self) -> str:
        return f"{self._model} at {urlsplit(self._address).hostname}"

    def _body(self, prompt: JudgePrompt) -> dict[str, Any]:
        """The request. A server of one's own is given the sentences to choose the quote from."""
        body = _BODIES[self._kind](self._model, prompt)
        if self._is_own:
            body["response_format"]["json_schema"]["schema"] = schema_with_quotes(prompt.shown)
        return body

    def ask(self, prompt: JudgePrompt) -> RawAnswer:
        try:
            response = self._client.post(self._address, json=self._body(prompt))
        except self._failures as error:
            return RawAnswer(error=f"{UNREACHABLE}: {type(error).__name__}")
        if response.status_code != 200:
            return RawAnswer(error=f"status {response.status_code}")
        return read_answer(self._kind, self._address, response.content[:MOST_BYTES])


def read_answer(kind: str, address: str, data: bytes) -> RawAnswer:
    """The words of a reply of a provider; of a forced tool call its arguments."""
    api = find_api(urlsplit(address).path)
    reply = api.read_reply(data, ()) if api is not None else None
    if reply is None or reply.error:
        return RawAnswer(error="the reply is not that of a model")
    if kind == "anthropic":
        calls = [call.arguments for message in reply.messages for call in message.calls]
        text = json.dumps(calls[0]) if len(calls) == 1 else ""
        return RawAnswer(text, reply.model)
    return RawAnswer(reply.text, reply.model)


def _openai_body(model: str, prompt: JudgePrompt) -> dict[str, Any]:
    messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
    form = {"type": "json_schema", "json_schema": {"name": "opinion", "strict": True, "schema": SCHEMA}}
    return {"model": model, "temperature": 0, "messages": messages, "response_format": form}


def _anthropic_body(model: str, prompt: JudgePrompt) -> dict[str, Any]:
    tool = {"name": "opinion", "description": "Gives the opinion.", "input_schema": SCHEMA}
    return {
        "model": model, "temperature": 0, "max_tokens": 1024, "system": prompt.system, "tools": [tool],
        "tool_choice": {"type": "tool", "name": "opinion"}, "messages": [{"role": "user", "content": prompt.user}],
    }  # fmt: skip


def _gemini_body(model: str, prompt: JudgePrompt) -> dict[str, Any]:
    schema = {key: value for key, value in SCHEMA.items() if key != "additionalProperties"}
    return {
        "systemInstruction": {"parts": [{"text": prompt.system}]},
        "contents": [{"role": "user", "parts": [{"text": prompt.user}]}],
        "generationConfig": {"temperature": 0, "responseMimeType": "application/json", "responseSchema": schema},
    }


_BODIES = {"openai": _openai_body, "anthropic": _anthropic_body, "gemini": _gemini_body}


class CommandJudge:
    """A command that reads a prompt as JSON on stdin, and writes an opinion as JSON."""

    def __init__(self, command: tuple[str, ...], timeout: float) -> None:
        self._command, self._timeout = command, timeout

    @property
    def place(self) -> str:
        return f"the command {os.path.basename(self._command[0])}"

    def ask(self, prompt: JudgePrompt) -> RawAnswer:
        data = json.dumps({"system": prompt.system, "user": prompt.user, "schema": SCHEMA}).encode()
        try:
            done = subprocess.run(self._command, input=data, capture_output=True, timeout=self._timeout, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return RawAnswer(error=f"it cannot be run: {type(error).__name__}")
        if done.returncode:
            return RawAnswer(error=f"it ended with code {done.returncode}")
        return RawAnswer(done.stdout[:MOST_BYTES].decode("utf-8", "replace").strip())
