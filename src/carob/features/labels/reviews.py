"""What people think of a check that was judged: right or wrong, with a note. No verdict depends on it."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from carob.criteria.files import REVIEWS, read_lines
from carob.criteria.identity import canonical
from carob.criteria.records import moment, why_not_a_person
from carob.model.trace import Trace

COLUMNS: Final = ("case", "check", "verdict", "who", "when", "note")
ReviewVerdict = Literal["right", "wrong"]
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


class Review(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A line of reviews.jsonl. `answer`: which answer of the case it is about; without it, any."""

    case: str
    check: str
    verdict: ReviewVerdict
    who: str
    when: str
    note: str = ""
    answer: str = ""

    @property
    def problem(self) -> str:
        if why := why_not_a_person(self.who):
            return why.replace("`by`", "`who`")
        try:
            moment(self.when)
        except ValueError:
            return "`when` is not a time such as 2026-01-31T12:00:00Z."
        return ""


def read_reviews(folder: Path) -> tuple[Review, ...]:
    """The last review of each person of each check of an answer, by time. Raises ConfigError with the wrong line."""
    last: dict[object, Review] = {}
    for line in sorted(read_lines(folder / REVIEWS, Review, []), key=lambda line: moment(line.when)):
        last[line.case, line.check, line.answer, line.who] = line
    return tuple(sorted(last.values(), key=lambda line: moment(line.when)))


def answer_of(trace: Trace) -> str:
    """Which answer this is: the same wherever the same was said and done, also in a run that was judged again."""
    turns = trace.turns or (trace,)
    said = [[turn.input, turn.final_message] for turn in turns]
    calls = [[call.host_name, call.arguments, call.result] for call in trace.tool_calls]
    return hashlib.sha256(canonical([said, calls])).hexdigest()


def reviews_csv(reviews: Sequence[Review]) -> str:
    """All of them as a table; a text that a spreadsheet would take for a formula begins with an apostrophe."""
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(COLUMNS)
    for review in reviews:
        texts = (str(getattr(review, name)) for name in COLUMNS)
        rows.writerow(f"'{text}" if text.startswith(_FORMULA) else text for text in texts)
    return out.getvalue()
