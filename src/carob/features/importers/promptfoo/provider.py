"""A provider of promptfoo that is code: a Python function such as `call_api`, or a command that gets the prompt."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import shlex
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from carob.errors import ConfigError
from carob.model.suite import Case
from carob.plugins.code import load
from carob.targets.base import TargetError
from carob.targets.child_process import Child, ExitStatus
from carob.targets.config import TargetConfig
from carob.targets.python import OFFERED, PythonTarget
from carob.targets.user_code import Callee

COMMAND = "exec:"
FUNCTION = "call_api"
VARIABLES = "vars"
"""Where the metadata of a case holds the variables of its test."""

Answer = Callable[[str, Case], Awaitable[dict[str, object]]]


class PromptfooProvider(PythonTarget):
    """A target with the options `provider`, `config` and `folder`: that of the configuration file."""

    def __init__(self, config: TargetConfig) -> None:
        super().__init__(config)
        self._provider = str(config.options.get("provider", ""))
        self._given = {"id": self._provider, "config": config.options.get("config") or {}}
        self._folder = Path(str(config.options.get("folder", ""))).resolve()

    async def open(self) -> None:
        self._environment.set()
        answer = self._command() if self._provider.startswith(COMMAND) else self._function()
        self._callee = Callee(answer, repr(self._provider), "prompt", OFFERED)

    def _function(self) -> Answer:
        spec = self._provider.removeprefix("file://").removeprefix("python:")
        call_api = load(f"{spec}:{FUNCTION}" if spec.endswith(".py") else spec, self._folder, [self._folder])
        in_loop = inspect.iscoroutinefunction(call_api)

        async def answer(prompt: str, case: Case) -> dict[str, object]:
            call = partial(call_api, prompt, self._given, _context(case))
            response = call() if in_loop else await self._threads.call(call)
            return as_short_form(await response if inspect.isawaitable(response) else response)

        return answer

    def _command(self) -> Answer:
        try:
            argv = shlex.split(self._provider.removeprefix(COMMAND))
        except ValueError as error:
            raise ConfigError(f"the command of {self._provider!r} cannot be split: {error}.") from error
        if not argv:
            raise ConfigError(f"the provider {self._provider!r} names no command.")

        async def answer(prompt: str, case: Case) -> dict[str, object]:
            args = [*argv, prompt, json.dumps(self._given), json.dumps(_context(case))]
            lines: list[bytes] = []
            child = Child(args, self._folder, {**os.environ, **self._config.env})
            running = asyncio.ensure_future(self._threads.call(partial(child.run, lines.append)))
            try:
                ended: ExitStatus = await asyncio.shield(running)
            except asyncio.CancelledError:
                child.stop()
                await asyncio.wait({running})
                raise
            if ended.returncode:
                detail = ended.stderr.strip()
                raise TargetError("agent", f"the command ended with status {ended.returncode}", detail=detail)
            return {"final_message": b"\n".join(lines).decode("utf-8", "replace").strip()}

        return answer


def _context(case: Case) -> dict[str, object]:
    return {"vars": case.metadata.get(VARIABLES, {}), "prompt": {"raw": case.prompt, "label": case.prompt}}


def as_short_form(response: Any) -> dict[str, object]:
    """What a provider returns, in the words of the short form; text alone is an answer too."""
    if isinstance(response, str):
        return {"final_message": response}
    if not isinstance(response, dict) or not response.keys() & {"output", "error"}:
        raise TargetError("bad-answer", "the provider returned neither `output` nor `error`")
    if response.get("error"):
        return {"error": str(response["error"])}
    output = response.get("output")
    form: dict[str, object] = {"final_message": output if isinstance(output, str) else json.dumps(output)}
    used = response.get("tokenUsage") or response.get("token_usage")
    if isinstance(used, dict):
        form["tokens"] = {"input": used.get("prompt"), "output": used.get("completion")}
    return form
