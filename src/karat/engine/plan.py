"""What is to be run: each case as often as asked, keyed by content so that a later run can tell what is done."""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from karat.model.keys import Keys
from karat.model.sequential import SequentialTest
from karat.model.suite import Case


class Item(Struct, frozen=True):
    """One run of one case."""

    index: int
    repeat: int
    key: str
    case: Case
    until: SequentialTest | None = None


class Plan:
    """Every case, `repeat` times, in suite order. Items are made as they are asked for, so that a plan is small."""

    def __init__(
        self,
        cases: Sequence[Case],
        target_options: dict[str, object],
        *,
        repeat: int = 1,
        until: SequentialTest | None = None,
        confirm: int = 0,
    ) -> None:
        self.cases = cases
        self.until = until
        self.is_open_ended = until is not None or confirm > 0
        """Whether it depends on the runs of a case how often it is run."""
        self._keys = Keys(target_options)
        self._repeat = repeat
        self._order = array("Q", range(len(cases) * repeat))

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Item]:
        for position in self._order:
            index, repeat = divmod(position, self._repeat)
            case = self.cases[index]
            yield Item(index, repeat, self._keys.of(case), case, self.until)

    def keep(self, is_kept: Callable[[Item], bool]) -> None:
        """Leave out what is not to be run."""
        self._order = array("Q", (position for position, item in zip(self._order, self, strict=True) if is_kept(item)))

    def shuffle(self, seed: int) -> None:
        """The same items in an order that the seed decides."""
        random.Random(seed).shuffle(self._order)
