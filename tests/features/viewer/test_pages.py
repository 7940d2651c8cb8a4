"""Every page of the viewer in a real Chromium: evidence in one click, filters, keyboard, deep links, a live run.

Pictures of the pages go to the folder CAROB_SCREENSHOTS, if there is one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import cast

import pytest
from msgspec import structs

import carob
from browsing import Seen, axe_faults, is_too_wide, looking, opened
from carob.features.compare import library
from carob.features.compare import report as words
from carob.journal.index import Index
from carob.journal.writer import begin, encode
from features.viewer.runs import OK, SUITE, Site, answer, serving
from reports.hostile import HOSTILE, run_saying

STRANGE = (
    "a:not([href^='./'], [href^='../'], [href^='#'], [id]),"
    "main script, main style, iframe, object, embed, base, main link, main meta"
)


@pytest.fixture(scope="module")
def audited(viewed: Site) -> str:
    """The key of a run of a case of each status with an audit beside it."""
    from carob.cli.main import run

    few = {**SUITE, "cases": cast(list[object], SUITE["cases"])[:4]}
    result = carob.run(few, lambda prompt: answer(prompt, False), results_dir=viewed.folder / "few")
    assert run(["audit", result.journal.path]) in (0, 1)
    return Index.key_of(Path(result.journal.path))


def rows(page_shown: Seen) -> int:
    return page_shown.page.locator("table.cases tbody tr").count()


def pages(site: Site, audited: str) -> dict[str, str]:
    return {
        "runs": "/",
        "run": f"/run/{audited}",
        "case": f"/run/{site.first}/case/0/0",
        "compare": f"/compare?base={site.first}&new={site.second}",
        "audit": f"/run/{audited}/audit",
        "missing": "/run/none",
    }


def test_every_page_is_accessible_and_fits(browser, viewed: Site, audited: str, tmp_path: Path) -> None:
    folder = Path(os.environ.get("CAROB_SCREENSHOTS") or tmp_path)
    with opened(browser, viewed.address) as page_shown:
        for name, path in pages(viewed, audited).items():
            page_shown.page.goto(viewed.root + path)
            for look in looking(page_shown.page):
                picture = page_shown.page.screenshot(path=folder / f"{name}-{look}.png")
                assert len(picture) > 5_000, (name, look)
                assert not is_too_wide(page_shown.page), (name, look)
                assert axe_faults(page_shown.page, look) == [], (name, look)
        page_shown.page.goto(f"{viewed.root}/run/{viewed.first}")
        assert rows(page_shown) == 100
        assert not is_too_wide(page_shown.page)
        assert {url for url in page_shown.requests if not url.startswith(viewed.root)} == set()
        assert [line for line in page_shown.said if "404" not in line] == []


def test_from_the_runs_to_the_evidence(browser, viewed: Site) -> None:
    with opened(browser, viewed.address) as page_shown:
        page = page_shown.page
        page.locator(f'a[href="./run/{viewed.first}"]').click()
        page.wait_for_url("**/run/*")
        assert rows(page_shown) == 100
        page.get_by_role("link", name="must_not_say[0]").first.click()
        page.wait_for_url("**/case/0/0#c0r0-k*")
        assert page.locator("mark.lit").inner_text() == "as an AI"
        assert page.locator(".check.on .name").inner_text() == "must_not_say[0]"
        page.locator(".check", has_text="tool_calls_none[0]").hover()
        assert page.locator(".call.lit .tool").inner_text() == "delete"
        assert "within pay" in page.locator(".call.lit").inner_text()
        page.locator(".said.answer strong").wait_for()
        assert page.locator(".again code").inner_text().endswith("--cases refund")
        page.get_by_role("radio", name="Attachments").check()
        assert page.locator(".shot img").evaluate("async one => (await one.decode(), one.naturalWidth)") == 60
        page.go_back()
        page.wait_for_url("**/run/*")
        assert rows(page_shown) == 100
        page.go_back()
        page.wait_for_url(f"{viewed.root}/")
        assert page.locator("h1").inner_text() == "Runs"
        assert page.context.cookies() == []
        assert page_shown.said == []


def test_filters_keyboard_and_deep_links(browser, viewed: Site) -> None:
    with opened(browser, viewed.address) as page_shown:
        page = page_shown.page
        page.goto(f"{viewed.root}/run/{viewed.first}")
        page.keyboard.press("/")
        page.keyboard.type("many-23")
        match_count = page.locator(".found")
        match_count.filter(has_text="2 of 233 cases").wait_for()
        assert page.url.endswith("?text=many-23")
        page.reload()
        assert rows(page_shown) == 2
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url("**/case/25/0?text=many-23")
        page.keyboard.press("j")
        page.wait_for_url("**/case/232/0?text=many-23")
        page.keyboard.press("u")
        page.wait_for_url("**?text=many-23")
        page.get_by_role("button", name="Clear").click()
        match_count.filter(has_text="233 cases").wait_for()
        for last in (199, 232):
            page.get_by_role("button", name="Show more").click()
            page.locator("tbody tr").nth(last).wait_for()
        for label, value, left in (("Status", "ERROR", 1), ("Category", "money", 1), ("Tag", "smoke", 1)):
            page.get_by_label(label).select_option(value)
            match_count.filter(has_text=f"{left} of 233").wait_for()
            page.get_by_role("button", name="Clear").click()
            match_count.filter(has_text="233 cases").wait_for()
        page.locator("a.group", has_text="must_say_any").click()
        match_count.filter(has_text="1 of 233").wait_for()
        assert "kind=" in page.url
        page.keyboard.press("?")
        assert page.locator("dialog.help").is_visible()
        page.keyboard.press("Escape")
        page.goto(f"{viewed.root}/run/{viewed.first}/case/0/0#c0r0-k1")
        assert page.locator(".check.on").count() == 1
        assert page_shown.said == []


def test_compare_tells_what_carob_compare_tells(browser, viewed: Site) -> None:
    first, second = sorted(viewed.folder.glob("*.jsonl"), key=lambda path: carob.Journal(path).header.started_at)
    headline = words.headline(library.compare_runs(first, second))
    with opened(browser, viewed.address) as page_shown:
        page_shown.page.get_by_role("link", name="compare with the previous run").first.click()
        main = page_shown.page.locator("main").inner_text()
        assert headline in main
        assert "2 were fixed" in headline
        assert "must_not_say[0] held in 0 of 1, then held in 1 of 1" in main
        assert "as an AI" in page_shown.page.locator("details .pair section").first.inner_text()
        assert "delete" in " ".join(page_shown.page.locator(".diffed code del").all_inner_texts())


def test_the_runs_show_commit_cost_and_who_is_flaky(browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three runs of one suite: a case that came back, one that did both in one run, one that just broke."""
    monkeypatch.chdir(tmp_path)
    for arguments in (
        ["init", "-q"],
        ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-mx"],
    ):
        subprocess.run(["git", *arguments], check=True)
    table = {"came back": "pp|ff|pp", "both": "pf|pp|pp", "broke": "pp|pp|ff", "fine": "pp|pp|pp"}
    suite = {"carob": 1, "cases": [{"id": name, "prompt": name, "expected": OK} for name in table]}
    for run in range(3):
        left = {name: list(letters.split("|")[run]) for name, letters in table.items()}

        def agent(prompt: str, left: dict[str, list[str]] = left) -> dict[str, object]:
            said = "ok" if left[prompt].pop(0) == "p" else "no"
            return {"final_message": said, "metadata": {"cost_usd": 0.25}}

        carob.run(suite, agent, repeat=2, results_dir=tmp_path / "runs")
    with serving(tmp_path / "runs") as address, opened(browser, address) as page_shown:
        flaky = page_shown.page.locator(".flaky").inner_text()
        assert "both 5 of 6 passed" in flaky
        assert "came back 4 of 6 passed" in flaky
        assert "broke" not in flaky
        assert "fine" not in flaky
        row = page_shown.page.locator("tr[data-row]").first.inner_text()
        assert "$2.00" in row
        commit = carob.Journal(next((tmp_path / "runs").glob("*.jsonl"))).header.project
        assert commit is not None
        assert commit.commit[:10] in row
        assert page_shown.page.locator(".trend").count() == 1


def test_a_run_that_goes_on_fills_in(browser, viewed: Site) -> None:
    whole = next(path for path in viewed.folder.glob("*.jsonl") if carob.Journal(path).summary.failed == 0)
    lines = whole.read_bytes().splitlines(keepends=True)
    live = viewed.folder / "live.jsonl"
    live.write_bytes(b"".join(lines[:3]))
    try:
        with opened(browser, viewed.address) as page_shown:
            page = page_shown.page
            page.goto(f"{viewed.root}/run/{Index.key_of(live)}")
            assert "Still running: 2 of 233" in page.locator(".live").inner_text()
            assert rows(page_shown) == 2
            with live.open("ab") as file:
                file.write(b"".join(lines[3:10]))
            page.locator("tbody tr").nth(8).wait_for()
            with live.open("ab") as file:
                file.write(b"".join(lines[10:]))
            page.locator("tbody tr").nth(99).wait_for()
            page.locator(".live").wait_for(state="detached")
            assert page.locator("tbody tr").count() == 100
            assert page_shown.said == []
    finally:
        live.unlink()


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.thorough)])
def test_hostile_texts_are_inert_on_every_page(browser, viewed: Site, step: int) -> None:
    """All of them stand in one run, in every place that a text of others has; the cases of some are opened."""
    folder = viewed.folder / "hostile"
    folder.mkdir()
    cases = [
        structs.replace(case_record, index=number * 4 + at)
        for number, text in enumerate(HOSTILE.values())
        for at, case_record in enumerate(run_saying(text.encode(errors="replace").decode()).cases)
    ]
    every = "".join(HOSTILE.values()).encode(errors="replace").decode()
    header = structs.replace(run_saying(every).header, total=len(cases), run_id="h", started_at="2020-01-01T00:00:00")
    try:
        for name in ("one", "two"):
            begin(str(folder / f"{name}.jsonl"), header, (encode(case_record) for case_record in cases))
            case_record, two = (Index.key_of(folder / f"{name}.jsonl") for name in ("one", "two"))
        addresses = ["/", f"/run/{case_record}", f"/compare?base={case_record}&new={two}", f"/run/{case_record}/audit"]
        addresses += [f"/run/{case_record}/case/{number}/0" for number in range(0, len(cases), 4 * step)]
        with opened(browser, viewed.address) as page_shown:
            for address in addresses:
                page_shown.page.goto(viewed.root + address)
                assert page_shown.page.evaluate("window.owned") is None, address
                assert page_shown.page.url == viewed.root + address
                assert page_shown.page.locator(STRANGE).count() == 0, address
            assert {url for url in page_shown.requests if not url.startswith(viewed.root)} == set()
            assert page_shown.said == []
    finally:
        shutil.rmtree(folder)
