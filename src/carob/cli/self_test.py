"""`carob audit --self`"""

from __future__ import annotations

import click

from carob.errors import ExitCode


@click.command()
def command() -> int:
    """Run the examples of every check, and the scoring with known verdicts.

    Prints SELF-TEST PASS, or each example that went wrong and SELF-TEST FAIL (exit 1).
    """
    from carob import api

    count, broken = 0, []
    for proof in api.self_test():
        count += 1
        if not proof.holds:
            broken.append(proof)
    for proof in broken:
        click.echo(f"{proof.what}: expected {proof.expected}, found {proof.found}", err=True)
    click.echo(f"{count} examples, {count - len(broken)} as expected")
    click.echo(f"SELF-TEST {'FAIL' if broken else 'PASS'}")
    return ExitCode.FAILED if broken else ExitCode.OK
