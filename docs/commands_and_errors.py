"""Writes docs/commands.md and docs/errors.md from the code: run it as `python docs/commands_and_errors.py`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click

from carob.cli.main import carob, every_command
from carob.errors import ExitCode

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "src" / "carob", ROOT / "src" / "carob_pytest")
MARK = "…"
MOST = 3
"""Messages that are shown of one error; they differ in the place that they are about."""
ARGUMENTS = {
    "PathDiagnostic": (1, 2),
    "problem": (1, 2),
    "warn": (1, 2),
    "add": (1, 2),
    "refuse": (0, 1),
    "CheckProblem": (1, 0),
    "TargetError": (1, 0),
}
"""Where a call has its message and its name of the error, if not as keywords."""
NAME = re.compile(r"[a-z]+(-[a-z0-9]+)*")
COMMANDS = """\
# Commands

Every command with its options, as `carob COMMAND --help` prints them. This page is written by
`python docs/commands_and_errors.py` from the code.

## Exit codes

| code | meaning |
|---|---|
"""
CODES = {
    ExitCode.OK: "every case passed, and every gate",
    ExitCode.FAILED: "a case failed, had an error or is PARTIAL; a gate was not met; `audit` or `lint` found something",
    ExitCode.INTERRUPTED: "interrupted; what was finished is kept, and `carob run --resume` continues",
    ExitCode.INTERNAL: "Carob itself failed, or could not write a file",
    ExitCode.USAGE: "a wrong option, configuration or suite; nothing was run",
    ExitCode.NOTHING_SELECTED: "no case was selected",
}
ERRORS = """\
# Errors

A message ends with the name of the error in brackets:
`suite.yaml:4:7 cases[0].prompt: expected a text. [wrong-type]`. This page lists each error with its messages and fixes.
`…` is a part that depends on your files. The command that installs an extra is shown as in a clone of the repository;
a message has the one for your installation. This page is written by `python docs/commands_and_errors.py` from the code.
"""
TABLE = "\n| message | fix |\n|---|---|\n"


def commands_page() -> str:
    """The page of commands."""
    lines = [COMMANDS, *(f"| {code.value} | {meaning} |\n" for code, meaning in CODES.items())]
    context = click.Context(carob, info_name="carob", show_default=True)
    names = [row.name for row in every_command()]
    for name in names:
        command = carob.get_command(context, name)
        assert command is not None
        own = click.Context(
            command,
            info_name=f"carob {name}",
            help_option_names=["-h", "--help"],
            terminal_width=100,
            max_content_width=100,
        )
        lines.append(f"\n## {name}\n\n```text\n{command.get_help(own).rstrip()}\n```\n")
    return "".join(lines)


def errors_page() -> str:
    """The page of errors."""
    found: dict[str, dict[str, str]] = {}
    for slug, message, fix in sorted(set(messages())):
        found.setdefault(slug, {}).setdefault(message, fix)
    parts = [ERRORS]
    for slug, says in sorted(found.items()):
        rows = [f"| {_cell(message)} | {_cell(fix)} |\n" for message, fix in sorted(says.items())[:MOST]]
        parts.append(f"\n## {slug}\n{TABLE}{''.join(rows)}")
    return "".join(parts)


def messages() -> Iterator[tuple[str, str, str]]:
    """The name, the message and the fix of every error in the source."""
    trees = [ast.parse(file.read_text()) for folder in SOURCES for file in sorted(folder.rglob("*.py"))]
    rules = dict(rule for tree in trees for rule in _lint_rules(tree))
    for tree in trees:
        scopes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        outer = _texts(tree.body)
        for scope in scopes:
            texts = outer | _texts(ast.walk(scope))
            for node in ast.walk(scope):
                match node:
                    case ast.Call():
                        yield from _error(node, texts)
                    case ast.Yield(value=ast.Tuple(elts=[_, message])) if scope.name in rules:
                        yield from _split(rules[scope.name], _text(message, texts))


def _lint_rules(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The functions that find smells, each with the name of its smell."""
    texts = _texts(tree.body)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="Rule"), args=[slug, ast.Name(id=function), *_]):
                yield function, _text(slug, texts)
            case ast.AnnAssign(target=ast.Name(id="SUITE_RULES"), value=ast.Dict(keys=slugs, values=functions)):
                for slug, function in zip(slugs, functions, strict=True):
                    if isinstance(function, ast.Attribute):
                        yield function.attr, _text(slug, texts)


def _error(call: ast.Call, texts: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    keywords = {one.arg: one.value for one in call.keywords if one.arg}
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    said, called = ARGUMENTS.get(name, (0, len(call.args)))
    slug = keywords.get("slug") or (call.args[called] if called < len(call.args) else None)
    message = call.args[said] if said < len(call.args) else None
    if not isinstance(slug, ast.Constant) or not isinstance(slug.value, str) or not NAME.fullmatch(slug.value):
        return
    yield from _split(slug.value, _text(message, texts), _text(keywords.get("fix"), texts))


def _split(slug: str, text: str, fix: str = "") -> Iterator[tuple[str, str, str]]:
    if " " in text:
        if not fix:  # a message of a suite holds its fix as its last sentence
            text, _, fix = text.partition(". ")
        yield slug, text.rstrip("."), fix


def _texts(nodes: Iterator[ast.AST] | list[ast.stmt]) -> dict[str, str]:
    """The texts that names have, where each is given one."""
    found: dict[str, str] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if text := _text(value, found):
                found[name] = text
    return found


def _text(node: ast.AST | None, texts: dict[str, str]) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [
            _text(getattr(part, "value", None) if isinstance(part, ast.FormattedValue) else part, texts) or MARK
            for part in node.values
        ]
        return re.sub(r"…+", MARK, "".join(parts))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "install_extra":
        return f"pip install '.[{_text(node.args[0], texts)}]'"
    if isinstance(node, ast.Name):
        return texts.get(node.id, "")
    if isinstance(node, ast.BoolOp):
        return next((text for part in reversed(node.values) if (text := _text(part, texts))), "")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("rstrip", "strip"):
        return _text(node.func.value, texts)
    return ""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split()).replace("<", "&lt;")


PAGES = {"commands.md": commands_page, "errors.md": errors_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        Path(__file__).with_name(name).write_text(page())
