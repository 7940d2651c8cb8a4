"""How the workspace of a target is made and bounded, as carob.toml says it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Evidence = Literal["log", "models", "spans", "files", "processes"]
DEFAULT_EVIDENCE: tuple[Evidence, ...] = ("log", "files", "processes")
Line = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=1)]


class WorkspaceSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A folder that each case gets a copy of. `setup`: commands that get the copy ready, before the agent starts."""

    folder: Line
    setup: tuple[Line, ...] = ()
    setup_seconds: Annotated[float, Meta(gt=0, le=86_400)] = 300.0
    environment: tuple[Line, ...] = ()
    """Variables of Carob's environment that the agent gets besides the published ones; `*` is any part of a name."""
    own_files: tuple[Line, ...] = ()
    """What the agent's program itself writes below HOME (`.codex/**`) or elsewhere: it never counts as outside."""
    sandbox: Literal["", "bubblewrap"] = ""
    max_mb: Count = 2_048
    max_files: Count = 200_000
    max_processes: Count = 512
