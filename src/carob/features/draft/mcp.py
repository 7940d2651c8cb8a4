"""The tool of `carob mcp` that drafts."""

from __future__ import annotations

from carob.features.draft import library


def draft(journal: str = "") -> list[str]:
    """Draft a suite from what the cases of a recorded run have in common: YAML, with a comment on each line that
    says how many runs support it. A draft is a proposal: read every line, and remove `draft: true` only when the
    contract is right, not when it is green.

    journal: the journal of a run, relative to the project; without it, the last run.
    """
    return library.draft(journal).yaml.splitlines()
