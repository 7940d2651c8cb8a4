"""The page Labels in a real Chromium: one key for each answer, on disk before the next; and who may write."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

import carob
from browsing import LOOKS, axe_faults, browser, is_too_wide, looking, opened
from carob.cli.main import run
from carob.criteria.files import LABELS, OPINIONS, REVIEWS, add_line, read_files
from carob.criteria.records import Opinion
from carob.criteria.settings import JudgeSettings
from carob.features.labels.items import read_items
from carob.features.labels.reviews import read_reviews
from carob.journal.index import Index
from carob.journal.reader import Journal
from features.viewer.runs import serving
from reports.hostile import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
JUDGE = JudgeSettings(command=("judge",))
CONFIG = '[targets.desk]\nuse = "python:agent:ask"\n[judge]\ncommand = ["judge"]\n'
STRANGE = "\n".join(text for text in HOSTILE.values() if len(text) < 300)
AGENT = f"def ask(prompt):\n    return 'Dear customer, ' + prompt + {STRANGE!r}\n"
VERDICTS = {"m": "met", "n": "not met", "t": "cannot tell"}


class LabelledDesk:
    """A project with one run, `cases` cases with two criteria each, served to ana."""

    def __init__(self, folder: Path, cases: int) -> None:
        self.folder = folder
        self.labels = folder / "labels"
        (folder / "carob.toml").write_text(CONFIG)
        (folder / "agent.py").write_text(AGENT)
        meets = ["is polite", {"says": "names a day", "sees": ["answer", "user"]}]
        expected = {"must_not_say": ["idiot"], "meets": meets}
        rows = [{"id": f"c{i}", "prompt": f"Where is parcel {i}?", "expected": expected} for i in range(cases)]
        (folder / "suite.json").write_text(json.dumps({"carob": 1, "cases": rows}))
        carob.run("suite.json", "desk", results_dir=folder / "carob-results")
        [self.journal] = (folder / "carob-results").glob("*.jsonl")
        self.items = read_items([Journal(self.journal)])
        self.key = Index.key_of(self.journal)
        self.address = ""

    def lines(self) -> list[Any]:
        return list(read_files(self.labels).labels)

    def judge_thinks(self, number: int, verdict: Any) -> None:
        """An opinion on one answer of the random queue."""
        pair = list(self.items)[number]
        kept = {"quote": "Dear customer", "why": "it greets", "model_returned": "m", "at": "2026-01-01T00:00:00Z"}
        line = Opinion(
            judge=JUDGE.identity,
            criterion=pair.criterion,
            evidence=pair.evidence,
            verdict=verdict,
            kind="first",
            **kept,
        )
        add_line(self.labels, line)

    def post(self, content: object, **headers: str | None) -> tuple[int, str]:
        """Send something as the page would, but for these headers."""
        place = urlsplit(self.address)
        usual = {"origin": f"http://{place.netloc}", "content-type": "application/json"}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in {**usual, **given}.items() if value is not None}
        path, body = sent.pop("path", "labels"), content if isinstance(content, bytes) else json.dumps(content).encode()
        connection = http.client.HTTPConnection(place.netloc, timeout=60)
        connection.request("POST", "/" + place.path.split("/")[1] + "/" + path, body, sent)
        answer = connection.getresponse()
        found = answer.status, answer.read().decode()
        connection.close()
        return found


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LabelledDesk]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = LabelledDesk(tmp_path, 4)
    with serving(made.journal, "ana") as made.address:
        yield made


def _press(page: Page, key: str) -> None:
    """Press a key that sends something; the page that follows is there when this returns."""
    with page.expect_navigation():
        page.keyboard.press(key)


def test_answers_are_labelled_by_keys_alone(desk: LabelledDesk, browser: Browser) -> None:
    desk.judge_thinks(1, "met")
    desk.judge_thinks(2, "not met")
    with opened(browser, desk.address) as seen:
        page = seen.page
        assert "Keep what you read?" in page.inner_text(".labelling h2")
        _press(page, "y")
        assert page.evaluate("document.activeElement.id") == "criterion"
        first = page.inner_text("#criterion")
        assert first in ("is polite", "names a day")
        assert "judge" not in page.inner_text(".read"), "no opinion before the label"
        page.keyboard.press("w")
        page.keyboard.type("met, not so sure")
        page.keyboard.press("Escape")
        _press(page, "n")
        [line] = desk.lines()
        assert (line.verdict, line.note, line.by, line.blind) == ("not met", "met, not so sure", "ana", True)
        assert "you said not met." in page.inner_text("#said")
        _press(page, "u")
        _press(page, "m")
        assert [line.verdict for line in desk.lines()] == ["not met", "met"]
        assert desk.lines()[1].undoes == desk.lines()[0].at
        _press(page, "m")
        assert "The judge agrees: “Dear customer”" in page.inner_text("#said")
        _press(page, "m")
        assert "The judge differs: not met" in page.inner_text("#said")
        _press(page, "u")
        assert "Nothing to undo" in page.inner_text("#said"), "its opinion was shown"
        _press(page, "s")
        for _ in range(4):
            _press(page, "t")
        assert "Nothing is left for ana" in page.inner_text("#done")
        assert len(desk.lines()) == 8
        page.goto(page.url.replace("random", "").partition("?")[0] + f"?run={desk.key}&queue=doubtful")
        assert "Nothing is left" in page.inner_text("#done")
        assert not seen.said


def test_the_page_can_be_read_by_everyone(desk: LabelledDesk, browser: Browser) -> None:
    (desk.folder / "labels").mkdir()
    with opened(browser, desk.address) as seen:
        _press(seen.page, "h")
        for look in looking(seen.page):
            assert not axe_faults(seen.page, look), look
            assert not is_too_wide(seen.page), look
            if folder := os.environ.get("CAROB_SCREENSHOTS"):
                seen.page.screenshot(path=f"{folder}/labels-{look}.png", full_page=look != "narrow")
        assert seen.page.evaluate("window.owned") is None
        buttons = seen.page.locator(".decide button")
        assert [one.get_attribute("aria-keyshortcuts") for one in buttons.all()] == ["m", "n", "t", "s", "u"]
        seen.page.set_viewport_size(LOOKS["narrow"]["viewport"])
        with seen.page.expect_navigation():
            buttons.first.click()
        assert len(desk.lines()) == 1
        assert not (desk.labels / "evidence").exists()


def test_a_check_is_reviewed_on_the_page_of_its_case(
    desk: LabelledDesk, browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    root = desk.address.split("/labels")[0]
    with opened(browser, f"{root}/run/{desk.key}/case/0/0") as seen:
        page = seen.page
        page.select_option(".review select", label="meets[0]")
        page.fill(".review textarea", "=1+1 <script>window.owned=1</script>")
        with page.expect_navigation():
            page.click("text=It is wrong")
        assert "meets[0] is wrong" in page.inner_text(".reviews")
        for look in looking(page):
            assert not axe_faults(page, look), look
            assert not is_too_wide(page), look
        assert page.evaluate("window.owned") is None
        page.goto(f"{root}/run/{desk.key}/case/1/0")
        assert "None yet." in page.inner_text(".reviews")
    [review] = read_reviews(desk.labels)
    assert (review.case, review.check, review.verdict, review.who) == ("c0", "meets[0]", "wrong", "ana")
    assert run(["rescore", str(desk.journal), "-q"]) == 1, "no verdict depends on it"
    capsys.readouterr()
    assert run(["label", "--reviews"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0] == "case,check,verdict,who,when,note"
    assert rows[1].startswith("c0,meets[0],wrong,ana,")
    assert rows[1].endswith(",'=1+1 <script>window.owned=1</script>")


def test_what_was_seen_on_the_page_of_a_case_is_not_blind(desk: LabelledDesk) -> None:
    desk.judge_thinks(0, "met")
    pair, item = next(iter(desk.items.items()))
    place = urlsplit(desk.address)
    connection = http.client.HTTPConnection(place.netloc, timeout=60)
    number = item.case.removeprefix("c")
    connection.request("GET", f"/{place.path.split('/')[1]}/run/{desk.key}/case/{number}/0")
    assert connection.getresponse().status == 200
    connection.close()
    act = {"run": desk.key, "criterion": pair.criterion, "evidence": pair.evidence, "verdict": "met"}
    assert desk.post({**act, "act": "keep", "verdict": "hashes"})[0] == 200
    assert desk.post({**act, "act": "label"})[0] == 200
    assert [line.blind for line in desk.lines()] == [False]


def _other(place: str) -> str:
    return place.replace("127.0.0.1", "127.0.0.2")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"origin": None}, 403, id="no-origin"),
        pytest.param({"origin": "null"}, 403, id="hidden-origin"),
        pytest.param({"origin": "http://evil.example"}, 403, id="another-origin"),
        pytest.param({"origin": "http://127.0.0.1:1"}, 403, id="another-port"),
        pytest.param({"sec_fetch_site": "cross-site"}, 403, id="cross-site"),
        pytest.param({"sec_fetch_site": "same-site"}, 403, id="same-site"),
        pytest.param({"host": "evil.example"}, 421, id="another-host"),
        pytest.param({"content_type": "text/plain"}, 415, id="as-text"),
        pytest.param({"content_type": "application/x-www-form-urlencoded"}, 415, id="as-a-form"),
        pytest.param({"content_type": None}, 415, id="as-nothing"),
        pytest.param({"path": ""}, 405, id="another-page"),
        pytest.param({"path": "labels/x"}, 405, id="below-it"),
        pytest.param({}, 200, id="the-page-itself"),
    ],
)
def test_others_cannot_write(served: LabelledDesk, headers: dict[str, Any], status: int) -> None:
    content = {"act": "keep", "run": served.key, "verdict": "hashes"}
    assert served.post(content, **headers)[0] == status
    assert not (served.labels / LABELS).exists()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"{", b"7", b'{"act": 7}', b"\xff", b"[" * 50_000, b'"' + b"x" * 70_000 + b'"',
        *({"act": "label", "run": "RUN", **more} for more in (
            {}, {"verdict": "maybe"}, {"verdict": "met", "criterion": "0" * 64}, {"by": "ben"}, {"blind": True},
            {"queue": "own"}, {"note": "x" * 2001}, {"run": "../x"},
        )),
        {"act": "drop", "run": "RUN"},
        {"act": "review", "run": "RUN", "index": 0, "check": 99, "verdict": "right"},
        {"act": "review", "run": "RUN", "index": -1, "check": 0, "verdict": "right"},
        {"act": "review", "run": "RUN", "index": 1 << 70, "check": 0, "verdict": "right"},
        {"act": "review", "run": "RUN", "index": 0, "check": 0, "verdict": "met"},
    ],
)  # fmt: skip
def test_what_the_page_would_not_send_is_refused(served: LabelledDesk, content: Any) -> None:
    served.post({"act": "keep", "run": served.key, "verdict": "hashes"})
    if isinstance(content, dict) and content.get("run") == "RUN":
        content = {**content, "run": served.key}
    status, words = served.post(content)
    assert status in (400, 404, 413)
    assert json.loads(words)["problem"]
    assert not (served.labels / LABELS).exists()
    assert not (served.labels / REVIEWS).exists()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelledDesk]:
    folder = tmp_path_factory.mktemp("desk")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        made = LabelledDesk(folder, 2)
        with serving(made.journal, "ana") as made.address:
            yield made


def test_without_a_person_nothing_can_be_written(desk: LabelledDesk) -> None:
    with serving(desk.journal) as desk.address:
        assert desk.post({"act": "keep", "run": desk.key, "verdict": "hashes"})[0] == 405
    for name in ("judge", "model-x", "a b"):
        assert run(["view", str(desk.journal), "--label", name, "--no-browser", "--port", "0"]) == 4
    assert not (desk.labels / OPINIONS).exists()
