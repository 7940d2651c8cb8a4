"""Which format a row is of: one format fits, or the row is refused by naming its keys and what comes close."""

from __future__ import annotations

from collections.abc import Sequence

from carob.evidence.exports.base import ExportFormat, Table, has_key
from carob.evidence.exports.record import ExportError
from carob.text.wording import join_words, visible

KEYS_SHOWN = 12
KEY_CAP = 40


def recognize(row: Table, formats: Sequence[ExportFormat]) -> ExportFormat | None:
    """The one format of a row; None if none or several fit."""
    fits = [format for format in formats if format.recognizes(row)]
    return fits[0] if len(fits) == 1 else None


def refuse_unknown(row: Table, formats: Sequence[ExportFormat], place: str) -> ExportError:
    """Why a row is of no format, or of several."""
    fits = [format.name for format in formats if format.recognizes(row)]
    shown = [repr(visible(str(key)[:KEY_CAP])) for key in [*row][:KEYS_SHOWN]]
    keys = join_words(shown, "and") if shown else "no keys"
    more = " and others" if len(row) > KEYS_SHOWN else ""
    if fits:
        problem = f"its keys fit several formats of exports, {join_words(fits, 'and')}"
        return ExportError(
            problem, where=place, fix=f"Name the one that it is: --format {fits[0]}", slug="export-format"
        )
    problem = f"not a format of exports that Carob knows; it has {keys}{more}"
    close = _find_close(row, formats)
    hint = (
        f"What comes closest: {close}." if close else "See docs/exports.md for the formats and how they are exported."
    )
    return ExportError(problem, where=place, fix=hint, slug="export-format")


def is_close(row: Table, formats: Sequence[ExportFormat]) -> bool:
    """Whether a row has a key by which a format is known."""
    return bool(_find_close(row, formats))


def _find_close(row: Table, formats: Sequence[ExportFormat]) -> str:
    """The formats with a key that is there, and the keys that are missing."""
    close: dict[str, str] = {}
    for format in formats:
        for sign in format.signs:
            missing = [key for key in sign.keys if not has_key(row, key)]
            if len(missing) < len(sign.keys):
                lack = f"without {join_words(missing, 'and')}" if missing else "with other values"
                close.setdefault(format.name, f"{format.name} ({lack})")
    return join_words([*close.values()], "and") if close else ""
