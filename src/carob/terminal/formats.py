"""A report in the format that was asked for: printed, or written into a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import click

from carob.reports.artifacts import open_atomic
from carob.terminal.screen import show, wants_colour


def show_as(
    form: str, output: Path | None, writers: Mapping[str, Callable[[], bytes]], lines: Callable[[bool], Iterable[str]]
) -> None:
    """Print a report in this format; or write that into a file, and print the lines, which may have colours."""
    written: dict[str, Callable[[], bytes]] = {**writers, "terminal": lambda: join_lines(lines(False)).encode()}
    if output is not None:
        with open_atomic(output, replace=True) as out:
            out.write(written[form]())
    elif form != "terminal":
        click.echo(written[form]().decode(), nl=False)
        return
    show(sys.stdout, join_lines(lines(wants_colour(sys.stdout, os.environ))))


def join_lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
