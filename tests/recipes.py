"""The pages of docs/recipes: what is installed, which files they show, what they type, and what was recorded of it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from pages import Command, File, anchors, blocks

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "recipes"
RECORDINGS = Path(__file__).parent / "recorded_recipes"
INSTALLED = re.compile(r"```sh\n(pip|npm) install (.*)\n```")
VERDICT = re.compile(r"(?m)^(PASS|FAIL|PARTIAL|ERROR) +(\S+) ")
STARTED = re.compile(r"(.*?)(?: > log.txt 2>&1)? & ")
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
UNRECORDED = {
    "http-spans": "its spans are no part of its answers",
    "mcp": "its agent speaks with a client of its own",
    "spans-openai-agents": "its spans do not carry the answer",
}
"""Why some pages cannot be played back."""


class Recipe(NamedTuple):
    """One page, or what a section of one adds to its beginning."""

    path: Path
    section: str = ""

    @property
    def name(self) -> str:
        return f"{self.path.stem}-{self.section}" if self.section else self.path.stem

    @property
    def text(self) -> str:
        """What is read of the page."""
        start, *sections = re.split(r"(?m)^(?=## )", self.path.read_text())
        own = [text for text in sections if not self.section or self.section in anchors(text)]
        return "".join((start, *own))

    @property
    def requirements(self) -> tuple[str, ...]:
        """What pip or npm is told to install."""
        ((_, told),) = INSTALLED.findall(self.text)
        return tuple(shlex.split(told))

    @property
    def is_node(self) -> bool:
        return any(installer == "npm" for installer, _ in INSTALLED.findall(self.text))

    @property
    def files(self) -> list[File]:
        return [block for block in blocks(self.text) if isinstance(block, File)]

    @property
    def commands(self) -> list[list[Command]]:
        return [block for block in blocks(self.text) if not isinstance(block, File)]

    @property
    def starts(self) -> str:
        """The command that starts a service; empty for a page whose agent Carob starts itself."""
        match = STARTED.match(self.commands[0][0].line)
        return match[1] if match else ""

    @property
    def verdicts(self) -> dict[str, str]:
        """What the page shows for each case."""
        shown = "".join(command.shown or "" for block in self.commands for command in block)
        return {case: status for status, case in VERDICT.findall(shown)}

    @property
    def recording(self) -> Path:
        return RECORDINGS / f"{self.name}.{'json' if self.starts else 'jsonl'}"

    def write(self, folder: Path) -> None:
        """Put the files of the page into a folder."""
        for file in self.files:
            file.write(folder)


def _sections(path: Path) -> list[str]:
    """The recipes of a page that holds several."""
    return sorted(anchors(path.read_text()[path.read_text().index("\n## ") :])) if path.stem == "spans" else [""]


RECIPES = tuple(
    Recipe(path, section)
    for path in sorted(FOLDER.glob("*.md"))
    if path.stem != "README"
    for section in _sections(path)
)
