"""`carob convert`"""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("suite", metavar="SUITE")
@click.option("-o", "--output", "output", metavar="PATH", help="A .yaml file to write (default: stdout).")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def command(suite: str, output: str | None, force: bool) -> None:
    """Write a suite of any format as Carob 1 in YAML.

    The result reads back to the same cases. Parts without an equivalent become comments.

    \b
    Examples:
      carob convert suite.json
      carob convert evals/checkout.json -o refunds.yaml
    """
    from carob import api

    text = api.convert(Path(suite), output, force=force)
    if output is None:
        click.echo(text.encode(), nl=False)  # YAML is UTF-8, whatever the terminal is
