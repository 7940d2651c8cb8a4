"""What an inspection gives: what was seen, the target that follows from it, and the turn that proves it.

Passwords of addresses are not shown: the target names variables that hold them.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from carob.errors import ArtifactError, ConfigError
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.plugins.project import Project
from carob.redaction.named import without_secrets
from carob.redaction.redactor import Redactor
from carob.targets.base import RunContext, TargetError
from carob.targets.catalog import build
from carob.targets.config import TargetConfig
from carob.text.clean import map_texts
from carob.text.wording import shorten, visible


class Observation(NamedTuple):
    """One thing that was looked for, and what was seen of it."""

    what: str
    seen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """Of one agent. `trace` is a turn with the very table that is proposed; without one, `problem` says why."""

    name: str
    table: dict[str, object]
    """The keys under `[targets.NAME]`."""
    sightings: tuple[Observation, ...]
    trace: Trace | None = None
    problem: str = ""

    @property
    def works(self) -> bool:
        """Whether a turn with this target gave an answer."""
        return self.trace is not None

    @property
    def toml(self) -> str:
        """The target as written in carob.toml."""
        return target_table(self.name, self.table)


_PASSWORD = re.compile(r"""(?i)(?<=://)(?P<user>[^\s/?#"'<>\\@:]*)(?P<colon>:?)(?P<password>[^\s/?#"'<>\\@]*)(?=@)""")


def without_passwords(found: Inspection) -> Inspection:
    """The inspection with `${NAME_PASSWORD}` in place of a password, and of a user that is let in without one."""
    known: dict[str, str] = {}
    prefix = re.sub(r"\W", "_", found.name).upper()

    def name_password(match: re.Match[str]) -> str:
        user, secret = (match["user"], match["password"]) if match["colon"] else ("", match["user"])
        if not secret or secret.startswith("${"):
            return match[0]
        number = f"_{len(known) + 1}" if known and secret not in known else ""
        name = known.setdefault(secret, f"{prefix}_PASSWORD{number}")
        return f"{user}{match['colon']}${{{name}}}"

    table = map_texts(found.table, partial(_PASSWORD.sub, name_password))
    if not known:
        return found
    redactor = Redactor(known)
    seen = [Observation(what, tuple(map(redactor.message, lines))) for what, lines in found.sightings]
    kept = Observation("a password", tuple(f"is not shown: set {name} in the environment" for name in known.values()))
    trace = found.trace and redactor.trace(found.trace)
    return replace(found, table=table, sightings=(*seen, kept), trace=trace, problem=redactor.message(found.problem))


NEW = "carob.toml"
_NO_MODEL = re.compile(
    r"(?i)connection ?error|connection refused|api[_ -]?key|authenticat|unauthorized|credentials|\b401\b"
)


def lacks_model(problem: str) -> bool:
    """Whether a turn broke because the model of the agent was not reached: to try another way takes as long again."""
    return _NO_MODEL.search(problem) is not None


def add(inspection: Inspection, project: Project) -> Path:
    """Write the target at the end of the configuration, or of a new carob.toml; the file."""
    file = Path(project.file or Path(project.folder) / NEW)
    targets = project.content.get("targets")
    if isinstance(targets, dict) and inspection.name in targets:
        fix = "Choose another with --name, or remove that one."
        raise ConfigError(f"it has a target {inspection.name!r} already.", where=str(file), fix=fix, slug="name-taken")
    before = file.read_text("utf-8-sig") if project.file else ""
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    addition = f"{gap}{target_table(inspection.name, inspection.table, project.section)}\n"
    _try(before + addition, file)
    try:
        with file.open("ab" if before else "xb", buffering=0) as out:
            out.write(without_secrets(addition.encode()))
            os.fsync(out.fileno())
    except OSError as error:
        raise ArtifactError(f"it cannot be written: {error.strerror}.", where=str(file)) from error
    return file


def _try(text: str, file: Path) -> None:
    """Whether the file would still be TOML: one whose `targets` are an inline table cannot be added to."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        fix = "Print the target instead, and add it by hand."
        message = "`targets` is written inline, so no table can be added at the end of the file."
        raise ConfigError(message, where=str(file), fix=fix) from error


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CONTROL = re.compile("[\x7f-\x9f\u2028\u2029]")
APART = frozenset({"options", "ui_vocabulary", "preconditions", "stream"})
"""Tables that are written below a header of their own."""


def target_table(name: str, table: Mapping[str, object], section: str = "") -> str:
    """`[targets.NAME]` with all that it holds."""
    path = ".".join(filter(None, (section, "targets", key(name))))
    return "\n".join(_lines(path, table))


def _lines(path: str, table: Mapping[str, object]) -> Iterator[str]:
    yield f"[{path}]"
    below = []
    for name, value in table.items():
        if name in APART and isinstance(value, dict) and value:
            below.append((name, value))
        else:
            yield f"{key(name)} = {inline(value)}"
    for name, value in below:
        yield ""
        yield from _lines(f"{path}.{key(name)}", value)


def key(name: str) -> str:
    return name if _BARE.fullmatch(name) else inline(name)


def inline(value: object) -> str:
    """A value on one line."""
    if isinstance(value, str):
        # JSON's escapes are TOML's too, apart from the characters that TOML does not allow unescaped.
        return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key(k)} = {inline(v)}' for k, v in value.items())} }}" if value else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    return json.dumps(value)


async def prove_target(config: TargetConfig, *prompts: str, earlier: list[Trace] | None = None) -> Trace:
    """The trace of the last prompt; those of the others are added to `earlier`.

    Raises TargetError where a case would be an ERROR, or says nothing at all.
    """
    *setup, last = prompts
    case = Case(id="inspect", prompt=last, setup_prompts=tuple(setup), checks=())
    target = build(config)
    try:
        await target.open()
        trace = await target.run(case, RunContext(after_setup=None if earlier is None else earlier.append))
    finally:
        await target.close()
    if trace.error is not None:
        raise TargetError(trace.error.kind, trace.error.message, partial=trace)
    if not trace.final_message.strip() and not trace.tool_calls:
        raise TargetError("bad-answer", "the turn ended without any text and without a tool call", partial=trace)
    return trace


def describe_trace(trace: Trace, most: int = 300) -> tuple[str, ...]:
    """What a turn records, in lines."""
    calls = [f"called {_call(call.name, call.arguments)}: {_end(call.success)}" for call in trace.tool_calls]
    hidden = [f"not observed: {name} ({why})" for name, why in trace.unobserved.items()]
    return (f"said {visible(shorten(trace.final_message, most))!r}", *calls, *hidden)


def _call(name: str, arguments: object) -> str:
    return f"{visible(name)} {visible(shorten(msgspec.json.encode(arguments).decode(), 120))}"


def _end(success: bool | None) -> str:
    return {True: "succeeded", False: "failed", None: "outcome unknown"}[success]
