"""The pages of docs/recipes: what is installed, which files they show, what they type, and what was recorded of it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from pages import Command, File, blocks

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
    """One page."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def requirements(self) -> tuple[str, ...]:
        """What pip or npm is told to install."""
        ((_, told),) = INSTALLED.findall(self.path.read_text())
        return tuple(shlex.split(told))

    @property
    def is_node(self) -> bool:
        return any(installer == "npm" for installer, _ in INSTALLED.findall(self.path.read_text()))

    @property
    def files(self) -> list[File]:
        return [block for block in blocks(self.path.read_text()) if isinstance(block, File)]

    @property
    def commands(self) -> list[list[Command]]:
        return [block for block in blocks(self.path.read_text()) if not isinstance(block, File)]

    @property
    def starts(self) -> str:
        """The command that starts a service; empty for a page whose agent Karat starts itself."""
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


RECIPES = tuple(Recipe(path) for path in sorted(FOLDER.glob("*.md")) if path.stem != "README")
