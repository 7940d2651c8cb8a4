"""Pages of documentation as something to try out: the files that they show and the commands that they type."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(r"^(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
HIDDEN = re.compile(r"^<!-- (?P<name>\S+)\n(?P<body>.*?)^-->$", re.MULTILINE | re.DOTALL)
LABEL = re.compile(r"`(?P<name>[\w./-]+\.\w+|[\w./-]*agent)`:?\s*\Z")
HEADING = re.compile(r"(?m)^#{1,6} +(.*?) *$")
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)\s]+)\)")
STAMP = re.compile(r"\d{8}T\d{6}Z(-\d+)?")
MOMENT = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\b")
SECONDS = re.compile(r"\b\d+\.\d+s\b")
SPACES = re.compile(r" {2,}")
OUTCOME = re.compile(r"(.*?)\x01(\d+)\x02", re.DOTALL)


class File(NamedTuple):
    """A file that the page shows under its name, or keeps in a comment."""

    name: str
    body: str

    def write(self, folder: Path) -> None:
        """Put it where the page says that it stands."""
        place = folder / self.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(self.body)
        place.chmod(0o755 if self.body.startswith("#!") else 0o644)


class Command(NamedTuple):
    """A command that the page types, and what it says comes out; None where it shows no output."""

    line: str
    shown: str | None


Block = File | list[Command]


def blocks(page: str) -> Iterator[Block]:
    """The files and commands of a page, in order."""
    found = sorted([*FENCE.finditer(page), *HIDDEN.finditer(page)], key=lambda match: match.start())
    for match in found:
        if "name" in match.groupdict():
            yield File(match["name"], match["body"])
        elif match["info"].split()[:1] == ["console"]:
            yield list(_commands(match["body"]))
        elif label := LABEL.search(page[: match.start()]):
            yield File(label["name"], match["body"])


def _commands(body: str) -> Iterator[Command]:
    for part in re.split(r"(?m)^\$ ", body)[1:]:
        line, _, shown = part.partition("\n")
        while shown.startswith("> "):
            more, _, shown = shown.removeprefix("> ").partition("\n")
            line = f"{line}\n{more}"
        yield Command(line, shown if shown.strip() else None)


OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
"""What `make test` hands to its children, and a person who types has not."""


def follow(commands: list[Command], folder: Path, environ: dict[str, str], *, within: float = 300) -> None:
    """Type the commands: each prints what the page shows, and ends well unless the next one asks how it ended."""
    found = _typed(commands, folder, environ, within)
    for command, after, (printed, status) in zip(commands, [*commands[1:], None], found, strict=True):
        asked = after is not None and after.line == "echo $?"
        assert asked or status == 0, f"$ {command.line}\n{printed}(exit {status})"
        if command.shown is not None:
            assert same(command.shown, printed), f"$ {command.line}\nshown:\n{command.shown}\nprinted:\n{printed}"


def _typed(commands: list[Command], folder: Path, environ: dict[str, str], within: float) -> list[tuple[str, int]]:
    """What each command printed in one shell, and its status."""
    ran = subprocess.run(
        ["bash", "-c", _script(commands)],
        cwd=folder,
        env={name: value for name, value in environ.items() if name not in OF_MAKE},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=within,
        check=False,
    )
    found = [(printed, int(status)) for printed, status in OUTCOME.findall(ran.stdout)]
    assert len(found) == len(commands), f"the shell ended with command {len(found) + 1}:\n{ran.stdout}"
    return found


def _script(commands: list[Command]) -> str:
    """A shell script that runs the commands one after the other; a mark and its status stand after each output."""
    steps = (f"(exit $rc)\n{command.line}\nrc=$?; printf '\\001%s\\002' $rc\n" for command in commands)
    return "rc=0\n" + "".join(steps)


def same(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; a line `...` stands for any lines, times and stamps for any others."""
    parts = [re.escape(part) for part in re.split(r"(?m)^\.\.\.\n", plain(shown))]
    return re.fullmatch(r"(?:.*\n)*?".join(parts), plain(printed)) is not None


def plain(text: str) -> str:
    text = MOMENT.sub("2026-01-01T09:00:00", STAMP.sub("20260101T090000Z", text))
    return SPACES.sub("  ", SECONDS.sub("0.00s", text))


def anchors(page: str) -> set[str]:
    """The sections of a page as links name them: hyphens between words in lower case, a number if not the first."""
    seen: Counter[str] = Counter()
    found = set()
    for title in HEADING.findall(FENCE.sub("", page)):
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def dead_links(path: Path) -> list[str]:
    """The links of a page that lead to no file, or to no section of it."""
    return [link for link in LINK.findall(FENCE.sub("", path.read_text())) if not _leads_somewhere(path, link)]


def _leads_somewhere(path: Path, link: str) -> bool:
    file, _, section = link.partition("#")
    place = path.parent / file if file else path
    return place.exists() and ("#" not in link or section in anchors(place.read_text()))


def linked_pages(root: Path) -> list[Path]:
    """All pages whose links are followed."""
    patterns = ("*.md", ".claude/evals/*.md", "eval/*.md", "docs/**/*.md", "examples/*/*.md", "benchmarks/*.md")
    return sorted(path for pattern in patterns for path in root.glob(pattern))


def tried_pages(root: Path) -> list[Path]:
    """The pages whose commands are run; examples need a folder of their own, and recipes the software of others.

    That on pytest is about an example, and is run next to it; README.md and the pages next to suites, in tests/seeds.
    """
    pages = sorted((root / "docs").rglob("*.md"))
    return [page for page in pages if page.parent.name != "recipes" and page.name != "pytest.md"]
