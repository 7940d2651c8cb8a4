"""Labelling in a terminal: one key for each answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from carob.criteria.records import Decided, Opinion
from carob.features.labels.items import LabelItem, older_wordings
from carob.features.labels.session import LabelSession
from carob.reports.escaping import replace_hidden, terminal
from carob.text.wording import pluralize

KEYS: dict[str, Decided] = {"m": "met", "n": "not met", "t": "cannot tell"}
HELP = "m met · n not met · t cannot tell · w write a note · s skip · u undo · q quit"
_ENDED = ("", "q", "\x04")
_NAMES = {"user": "the user said", "answer": "the agent answered", "calls": "the agent called", "page": "the page"}


def read_key() -> str:
    """One key of a person, or one character of a script; empty at the end."""
    if sys.stdin.isatty():
        return click.getchar()
    while (character := sys.stdin.read(1)) in ("\n", "\r", " "):
        pass
    return character


def ask_all(session: LabelSession, key: Callable[[], str] = read_key) -> None:
    """Ask until nothing is left or the person stops."""
    note = ""
    while (item := session.next()) is not None:
        show_item(session, item)
        pressed = key()
        if pressed in _ENDED:
            break
        if verdict := KEYS.get(pressed):
            opinion = session.label(item, verdict, note)
            note = ""
            click.echo(f"  {verdict}{_differs(opinion, verdict)}")
        elif pressed == "w":
            note = _read_note()
        elif pressed == "s":
            session.skip(item)
        elif pressed == "u" and session.undo() is None:
            click.echo("  nothing to undo, or its opinion was shown")
        elif pressed != "u":
            click.echo(f"  {HELP}")


def show_item(session: LabelSession, item: LabelItem) -> None:
    """The criterion above the evidence; no opinion, and no label of another person."""
    click.echo("")
    click.echo(click.style(f"{terminal(item.text)}", bold=True))
    click.echo(f"  {session.progress(item)} · {session.count_left()} left")
    for older in older_wordings(item, list(session.items.values()), session.labels.index()):
        click.echo(f"  {terminal(older)}")
    for line in evidence_lines(item.question.evidence.content):
        click.echo(line)
    click.echo(f"  {HELP}")


def evidence_lines(content: dict[str, Any]) -> Iterator[str]:
    """The evidence in lines, inert."""
    for part, name in _NAMES.items():
        if part in content:
            yield f"{name}:"
            for text in _texts(content[part]):
                shown = replace_hidden(text, lambda escape: escape)
                yield from (f"  | {terminal(line)}" for line in shown.split("\n"))


def _texts(value: Any) -> Sequence[str]:
    if isinstance(value, str):
        return [value or "(nothing)"]
    return [entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False) for entry in value] or ["(none)"]


def _differs(opinion: Opinion | None, verdict: Decided) -> str:
    if opinion is None:
        return ""
    words = "agrees" if opinion.verdict == verdict else f"differs: {opinion.verdict}"
    return f"; the judge {words}" + (f' ("{terminal(opinion.quote)}")' if opinion.quote else "")


def _read_note() -> str:
    click.echo("  note: ", nl=False)
    return sys.stdin.readline().strip()


def ask_to_keep(session: LabelSession, key: Callable[[], str] = read_key) -> bool:
    """Say what goes into git, and ask before the first label; False where the person wants no label at all."""
    found = session.personal_data()
    click.echo(f"What you read is kept in {session.folder}, to be committed with your labels.")
    click.echo(f"It holds {found or 'no address, number or key that Carob knows'}, as the journal does.")
    click.echo("Keep it? y yes · h hashes only · q quit")
    while (pressed := key()) not in ("y", "h"):
        if pressed in _ENDED:
            return False
    session.keep = pressed == "y"
    return True


def show_end(session: LabelSession, summary: str) -> None:
    click.echo("")
    click.echo(f"{pluralize(session.done, 'label')} by {session.person} in {session.folder}")
    for line in summary.splitlines():
        click.echo(terminal(line))
