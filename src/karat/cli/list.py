"""`karat list`"""

from __future__ import annotations

import click


@click.command(name="list", short_help="List cases: id, category, prompt.")
@click.argument("suites", nargs=-1, required=True, metavar="SUITE...")
def command(suites: tuple[str, ...]) -> None:
    """List the cases of a suite, one line each: id, category and prompt, separated by tabs.

    \b
    Examples:
      karat list evals/checkout.json
      karat list evals/checkout.json | cut -f1
    """
    from karat.suites.listing import rows

    for suite in suites:
        for case_id, category, prompt in rows(suite) or _loaded(suite):
            click.echo(f"{case_id}\t{category}\t{prompt}")


def _loaded(suite: str) -> list[tuple[str, str, str]]:
    """The slow way, for what the quick look could not read; it says what is wrong with the file."""
    from karat.api import load_file
    from karat.suites.listing import suite_rows

    return suite_rows(load_file(suite))
