"""`python -m benchmarks.viewing`: the HTML report of 10,000 cases in a browser, and the index of 100,000.

The journal of the larger run is that of the smaller one, its cases told again under other numbers.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from benchmarks.compare import Files
from benchmarks.measure import measured
from benchmarks.ours import carob_rescore
from benchmarks.ours import journal as recorded
from carob.features.browser.environment import find_browser, launch_arguments
from carob.features.viewer.serving import bind_port, build_server
from carob.journal.index import Index
from carob.journal.reader import Journal
from carob.journal.writer import begin, encode
from carob.plugins.project import Project
from carob.reports.artifacts import open_atomic
from carob.reports.html.report import HtmlReport

MOST_MB, MOST_MS, MOST_TIMES, MOST_MEMORY, MOST_FIRST = 25.0, 100.0, 3.0, 1.25, 1.0
IMPORTS = "from pathlib import Path; from carob.journal.index import Index"
WORDS = "pallets unloaded 77"
TYPE = """async (word) => {
  const field = document.querySelector("input[type=search]"), spent = [];
  for (let length = 1; length <= word.length; length++) {
    field.value = word.slice(0, length);
    const began = performance.now();
    field.dispatchEvent(new Event("input", { bubbles: true }));
    document.body.getBoundingClientRect();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    spent.push(performance.now() - began);
  }
  return Math.max(...spent);
}"""


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.viewing", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=10, help="how many times as many cases the index has")
    asked = parser.parse_args(given)
    scratch = Path(tempfile.mkdtemp(prefix="carob-bench-"))
    try:
        for name, found, most in _figures(scratch, asked.cases, asked.times):
            print(f"{name}: {found:.2f} (at most {most:g}){'' if found <= most else ' MISSED'}", flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


def _figures(scratch: Path, cases: int, times: int) -> Iterator[tuple[str, float, float]]:
    command = list(carob_rescore("rescore", recorded).command(Files(scratch, cases), scratch / "rescored"))
    measured(command, scratch / "rescore")
    journal = Journal(next((scratch / "rescored").glob("*.jsonl")))
    page = scratch / "report.html"
    _report(journal, page)
    yield f"HTML of {cases:,} cases, MB", page.stat().st_size / 1e6, MOST_MB
    yield "slowest keystroke, ms", _slowest(page), MOST_MS
    yield from _index_figures(scratch, journal, times)


def _report(journal: Journal, page: Path) -> None:
    with open_atomic(page) as out:
        report = HtmlReport(journal, out)
        for record in journal.records():
            report.case(record)
        report.end()


def _slowest(page: Path) -> float:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        browser = playwright.chromium.launch(executable_path=find_browser("", own), args=launch_arguments())
        opened = browser.new_page()
        opened.goto(page.as_uri(), timeout=120_000)
        slowest = float(opened.evaluate(TYPE, WORDS))
        browser.close()
    return slowest


def _index_figures(scratch: Path, journal: Journal, times: int) -> Iterator[tuple[str, float, float]]:
    large = scratch / "large" / "run.jsonl"
    large.parent.mkdir()
    begin(str(large), structs.replace(journal.header, total=len(journal) * times), _again(journal, times))
    bare = _cpu(lambda: [None for line in large.open("rb") if msgspec.json.decode(line) is None])
    index = Index([large.parent], scratch / "index.sqlite")
    yield f"index of {len(journal) * times:,} cases, times the loop", _cpu(index.refresh) / bare, MOST_TIMES
    index.close()
    small, whole = (_peak(scratch, folder) for folder in (Path(journal.path).parent, large.parent))
    yield f"memory of that index, times that of {len(journal):,} cases", whole / small, MOST_MEMORY
    yield "first page of the viewer over it, seconds", _first_page(scratch, large.parent), MOST_FIRST


def _peak(scratch: Path, folder: Path) -> float:
    """The memory that indexing a folder takes at most, in MB."""
    code = f"{IMPORTS}; Index([Path({str(folder)!r})], Path('index.sqlite')).refresh()"
    return measured([sys.executable, "-c", code], scratch / f"peak-{folder.name}").rss_mb


def _first_page(scratch: Path, folder: Path) -> float:
    """From a viewer that is started over an index that is there to the list of runs."""
    index = Index([folder], scratch / "index.sqlite")
    began = time.perf_counter()
    index.refresh()
    viewer = build_server(index, bind_port(0), Project())
    thread = threading.Thread(target=viewer.run)
    thread.start()
    try:
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(viewer.address, timeout=60) as answer:
            page = answer.read()
        taken = time.perf_counter() - began
    finally:
        viewer.stop()
        thread.join()
    assert b"Pass rate" in page
    return taken


def _again(journal: Journal, times: int) -> Iterator[bytes]:
    count = len(journal)
    for round_ in range(times):
        for record in journal.records():
            case = structs.replace(record.case, id=f"{record.case.id}-{round_}")
            yield encode(structs.replace(record, index=record.index + round_ * count, case=case))


def _cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
