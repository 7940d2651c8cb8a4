"""What a result file of another tool gives: the answers of its cases in the short form of a trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple


class RecordedCase(NamedTuple):
    """What an agent did in a case, in the short form. `repeat`: the number of the trial.

    With `by_prompt`, `case_id` is the prompt that was sent: the file does not name its cases.
    With `simulated` the user was a program: the case has one prompt, its script, and the turns are those of the two.
    """

    case_id: str
    form: dict[str, Any]
    repeat: int = 0
    simulated: bool = False
    by_prompt: bool = False


class ResultFile:
    """A kind of result file: the values of its lines, or the one value that it is."""

    def recognizes(self, first: object) -> bool:
        """Whether a file is of this kind, by its first value."""
        raise NotImplementedError

    def read(self, values: Sequence[Any]) -> Iterator[RecordedCase]:
        """The cases of a file. Raises ValueError, KeyError or TypeError for what it cannot read."""
        raise NotImplementedError
