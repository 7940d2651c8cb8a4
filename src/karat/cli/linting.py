"""Linting suites from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from karat.errors import Exit, SuiteError, UsageError
from karat.smells.base import Surroundings
from karat.smells.linter import SLUGS, lint, open_suite
from karat.smells.target import around, around_all
from karat.targets.config import load as load_config
from karat.targets.config import resolve
from karat.text.wording import counted, did_you_mean


def lint_suites(files: Sequence[str], target: str | None, ignore: Sequence[str], *, strict: bool) -> int:
    """Show the smells of every suite; what cannot be read at all is a usage error."""
    for slug in ignore:
        if slug not in SLUGS:
            fix = did_you_mean(slug, SLUGS).strip() or f"Known are {', '.join(SLUGS)}."
            raise UsageError(f"no smell is called {slug!r}.", fix=fix, slug="unknown-slug")
    surroundings = _surroundings(target)
    smells, readable = 0, True
    for file in files:
        try:
            suite = open_suite(file)
        except (SuiteError, UsageError) as error:
            readable = False
            click.echo(str(error) if isinstance(error, SuiteError) else f"karat: {error}", err=True)
            continue
        found = lint(suite, surroundings, ignore)
        smells += len(found)
        for problem in found:
            click.echo(str(problem))
        cases = len(suite.suite.cases)
        click.echo(f"{file}: {counted(cases, 'case')}, {counted(len(found), 'smell') if found else 'no smell'}")
    if smells:
        click.echo("Each slug is explained in docs/lint.md; leave out what is meant with --ignore SLUG.", err=True)
    if not readable:
        return Exit.USAGE
    return Exit.FAILED if smells and strict else Exit.OK


def _surroundings(target: str | None) -> Surroundings:
    here = Path.cwd()
    config = load_config(here)
    return around_all(config) if target is None else around(resolve(target, config, here))
