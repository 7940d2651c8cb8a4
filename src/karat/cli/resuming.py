"""Going on from an earlier journal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from karat.api import load_suite
from karat.cli.running import run_one
from karat.errors import UsageError
from karat.journal.carry_over import named
from karat.journal.reader import Journal
from karat.model.trace import REMOVED
from karat.model.verdict import CaseStatus
from karat.session import Earlier
from karat.suites.select import select
from karat.targets.config import load as load_config


def go_on(path: str, redo: frozenset[CaseStatus], given: Mapping[str, Any]) -> int:
    """Run what is missing or to be done again, with the suite, selection and target of the journal."""
    journal = Journal(path)
    header = journal.header
    recorded = header.options
    file = given["suite"] or header.suite
    if not Path(file).exists():
        fix = "Run this where the suite is, or name it with --suite."
        raise UsageError(f"the suite {file} of this journal is not here.", where=path, fix=fix, slug="no-suite")
    selection = recorded.get("selection", {})
    suite = load_suite(file)
    ids = selection.get("cases")
    if ids is not None and (gone := set(ids) - {case.id for case in suite.cases}):
        ids = [name for name in ids if name not in gone]
        click.echo(f"karat: no longer in {file}: {named(sorted(gone))}", err=True)
    suite = select(suite, ids, selection.get("category"))
    if suite.sha256 != header.suite_sha256:
        click.echo(f"karat: {file} has changed since; unchanged cases are kept", err=True)
    overrides = {**recorded.get("overrides", {}), **given["overrides"]}
    hidden = [name for name, value in overrides.items() if REMOVED in str(value)]
    if hidden:
        fix = " ".join(f"-o {name}=..." for name in hidden)
        raise UsageError("options of the target are secret and not in the journal.", where=path, fix=f"Give {fix}.")
    target = given["target"] or header.target
    if REMOVED in target:
        fix = "Give it with --target, as for the run."
        raise UsageError("the target holds a secret that is not in the journal.", where=path, fix=fix)
    remembered = {
        "overrides": overrides,
        "timeout": given["timeout"] or recorded.get("timeout"),
        "repeat": max(given["repeat"], header.repeat),
        "cases": selection.get("cases"),
        "category": selection.get("category"),
        "results_dir": given["results_dir"] or Path(path).parent,
    }
    earlier = Earlier(journal, redo, lambda line: click.echo(f"karat: {line}", err=True))
    return run_one(suite, target, load_config(Path.cwd()), {**given, **remembered}, earlier)
