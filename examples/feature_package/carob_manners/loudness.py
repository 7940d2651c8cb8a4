"""Which answers of a run are loud: the command, the page and `carob.loud_answers` show the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from carob import Journal


class LoudAnswer(NamedTuple):
    """An answer with more exclamation marks than allowed."""

    case: str
    marks: int
    answer: str


def loud_answers(journal: str | Path, most: int = 1) -> list[LoudAnswer]:
    """The loud answers of a recorded run, the loudest first."""
    return sorted(_loud(Journal(journal), most), key=lambda loud: -loud.marks)


def _loud(journal: Journal, most: int) -> Iterator[LoudAnswer]:
    for record in journal.records():
        answer = record.trace.final_message
        if answer.count("!") > most:
            yield LoudAnswer(record.case.id, answer.count("!"), answer)
