"""`carob run --list`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from carob.errors import ExitCode

if TYPE_CHECKING:
    from carob.suites.selection import Selection


def show_cases(suites: tuple[str, ...], **selected: Any) -> int:
    """Print one line for each case that is selected; the exit code."""
    from carob.suites.selection import EVERYTHING, Selection

    chosen = Selection(**selected)
    listed = [_rows(suite) for suite in suites] if chosen == EVERYTHING else _select_rows(suites, chosen)
    for case_id, category, prompt in (row for rows in listed for row in rows):
        click.echo(f"{case_id}\t{category}\t{prompt}")
    return ExitCode.OK


def _rows(suite: str) -> list[tuple[str, str, str]]:
    """The slow way, for what the quick look could not read; it says what is wrong with the file."""
    from carob.suites.listing import rows

    cases = rows(suite)
    if cases is None:
        from carob.api import list_cases

        cases = list_cases(suite)
    return cases


def _select_rows(suites: tuple[str, ...], selection: Selection) -> list[list[tuple[str, str, str]]]:
    from carob.api import find_project, load_file, select_each
    from carob.suites.listing import suite_rows

    project = find_project()
    return [suite_rows(suite) for suite in select_each([load_file(suite, project) for suite in suites], selection)]
