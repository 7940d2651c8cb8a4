"""`carob help`: the pages that messages name are there, and say what shows the pages that they lead to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import carob
from carob.cli.main import run
from carob.features.help.pages import LINK, list_pages, read_page

SOURCE = Path(carob.__file__).parent
NAMED = re.compile(r"`carob help ([a-z0-9-]+)`")
FILE = re.compile(r"\bdocs/[a-z0-9-]+\.md\b")


def messages() -> Iterator[str]:
    """Every text of the code that is not a docstring; the docstring of a command is its help."""
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(tree := ast.parse(file.read_bytes())):
            is_loose = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if is_loose and not file.name.startswith("cli"):
                node.value = ast.Constant(0)  # type: ignore[attr-defined]
        yield from (
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )


def test_messages_name_pages_that_are_there() -> None:
    texts = [*messages()]
    named = [page for text in texts for page in NAMED.findall(text)]
    assert len(named) > 40
    assert set(named) - list_pages().keys() == set()
    assert [text for text in texts if FILE.search(text)] == []


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("", 0, ["rules ", "Where Carob runs"]),
        ("rules", 0, ["carob: 1"]),
        ("lint", 0, ["(carob help audit)", "Usage: carob lint"]),
        ("convert", 0, ["Usage: carob convert"]),
        ("no-rules", 0, ["the file has no rules"]),
        ("ruls", 4, ["'ruls' is not a page, a command or an error. Did you mean 'rules'? [usage]"]),
        ("decisions/001-judge-before-redacting", 4, ["is not a page"]),
        ("../README", 4, ["is not a page"]),
    ],
)
def test_it_shows_pages_errors_and_commands(
    name: str, code: int, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["help", *filter(None, [name])]) == code
    shown = "".join(capsys.readouterr())
    assert [word for word in words if word not in shown] == []


def test_no_page_keeps_a_link_to_a_file() -> None:
    pages = list_pages()
    assert len(pages) > 60
    assert [name for name in pages if any(place.endswith(".md") for *_, place in LINK.findall(read_page(name)))] == []
