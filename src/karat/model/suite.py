"""A suite as every other part sees it, whatever file format it came from."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct, field

from karat.model.verdict import Group

DEFAULT_WEIGHTS: dict[Group, float] = {
    Group.TOOL_HYGIENE: 0.35,
    Group.SYNTHESIS_COVERAGE: 0.30,
    Group.NUMERIC_GROUNDING: 0.20,
    Group.UNCERTAINTY: 0.10,
    Group.FORMATTING: 0.05,
    Group.MORNING_BRIEF_CONTRACT: 0.35,
}


class CheckSpec(Struct, frozen=True, array_like=True, gc=False):
    """One check as data: its name in the catalog, its arguments as JSON, and its place, such as `must_not_say[1]`."""

    name: str
    args: Raw
    path: str = ""


class Scoring(Struct, frozen=True, omit_defaults=True, gc=False):
    """How group scores become a status. `weights` of None means the documented default weights."""

    hard_fail: tuple[Group, ...] = ()
    threshold: float | None = None
    weights: dict[Group, float] | None = None


class Case(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """One prompt and what is expected of the answer."""

    id: str
    prompt: str
    category: str = ""
    setup_prompts: tuple[str, ...] = ()
    preconditions: tuple[str, ...] = ()
    outcome: str = ""
    checks: tuple[CheckSpec, ...]
    scoring: Scoring = Scoring()
    min_pass_rate: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


class Suite(Struct, frozen=True, kw_only=True):
    """A file of cases, read and checked."""

    file: str
    format: str
    version: str
    sha256: str
    name: str = ""
    description: str = ""
    cases: tuple[Case, ...]
    metadata: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
