"""The live app that eval sets are about: the command that starts it, where it listens, and its telemetry log."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from carob.features.setup.survey.findings import FoundAgent
from carob.features.setup.survey.node_source import CODE, read_package

LOG = "TELEMETRY_LOG_PATH"
"""The variable that names the log, as the runner of eval sets has it."""
SOURCES = (*CODE, ".py", ".go", ".rb", ".rs", ".java")
NAMES_LOG = (*SOURCES, ".sh", ".env", ".env.local", ".env.example", ".toml", ".yml")
_RUNNER = re.compile(r"(?:^|/)(?:scripts|tests?|evals?)/")
_LOG_IN_SHELL = re.compile(rf"{LOG}(?::-|=)['\"]?(?:\$\{{?\w+\}}?/)?([\w./-]+\.\w+)")
_AFTER_LOG = re.compile(rf"{LOG}\b([^\n]{{0,120}})")
_QUOTED = re.compile(r"""["'`]([\w./-]+)["'`]""")
_RESULT_LOG = re.compile(r'"\w*(?:log|telemetry)\w*"\s*:\s*"([^"\\\n]+\.(?:jsonl|ndjson|log))"', re.IGNORECASE)
_WEB = re.compile(r"(?m)^web:\s*(.+?)\s*$")
_RECIPE = re.compile(r"(?m)^(?:dev|start|serve|run|app|web)\s*:[^=\n]*\n\t@?(.+?)\s*$")
_PORT = re.compile(r"(--port[= ]|-p |--bind [\w.]*:)(?:\d{2,5}|\$\{?PORT\b[^\s}]*\}?)")
_VARIABLE = re.compile(r"\$\{?PORT\b[^\s}]*\}?")
PYTHON = ("python3 ", "python ", "uvicorn ", "flask ", "hypercorn ", "gunicorn ")
RESULTS = "/results/"


def find_live_app(
    files: Sequence[str],
    read: Callable[[str], str],
    agents: Sequence[FoundAgent],
    variables: Mapping[str, str],
    port: int,
) -> FoundAgent:
    """A browser target for the app: Carob starts it at a free port where a file says how, else it has to run."""
    start, where = next(_starts(files, read, agents), ("", "."))
    name_of_log, log = _find_log(files, read, variables)
    options: dict[str, object] = {}
    if start:
        options["start"] = start = _at_free_port(start)
        environment = {} if "{port}" in start else {"PORT": "{port}"}
        environment |= {LOG: "{log}"} if name_of_log else {}
        options |= {"start_env": environment} if environment else {}
    if log and not (start and name_of_log):
        options["telemetry"] = {"log": log}
    use = "browser:app" if start else f"browser:http://127.0.0.1:{port}/"
    return FoundAgent(use, "web app of the eval sets", where, "app", "browser", options=options)


def _starts(
    files: Sequence[str], read: Callable[[str], str], agents: Sequence[FoundAgent]
) -> Iterator[tuple[str, str]]:
    """The lines that start the app, the likeliest first, each with the file that says it."""
    yield from ((agent.start, agent.where) for agent in agents if agent.start)
    for path in (path for path in files if path.rpartition("/")[2] == "package.json"):
        if (package := read_package(read(path), path)) and package.start:
            yield package.start + " -- --port {port}" * ("vite" in package.packages), path
    for path, pattern in (("Procfile", _WEB), ("Makefile", _RECIPE)):
        if path in files and (found := pattern.search(read(path))):
            yield found[1], path


def _at_free_port(start: str) -> str:
    """The line with `{port}` in place of its own, and the interpreter of Carob for Python."""
    start = _VARIABLE.sub("{port}", _PORT.sub(r"\1{port}", start))
    word = next((word for word in PYTHON if start.startswith(word)), "")
    if not word:
        return start
    module = "" if word.startswith("python") else f"-m {word}"
    return f"{{python}} {module}{start.removeprefix(word)}"


def _find_log(files: Sequence[str], read: Callable[[str], str], variables: Mapping[str, str]) -> tuple[bool, str]:
    """Whether the app reads the variable, and where its log is: as it is set, by default, or in an earlier run."""
    texts = {path: read(path) for path in files if path.endswith(NAMES_LOG) or path in ("Makefile", "Procfile")}
    naming = {path: text for path, text in texts.items() if LOG in text}
    reads = any(path.endswith(SOURCES) and not _RUNNER.search(path) for path in naming)
    if variables.get(LOG):
        return reads, variables[LOG]
    defaults = (found for text in naming.values() if (found := _default_log(text)))
    results = (read(path) for path in reversed(files) if RESULTS in path and path.endswith(".json"))
    earlier = (line[1] for text in results if (line := _RESULT_LOG.search(text)))
    return reads, next(defaults, next(earlier, ""))


def _default_log(text: str) -> str:
    """The file that a script or a program names where the variable is not set."""
    if set_there := _LOG_IN_SHELL.search(text):
        return set_there[1]
    for line in _AFTER_LOG.findall(text):
        parts = _QUOTED.findall(line)
        if parts and "." in parts[-1]:  # parts of a path are joined to one
            return "/".join(parts) if "join(" in line else parts[-1]
    return ""
