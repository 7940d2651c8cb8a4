"""What the site of the documentation adds to mkdocs: links into the repository, and plain pages for machines."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
REPOSITORY = f"{PROJECT['urls']['Homepage']}/blob/main"
LINK = re.compile(r"(\]\()(\.\./[^)\s#]+)(#[^)\s]*)?(\))")
GENERATED = frozenset(("audit-operators.md", "checks.md", "commands.md", "conformance.md", "errors.md", "words.md"))
"""Pages that are written from the code. In the search they come last, behind all that were written for readers."""
LAST = 1e-6
DIALOG = ' role="dialog">'
SHIM = "https://unpkg.com/iframe-worker/shim"
INTRODUCTION = """\
# Carob

> Contract tests for AI agents: suites of cases, run against the real agent and judged by deterministic checks.

Every page is also there as Markdown, under the same name with the ending .md.
"""


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links to files outside the documentation lead to the repository, and say how the search ranks the page."""
    if page.file.src_uri in GENERATED or page.file.src_uri.startswith("decisions/"):
        page.meta["search"] = {"boost": LAST}
    here = Path(page.file.abs_src_path).parent
    inside = Path(config["docs_dir"])

    def lead(found: re.Match[str]) -> str:
        place = Path(os.path.normpath(here / found[2]))
        if place.is_relative_to(inside) or not place.is_relative_to(ROOT):
            return found[0]
        return f"{found[1]}{REPOSITORY}/{place.relative_to(ROOT)}{found[3] or ''}{found[4]}"

    return LINK.sub(lead, markdown)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Let the search of a page that is opened from a folder ask no other machine, and have a name."""
    return _named(output).replace(SHIM, os.path.relpath("assets/worker.js", Path(page.url).parent))


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """The same for the page that is shown where there is none."""
    return _named(output_content).replace(SHIM, "assets/worker.js")


def _named(page: str) -> str:
    return page.replace(DIALOG, f' aria-label="Search"{DIALOG}')


def on_post_build(config: Any) -> None:
    """Put the Markdown of every page next to it, and list them in llms.txt."""
    source, site = Path(config["docs_dir"]), Path(config["site_dir"])
    lines = [INTRODUCTION]
    for page in sorted(source.rglob("*.md")):
        name = page.relative_to(source)
        (site / name.parent).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, site / name)
        title, about = summary(page.read_text())
        lines.append(f"- [{title}]({name}){f': {about}' if about else ''}")
    (site / "llms.txt").write_text("\n".join(lines) + "\n")


def summary(page: str) -> tuple[str, str]:
    """The title of a page, and the first sentence of it."""
    title = re.search(r"^# (.+)$", page, re.MULTILINE)
    text = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    paragraphs = [part.strip() for part in text.split("\n\n")]
    first = next((part for part in paragraphs if part and part[0] not in "#|<!`-*>"), "")
    sentence = re.split(r"(?<=[.!?])\s", " ".join(first.split()), maxsplit=1)[0]
    return title[1].strip() if title else "", re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", sentence)
