"""A tape on disk: what each case asked of the services around the agent, and what they answered.

One YAML file per suite, for people to read and to compare: exchanges in the order of their cases, each with the request
without its secrets, and the answer as it came. It is written whole or not at all.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml
from msgspec import Struct, field

from karat.errors import ConfigError
from karat.proxy.tape.requests import ServiceRequest, read_json
from karat.suites.documents.yaml_text import block, item
from karat.system.unfinished_files import create_unfinished
from karat.text.wording import shorten

VERSION = 1
LARGEST = 256 << 20
KEPT_HEADERS = ("content-type", "mcp-protocol-version", "mcp-session-id", "retry-after")
"""Headers of an answer that clients act on; all others vary or say who asked."""
RECORD = "Record it with --tape record."
RECORD_AGAIN = "Restore it, or delete it and record it again with --tape record."
"""As long as it is there, what it has of other cases would be lost."""


class StreamEvent(Struct, frozen=True, forbid_unknown_fields=True):
    """A piece of a stream, as it came, and how long after the one before it."""

    after_ms: int
    data: str


class Answer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a service answered: a body as JSON, text or bytes, or the events of a stream."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    json: object = None
    spacing: str = ""
    """How the JSON was written, where that is not in the shortest way."""
    text: str = ""
    base64: str = ""
    events: tuple[StreamEvent, ...] = ()

    @classmethod
    def of_body(cls, status: int, headers: Mapping[str, str], body: bytes) -> Answer:
        kept = {name: value for name, value in headers.items() if name in (*KEPT_HEADERS, "location")}
        found = read_json(body)
        for spacing in _SPACINGS if found is not None else ():
            if found is not None and _encode(found.value, spacing) == body:
                return cls(status, kept, json=found.value, spacing=spacing)
        try:
            return cls(status, kept, text=body.decode())
        except UnicodeDecodeError:
            return cls(status, kept, base64=base64.b64encode(body).decode())

    @property
    def gist(self) -> str:
        """The answer, for people."""
        return shorten("".join(one.data for one in self.events) or self.body.decode("utf-8", "replace"))

    @property
    def body(self) -> bytes:
        """The bytes as they came."""
        if self.json is not None:
            return _encode(self.json, self.spacing)
        return base64.b64decode(self.base64) if self.base64 else self.text.encode()


_SPACINGS: Mapping[str, dict[str, Any]] = {
    "": {"separators": (",", ":"), "ensure_ascii": False},
    "spaced": {"ensure_ascii": False},
    "ascii": {"separators": (",", ":")},
    "spaced ascii": {},
    "indented": {"ensure_ascii": False, "indent": 2},
}
"""How servers write JSON: what it takes to give back the same bytes."""


def _encode(value: object, spacing: str) -> bytes:
    import json  # slower than msgspec, and able to write as other servers do

    return json.dumps(value, **_SPACINGS[spacing]).encode("utf-8", "surrogatepass")


class Exchange(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One request and its answer."""

    case: str
    repeat: int = 0
    request: ServiceRequest
    answer: Answer
    recorded: str = ""
    """The day."""


class _File(Struct, forbid_unknown_fields=True, kw_only=True):
    karat_tape: int
    exchanges: list[dict[str, Any]]
    """Each with a `seal`, a digest of the rest: what was edited by hand shows."""
    cases: dict[str, int]
    """How many exchanges each case has; it is the last entry, so that a file that was cut off shows."""


class Tape(Struct, kw_only=True):
    """All exchanges, by case and repeat. A case that asked nothing is known by its empty list."""

    path: Path
    digest: str = ""
    runs: dict[tuple[str, int], list[Exchange]] = field(default_factory=dict)

    @property
    def exchanges(self) -> list[Exchange]:
        return [one for run in sorted(self.runs) for one in self.runs[run]]

    def write(self) -> None:
        """Replace the file, or leave it as it was."""
        write_runs(self.path, self.runs, entry_of)


Recorded = TypeVar("Recorded")


def write_runs(
    path: Path, runs: Mapping[tuple[str, int], Sequence[Recorded]], entry: Callable[[Recorded], bytes]
) -> None:
    """Write a tape that holds these runs of cases, whole or not at all; one entry at a time, so that it takes no room.

    Raises ConfigError.
    """
    cases: dict[str, int] = {}
    for (case, _), recorded in sorted(runs.items(), key=lambda one: one[0]):
        cases[case] = cases.get(case, 0) + len(recorded)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        locked, temporary = create_unfinished(str(path))
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        with open(locked, "wb", closefd=False) as file:
            file.write(_lines({"karat_tape": VERSION}))
            file.write(b"exchanges:\n" if any(cases.values()) else b"exchanges: []\n")
            for run in sorted(runs):
                for one in runs[run]:
                    file.write(entry(one))
            file.write(_lines({"cases": cases}))
        os.replace(temporary, path)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        os.close(locked)
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def unwritable(path: Path, error: OSError) -> ConfigError:
    return _bad(path, f"the tape cannot be written: {error.strerror}.", "Name another place: `file` in [tape].")


def entry_of(one: Exchange) -> bytes:
    """An exchange as it is on a tape, with its seal."""
    plain = _plain_table(one)
    return "\n".join([*item(plain | {"seal": _seal(plain)}, 2), ""]).encode()


def _lines(table: Mapping[str, Any]) -> bytes:
    return "\n".join([*block(table), ""]).encode()


def read_tape(path: Path) -> Tape:
    """Read a tape. Raises ConfigError for one that is missing, was cut off or edited, or is of a newer Karat."""
    data = _bytes(path)
    file = _parse(path, data)
    runs: dict[tuple[str, int], list[Exchange]] = {}
    for number, (one, intact) in enumerate(_exchanges(path, file), 1):
        if not intact:
            fix = "Undo the edit, or accept it with `karat tape seal`."
            raise _bad(path, f"exchange {number} (case {one.case!r}) was edited.", fix)
        runs.setdefault((one.case, one.repeat), []).append(one)
    for case, count in {**dict.fromkeys((case for case, _ in runs), 0), **file.cases}.items():
        found = sum(len(each) for (name, _), each in runs.items() if name == case)
        if found != count:
            raise _bad(path, f"case {case!r} has {found} exchanges, but {count} were recorded.", RECORD_AGAIN)
        runs.setdefault((case, 0), [])
    return Tape(path=path, digest=hashlib.sha256(data).hexdigest(), runs=runs)


def seal_tape(path: Path) -> int:
    """Accept what was edited by hand; how many exchanges were."""
    file = _parse(path, _bytes(path))
    runs: dict[tuple[str, int], list[Exchange]] = {(case, 0): [] for case in file.cases}
    edited = 0
    for one, intact in _exchanges(path, file):
        edited += not intact
        runs.setdefault((one.case, one.repeat), []).append(one)
    Tape(path=path, runs=runs).write()
    return edited


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST:
            raise _bad(path, f"the tape has more than {LARGEST:,} bytes.", "Split the suite.")
        return path.read_bytes()
    except OSError as error:
        fix = RECORD if isinstance(error, FileNotFoundError) else RECORD_AGAIN
        raise _bad(path, f"the tape cannot be read: {error.strerror}.", fix) from error


def _exchanges(path: Path, file: _File) -> Iterator[tuple[Exchange, bool]]:
    """The exchanges, and whether each is as it was recorded."""
    for number, raw in enumerate(file.exchanges, 1):
        seal = raw.pop("seal", "")
        try:
            one = msgspec.convert(raw, Exchange)
        except msgspec.ValidationError as error:
            raise _bad(path, f"exchange {number} cannot be read: {error}.", RECORD_AGAIN) from error
        yield one, seal == _seal(_plain_table(one))


def _parse(path: Path, data: bytes) -> _File:
    try:
        found = yaml.load(data, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # a safe loader
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise _bad(path, f"not a tape: {' '.join(str(error).split())}.", RECORD_AGAIN) from error
    version = found.get("karat_tape") if isinstance(found, dict) else None
    if not isinstance(version, int):
        raise _bad(path, "not a tape: `karat_tape` is missing.", RECORD_AGAIN)
    if version > VERSION:
        raise _bad(path, f"the tape has version {version}; this Karat reads version {VERSION}.", "Update Karat.")
    if "cases" not in found:
        raise _bad(path, "the tape was cut off: `cases` is missing at its end.", RECORD_AGAIN)
    try:
        return msgspec.convert(found, _File)
    except msgspec.ValidationError as error:
        raise _bad(path, f"not a tape: {error}.", RECORD_AGAIN) from error


def _bad(path: Path, message: str, fix: str) -> ConfigError:
    return ConfigError(message, where=str(path), fix=fix, slug="bad-tape")


def _plain_table(one: Exchange) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(one)
    found["request"] = {key: value for key, value in found["request"].items() if value not in (None, "")}
    return found


def _seal(plain: Mapping[str, Any]) -> str:
    return hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()[:16]
