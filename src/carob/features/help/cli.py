"""`carob help`"""

from __future__ import annotations

import click

from carob.errors import ExitCode, UsageError


@click.command()
@click.argument("name", required=False, default="")
def command(name: str) -> int:
    """Show a page of the documentation, or what an error means.

    NAME is that of a page, of a command, or of an error: the word in brackets at the end of its message. Without one,
    the pages are listed. Nothing is asked over the network.

    \b
    Examples:
      carob help rules
      carob help no-target
    """
    from carob.features.help import pages

    titles = pages.list_pages()
    if not name:
        width = max(map(len, titles))
        click.echo("\n".join(f"{page:<{width}}  {title}" for page, title in titles.items()))
        return ExitCode.OK
    found = pages.read_page(name) if name in titles else pages.explain_error(name)
    if usage := _usage_of(name):
        found = f"{found}\n{usage}\n" if found else usage
    if not found:
        from carob.text.wording import did_you_mean

        fix = did_you_mean(name, titles) or "The pages are listed by: carob help"
        raise UsageError(f"{name!r} is not a page, a command or an error.", fix=fix)
    click.echo(found.rstrip())
    return ExitCode.OK


def _usage_of(name: str) -> str:
    """The help of a command; nothing if there is none of this name."""
    from carob.cli.main import find_command
    from carob.plugins.features import load

    row = find_command(name)
    if row is None:
        return ""
    shown: click.Command = load(row.loads)
    return shown.get_help(click.Context(shown, info_name=f"carob {name}", max_content_width=100))
