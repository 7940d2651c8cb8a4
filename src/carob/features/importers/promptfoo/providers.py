"""Providers of promptfoo as targets: plain HTTP, OpenAI-compatible, and code where the user trusts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from carob.features.importers.promptfoo.assertions import path_of
from carob.features.importers.promptfoo.templates import is_template

PROMPT = "{{prompt}}"
CODE = "python:carob.features.importers.promptfoo.provider:PromptfooProvider"
"""The target that runs the code of a provider."""
_PARAMETERS = {"temperature": "temperature", "max_tokens": "max_tokens", "top_p": "top_p", "seed": "seed"}


class NamedTarget(NamedTuple):
    """A target as a configuration names it, with its options; nothing where it has no equal."""

    spec: str = ""
    options: Mapping[str, Any] = {}


NO_TARGET = NamedTarget()


def target_of(providers: Any, folder: str = "") -> NamedTarget:
    """The target that the one provider of a configuration is; none where there are several."""
    if isinstance(providers, list):
        if len(providers) != 1:
            return NO_TARGET
        providers = providers[0]
    if isinstance(providers, str):
        providers = {"id": providers}
    if not isinstance(providers, dict) or not isinstance(providers.get("id"), str):
        return NO_TARGET
    name, config = providers["id"], providers.get("config") or {}
    if not isinstance(config, dict):
        return NO_TARGET
    if is_code(name):
        return NamedTarget(CODE, {"provider": name, "config": config, "folder": folder})
    if name.startswith("openai:"):
        return _openai(name, config)
    return _http(name, config) if name.partition(":")[0] in ("http", "https") else NO_TARGET


def is_code(provider: str) -> bool:
    """Whether a provider is a Python file or a command."""
    if provider.startswith("exec:"):
        return True
    return provider.startswith(("file://", "python:")) and provider.partition(".py")[1] != ""


def _http(name: str, config: Mapping[str, Any]) -> NamedTarget:
    url, body = config.get("url") or name, _convert_body(config.get("body"))
    transform = config.get("transformResponse", config.get("responseParser"))
    answer = path_of(transform) if isinstance(transform, str) else None
    headers = config.get("headers") or {}
    if not isinstance(url, str) or "://" not in url or is_template(f"{url}{headers}") or body is None:
        return NO_TARGET
    if transform is not None and answer is None:
        return NO_TARGET
    options: dict[str, Any] = {"method": config.get("method", "POST"), "body": body}
    options |= {"answer": answer} if answer else {}
    return NamedTarget(url, options | ({"headers": headers} if headers else {}))


def _openai(name: str, config: Mapping[str, Any]) -> NamedTarget:
    base, model = config.get("apiBaseUrl"), name.split(":")[-1]
    if not isinstance(base, str) or is_template(base) or config.get("tools"):
        return NO_TARGET
    parameters = {ours: config[theirs] for theirs, ours in _PARAMETERS.items() if theirs in config}
    return NamedTarget(f"openai:{base}", {"model": model, **({"parameters": parameters} if parameters else {})})


def _convert_body(body: Any) -> Any:
    """A body with the place of the prompt as Carob marks it; None if it holds other templates."""
    if isinstance(body, str):
        text = body.replace("{{ prompt }}", PROMPT)
        other_text = text.replace(PROMPT, "")
        return None if is_template(other_text) or "{" in other_text else text.replace(PROMPT, "{prompt}")
    if isinstance(body, dict):
        filled = {key: _convert_body(value) for key, value in body.items()}
        return None if None in filled.values() else filled
    if isinstance(body, list):
        each = [_convert_body(value) for value in body]
        return None if None in each else each
    return body
