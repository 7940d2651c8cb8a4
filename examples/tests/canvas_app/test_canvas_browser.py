"""The page in a real browser, used as a person would."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from canvas_support import RunningApp, running_app
from playwright.sync_api import Browser, Dialog, Locator, Page, expect, sync_playwright

from canvas_app.brief.overrides import OVERRIDES
from canvas_app.turns import TextPiece
from canvas_app.web.streams import sse

CHROMIUM = next((path for name in ("chromium-headless-shell", "chromium") if (path := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium-headless-shell")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield launched
        launched.close()


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained about: errors of scripts, of the policy, of the network."""
    return []


@pytest.fixture
def page(browser: Browser, app: RunningApp, complaints: list[str]) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    opened = context.new_page()

    def note_dialog(dialog: Dialog) -> None:
        complaints.append(dialog.message)
        dialog.dismiss()

    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("dialog", note_dialog)
    opened.goto(app.url)
    yield opened
    context.close()


def log_of(page: Page) -> Locator:
    return page.get_by_role("log", name="Conversation")


def settled(page: Page) -> None:
    expect(log_of(page)).to_have_attribute("aria-busy", "false")


def say(page: Page, message: str) -> str:
    """Send a message; the text of the answer."""
    page.get_by_role("textbox", name="Message the assistant").fill(message)
    page.keyboard.press("Enter")
    settled(page)
    return page.get_by_role("article", name="Assistant").last.inner_text()


def region(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def test_a_prompt_adds_a_component_that_can_be_seen(page: Page, complaints: list[str]) -> None:
    expect(region(page, "GitHub My Activity")).to_have_count(0)
    answer = say(page, "Add my GitHub activity")
    assert answer.startswith("Added GitHub My Activity to Home.")
    card = region(page, "GitHub My Activity")
    expect(card).to_be_visible()
    expect(card.get_by_role("heading", name="GitHub My Activity")).to_be_visible()
    expect(page.get_by_role("article", name="You")).to_have_text("Add my GitHub activity")
    expect(page.get_by_role("article", name="Assistant")).to_have_count(1)
    page.get_by_role("button", name="Remove GitHub My Activity").click()
    expect(card).to_have_count(0)
    assert complaints == []


def test_the_log_is_busy_from_the_moment_of_sending(page: Page) -> None:
    page.evaluate(
        """() => {
            const log = document.getElementById("log");
            window.seen = [];
            new MutationObserver(() => window.seen.push(log.getAttribute("aria-busy")))
                .observe(log, { attributes: true, attributeFilter: ["aria-busy"] });
        }"""
    )
    page.get_by_role("textbox", name="Message the assistant").fill("hello")
    page.get_by_role("button", name="Send").click()
    settled(page)
    page.wait_for_function("window.seen.length === 2")
    assert page.evaluate("window.seen") == ["true", "false"]


def test_a_picker_asks_for_what_is_missing_and_works_by_keyboard(page: Page, complaints: list[str]) -> None:
    say(page, "Add GitHub pull requests filtered by repo")
    form = page.get_by_role("form", name="Which repository for GitHub Pull Requests?")
    group = form.get_by_role("radiogroup", name="Which repository for GitHub Pull Requests?")
    assert [radio.inner_text() for radio in group.locator("label").all()] == ["atlas-api", "atlas-docs", "atlas-web"]
    group.get_by_role("radio", name="atlas-api").focus()
    page.keyboard.press("ArrowDown")
    expect(group.get_by_role("radio", name="atlas-docs")).to_be_checked()
    form.get_by_role("button", name="Continue").focus()
    page.keyboard.press("Enter")
    expect(region(page, "GitHub Pull Requests: atlas-docs")).to_be_visible()
    expect(form).to_have_count(0)
    expect(page.get_by_role("textbox", name="Message the assistant")).to_be_focused()
    assert complaints == []


def test_a_question_survives_a_reload_and_can_be_dropped(page: Page) -> None:
    say(page, "Create a space")
    page.reload()
    form = page.get_by_role("form", name="What shall the new space be called?")
    expect(form.get_by_role("textbox")).to_be_visible()
    expect(page.get_by_role("article", name="You")).to_have_text("Create a space")
    form.get_by_role("button", name="Never mind").click()
    expect(form).to_have_count(0)


def test_an_answer_that_is_half_given_is_kept(page: Page) -> None:
    say(page, "Add a Slack component")
    chosen = page.get_by_role("radio", name="Slack Unanswered Threads")
    chosen.check(force=True)
    page.get_by_role("switch", name="Vercel").click()
    expect(page.get_by_role("switch", name="Vercel")).not_to_be_checked()
    expect(chosen).to_be_checked()


def test_focus_stays_near_a_control_that_goes(page: Page) -> None:
    say(page, "Always lead with growth")
    say(page, "At most two levers as a rule")
    for left in (1, 0):
        rules = page.get_by_role("button", name="Drop rule")
        rules.first.focus()
        page.keyboard.press("Enter")
        expect(rules).to_have_count(left)
        expect(rules.first if left else page.get_by_role("textbox", name="Message the assistant")).to_be_focused()


def test_the_brief_and_its_four_controls(page: Page, complaints: list[str]) -> None:
    page.get_by_role("link", name="Launch Week").click()
    page.get_by_role("button", name="Morning Brief", exact=True).click()
    brief = region(page, "Morning Brief")
    for heading in ("Today's Mission", "Why It Matters Now", "Top Levers", "Evidence", "Assumptions & Confidence"):
        expect(brief.get_by_role("heading", name=heading)).to_be_visible()
    mission = brief.locator(".mission")
    expect(mission).to_have_text("Get production deploying again.")
    controls = brief.get_by_role("group", name="Override the brief")
    assert controls.get_by_role("button").all_inner_texts() == [override.label for override in OVERRIDES]
    settled(page)
    controls.get_by_role("button", name="Reframe mission").click()
    expect(mission).to_have_text("Stop the failed deployments from reaching customers.")
    settled(page)
    controls.get_by_role("button", name="Lower priority").click()
    expect(mission).to_have_text("Bring the exceptions back to yesterday's level.")
    settled(page)
    controls.get_by_role("button", name="Use different objective").click()
    page.get_by_role("radio", name="Unblock other people").check(force=True)
    page.get_by_role("button", name="Continue").click()
    expect(mission).to_have_text("Answer everyone who waits for you.")
    settled(page)
    controls.get_by_role("button", name="Snooze").click()
    expect(brief).to_contain_text("Snoozed until Friday 13 March, 09:00.")
    settled(page)
    controls.get_by_role("button", name="Wake the brief").click()
    expect(mission).to_be_visible()
    assert complaints == []


def test_a_message_keeps_its_lines(page: Page) -> None:
    answer = say(page, "Give me the Morning Brief")
    assert re.search(r"^1\. Review before you write", answer, re.MULTILINE)
    assert re.search(r"^- GitHub: 12 commits today", answer, re.MULTILINE)
    assert "Snooze" not in answer


def test_an_integration_is_switched_off(page: Page) -> None:
    switch = page.get_by_role("switch", name="Vercel")
    expect(switch).to_be_checked()
    switch.click()
    expect(switch).not_to_be_checked()
    expect(switch).to_be_focused()
    expect(region(page, "Vercel Deployments")).to_contain_text("Vercel is switched off in Home.")
    assert "Vercel is switched off in Home" in say(page, "Add Vercel build health")


def test_switching_spaces_changes_the_address(page: Page) -> None:
    say(page, "Switch to Back Office")
    expect(page).to_have_url(re.compile(r"/spaces/back-office$"))
    expect(page).to_have_title("Back Office – Canvas")
    expect(page.get_by_role("link", name="Back Office")).to_have_attribute("aria-current", "page")
    expect(region(page, "GitHub Issues")).to_be_visible()


def test_hostile_text_stays_text(page: Page, complaints: list[str]) -> None:
    hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    say(page, hostile)
    say(page, f"Rename GitHub Pull Requests to {hostile}")
    page.reload()
    expect(page.get_by_role("heading", name="<img src=x onerror=alert(1)>")).to_be_visible()
    assert page.locator("img").count() == 0
    assert complaints == []


def test_everything_that_can_be_used_has_a_name(page: Page) -> None:
    say(page, "Give me the Morning Brief")
    say(page, "Always lead with growth")
    say(page, "Add GitHub pull requests filtered by repo")
    tree = page.locator("body").aria_snapshot()
    assert len(re.findall(r"- (?:button|switch|radio|link|textbox) \"", tree)) > 20
    assert re.findall(r"- (?:button|switch|radio|link|textbox|region|form|group|log)\b(?! \")[^\n]*", tree) == []


def test_a_lost_connection_is_said_and_the_page_goes_on(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    with running_app(tmp_path) as app:
        page.goto(app.url)
        say(page, "hello")
    page.get_by_role("textbox", name="Message the assistant").fill("hello again")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("The app cannot be reached. Please try again.")
    settled(page)
    expect(log_of(page)).to_have_attribute("data-last-turn", "failed")
    context.close()


def test_a_crash_in_mid_stream_is_said(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(text: str) -> Iterator[str]:
        yield text[:12]
        raise RuntimeError("by design of this test")

    monkeypatch.setattr("canvas_app.brain.rule_based.answer_pieces", crash)
    assert say(page, "Give me the Morning Brief") == "Today's Miss"
    expect(page.get_by_role("alert")).to_contain_text("broke off")


def test_a_stream_that_stops_short_is_said(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "canvas_app.web.streams.as_sse",
        lambda event, *_: [sse("delta", {"text": "half a"})] if isinstance(event, TextPiece) else [],
    )
    assert say(page, "thanks") == "half a"
    expect(page.get_by_role("alert")).to_contain_text("The connection was lost before the answer ended.")


CUT_OFF = """() => [...document.querySelectorAll("#canvas *, #sidebar *, .chat *")]
  .filter((e) => e.checkVisibility() && !e.closest(".row-title, .options"))
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1
    || e.getBoundingClientRect().right > e.closest("main, aside, .chat").getBoundingClientRect().right + 1)
  .map((e) => e.className || e.tagName)"""


LOOKS = [(1440, "light"), (1440, "dark"), (1000, "light"), (768, "light"), (390, "dark"), (360, "light")]


def test_nothing_runs_out_of_the_page(page: Page) -> None:
    say(page, f"Create a space called {'W' * 40}")
    say(page, "Add GitHub pull requests")
    say(page, "Give me the Morning Brief")
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (width, scheme)
        assert width < 760 or page.evaluate("document.documentElement.scrollHeight <= window.innerHeight"), width
        assert page.evaluate(CUT_OFF) == [], (width, scheme)
