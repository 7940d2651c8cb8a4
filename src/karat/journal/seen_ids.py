"""The ids of the cases of a journal, to tell one that stands at two places: 16 to 32 bytes for each."""

from array import array
from typing import Final

FIRST: Final = 1 << 10
_LARGEST: Final = (1 << 64) - 1


class SeenIds:
    """Takes the cases of a journal in suite order, those of one place together.

    A set of strings takes ten times as much. Here two ids are the same if their hashes are, all 64 bits of them.
    """

    def __init__(self) -> None:
        self._hashes = array("Q", (0,)) * FIRST
        self._count = 0
        self._last = ("", -1)

    def is_elsewhere(self, case_id: str, index: int) -> bool:
        """Whether a case with this id stood at another place before."""
        if self._last == (case_id, index):
            return False
        self._last = (case_id, index)
        if self._count * 2 >= len(self._hashes):
            self._grow()
        return not self._put(hash(case_id) & _LARGEST or 1)

    def _put(self, one: int) -> bool:
        """Put a hash into the first free place from its own on; False if it is there."""
        hashes, most = self._hashes, len(self._hashes) - 1
        place = one & most
        while found := hashes[place]:
            if found == one:
                return False
            place = (place + 1) & most
        hashes[place] = one
        self._count += 1
        return True

    def _grow(self) -> None:
        before, self._count = self._hashes, 0
        self._hashes = array("Q", (0,)) * (2 * len(before))
        for one in before:
            if one:
                self._put(one)
