"""`carob lint --schema`"""

from __future__ import annotations

from pathlib import Path

import click

from carob.cli.options import PATH


@click.command()
@click.argument("name", metavar="FORMAT", default="carob-1")
@click.option("--write", is_flag=True, help="Write it to FORMAT.schema.json in this folder.")
@click.option(
    "--suite",
    "suites",
    multiple=True,
    type=PATH,
    metavar="SUITE",
    help="With --write: add the line to this YAML suite that makes editors use the schema. Repeatable.",
)
def command(name: str, write: bool, suites: tuple[Path, ...]) -> None:
    """Print the JSON Schema of a suite format, so that editors complete and check suites.

    FORMAT is carob-1 (the default), eval-set, golden, or a format of an installed package or of the project. The schema
    includes the checks of the project: write it again after you update Carob.

    \b
    Examples:
      carob lint --schema --write
      carob lint --schema --write --suite evals/checkout.yaml
      carob lint --schema eval-set --write
      carob lint --schema golden

    A YAML suite begins with "# yaml-language-server: $schema=carob-1.schema.json"; --suite adds that line. An eval set
    in JSON has "$schema": "./eval-set.schema.json".
    """
    import json

    from carob import api
    from carob.errors import UsageError

    if suites and not write:
        raise UsageError("--suite refers to a file.", fix="Add --write.", slug="bad-option")
    if not write:
        click.echo(json.dumps(api.schema(name), indent=2, ensure_ascii=False))
        return
    for line in api.write_schema(name, suites):
        click.echo(line)
