"""`karat schema`"""

from __future__ import annotations

from typing import Literal

import click


@click.command(short_help="Print the JSON Schema of a suite format.")
@click.argument("kind", metavar="karat-1|eval-set|golden", type=click.Choice(["karat-1", "eval-set", "golden"]))
def command(kind: Literal["karat-1", "eval-set", "golden"]) -> None:
    """Print the JSON Schema of a suite format, so that editors complete and check suites.

    \b
    Examples:
      karat schema karat-1 > karat-1.schema.json
      karat schema eval-set > eval-set.schema.json
      karat schema golden > golden.schema.json
    Then begin an eval set with "$schema": "./eval-set.schema.json".
    """
    import json

    from karat.checks.catalog import catalog_for
    from karat.plugins.project import find_project
    from karat.suites.schema import schema

    click.echo(json.dumps(schema(kind, catalog_for(find_project())), indent=2, ensure_ascii=False))
