"""The documentation is true: its commands do what the pages show, its tables are current, its links lead somewhere."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
from pathlib import Path

import pytest

from cli.support import SCRIPT
from karat.checks.catalog import CATALOG
from pages import File, blocks, every_page, outcomes, same, script

ROOT = Path(__file__).parents[1]
PAGES = every_page(ROOT)
TYPED = [path for path in PAGES if any(isinstance(block, list) for block in blocks(path.read_text()))]
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", TYPED, ids=name)
def test_commands_do_what_the_page_shows(path: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "PATH": f"{SCRIPT.parent}:{os.environ['PATH']}"}
    for block in blocks(path.read_text()):
        if isinstance(block, File):
            place = tmp_path / block.name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(block.body)
            place.chmod(0o755 if block.body.startswith("#!") else 0o644)
            continue
        ran = subprocess.run(
            ["bash", "-c", script(block)],
            cwd=tmp_path,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        found = outcomes(ran.stdout)
        assert len(found) == len(block), ran.stdout
        for number, (command, (printed, status)) in enumerate(zip(block, found, strict=True)):
            asked = block[number + 1].line == "echo $?" if number + 1 < len(block) else False
            assert asked or status == 0, f"$ {command.line}\n{printed}(exit {status})"
            if command.shown is not None:
                assert same(command.shown, printed), f"$ {command.line}\nshown:\n{command.shown}\nprinted:\n{printed}"


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_lead_to_files(path: Path) -> None:
    for target in LINK.findall(path.read_text()):
        assert (path.parent / target).exists(), target


def test_the_reference_of_the_checks_is_current() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "reference.py"))["page"]
    assert (ROOT / "docs" / "checks.md").read_text() == page(), "run `python docs/reference.py`"


def test_every_field_has_an_example_in_the_page_on_suites() -> None:
    shown = "".join(
        block.body for block in blocks((ROOT / "docs" / "suites.md").read_text()) if isinstance(block, File)
    )
    assert [field.name for field in CATALOG.fields if not re.search(rf'"?\b{field.name}"?:', shown)] == []


@pytest.mark.parametrize(
    ("shown", "printed", "is_same"),
    [
        pytest.param("a\n", "a\n", True, id="same"),
        pytest.param("a\n", "b\n", False, id="other"),
        pytest.param("a\n", "a\nb\n", False, id="more"),
        pytest.param("a\n...\n", "a\nb\nc\n", True, id="any-lines"),
        pytest.param("...\nc\n", "a\nb\nd\n", False, id="any-lines-then-other"),
        pytest.param("PASS  A  0.01s\n", "PASS     A  3.70s\n", True, id="times-and-columns"),
        pytest.param("s-20261115T183011Z.jsonl\n", "s-20270101T000000Z-2.jsonl\n", True, id="stamps"),
        pytest.param("1 passed\n", "2 passed\n", False, id="counts"),
    ],
)
def test_what_counts_as_the_same(shown: str, printed: str, is_same: bool) -> None:
    assert same(shown, printed) is is_same


def test_blocks_of_a_page() -> None:
    page = "`a.json`:\n\n```json\n{}\n```\n\n<!-- b.py\nx = 1\n-->\n\n"
    page += "```console\n$ ls\na.json\n$ false\n$ echo $?\n1\n```\n"
    assert list(blocks(page)) == [
        File("a.json", "{}\n"),
        File("b.py", "x = 1\n"),
        [("ls", "a.json\n"), ("false", None), ("echo $?", "1\n")],
    ]
