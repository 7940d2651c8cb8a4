"""A comparison as a fragment of HTML without scripts, for a page of its own or for the viewer."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from karat.model.comparison import CaseChange, Comparison, Seen
from karat.reports.compare.words import SECTIONS, apart, gate_lines, headline, of_group, of_measure, rates, side
from karat.reports.inert import terminal

LISTED: Final = 200
LINE: Final = 500
STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}"
    "td,th{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0}"
)


def comparison_html(found: Comparison) -> str:
    """Nothing that an agent said becomes markup."""
    return f'<section class="karat-comparison">{"".join(_parts(found))}</section>'


def comparison_page(found: Comparison) -> bytes:
    """The fragment as a page that needs nothing else."""
    head = f'<meta charset="utf-8"><title>Karat: comparison</title><style>{STYLE}</style>'
    body = f"<main><h1>Comparison</h1>{comparison_html(found)}</main>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'.encode()


def _text(value: str) -> str:
    return escape(terminal(value, LINE))


def _parts(found: Comparison) -> Iterator[str]:
    yield f"<p><strong>{_text(headline(found))}</strong></p>"
    if others := apart(found):
        yield f"<p>{_text(others)}</p>"
    gates = "".join(f"<li><strong>{verdict}</strong> {_text(says)}</li>" for verdict, says in gate_lines(found))
    yield f"<h2>Gates</h2><ul>{gates}</ul>" if gates else ""
    notes = "".join(f"<li>{_text(note)}</li>" for note in found.notes)
    yield f"<ul>{notes}</ul>" if notes else ""
    for change, title in SECTIONS:
        cases = [case for case in found.changes if case.change is change]
        if cases:
            yield f"<h2>{escape(title)}: {found.count(change)}</h2>{_table(cases)}"
    lines = [rates(found.overall), *map(of_measure, found.measures)]
    lines += [f"{group.scope}: {of_group(group)}" for group in found.groups[:LISTED]]
    lines += [side("base", found.base), side("new", found.new)]
    yield "<h2>Figures</h2><ul>" + "".join(f"<li>{_text(line)}</li>" for line in lines) + "</ul>"


def _table(cases: list[CaseChange]) -> str:
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("Case", "Before", "Now", "Expectations that flipped"))
    rows = "".join(_row(case) for case in cases[:LISTED])
    more = f"<p>and {len(cases) - LISTED} more</p>" if len(cases) > LISTED else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _row(case: CaseChange) -> str:
    flips = "<br>".join(_text(f"{flip.check} {flip.before}, then {flip.after}: {flip.found}") for flip in case.flips)
    before, now = (
        f"{_text(rate)}{_seen(seen)}" for rate, seen in ((case.base, case.base_seen), (case.new, case.new_seen))
    )
    return f"<tr><td>{_text(case.id)}</td><td>{before}</td><td>{now}</td><td>{flips}</td></tr>"


def _seen(seen: Seen | None) -> str:
    if seen is None:
        return ""
    return f"<br>{_text(seen.answer)}<br>{_text(', '.join(seen.calls) or 'called nothing')}"
