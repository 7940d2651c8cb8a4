"""`--report html`: a run in one file that needs no network and no server.

The cases that did not pass are in it as HTML, so that it can be read where no script runs. Of a large run the
others are packed, and unpacked by the reader's browser when they are opened.
"""

from __future__ import annotations

import base64
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar, Final

from carob.journal.index import CaseFilter
from carob.journal.views import RunView as Recorded
from carob.model.run import CaseRecord
from carob.model.verdict import CaseStatus
from carob.reports.base import OutcomeReport
from carob.reports.case_facts import CaseOutcome
from carob.reports.html.calls import MOST_ROOM, TextRoom
from carob.reports.html.case_view import CaseSetting, anchor_of, case_view
from carob.reports.html.pages import as_data, assets, find_own_file, fragment, record_json, report_policy, template
from carob.reports.html.run_view import STATUSES, RunHead, RunTally, row_view
from carob.reports.run_facts import incomplete
from carob.reports.suite_lines import SuiteLines

MOST_PACKED: Final = 11 << 20
CHUNK: Final = 1 << 18
IN_MEMORY: Final = 1 << 22
SMALL: Final = 200
"""In a run of no more cases, all of them are in the file as HTML."""
MOST_PLAIN: Final = 5 << 20
"""Of HTML, not counting long texts, which have their own room."""
MOST_RECORDS: Final = 3 << 20
"""Of raw records, packed."""
LARGE_RECORD: Final = 1 << 20
"""A record that is packed quickly: better packed it would be hardly smaller, as it says much twice."""
MOST_PICTURES: Final = 4 << 20
LARGEST_PICTURE: Final = 1 << 20


class Spool:
    """Bytes that are read once, when all of them are there."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - it is closed when it has been read
        self.size = 0

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self.size += len(data)

    def pieces(self) -> Iterator[bytes]:
        with self._file as file:
            file.seek(0)
            while piece := file.read(CHUNK):
                yield piece


class Packs:
    """Cases that a browser unpacks when they are opened, several of them together."""

    def __init__(self) -> None:
        self._spool = Spool()
        self._chunk = bytearray()
        self._number = 1

    def add(self, html: bytes) -> int:
        """The number of the pack that it went into; 0 if there is no more room."""
        if self._spool.size > MOST_PACKED:
            return 0
        self._chunk += html
        number = self._number
        if len(self._chunk) >= CHUNK:
            self._pack()
        return number

    def _pack(self) -> None:
        packed = base64.b64encode(zlib.compress(bytes(self._chunk), 9))
        self._spool.write(b'<script type="text/plain" id="pack%d">%s</script>\n' % (self._number, packed))
        self._number += 1
        self._chunk.clear()

    def pieces(self) -> Iterator[bytes]:
        if self._chunk:
            self._pack()
        yield from self._spool.pieces()


class InFile:
    """Addresses within the one file."""

    run: ClassVar = "#cases"
    before: ClassVar = ""
    after: ClassVar = ""

    def case(self, index: int, repeat: int) -> str:
        return ""

    def hash(self, anchor: str) -> str:
        return f"#{anchor}"

    def group(self, group: object) -> str:
        return self.run


class HtmlReport(OutcomeReport):
    """Takes records in suite order; the top of the page is known last, so the rest is held back."""

    extension: ClassVar = "html"

    def _begin_run(self, run: Recorded) -> None:
        self._run = run
        self._rows = {status: Spool() for status in STATUSES}
        """By status, so that failures come first."""
        self._cases = Spool()
        self._packs = Packs()
        self._raw = Spool()
        self._pictures = 0
        self._large = run.header.total > SMALL
        shared = (run.header, run.catalog, run.prices)
        self._setting = CaseSetting(*shared, SuiteLines(run.header, run.catalog))
        self._brief = CaseSetting(*shared, None, TextRoom(0))
        """For cases of which no more than the most important is in the file."""
        self._tally = RunTally()

    def _end_file(self) -> None:
        for piece in self._pieces():
            self._out.write(piece)

    def _write_case(self, outcome: CaseOutcome) -> None:
        runs = outcome.records
        status = outcome.status if len(runs) > 1 else runs[0].verdict.status
        strip = [(run.verdict.status.value, run.repeat) for run in runs] if len(runs) > 1 else []
        packs = [self._put_case(record, strip) for record in runs]
        self._tally.add(runs, status)
        row = row_view(outcome.shown, status, strip)
        self._rows[status].write(_bytes(fragment("row")(row, InFile(), " ".join(str(pack) for pack in packs if pack))))

    def _put_case(self, record: CaseRecord, strip: Sequence[tuple[str, int]]) -> int:
        """Put a case where it belongs; the number of its pack, or 0."""
        brief = record.verdict.status is CaseStatus.PASS and self._large
        setting = self._brief if brief else self._setting
        view = case_view(record, setting, partial(self._picture, record), "" if brief else self._put_record(record))
        html = _bytes(fragment("case", "case_parts.html")(view, InFile(), strip))
        if brief or self._cases.size + len(html) > MOST_PLAIN + MOST_ROOM:
            return self._packs.add(html)
        self._cases.write(html)
        return 0

    def _put_record(self, record: CaseRecord) -> str:
        """Put the raw record into the file; its address there, or nothing if there is no more room."""
        text = record_json(record)
        packed = base64.b64encode(zlib.compress(text, 1 if len(text) > LARGE_RECORD else 6))
        if self._raw.size + len(packed) > MOST_RECORDS:
            return ""
        name = f"{anchor_of(record.index, record.repeat)}-record"
        self._raw.write(b'<script type="text/plain" id="%s">%s</script>\n' % (name.encode(), packed))
        return f"#{name}"

    def _picture(self, record: CaseRecord, name: str) -> str | None:
        """A picture as part of the page; of a large run, only those of cases that did not pass."""
        if record.verdict.status is CaseStatus.PASS and self._large:
            return None
        file = find_own_file(self._run.file, name)
        if file is None or not file.is_picture or file.size > min(LARGEST_PICTURE, MOST_PICTURES - self._pictures):
            return None
        self._pictures += file.size
        return as_data(file)

    def _pieces(self) -> Iterator[bytes]:
        run = RunHead(self._run, self._tally.scores, incomplete(self._run), self._run.prices)
        head = template("report.html").render(
            policy=report_policy(),
            style=assets().style,
            run=run,
            title=f"{run.name} · Carob",
            groups=self._tally.groups(),
            catalog=self._run.catalog,
            choices=self._tally.choices(),
            chosen=CaseFilter(),
            to=InFile(),
        )
        yield _bytes(head)
        for rows in self._rows.values():
            yield from rows.pieces()
        yield _bytes(template("report_end.html").render())
        yield from self._cases.pieces()
        yield b"</main>"
        yield from self._packs.pieces()
        yield from self._raw.pieces()
        yield _bytes(template("help.html").render())
        yield _bytes(f"<script>{assets().script}</script>\n</body>\n</html>\n")


def _bytes(text: str) -> bytes:
    return str(text).encode("utf-8", "replace")
