"""The cases that a user asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from karat.errors import NothingSelectedError, UsageError
from karat.model.suite import Suite
from karat.text.wording import did_you_mean, listed, quoted

_SHOWN = 10


def select(suite: Suite, ids: Sequence[str] | None = None, categories: Sequence[str] | None = None) -> Suite:
    """The suite with only the cases that have one of these ids and one of these categories, in its own order."""
    cases = suite.cases
    if ids is not None:
        _refuse_unknown(ids, [case.id for case in cases], suite.file)
        wanted = set(ids)
        cases = tuple([case for case in cases if case.id in wanted])
    if categories is not None:
        kinds = set(categories)
        cases = tuple([case for case in cases if case.category in kinds])
    if not cases:
        raise NothingSelectedError("no case is selected.", where=suite.file, fix=_ways_out(suite, ids, categories))
    return replace(suite, cases=cases)


def _refuse_unknown(ids: Iterable[str], known: Sequence[str], file: str) -> None:
    unknown = [name for name in dict.fromkeys(ids) if name not in set(known)]
    if unknown:
        named = listed([quoted(name) for name in unknown], "and")
        what = "no case has the id" if len(unknown) == 1 else "no cases have the ids"
        hints = " ".join(dict.fromkeys(did_you_mean(name, known) for name in unknown[:_SHOWN]))
        raise UsageError(
            f"{what} {named}.", where=file, fix=hints.strip() or _some("Ids are", known), slug="unknown-case"
        )


def _ways_out(suite: Suite, ids: Sequence[str] | None, categories: Sequence[str] | None) -> str:
    if categories is None:
        return "Name at least one case."
    known = list(dict.fromkeys(case.category for case in suite.cases if case.category))
    if not known:
        return "The cases of this suite have no category."
    if ids is not None and set(categories) & set(known):
        return "No case has both that id and that category."
    hints = " ".join(dict.fromkeys(did_you_mean(name, known) for name in categories[:_SHOWN]))
    return hints.strip() or _some("Categories are", known)


def _some(label: str, names: Sequence[str]) -> str:
    shown = [quoted(name) for name in names[:_SHOWN]]
    return f"{label} {', '.join(shown)}{' ...' if len(names) > _SHOWN else ''}."
