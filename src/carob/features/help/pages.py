"""The pages of the documentation, as a terminal can show them. They are in the wheel; a clone has them in docs/."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Final

OURS: Final = Path(__file__).with_name("pages")
CLONE: Final = Path(__file__).parents[4] / "docs"
NOT_FOR_USERS: Final = ("decisions/", "skill/")
LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]*)\)")


def list_pages() -> dict[str, str]:
    """The titles of all pages by their names, which are their places."""
    folder = _folder()
    names = sorted(file.relative_to(folder).with_suffix("").as_posix() for file in folder.rglob("*.md"))
    return {name: _title(name) for name in names if not name.startswith(NOT_FOR_USERS)}


def read_page(name: str) -> str:
    """The text of a page. Its links say what shows the pages that they lead to."""
    text = (_folder() / f"{name}.md").read_text("utf-8")
    return LINK.sub(lambda found: _plain_link(PurePosixPath(name).parent, *found.groups()), text)


def explain_error(slug: str) -> str:
    """What is known of an error by its name; nothing if there is none of this name."""
    _, found, rest = read_page("errors").partition(f"\n## {slug}\n")
    return f"{slug}\n{rest.partition(chr(10) + '## ')[0].rstrip()}\n" if found else ""


def _folder() -> Path:
    return OURS if OURS.is_dir() else CLONE


def _title(name: str) -> str:
    with (_folder() / f"{name}.md").open(encoding="utf-8") as file:
        return next((line.removeprefix("# ").strip() for line in file if line.startswith("# ")), name)


def _plain_link(folder: PurePosixPath, image: str, words: str, place: str) -> str:
    if image:
        return ""
    page, dot, _ = place.partition("#")[0].rpartition(".md")
    if not dot or "://" in place:
        return f"{words} ({place})" if "://" in place else words
    parts: list[str] = []
    for part in (folder / page).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    name = "/".join(parts)
    return f"{words} (carob help {name})" if (_folder() / f"{name}.md").is_file() else words
