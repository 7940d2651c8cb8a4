"""What to write instead of a command line that cannot be read: its command, its arguments, its options."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import pairwise

import click

from carob.text.wording import find_nearest, join_words

OTHER_WORDS = {
    "diff": "compare", "eval": "run", "evaluate": "run", "generate": "draft", "grid": "compare --side-by-side",
    "import": "convert", "new": "init", "open": "view", "record": "tape", "replay": "tape", "retry": "run --failed",
    "serve": "view", "show": "report", "start": "init", "test": "run", "ui": "view",
}  # fmt: skip
"""What other tools call a command."""
OLD_WORDS = {
    "baseline set": "compare --save", "baseline show": "compare --show", "baseline": "compare --save",
    "effects": "audit --claims",
    "history": "compare --history", "inspect": "init --inspect", "list": "run --list",
    "matrix": "compare --side-by-side", "rerun": "run --failed", "resume": "run --resume", "schema": "lint --schema",
    "self-test": "audit --self", "validate": "lint --errors-only",
}  # fmt: skip
"""What commands were called; the longer names first."""
OTHER_OPTIONS = {
    "agent": "target", "case": "cases", "case-id": "cases", "debug": "verbose", "filter": "k", "html": "report",
    "id": "cases", "iterations": "repeat", "jobs": "workers", "json": "report", "junit": "report",
    "junitxml": "report", "max-concurrency": "concurrency", "maxfail": "max-failures", "model": "option",
    "n": "workers", "only": "cases", "out": "output", "parallel": "workers", "policy": "rules", "provider": "target",
    "record": "tape", "replay": "tape", "runs": "repeat", "samples": "repeat", "seed": "shuffle", "tags": "tag",
    "test": "cases", "threads": "concurrency", "trials": "repeat", "url": "target",
}  # fmt: skip
"""What other tools call an option; on the right, Carob's options without their dashes."""
SUITE_OPTIONS = ("eval-file", "eval-set", "suite", "suite-file", "golden-set", "file")
"""What other runners call the option that names the suite."""
REPORTS = {".xml": "junit", ".json": "json", ".html": "html", ".csv": "csv", ".md": "markdown", ".jsonl": "jsonl"}
"""The report that a file of this name is meant as."""
NUMBERS = {"integer": "a whole number", "float": "a number"}
"""What click calls numbers, in plain words."""
FILES = ("FILE", "PATH")
"""The metavars of options that name a file."""


def suggest_command(typed: str, names: Sequence[str]) -> str:
    """The command that another tool calls so, or of which this is a slip."""
    near = OTHER_WORDS.get(typed) or next((name for name in names if is_slip(typed, name)), "")
    return f"Did you mean {near!r}?" if near.partition(" ")[0] in names else ""


def suggest_new_name(words: Sequence[str]) -> str:
    """The line to type, where a command was once called so."""
    for old, new in OLD_WORDS.items():
        if [*words[: len(old.split())]] == old.split():
            rest = ["@last" if word == "--last" else word for word in words[len(old.split()) :]]
            return f"It is now: carob {shlex.join([*new.split(), *rest])}"
    return ""


def is_slip(typed: str, name: str) -> bool:
    """Whether one slip of a finger makes this of a name: a letter more, less or another, or two that changed places."""
    if abs(len(typed) - len(name)) > 1 or typed == name:
        return False
    start = next(
        (i for i, pair in enumerate(zip(typed, name, strict=False)) if pair[0] != pair[1]), len(min(typed, name))
    )
    short, other = typed[start:], name[start:]
    return (
        short[1:] == other[1:]
        or short[1:] == other
        or short == other[1:]
        or (short[:2] == other[:2][::-1] and short[2:] == other[2:])
    )


def explain(error: click.ClickException, arguments: Sequence[str] = ()) -> str:
    """What click says of a command line, in one line, with what the command takes."""
    message = _message(error, arguments)
    message += "" if message.endswith((".", "?", "?)")) else "."
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return message
    return " ".join(filter(None, (message, _describe(context, message), f"Try '{context.command_path} --help'.")))


def _message(error: click.ClickException, arguments: Sequence[str]) -> str:
    """What click says, with its guess of an option replaced by a likelier one."""
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        if line := _without_option(error.option_name, error.ctx.command, arguments):
            return f"{error.message} The file is an argument: `carob {line}`."
        others, group = [word for word in arguments if word != error.option_name], error.ctx.command
        if others and isinstance(group, click.Group) and others[0] in group.list_commands(error.ctx):
            return f"{error.message} Options come after the command: carob {shlex.join([*others, error.option_name])}."
        return f"{error.message} {suggest_option(error.option_name, error.ctx.command, arguments)}".rstrip()
    if isinstance(error, click.BadParameter) and "is not KEY=VALUE" in error.message:
        value = error.message.split("'")[1]
        if value.endswith(tuple(REPORTS)):
            return f"-o is an option of the target. Did you mean '{_report_of(value)}'?"
    said = " ".join(error.format_message().split()).replace(" range.", ".")
    for name, plain in NUMBERS.items():
        said = said.replace(f"not a valid {name}.", f"not {plain}.")
    return said


def _report_of(path: str) -> str:
    """The option that writes a report to a path."""
    name = next((name for end, name in REPORTS.items() if path.endswith(end)), "json")
    return f"--report {name}={path or 'PATH'}"


def _without_option(typed: str, command: click.Command, arguments: Sequence[str]) -> str:
    """The line with its suite as an argument, where another runner has an option for that."""
    takes_suite = any(
        isinstance(p, click.Argument) and (p.metavar or "").lstrip("[").startswith("SUITE") for p in command.params
    )
    if not takes_suite or typed.lstrip("-") not in SUITE_OPTIONS:
        return ""
    words = [word.removeprefix(f"{typed}=") for word in arguments if word != typed]
    return shlex.join(words)


def suggest_option(typed: str, command: click.Command, arguments: Sequence[str] = ()) -> str:
    """The option that another tool calls so, or of which this is a typing error, with what it takes."""
    value = next((after for word, after in pairwise(arguments) if word == typed), "")
    if typed in ("-j", "-n") and {"workers", "concurrency"} <= {p.name for p in command.params}:
        return f"Did you mean --workers {value or 'N'}, or --concurrency {value or 'N'}?"
    if typed == "--output" and any(p.name == "reports" for p in command.params):
        return f"Did you mean '{_report_of(value)}'?"
    options = {name.lstrip("-"): p for p in command.params if isinstance(p, click.Option) for name in p.opts}
    name = typed.lstrip("-")
    near = OTHER_OPTIONS.get(name) if name not in options else None
    option = options.get(near or find_nearest(name, options) or "")
    if option is None:
        return ""
    takes = option.metavar or ""
    return f"Did you mean {f'{max(option.opts, key=len)} {takes}'.rstrip()!r}?"


def _describe(context: click.Context, message: str) -> str:
    """The commands of a group, or the arguments of a command, where it is about them."""
    command = context.command
    if isinstance(command, click.Group) and context.parent is not None and "?" not in message:
        return f"Commands: {', '.join(command.list_commands(context))}."
    if message.startswith("Missing option"):
        return next((p.help or "" for p in command.params if isinstance(p, click.Option) and p.opts[-1] in message), "")
    if message.startswith(("Missing argument", "Got unexpected")):
        arguments = " ".join(p.make_metavar(context) for p in command.params if isinstance(p, click.Argument))
        takes = f"Write it as `{context.command_path} {arguments}`." if arguments else "It takes no argument."
        files = [p.opts[-1] for p in command.params if isinstance(p, click.Option) and p.metavar in FILES]
        return f"{takes} A file goes with {join_words(files)}." if files and message.startswith("Got") else takes
    return ""
