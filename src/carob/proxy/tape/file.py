"""A tape on disk: what each case asked of the services around the agent, and what they answered.

One YAML file per suite, for people to read and to compare: exchanges in the order of their cases, each with the request
without its secrets, and the answer as it came. It is written whole or not at all. What a run records is on disk as soon
as it comes, so that a long run needs no more memory.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Struct, field

from carob.errors import ConfigError, ExitCode
from carob.proxy.tape.requests import ServiceRequest, read_json
from carob.suites.documents.yaml_text import block, item
from carob.system.locks import hold_folder
from carob.system.portable import read_at, write_at
from carob.system.unfinished_files import create_unfinished
from carob.text.wording import shorten

VERSION = 1
LARGEST = 256 << 20
_VARYING_HEADERS = re.compile(
    r"(?:x-)?(?:age|alt-svc|content-length|date|expect-ct|nel|report-to|reporting-endpoints|server|server-timing|vary|via"
    r"|connection|content-encoding|keep-alive|proxy-[a-z-]+|set-cookie2?|strict-transport-security|trailer"
    r"|transfer-encoding|upgrade|traceparent|tracestate|powered-by|runtime|cache|served-by|timer|access-control-[a-z-]+"
    r"|cross-origin-[a-z-]+|content-security-policy|content-type-options|frame-options|xss-protection|robots-tag"
    r"|referrer-policy|permissions-policy)|(?:cf|openai|x-envoy|x-amz|x-amzn|x-goog|x-cloud|x-ms|apim)-.*"
    r"|anthropic-organization.*|.*(?:request-?id|correlation-?id|trace-?id|ratelimit).*"
)
"""Headers of an answer that vary, say who asked or are of the connection; clients may act on all others."""
RECORD = "Record it with --tape record."
RECORD_AGAIN = "Restore it, or delete it and record it again with --tape record."
"""As long as it is there, what it has of other cases would be lost."""
SECONDS_BETWEEN_WRITES = 2.0
"""While cases are recorded, or so many times what a write takes; what a kill in between loses is these seconds."""
TIMES_A_WRITE = 20


class UnsavedTapeError(ConfigError):
    """What a run recorded could not be written."""

    exit_code = ExitCode.INTERNAL


class StreamEvent(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A piece of a stream, as it came, and how long after the one before it."""

    after_ms: int
    data: str
    base64: str = ""
    """The piece, where it is not UTF-8."""

    @classmethod
    def of_bytes(cls, after_ms: int, raw: bytes) -> StreamEvent:
        try:
            return cls(after_ms, raw.decode())
        except UnicodeDecodeError:
            return cls(after_ms, "", base64.b64encode(raw).decode())

    @property
    def raw(self) -> bytes:
        return base64.b64decode(self.base64) if self.base64 else self.data.encode()


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
    cut: bool = False
    """Whether the stream broke off."""

    @classmethod
    def of_body(cls, status: int, headers: Mapping[str, str], body: bytes) -> Answer:
        kept_headers = dict(headers)
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


def is_kept(header: str) -> bool:
    """Whether a header of an answer is on the tape; its name is in lower case."""
    return _VARYING_HEADERS.fullmatch(header) is None


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
    carob_tape: int
    exchanges: list[dict[str, Any]]
    """Each with a `seal`, a digest of the rest: what was edited by hand shows."""
    cases: dict[str, int]
    """How many exchanges each case has; it is the last entry, so that a file that was cut off shows."""


class Tape(Struct, kw_only=True):
    """All exchanges, by case and repeat. A case that asked nothing is known by its empty list."""

    path: Path
    digest: str = ""
    state: tuple[int, ...] = ()
    """Of the file that was read."""
    runs: dict[tuple[str, int], list[Exchange]] = field(default_factory=dict)

    @property
    def exchanges(self) -> list[Exchange]:
        return [exchange for run in sorted(self.runs) for exchange in self.runs[run]]

    def write(self) -> None:
        """Replace the file, or leave it as it was. Raises UnsavedTapeError."""
        with lock_tape(self.path):
            write_runs(self.path, self.runs, entry_of)


Recorded = TypeVar("Recorded")
Runs = Mapping[tuple[str, int], Sequence[Recorded]]


@contextmanager
def lock_tape(path: Path) -> Iterator[None]:
    """While no other process replaces the tape. The lock is that of its folder, so that no file is left of it."""
    with ExitStack() as held:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(hold_folder(path.parent))
        except OSError as error:
            raise unwritable(path, error) from error
        yield


def write_runs(path: Path, runs: Runs[Recorded], entry: Callable[[Recorded], bytes]) -> None:
    """Write a tape that holds these runs of cases, whole or not at all; one entry at a time, so that it takes no room.

    Raises UnsavedTapeError.
    """
    cases: dict[str, int] = {}
    for (case, _), recorded in sorted(runs.items(), key=lambda run: run[0]):
        cases[case] = cases.get(case, 0) + len(recorded)
    try:
        unfinished, temporary = create_unfinished(str(path))
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        with open(unfinished, "wb") as file:
            file.write(_lines({"carob_tape": VERSION}))
            file.write(b"exchanges:\n" if any(cases.values()) else b"exchanges: []\n")
            for run in sorted(runs):
                for exchange in runs[run]:
                    file.write(entry(exchange))
            file.write(_lines({"cases": cases}))
            file.flush()
            os.fsync(unfinished)
        os.replace(temporary, path)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def unwritable(path: Path, error: OSError) -> UnsavedTapeError:
    fix = "Name another place: `file` in [tape]."
    message = f"the tape cannot be written: {error.strerror or error}."
    return UnsavedTapeError(message, where=str(path), fix=fix, slug="bad-tape")


def entry_of(exchange: Exchange) -> bytes:
    """An exchange as it is on a tape, with its seal."""
    plain = _plain_table(exchange)
    return "\n".join([*item(plain | {"seal": _seal(plain)}, 2), ""]).encode()


def _lines(table: Mapping[str, Any]) -> bytes:
    return "\n".join([*block(table), ""]).encode()


def read_tape(path: Path) -> Tape:
    """Read a tape. Raises ConfigError for one that is missing, was cut off or edited, or is of a newer Carob."""
    state, data = file_state(path), _bytes(path)
    file = _parse(path, data)
    runs: dict[tuple[str, int], list[Exchange]] = {}
    for number, (exchange, intact) in enumerate(_exchanges(path, file), 1):
        if not intact:
            fix = "Undo the edit, or accept it with `carob tape seal`."
            raise _bad(path, f"exchange {number} (case {exchange.case!r}) was edited.", fix)
        runs.setdefault((exchange.case, exchange.repeat), []).append(exchange)
    for case, recorded in {**dict.fromkeys((case for case, _ in runs), 0), **file.cases}.items():
        count = sum(len(exchanges) for (name, _), exchanges in runs.items() if name == case)
        if count != recorded:
            raise _bad(path, f"case {case!r} has {count} exchanges, but {recorded} were recorded.", RECORD_AGAIN)
        runs.setdefault((case, 0), [])
    return Tape(path=path, digest=hashlib.sha256(data).hexdigest(), state=state, runs=runs)


def seal_tape(path: Path) -> int:
    """Accept what was edited by hand; how many exchanges were."""
    with lock_tape(path):
        file = _parse(path, _bytes(path))
        runs: dict[tuple[str, int], list[Exchange]] = {(case, 0): [] for case in file.cases}
        edited = 0
        for exchange, intact in _exchanges(path, file):
            edited += not intact
            runs.setdefault((exchange.case, exchange.repeat), []).append(exchange)
        write_runs(path, runs, entry_of)
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
    import yaml  # whoever only names the class of a tape reads none

    try:
        if _MAY_BE_ANCHOR.search(data) and _has_alias(data):
            raise _bad(path, "not a tape: it has YAML aliases.", RECORD_AGAIN)
        content = yaml.load(data, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # a safe loader
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise _bad(path, f"not a tape: {' '.join(str(error).split())}.", RECORD_AGAIN) from error
    version = content.get("carob_tape") if isinstance(content, dict) else None
    if not isinstance(version, int):
        is_suite = isinstance(content, dict) and ("cases" in content or "rules" in content)
        fix = "This is a suite. Name its tape, which `carob run --tape record` writes." if is_suite else RECORD_AGAIN
        raise _bad(path, "not a tape: `carob_tape` is missing.", fix)
    if version > VERSION:
        raise _bad(path, f"the tape has version {version}; this Carob reads version {VERSION}.", "Update Carob.")
    if "cases" not in content:
        raise _bad(path, "the tape was cut off: `cases` is missing at its end.", RECORD_AGAIN)
    try:
        return msgspec.convert(content, _File)
    except msgspec.ValidationError as error:
        raise _bad(path, f"not a tape: {error}.", RECORD_AGAIN) from error


def _has_alias(data: bytes) -> bool:
    """Whether a value is there twice by reference: a few bytes of such would fill the memory."""
    import yaml

    return any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(data, getattr(yaml, "CLoader", yaml.Loader)))


_MAY_BE_ANCHOR = re.compile(rb"(?:^|[\s\[{,])&[^\s&]", re.MULTILINE)
"""Plain text may look like this too; what does not has no alias."""


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


class KnownSecrets(Protocol):
    """What no byte of a tape may hold."""

    @property
    def count(self) -> int: ...

    def is_clean(self, data: bytes) -> bool: ...

    def clean(self, exchange: Exchange) -> Exchange: ...


class Recording:
    """The runs of cases that were recorded, and the tape that they are added to.

    They replace what the tape has of these runs when it is written, and nothing else: other processes may record other
    cases.
    """

    def __init__(self, tape: Tape, secrets: KnownSecrets | None = None) -> None:
        self._path = tape.path
        self._secrets = secrets
        self._cleaned_of = 0
        self._failure: UnsavedTapeError | None = None
        self._size = 0
        self._lock = threading.Lock()
        self._file = self._open()
        self._runs: dict[tuple[str, int], list[EntryOffset]] = {}
        self._state = tape.state
        """The file whose exchanges are in `_before`."""
        self._before = self._add_runs(tape)
        self._next_write = monotonic() + SECONDS_BETWEEN_WRITES

    def _open(self) -> int:
        """It has no name, so that nothing is left of it when the process ends, however that comes."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._path.parent, buffering=0) as file:
                return os.dup(file.fileno())
        except OSError as error:
            raise unwritable(self._path, error) from error

    def add(self, exchange: Exchange) -> EntryOffset:
        """Keep an exchange without its secrets; `end` says whose it is. Raises UnsavedTapeError."""
        try:
            if self._secrets is None:
                return self._add(entry_of(exchange))
            entry = entry_of(self._secrets.clean(exchange))
            if not self._secrets.is_clean(entry):
                message = f"a secret cannot be removed from what was recorded of the case {exchange.case!r}."
                raise UnsavedTapeError(message, where=str(self._path), slug="bad-tape")
            return self._add(entry)
        except UnsavedTapeError as error:
            self._failure = error
            raise

    def _add(self, entry: bytes) -> EntryOffset:
        with self._lock:
            data, start = memoryview(entry), self._size
            try:
                while data:
                    data = data[write_at(self._file, data, start + len(entry) - len(data)) :]
            except OSError as error:
                raise unwritable(self._path, error) from error
            self._size = start + len(entry)
        return EntryOffset(start, len(entry))

    def end(self, case: str, repeat: int, entries: Sequence[EntryOffset]) -> None:
        """A run of a case is over."""
        self._runs[case, repeat] = list(entries)
        if monotonic() > self._next_write:
            with suppress(UnsavedTapeError):  # there may be room again; `close` is the last attempt
                self.write()

    def write(self) -> None:
        """Replace the tape, or leave it as it was. Raises ConfigError."""
        started = monotonic()
        with lock_tape(self._path):
            if file_state(self._path) != self._state:
                self._before = self._add_runs(read_tape(self._path)) if self._path.exists() else {}
            runs_now = self._clean_runs({**self._before, **self._runs})
            if any(runs_now.values()) or self._path.exists():
                write_runs(self._path, runs_now, self._read)
            self._state, self._before = file_state(self._path), runs_now
        ended = monotonic()
        self._next_write = ended + max(SECONDS_BETWEEN_WRITES, TIMES_A_WRITE * (ended - started))

    def close(self) -> None:
        """Write it a last time. Raises ConfigError, also if something could not be kept before."""
        try:
            self.write()
        finally:
            os.close(self._file)
        if self._failure is not None:
            raise self._failure

    def _add_runs(self, tape: Tape) -> dict[tuple[str, int], list[EntryOffset]]:
        return {run: [self._add(entry_of(each)) for each in exchanges] for run, exchanges in tape.runs.items()}

    def _clean_runs(
        self, runs: Mapping[tuple[str, int], list[EntryOffset]]
    ) -> dict[tuple[str, int], list[EntryOffset]]:
        """The runs without the secrets that came to be known after they were kept."""
        if self._secrets is None or self._cleaned_of == self._secrets.count:
            return dict(runs)
        self._cleaned_of = self._secrets.count
        return {run: [self._clean_entry(entry, self._secrets) for entry in entries] for run, entries in runs.items()}

    def _clean_entry(self, entry: EntryOffset, secrets: KnownSecrets) -> EntryOffset:
        import yaml

        data = self._read(entry)
        if secrets.is_clean(data):
            return entry
        ((exchange, _),) = _exchanges(self._path, _File(carob_tape=VERSION, exchanges=yaml.safe_load(data), cases={}))
        return self.add(exchange)

    def _read(self, entry: EntryOffset) -> bytes:
        return read_at(self._file, entry.size, entry.start)


def file_state(path: Path) -> tuple[int, ...]:
    """What changes when a file is replaced; nothing for none."""
    try:
        state = path.stat()
    except FileNotFoundError:
        return ()
    return state.st_ino, state.st_size, state.st_mtime_ns
