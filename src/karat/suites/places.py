"""At which line of its file each case stands."""

from __future__ import annotations

from karat.model.check import Vocabulary
from karat.suites.reading import located


def case_lines(data: bytes, file: str, sha256: str, vocabulary: Vocabulary) -> dict[str, int]:
    """The line of each case by its id; none if this is not the file with that hash. Raises as reading a suite does."""
    read = located(data, file, vocabulary)
    if read.suite.sha256 != sha256:
        return {}
    cases = zip(read.suite.cases, read.expectations, strict=True)
    return {case.id: read.document.place(expectation.case)[0] for case, expectation in cases}
