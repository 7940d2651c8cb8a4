"""What all pages share: templates, style and script, rules for browsers, and the files of a run that are shown."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from carob.model.run import CaseRecord
from carob.reports.escaping import encode
from carob.reports.html.markup import attribute, escape_text, prose

if TYPE_CHECKING:
    from jinja2 import Environment, Template


HERE: Final = Path(__file__).parent


class Assets(NamedTuple):
    """The one style sheet and the one script."""

    style: str
    script: str


@cache
def environment(*further: Path) -> Environment:
    """The shared templates and those of further folders; what is not HTML is escaped, and inert where it is `text`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    templates = Environment(
        loader=FileSystemLoader([HERE / "templates", *further]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {function.__name__: function for function in _wordings()}
    templates.filters["text"] = lambda value: Markup(escape_text(str(value)))
    templates.filters["prose"] = lambda value: Markup(prose(str(value)))
    templates.filters["attr_text"] = lambda value: Markup(attribute(str(value)))
    return templates


def _wordings() -> tuple[Callable[..., object], ...]:
    """How templates put the figures of a run or a record into words. Loaded late: other pages need only the style."""
    from carob.reports.case_facts import log, reasons
    from carob.reports.html.calls import duration, outcome, render_json, span_of_time
    from carob.reports.html.case_view import anchor_of, clip_long, trace_spent
    from carob.reports.html.run_view import (
        commit,
        counts,
        evidence_anchor,
        excerpt,
        failure_words,
        format_time_between,
        moment,
        parts,
        rate_view,
        suite_name,
    )
    from carob.reports.run_facts import criteria_words, guard_words, repeats, replay_words
    from carob.scoring.figures import cost_words, rate_words, token_words

    of_runs = (
        commit,
        counts,
        format_time_between,
        guard_words,
        moment,
        parts,
        rate_view,
        repeats,
        replay_words,
        suite_name,
    )
    figures = (cost_words, criteria_words, rate_words, token_words)
    of_cases = (
        clip_long,
        evidence_anchor,
        excerpt,
        failure_words,
        log,
        outcome,
        reasons,
        render_json,
        span_of_time,
        trace_spent,
    )
    return (*of_runs, *figures, *of_cases, anchor_of, duration)


def template(name: str) -> Template:
    return environment().get_template(name)


@cache
def fragment(name: str, file: str = "fragments.html") -> Callable[..., str]:
    """A macro of those that all pages share."""
    macro: Callable[..., str] = getattr(template(file).module, name)
    return macro


@cache
def assets() -> Assets:
    folder = HERE / "static"
    styles, scripts = ("carob.css", "runs.css", "case.css"), ("carob.js", "case.js")
    return Assets(*("".join((folder / name).read_text("utf-8") for name in names) for names in (styles, scripts)))


@cache
def report_policy() -> str:
    """What a report may do: its own style and script, and pictures in the file itself."""
    page_assets = assets()
    allowed = f"script-src {_hash(page_assets.script)}; style-src {_hash(page_assets.style)}; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def page_policy(style: str) -> str:
    """What a page without any script may do."""
    return f"default-src 'none'; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


LONGEST_NAME: Final = 1_000
LARGEST: Final = 64 << 20
_PICTURES: Final = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


class OwnFile(NamedTuple):
    """A regular file of a run; `type` is what its first bytes say, never what its name does."""

    path: Path
    size: int
    type: str

    @property
    def is_picture(self) -> bool:
        return self.type.startswith("image/")


def find_own_file(journal: str, name: str) -> OwnFile | None:
    """The file of this name if it lies below the journal's folder, without a link on the way; else None."""
    if not name or len(name) > LONGEST_NAME or "\x00" in name or os.path.isabs(name) or "\\" in name:
        return None
    parts = os.path.normpath(name).split(os.sep)
    if ".." in parts:
        return None
    path = Path(os.path.dirname(journal) or ".")
    try:
        for part in parts:
            path = path / part
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                return None
        if not stat.S_ISREG(mode) or path.stat().st_size > LARGEST:
            return None
        with path.open("rb") as file:
            head = file.read(16)
        return OwnFile(path, path.stat().st_size, _type(head))
    except (OSError, ValueError):
        return None


def _type(head: bytes) -> str:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _PICTURES if head.startswith(start)), "application/octet-stream")


def as_data(file: OwnFile) -> str:
    """A picture as an address that holds all of it."""
    return f"data:{file.type};base64,{base64.b64encode(file.path.read_bytes()).decode()}"


def record_json(record: CaseRecord) -> bytes:
    """The line of a journal as JSON that people can read, and that is harmless to show."""
    return msgspec.json.format(encode(record), indent=2)
