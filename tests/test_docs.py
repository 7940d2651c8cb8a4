"""The documentation is true: its commands do what the pages show, its tables are current, its links lead somewhere."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
from pathlib import Path

import msgspec
import pytest

from carob.errors import ExitCode
from carob.features.compare.gates import GateTables
from carob.suites.formats.catalog import find_format
from carob.targets.config import _TargetTable, _Top
from catalogs import CATALOG
from cli.support import SCRIPT
from pages import (
    Command,
    File,
    anchors,
    blocks,
    dead_links,
    follow,
    linked_pages,
    same,
    tried_pages,
)

ROOT = Path(__file__).parents[1]
LONG = {"stress.md"}
"""Pages whose commands take long; what they show is tested elsewhere too."""
TYPED = [path for path in tried_pages(ROOT) if any(isinstance(block, list) for block in blocks(path.read_text()))]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize(
    "path", [pytest.param(page, marks=[pytest.mark.thorough] * (page.name in LONG)) for page in TYPED], ids=name
)
def test_commands_do_what_the_page_shows(path: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "PATH": f"{SCRIPT.parent}:{os.environ['PATH']}"}
    for block in blocks(path.read_text()):
        if isinstance(block, File):
            block.write(tmp_path)
        else:
            follow(block, tmp_path, environ)


def test_the_start_of_the_readme_can_be_pasted(tmp_path: Path) -> None:
    """As a coding agent does it, without a terminal. What installs Carob is left out: it is installed."""
    block = (ROOT / "README.md").read_text().partition("## Start")[2].split("```")[1]
    install, *commands = block.strip().splitlines()
    assert install.startswith("pip install .")
    clone = tmp_path / "clone"
    clone.mkdir()
    script = "\n".join(commands)
    path = f"{SCRIPT.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=clone,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == ExitCode.FAILED, done.stdout + done.stderr  # the suite finds the bug
    assert "FAIL     card-has-expired" in done.stdout


@pytest.mark.parametrize("path", linked_pages(ROOT), ids=name)
def test_links_lead_to_files_and_sections(path: Path) -> None:
    assert dead_links(path) == []


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md", "docs/suites.md", "benchmarks/README.md"])
def test_links_of_pages_everywhere_are_followed(page: str) -> None:
    assert ROOT / page in linked_pages(ROOT)


@pytest.mark.parametrize(
    ("link", "dead"),
    [
        pytest.param("other.md", False, id="a-file"),
        pytest.param("none.md", True, id="no-file"),
        pytest.param("other.md#what-it-does", False, id="a-section"),
        pytest.param("other.md#what-it-did", True, id="no-section"),
        pytest.param("other.md#a-comment", True, id="a-comment-in-code"),
        pytest.param("#here", False, id="a-section-of-the-page"),
        pytest.param("#there", True, id="no-section-of-the-page"),
        pytest.param("https://example.org/#there", False, id="another-site"),
    ],
)
def test_a_dead_link_is_noticed(tmp_path: Path, link: str, dead: bool) -> None:
    (tmp_path / "other.md").write_text("# Other\n\n## What it does\n\n```\n# a comment\n```\n")
    page = tmp_path / "page.md"
    page.write_text(f"# Here\n\nSee [this]({link}).\n")
    assert dead_links(page) == [link] * dead


def test_sections_are_named_as_on_the_web() -> None:
    page = "# carob.toml\n## `prompt-satisfies`\n## What, and why?\n### Twice\n### Twice\n"
    assert anchors(page) == {"carobtoml", "prompt-satisfies", "what-and-why", "twice", "twice-1"}


def test_the_reference_of_the_checks_is_current() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "reference.py"))["page"]
    assert (ROOT / "docs" / "checks.md").read_text() == page(), "run `python docs/reference.py`"


def test_the_table_of_options_is_current() -> None:
    page = (ROOT / "docs" / "running.md").read_text()
    assert page == runpy.run_path(str(ROOT / "docs" / "reference.py"))["with_options"](page), "run docs/reference.py"
    assert "| `--category` | `categories` |" in page


def test_the_page_of_word_lists_is_current() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "reference.py"))["words_page"]
    assert (ROOT / "docs" / "words.md").read_text() == page(), "run `python docs/reference.py`"


def test_the_page_of_audit_operators_is_current() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "reference.py"))["operators_page"]
    assert (ROOT / "docs" / "audit-operators.md").read_text() == page(), "run `python docs/reference.py`"


def test_the_pages_of_commands_and_errors_are_current() -> None:
    pages = runpy.run_path(str(ROOT / "docs" / "commands_and_errors.py"))["PAGES"]
    for page, write in pages.items():
        assert (ROOT / "docs" / page).read_text() == write(), "run `python docs/commands_and_errors.py`"


@pytest.mark.parametrize("table", [_Top, _TargetTable, GateTables], ids=lambda table: table.__name__)
def test_the_page_of_carob_toml_has_every_key(table: type[msgspec.Struct]) -> None:
    page = (ROOT / "docs" / "configuration.md").read_text()
    listed = {key for row in re.findall(r"^\| (`.+?`) \|", page, re.MULTILINE) for key in re.findall(r"`\[?(\w+)", row)}
    assert set(table.__struct_encode_fields__) - listed - {"tags", "categories"} == set()


@pytest.mark.parametrize("kind", ["eval-set", "golden"])
def test_the_reference_has_every_key_of_expected(kind: str) -> None:
    page = (ROOT / "docs" / "checks.md").read_text()
    known = find_format(kind, CATALOG.formats).schema(CATALOG)["$defs"]["Expected"]["properties"].keys() - {"metadata"}
    assert {key for key in known if f"\n| `{key}` |" not in page} == set()


def test_every_field_has_an_example_in_the_pages_on_suites() -> None:
    names = (
        *("eval-sets.md", "golden-sets.md", "suites.md", "formats.md", "expect-calls.md", "expect-answers.md"),
        *("conversations.md", "coding-agents.md"),
    )
    pages = [ROOT / "docs" / name for name in names]
    shown = "".join(block.body for page in pages for block in blocks(page.read_text()) if isinstance(block, File))
    assert [name for name in CATALOG.fields if not re.search(rf'"?\b{name}"?:', shown)] == []


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


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        pytest.param([("echo a", "b\n")], "shown:\nb\n\nprinted:\na", id="other-output"),
        pytest.param([("true", None), ("(exit 3)", None)], r"\$ \(exit 3\)\n\(exit 3\)", id="a-failure"),
        pytest.param([("false", None), ("echo $?", "0\n")], "printed:\n1", id="another-status"),
        pytest.param([("exit", None), ("echo a", "a\n")], "ended with command 1", id="the-end-of-the-shell"),
    ],
)
def test_a_page_that_is_not_true_is_noticed(tmp_path: Path, typed: list[tuple[str, str | None]], told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        follow([Command(*command) for command in typed], tmp_path, dict(os.environ))
