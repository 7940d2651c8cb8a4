"""A tape on disk: what each case asked of the services around the agent, and what they answered.

One YAML file per suite, for people to read and to compare: exchanges in the order of their cases, each with the request
without its secrets, and the answer as it came. It is written whole or not at all. What a run records is on disk as soon
as it comes, so that a long run needs no more memory.
"""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import IO, Any, TypeVar

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
SECONDS_BETWEEN_WRITES = 2.0
"""While cases are recorded, or so many times what a write takes; what a kill in between loses is these seconds."""
TIMES_A_WRITE = 20


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
        kept_headers = {name: value for name, value in headers.items() if name in (*KEPT_HEADERS, "location")}
        value = read_json(body)
        for spacing in _SPACINGS if value is not None else ():
            if _encode(value, spacing) == body:
                return cls(status, kept_headers, json=value, spacing=spacing)
        try:
            return cls(status, kept_headers, text=body.decode())
        except UnicodeDecodeError:
            return cls(status, kept_headers, base64=base64.b64encode(body).decode())

    @property
    def gist(self) -> str:
        """The answer, for people."""
        return shorten("".join(event.data for event in self.events) or self.body.decode("utf-8", "replace"))

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
        return [exchange for run in sorted(self.runs) for exchange in self.runs[run]]

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
    for (case, _), recorded in sorted(runs.items(), key=lambda run: run[0]):
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
                for exchange in runs[run]:
                    file.write(entry(exchange))
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


def entry_of(exchange: Exchange) -> bytes:
    """An exchange as it is on a tape, with its seal."""
    plain = _plain_table(exchange)
    return "\n".join([*item(plain | {"seal": _seal(plain)}, 2), ""]).encode()


def _lines(table: Mapping[str, Any]) -> bytes:
    return "\n".join([*block(table), ""]).encode()


def read_tape(path: Path) -> Tape:
    """Read a tape. Raises ConfigError for one that is missing, was cut off or edited, or is of a newer Karat."""
    data = _bytes(path)
    file = _parse(path, data)
    runs: dict[tuple[str, int], list[Exchange]] = {}
    for number, (exchange, intact) in enumerate(_exchanges(path, file), 1):
        if not intact:
            fix = "Undo the edit, or accept it with `karat tape seal`."
            raise _bad(path, f"exchange {number} (case {exchange.case!r}) was edited.", fix)
        runs.setdefault((exchange.case, exchange.repeat), []).append(exchange)
    for case, recorded in {**dict.fromkeys((case for case, _ in runs), 0), **file.cases}.items():
        count = sum(len(exchanges) for (name, _), exchanges in runs.items() if name == case)
        if count != recorded:
            raise _bad(path, f"case {case!r} has {count} exchanges, but {recorded} were recorded.", RECORD_AGAIN)
        runs.setdefault((case, 0), [])
    return Tape(path=path, digest=hashlib.sha256(data).hexdigest(), runs=runs)


def seal_tape(path: Path) -> int:
    """Accept what was edited by hand; how many exchanges were."""
    file = _parse(path, _bytes(path))
    runs: dict[tuple[str, int], list[Exchange]] = {(case, 0): [] for case in file.cases}
    edited = 0
    for exchange, intact in _exchanges(path, file):
        edited += not intact
        runs.setdefault((exchange.case, exchange.repeat), []).append(exchange)
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
            exchange = msgspec.convert(raw, Exchange)
        except msgspec.ValidationError as error:
            raise _bad(path, f"exchange {number} cannot be read: {error}.", RECORD_AGAIN) from error
        yield exchange, seal == _seal(_plain_table(exchange))


def _parse(path: Path, data: bytes) -> _File:
    try:
        content = yaml.load(data, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # a safe loader
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise _bad(path, f"not a tape: {' '.join(str(error).split())}.", RECORD_AGAIN) from error
    version = content.get("karat_tape") if isinstance(content, dict) else None
    if not isinstance(version, int):
        raise _bad(path, "not a tape: `karat_tape` is missing.", RECORD_AGAIN)
    if version > VERSION:
        raise _bad(path, f"the tape has version {version}; this Karat reads version {VERSION}.", "Update Karat.")
    if "cases" not in content:
        raise _bad(path, "the tape was cut off: `cases` is missing at its end.", RECORD_AGAIN)
    try:
        return msgspec.convert(content, _File)
    except msgspec.ValidationError as error:
        raise _bad(path, f"not a tape: {error}.", RECORD_AGAIN) from error


def _bad(path: Path, message: str, fix: str) -> ConfigError:
    return ConfigError(message, where=str(path), fix=fix, slug="bad-tape")


def _plain_table(exchange: Exchange) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(exchange)
    plain["request"] = {key: value for key, value in plain["request"].items() if value not in (None, "")}
    return plain


def _seal(plain: Mapping[str, Any]) -> str:
    return hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()[:16]


class EntryOffset(Struct, frozen=True):
    """Where the entry of an exchange is."""

    start: int
    size: int


class Recording:
    """The runs of cases that a tape is to have: those that it has, but for those that are recorded again."""

    def __init__(self, tape: Tape) -> None:
        self._path = tape.path
        self._size = 0
        self._file = self._open()
        self._runs = {run: [self.add(exchange) for exchange in exchanges] for run, exchanges in tape.runs.items()}
        self._next_write = monotonic() + SECONDS_BETWEEN_WRITES

    def _open(self) -> IO[bytes]:
        """It has no name, so that nothing is left of it when the process ends, however that comes."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            return tempfile.TemporaryFile(dir=self._path.parent)
        except OSError as error:
            raise unwritable(self._path, error) from error

    def add(self, exchange: Exchange) -> EntryOffset:
        """Keep an exchange; `end` says whose it is."""
        entry = entry_of(exchange)
        self._file.write(entry)
        self._size += len(entry)
        return EntryOffset(self._size - len(entry), len(entry))

    def end(self, case: str, repeat: int, entries: list[EntryOffset]) -> None:
        """A run of a case is over."""
        self._runs[case, repeat] = entries
        if monotonic() > self._next_write:
            self.write()

    def write(self) -> None:
        """Replace the tape, or leave it as it was. Raises ConfigError."""
        started = monotonic()
        try:
            self._file.flush()
        except OSError as error:
            raise unwritable(self._path, error) from error
        write_runs(self._path, self._runs, self._read)
        ended = monotonic()
        self._next_write = ended + max(SECONDS_BETWEEN_WRITES, TIMES_A_WRITE * (ended - started))

    def close(self) -> None:
        try:
            self.write()
        finally:
            self._file.close()

    def _read(self, entry: EntryOffset) -> bytes:
        return os.pread(self._file.fileno(), entry.size, entry.start)
