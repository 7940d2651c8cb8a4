"""`carob demo`"""

from __future__ import annotations

import shlex
import tempfile
from contextlib import chdir
from difflib import unified_diff
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click

from carob.errors import CarobError, ExitCode

if TYPE_CHECKING:
    from carob.features.audit.model import AuditReport

AGENT, SUITE = "desk.py", "desk.carob.yaml"
FILES = (AGENT, SUITE, "carob.toml")
BUG = '    return say(f"I have refunded'
FIX = """\
    if not refund["success"]:
        return say(f"Sorry, I could not refund the {order['item']}: {refund['error']}.")
"""


class DemoError(CarobError):
    """The demo did not come out as it does."""

    exit_code = ExitCode.INTERNAL


@click.command()
def command() -> int:
    """See an agent claim a refund that failed, the contract that notices, and the fix.

    It writes a refund desk and its contract to a new temporary folder, and runs there what you would type. It takes a
    few seconds, needs no key, and sends nothing anywhere.

    \b
    Example:
      carob demo
    """
    folder = Path(tempfile.mkdtemp(prefix="carob-demo-"))
    for name in FILES:
        text = resources.files("carob.features.demo").joinpath("desk", name).read_text("utf-8")
        (folder / name).write_text(text, encoding="utf-8")
    click.echo(f"A refund desk ({AGENT}) and its contract in three cases ({SUITE}), in {folder}\n")
    with chdir(folder):
        _run("run", SUITE, expected=ExitCode.FAILED)
        click.echo("\nThe desk says that it has refunded 120 dollars, and no refund succeeded. The fix:\n")
        _edit(Path(AGENT), BUG, FIX + BUG)
        _run("run", SUITE, expected=ExitCode.OK)
        _add_proposed_line()
    click.echo("\nYour agent next: carob init")
    return ExitCode.OK


def _add_proposed_line() -> None:
    """Audit the suite, add what the audit proposes, and audit it again."""
    click.echo("\nWould these cases notice every wrong answer? The audit makes the recorded answers wrong:\n")
    report = _audit()
    case = next((case for case in report.cases if case.survivors), None)
    if case is None:
        raise DemoError("the audit proposed nothing.", fix="Reinstall Carob.")
    survivor = case.survivors[0]
    click.echo(f"{case.case_id} would pass even if {survivor.change}. The audit proposes a line:\n")
    line = survivor.hint.rpartition(": add ")[2]
    expected = f"  - id: {case.case_id}\n"
    text = Path(SUITE).read_text(encoding="utf-8")
    _, _, body = text.partition(expected)
    head = body[: body.index("    expected:\n") + len("    expected:\n")]
    _edit(Path(SUITE), expected + head, f"{expected}{head}      {line}\n")
    _run("rescore", "@last", "--suite", SUITE, "-q", expected=ExitCode.OK)
    _audit()


def _audit() -> AuditReport:
    """Audit the last run, in one line."""
    from carob.features.audit import library

    report = library.audit("@last")
    rate = report.summary.rate
    click.echo(f"$ carob audit\n{rate.killed} of {rate.tried} wrong answers are noticed: {rate.value:.0%}\n")
    return report


def _run(*arguments: str, expected: ExitCode) -> None:
    """Show and run one command line. What the story says must be what happens."""
    from carob.cli.main import run

    click.echo(f"$ carob {shlex.join(arguments)}")
    code = run([*arguments])
    if code != expected:
        raise DemoError(f"`carob {shlex.join(arguments)}` ended with {code}, not {int(expected)}.", fix="See above.")


def _edit(path: Path, old: str, new: str) -> None:
    """Change a file, and show how."""
    before = path.read_text(encoding="utf-8")
    after = before.replace(old, new, 1)
    path.write_text(after, encoding="utf-8")
    for line in [*unified_diff(before.splitlines(), after.splitlines(), str(path), str(path), n=1, lineterm="")][3:]:
        click.echo(f"  {line}")
    click.echo("")
