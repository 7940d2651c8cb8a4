"""`karat lint`"""

from __future__ import annotations

import click

from karat.cli.options import comma_list


@click.command(short_help="Look for expectations that prove nothing, without an agent.")
@click.argument("suites", nargs=-1, required=True, metavar="SUITE...")
@click.option("-t", "--target", help="Whose ui_vocabulary and tools to look at (default: every vocabulary known).")
@click.option(
    "--ignore", multiple=True, callback=comma_list, metavar="SLUG,...", help="Leave out smells of these kinds."
)
@click.option("--strict", is_flag=True, help="Count a smell as a failure (exit 1).")
def command(suites: tuple[str, ...], target: str | None, ignore: list[str] | None, strict: bool) -> int:
    """Look for smells: expectations that are allowed, and most likely prove less than they seem to.

    Each is shown at its line and column with a slug; docs/lint.md explains every slug. What is wrong with a suite
    rather than suspect is told by `karat validate`.

    \b
    Examples:
      karat lint evals/*.json
      karat lint evals/checkout.json --target staging --strict
      karat lint evals/checkout.json --ignore duplicate-prompt,newer-field
    """
    from karat.cli.linting import lint_suites

    return lint_suites(suites, target, ignore or [], strict=strict)
