"""`carob audit --claims`"""

from __future__ import annotations

import click

from carob.errors import ExitCode


@click.command()
@click.argument("run", default="@last")
@click.option("--all", "everything", is_flag=True, help="Show all other sentences as well.")
def command(run: str, everything: bool) -> int:
    """Show the sentences of recorded answers that claim an effect in the words of `effects`, and those that nearly do.

    A sentence is nearly a claim if it has a declared word in another form, or outside of the published frames: add a
    wording to `effects` if it is a claim, or to `not_claims` if it is none. `carob help suites` explains both.

    \b
    Examples:
      carob audit --claims carob-results/checkout-20260101T090000Z.jsonl
      carob audit --claims carob-results/checkout-20260101T090000Z.jsonl --all
    """
    from collections import Counter

    from carob.features.audit import library
    from carob.text.wording import pluralize, shorten, visible

    counts: Counter[str] = Counter()
    for sentence in library.read_claims(run):
        counts[sentence.kind] += 1
        if sentence.kind == "not" and not everything:
            continue
        turn = f" turn {sentence.turn}" if sentence.turn > 1 else ""
        claimed = f" {sentence.wording} ({' or '.join(sentence.tools) or 'no tool'}):" if sentence.wording else ""
        line = f"{sentence.kind:<6}  {sentence.case_id}{turn}:{claimed} {shorten(sentence.text, 200)}"
        click.echo(visible(line))
    claims = f"{pluralize(counts['claim'], 'claim')}, {pluralize(counts['nearly'], 'sentence')} nearly"
    rest = "" if everything or not counts["not"] else " (--all shows them)"
    click.echo(f"{claims}, {counts['not']} not{rest}")
    return ExitCode.OK
