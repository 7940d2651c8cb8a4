"""`karat schema`"""

from __future__ import annotations

import click


@click.command(short_help="Print the JSON Schema of a suite format.")
@click.argument("name", metavar="FORMAT")
def command(name: str) -> None:
    """Print the JSON Schema of a suite format, so that editors complete and check suites.

    FORMAT is karat-1, eval-set, golden, or a format of an installed package or of the project.

    \b
    Examples:
      karat schema karat-1 > karat-1.schema.json
      karat schema eval-set > eval-set.schema.json
      karat schema golden > golden.schema.json
    Then begin an eval set with "$schema": "./eval-set.schema.json".
    """
    import json

    from karat import api

    click.echo(json.dumps(api.schema(name), indent=2, ensure_ascii=False))
