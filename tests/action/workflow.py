"""A composite action, run as far as that goes without GitHub: its steps in order, its expressions resolved.

`uses:` steps are played by small replacements: a cache is a folder, an upload is a copy, a Python is that of the PATH.
The comments go to a fake of GitHub's API, because GitHub itself cannot be had in a test.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
_EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")
_WORD = re.compile(r"'[^']*'|[\w.-]+(?:\(\))?|&&|\|\||==|!=|!|\(|\)")


class Contexts:
    """What expressions refer to: `inputs`, `github` and the outputs of steps."""

    def __init__(self, inputs: dict[str, str], github: dict[str, str]) -> None:
        self.github = {"action_path": str(ROOT), "token": "token-of-the-job", **github}
        self.outputs: dict[str, dict[str, str]] = {}
        self.failed = False
        self.inputs: dict[str, str] = {}
        defaults = {name: str(one.get("default") or "") for name, one in ACTION["inputs"].items()}
        self.inputs = {name: self.resolve(value) for name, value in defaults.items()} | inputs

    def resolve(self, text: object) -> str:
        return _EXPRESSION.sub(lambda found: str(self.value(found[1])), str(text))

    def value(self, expression: str) -> Any:
        """An expression: names, strings, comparisons, `always()`."""
        words = {"&&": "and", "||": "or", "!": "not", "==": "==", "!=": "!=", "(": "(", ")": ")"}
        python = " ".join(words.get(word) or repr(self._look_up(word)) for word in _WORD.findall(expression))
        return eval(python)

    def _look_up(self, word: str) -> Any:
        if word.startswith("'"):
            return word[1:-1]
        if word == "always()":
            return True
        context, *path = word.split(".")
        if context == "steps":
            return self.outputs.get(path[0], {}).get(path[-1], "")
        return {"inputs": self.inputs, "github": self.github, "runner": {"os": "Linux"}}[context].get(path[0], "")

    def wanted(self, step: dict[str, Any]) -> bool:
        condition = str(step.get("if", ""))
        return bool(self.value(condition) if condition else True) and (not self.failed or "always()" in condition)


Run = Callable[[str, Path, dict[str, str]], int]
"""Carries out the `run` of a step in a folder, with an environment; the exit code."""


def run_action(
    inputs: dict[str, str], github: dict[str, str], workspace: Path, cache: Path, run: Run, skip: tuple[str, ...] = ()
) -> tuple[bool, dict[str, str]]:
    """Whether the action came out green, and its outputs."""
    contexts = Contexts(inputs, github)
    for step in ACTION["runs"]["steps"]:
        if step["name"] in skip or not contexts.wanted(step):
            continue
        if "uses" in step:
            _play(
                step["uses"],
                {key: contexts.resolve(value) for key, value in step.get("with", {}).items()},
                workspace,
                cache,
            )
            continue
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an expression in a script is an injection: use env"
        output = workspace / ".output"
        output.write_text("")
        environ = {key: contexts.resolve(value) for key, value in step.get("env", {}).items()}
        environ |= {f"GITHUB_{name.upper()}": value for name, value in github.items()} | {"GITHUB_OUTPUT": str(output)}
        folder = workspace / contexts.resolve(step.get("working-directory", "."))
        contexts.failed |= run(step["run"], folder, environ) != 0
        lines = output.read_text().splitlines()
        contexts.outputs[step.get("id", "")] = dict(line.split("=", 1) for line in lines)
    outputs = {name: contexts.resolve(one["value"]) for name, one in ACTION["outputs"].items()}
    return not contexts.failed, outputs


def _play(uses: str, given: dict[str, str], workspace: Path, cache: Path) -> None:
    """Play an action of GitHub's."""
    name = uses.partition("@")[0]
    path = workspace / given.get("path", "").split("\n")[0].strip()
    if name == "actions/cache/restore":
        found = sorted(cache.glob(f"{given['restore-keys']}*"))
        if found:
            shutil.copytree(found[-1], path, dirs_exist_ok=True)
    elif name == "actions/cache/save":
        shutil.copytree(path, cache / given["key"], dirs_exist_ok=True)
    elif name == "actions/upload-artifact":
        assert path.is_dir()
        shutil.copytree(path, cache / "artifacts" / given["name"], dirs_exist_ok=True)
    else:
        assert name in ("actions/setup-python", "actions/cache")


def in_bash(path: str, environ: dict[str, str]) -> Run:
    """Steps as GitHub runs them: by bash, which ends at the first error."""

    def run(script: str, folder: Path, more: dict[str, str]) -> int:
        everything = {**environ, **more, "PATH": path}
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script], cwd=folder, env=everything, check=False
        ).returncode

    return run


class FakeGithub:
    """A fake of GitHub's API of comments. `may_write`: the token may, as that of a fork may not."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.tokens: set[str] = set()
        self.may_write = True
        self.address = ""

    @contextmanager
    def serving(self) -> Iterator[FakeGithub]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                fake.tokens.add(self.headers["Authorization"])
                page = int(self.path.rpartition("page=")[2])
                self._answer(200, fake.comments[(page - 1) * 100 : page * 100])

            def do_POST(self) -> None:
                self._write(lambda body: fake.add(body["body"]))

            def do_PATCH(self) -> None:
                number = int(self.path.rpartition("/")[2])
                self._write(lambda body: fake.comments[number].update(body))

            def _write(self, change: Callable[[Any], object]) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if fake.may_write:
                    change(body)
                self._answer(200 if fake.may_write else 403, {})

            def _answer(self, status: int, content: object) -> None:
                data = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()

    def add(self, body: str) -> None:
        number = len(self.comments)
        self.comments.append({"body": body, "url": f"{self.address}/repos/o/r/issues/comments/{number}"})
