"""The cases that a user asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from karat.errors import NothingSelectedError, UsageError
from karat.model.suite import Suite
from karat.suites.selection import EVERYTHING, Selection, is_meant
from karat.text.wording import did_you_mean, listed, quoted

_SHOWN = 10


def select(suite: Suite, selection: Selection) -> Suite:
    """The suite with only the cases that are meant in every way that is given, in its own order."""
    if selection == EVERYTHING:
        return suite
    if selection.cases is not None:
        refuse_unknown(selection.cases, [case.id for case in suite.cases], suite.file)
    means = selection.matcher()
    cases = tuple([case for case in suite.cases if means(case.id, case.category, case.tags)])
    if not cases:
        raise NothingSelectedError("no case is selected.", where=suite.file, fix=_ways_out(suite, selection))
    return replace(suite, cases=cases)


def select_each(suites: Sequence[Suite], selection: Selection) -> list[Suite]:
    """What is selected of each suite. A case may be of any of them, and suites that have none are left out."""
    if len(suites) == 1:
        return [select(suites[0], selection)]
    asked = selection.cases
    refuse_unknown(asked or (), [c.id for suite in suites for c in suite.cases], ", ".join(s.file for s in suites))
    found: list[Suite] = []
    empty: NothingSelectedError | None = None
    for suite in suites:
        own = asked and [name for name in asked if any(is_meant(case.id, name) for case in suite.cases)]
        try:
            found.append(select(suite, selection._replace(cases=own)))
        except NothingSelectedError as error:
            empty = empty or error
    if not found and empty:
        raise empty
    return found


def refuse_unknown(ids: Iterable[str], known: Sequence[str], where: str) -> None:
    """Raise UsageError for what is no id, and fits none."""
    every = set(known)
    unknown = [
        name for name in dict.fromkeys(ids) if name not in every and not any(is_meant(one, name) for one in known)
    ]
    if unknown:
        named = listed([quoted(name) for name in unknown], "and")
        what = "no case has the id" if len(unknown) == 1 else "no cases have the ids"
        hints = " ".join(dict.fromkeys(did_you_mean(name, known) for name in unknown[:_SHOWN]))
        raise UsageError(
            f"{what} {named}.", where=where, fix=hints.strip() or _some("Ids are", known), slug="unknown-case"
        )


def _ways_out(suite: Suite, selection: Selection) -> str:
    """What else could have been asked for: of the first thing that no case has."""
    if selection.cases is not None and not selection.cases:
        return "Name at least one case."
    kinds = [case.category for case in suite.cases if case.category]
    tags = [tag for case in suite.cases for tag in case.tags]
    for asked, had, label in (
        (selection.categories, kinds, ("Categories are", "category")),
        (selection.tags, tags, ("Tags are", "tag")),
    ):
        if asked is None or set(asked) & set(had):
            continue
        if not had:
            return f"The cases of this suite have no {label[1]}."
        known = list(dict.fromkeys(had))
        hints = " ".join(dict.fromkeys(did_you_mean(name, known) for name in asked[:_SHOWN]))
        return hints.strip() or _some(label[0], known)
    given = [("id", selection.cases), ("category", selection.categories), ("tag", selection.tags)]
    names = [name for name, asked in given if asked is not None] + ["keyword"] * (selection.keyword is not None)
    if len(names) == 1:
        return f"No case has a name with that {names[0]}; see `karat list`."
    both = "both " if len(names) == 2 else ""
    return f"No case has {both}that {' and that '.join(names)}."


def _some(label: str, names: Sequence[str]) -> str:
    shown = [quoted(name) for name in names[:_SHOWN]]
    return f"{label} {', '.join(shown)}{' ...' if len(names) > _SHOWN else ''}."
