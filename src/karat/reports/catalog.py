"""The report formats: ours are a tuple, others come by entry point and are the same class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from karat.errors import ArtifactError, ConfigError, KaratError
from karat.model.run import CaseRecord, RunView
from karat.reports.artifacts import Names, Sink, whole_file
from karat.reports.json import JsonReport
from karat.reports.markdown import MarkdownReport

ENTRY_POINTS: Final = "karat.reports"


class Report(Protocol):
    """A report in the making: `case` for each record in suite order, then `end`."""

    def case(self, record: CaseRecord) -> None: ...

    def end(self) -> None: ...


class Format(NamedTuple):
    """A report format: its file is `minimum-eval-results-<timestamp>.<extension>`."""

    name: str
    extension: str
    start: Callable[[RunView, Sink], Report]

    def write(self, run: RunView, out: Sink) -> None:
        """Write this report alone."""
        report = self.start(run, out)
        for record in run.records():
            report.case(record)
        report.end()


BUILT_IN: Final = (
    Format("json", "json", JsonReport),
    Format("markdown", "md", MarkdownReport),
)


def installed() -> tuple[Format, ...]:
    """Our formats and those that installed packages bring."""
    return (*BUILT_IN, *_outside())


def _outside() -> Iterator[Format]:
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINTS):
        where = f"entry point {entry.name!r} of {ENTRY_POINTS}"
        try:
            found = entry.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(
                f"cannot be loaded: {error}.", where=where, fix="Mend or uninstall its package."
            ) from error
        if not isinstance(found, Format):
            raise ConfigError("is no karat.reports.catalog.Format.", where=where, fix="Mend or uninstall its package.")
        yield found


def write_all(run: RunView, names: Names, formats: Sequence[Format] = BUILT_IN) -> tuple[Path, ...]:
    """Write a run's reports and say where they are. Ours share one reading of the journal and come first."""
    ours = [format_ for format_ in formats if format_ in BUILT_IN]
    others = [format_ for format_ in formats if format_ not in BUILT_IN]
    return (*_write_together(run, names, ours), *(_write_outside(run, names, format_) for format_ in others))


def _write_together(run: RunView, names: Names, formats: Sequence[Format]) -> list[Path]:
    with ExitStack() as stack:
        files = [stack.enter_context(whole_file(names.report(format_.extension))) for format_ in formats]
        reports = [format_.start(run, out) for format_, out in zip(formats, files, strict=True)]
        for record in run.records():
            for report in reports:
                report.case(record)
        for report in reports:
            report.end()
    return [file.path for file in files]


def _write_outside(run: RunView, names: Names, format_: Format) -> Path:
    place = names.report(format_.extension)
    try:
        with whole_file(place) as out:
            format_.write(run, out)
    except KaratError:
        raise
    except Exception as error:  # another package's code may raise anything, and the run's other files are there
        why = f"report {format_.name!r} failed: {type(error).__name__}: {error}."
        raise ArtifactError(why, where=str(place), fix="Mend or uninstall its package.") from error
    return out.path
