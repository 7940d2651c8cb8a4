"""A baseline: what is kept of a run in the repository. One line per case, without a word of any agent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from karat.analysis.compare.compared_cases import ComparedCase, JournalCases
from karat.analysis.compare.model import RunSide
from karat.analysis.compare.pooled_runs import PooledRuns
from karat.errors import JournalError
from karat.journal.views import RecordExcerpt
from karat.text.wording import pluralize

FORMAT = 1
DIGITS = 3
START = b'{"karat_baseline":'


class BaselineHeader(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The first line of a baseline: which run it was."""

    karat_baseline: int
    run: RunSide


_header = msgspec.json.Decoder(BaselineHeader).decode
_standing = msgspec.json.Decoder(ComparedCase).decode
_encode = msgspec.json.Encoder().encode


class BaselineFile:
    """A baseline as a side of a comparison."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header = self._read_header()

    def __iter__(self) -> Iterator[ComparedCase]:
        with self.path.open("rb") as file:
            next(file)
            for number, line in enumerate(file, 2):
                yield self._decode(line, number)

    def side(self, cases: int, runs: int, errors: int) -> RunSide:
        return structs.replace(self.header.run, path=str(self.path), cases=cases, runs=runs, errors=errors)

    def find_record(self, result: ComparedCase, *, passed: bool) -> RecordExcerpt | None:
        """A baseline keeps no answers."""
        return None

    def _decode(self, line: bytes, number: int) -> ComparedCase:
        try:
            found = _standing(line)
        except msgspec.DecodeError as error:
            raise self._format_error(f"this line cannot be read: {error}.", number) from error
        counts = (found.passed, found.judged - found.passed, found.errors, found.apart)
        if min(counts) < 0:
            raise self._format_error(f"the case {found.id!r} passed more often than it ran.", number)
        return found

    def _read_header(self) -> BaselineHeader:
        try:
            with self.path.open("rb") as file:
                header = _header(file.readline())
        except OSError as error:
            raise JournalError(f"it cannot be read: {error.strerror}.", where=str(self.path)) from error
        except msgspec.DecodeError as error:
            raise self._format_error("not a baseline.", 1) from error
        if header.karat_baseline > FORMAT:
            raise self._format_error(f"the baseline has format {header.karat_baseline}; this Karat reads {FORMAT}.", 1)
        return header

    def _format_error(self, message: str, number: int) -> JournalError:
        fix = "Make a new one: karat baseline set."
        return JournalError(message, where=f"{self.path}:{number}", fix=fix, slug="baseline")


def is_baseline(path: Path) -> bool:
    """Whether a file begins as a baseline does."""
    try:
        with path.open("rb") as file:
            return file.read(len(START)) == START
    except OSError:
        return False


def baseline_lines(source: JournalCases | PooledRuns) -> Iterator[bytes]:
    """The lines of a baseline of this run, the header last: it is known once all were read."""
    counts = {"cases": 0, "runs": 0, "errors": 0}
    for result in source:
        counts["cases"] += 1
        counts["runs"] += result.judged
        counts["errors"] += result.errors
        yield _encode(structs.replace(result, place=-1, measures=_round_all(result.measures)))
    side = source.side(**counts)
    if side.incomplete or not counts["cases"]:
        why = side.incomplete or "it has no case"
        fix = f"Finish it first: karat resume {side.path}"
        raise JournalError(f"the run cannot be a baseline: {why}.", where=side.path, fix=fix, slug="baseline")
    yield _encode(BaselineHeader(karat_baseline=FORMAT, run=structs.replace(side, path=_side_name(side))))


def _side_name(side: RunSide) -> str:
    return Path(side.path).name if side.pooled == 1 else f"{pluralize(side.pooled, 'run')} to {Path(side.path).name}"


def in_order(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The header first."""
    *cases, header = lines
    yield header
    yield from cases


def _round_all(measures: dict[str, float]) -> dict[str, float]:
    """As many digits as matter, so that a baseline set anew differs where something changed."""
    return {name: _digits(value) for name, value in measures.items()}


def _digits(value: float) -> float:
    return round(value, DIGITS - 1 - math.floor(math.log10(abs(value)))) if value else 0.0


def baseline_of(suite: str) -> Path:
    """Where the baseline of a suite is kept: next to it."""
    return Path(suite).with_suffix(".baseline.jsonl")
