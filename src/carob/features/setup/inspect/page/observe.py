"""One turn on a page that has no target yet: find its chat box, send a prompt, and watch what comes of it."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict
from urllib.parse import urlsplit
from uuid import uuid4

from carob.evidence.logs.jsonl_tail import RESTLESS, SETTLE
from carob.features.browser.answer_text import LOADING
from carob.features.browser.environment import BrowserEnvironment, open_context
from carob.features.browser.navigation import ChatNavigation, locate
from carob.features.browser.options import SESSION, BrowserOptions, Place, script
from carob.features.browser.page import come_to_rest
from carob.targets.base import TargetError
from carob.targets.config import TargetConfig

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Frame, Page, Response

    from carob.features.browser.navigation import View


_HERE = files(__package__)


def with_names(file: str) -> str:
    """A function of JavaScript that knows how elements are named."""
    names, function = (_HERE.joinpath(name).read_text(encoding="utf-8") for name in ("names.js", file))
    return f"(given) => {{\n{names}\nreturn (\n{function}\n)(given);\n}}"


BOXES = with_names("boxes.js")
NAMES = with_names("frame.js")
MARK = "data-carob-look"
_HEAD = re.compile(r"""-\s+['"]?(?P<role>[a-z]+)(?:\s+"(?P<name>(?:[^"\\]|\\.)*)")?""")


class PageControl(TypedDict):
    """A box or a button: what it says of itself, and the selectors that find it first."""

    tag: str
    words: str
    names: list[str]


class PageControls(TypedDict):
    """The boxes on a page that prompts may go into, and the buttons near the likeliest."""

    boxes: list[PageControl]
    buttons: list[PageControl]


async def controls(page: View) -> PageControls:
    """What of the page takes prompts and sends them, the likeliest first."""
    seen: PageControls = await page.evaluate(BOXES, None)
    return seen


async def element(page: View, kind: str, index: int = 0) -> ElementHandle:
    """One of the controls that were found."""
    handle = await page.evaluate_handle(f"(index) => window.carob{kind}[index]", index)
    found = handle.as_element()
    assert found is not None, "it was found a moment ago"
    return found


async def places(page: View, found: ElementHandle, names: list[str], tag: str) -> list[Place]:
    """Places that find this element first, the plainest for a reader of carob.toml before others."""
    role, name = await _role_and_name(page, found)
    offered = [Place(role=role, name=name)] if role and name else []
    offered += [Place(selector=each) for each in sorted(names, key=lambda each: each.startswith("[placeholder"))]
    offered += [*([Place(role=role)] if role else []), Place(selector=tag)]
    return [place for place in offered if await finds(page, place, found)]


async def finds(page: View, place: Place, found: ElementHandle) -> bool:
    """Whether the first match of a place is this element."""
    matches = locate(page, place)
    return bool(await matches.count()) and bool(
        await matches.first.evaluate("(one, other) => one === other", await found.evaluate_handle("(e) => e"))
    )


async def frame_name(page: View, frame: Frame) -> str:
    """A selector that finds this frame first."""
    held = await frame.frame_element()
    names: list[str] = await held.evaluate(NAMES)
    offered = [Place(selector=each) for each in (*names, *(f"iframe{each}" for each in names), "iframe")]
    for place in offered:
        if await finds(page, place, held):
            return place.selector
    return "iframe"


async def _role_and_name(page: View, found: ElementHandle) -> tuple[str, str]:
    """How assistive technology calls it."""
    await found.evaluate("(element, mark) => element.setAttribute(mark, '')", MARK)
    try:
        snapshot = await page.locator(f"[{MARK}]").first.aria_snapshot()
    finally:
        await found.evaluate("(element, mark) => element.removeAttribute(mark)", MARK)
    head = _HEAD.match(snapshot.strip())
    return (head["role"], (head["name"] or "").replace('\\"', '"')) if head else ("", "")


OBSERVE = with_names("observe.js")
ANSWERS = with_names("answers.js")
POLL = 0.1
QUIET, PATIENT = 3.0, 20.0
"""So long nothing may have changed before the answer is taken for complete; the second where something is at work."""
FEW_LETTERS = 12
SENT_WITHIN = 2.0
COMES_UP = 10.0
"""How long a page may take to show its chat box."""
SAY_DISMISS = """Name the button that closes it with -o 'dismiss=[{"role": "button", "name": "Accept"}]'"""
VALUE = "(element) => element.value ?? element.innerText"


class Spot(TypedDict):
    """Where messages of the assistant may be."""

    selector: str
    score: float
    words: str


class WorkSign(TypedDict):
    """What showed only while the assistant worked, in milliseconds since the prompt; `gap` is its longest break."""

    kind: Literal["busy", "spinner", "gone"]
    value: str
    named: bool
    """Whether its name speaks of work."""
    first: float
    last: float
    gap: float


@dataclass(slots=True)
class PageObservation:
    """What was seen of one turn. `places` are those of the assistant's messages, `signs` what showed it at work."""

    frame: str = ""
    """The frame that holds the chat, if it is not the page itself."""
    boxes: list[PageControl] = field(default_factory=list)
    chat_box: Place = BrowserOptions().chat_box
    send: Place | None = None
    """The button that sends; None: the Enter key does."""
    words: str = ""
    spoke: float = 0.0
    places: list[Spot] = field(default_factory=list)
    signs: list[WorkSign] = field(default_factory=list)
    pause: float = 0.0
    moved: bool = False
    """Whether the app left the page for its answer: then it could not be watched."""
    alert: bool = False
    page: str = ""
    page_before: str = ""
    requests: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    session: str = ""
    took: float = 0.0
    """Seconds from the prompt to the end of the look."""


async def observe_page(config: TargetConfig, options: BrowserOptions, prompt: str) -> PageObservation:
    """Go to the chat, send the prompt and see what comes of it. Raises ConfigError or TargetError."""
    stage = BrowserEnvironment(config, options)
    observation = PageObservation(session=options.session or f"carob-{uuid4().hex}")
    try:
        await stage.open()
        base = stage.base.replace(SESSION, observation.session)
        early = script(options.init_script, config.root)
        async with open_context(await stage.ready(), options, base, observation.session, early) as opened:
            page = await opened.new_page()
            navigation = ChatNavigation(page, options, base, observation.session)
            await navigation.arrive()
            await come_to_rest(page)
            await navigation.clear()
            view = await navigation.view() if options.frame else await _with_a_box(page, options, observation)
            await _turn(view, options, prompt, observation, stage.log)
    finally:
        await stage.close()
    return observation


async def _with_a_box(page: Page, options: BrowserOptions, observation: PageObservation) -> View:
    """The page, or the first frame in it that prompts can be written into where the page itself has no box for them."""
    loop = asyncio.get_running_loop()
    end = loop.time() + min(COMES_UP, options.wait_ms / 1000)
    while True:
        if options.chat_box != BrowserOptions().chat_box or (await controls(page))["boxes"]:
            return page
        for frame in page.main_frame.child_frames:
            if (await controls(frame))["boxes"]:
                observation.frame = await frame_name(page, frame)
                return frame
        if loop.time() > end:
            return page
        await asyncio.sleep(POLL)


async def _turn(
    page: View, options: BrowserOptions, prompt: str, observation: PageObservation, log: Path | None
) -> None:
    from playwright.async_api import Frame

    box, offered = await _box(page, options, observation)
    log_size = log.stat().st_size if log is not None and log.exists() else 0
    observation.page_before = await page.locator("body").aria_snapshot()
    observation.alert = bool(await page.locator("[role=alert]").count())
    window_page = page.page if isinstance(page, Frame) else page
    window_page.on("response", lambda response: _note(response, observation))
    await page.evaluate(OBSERVE, None)
    began = asyncio.get_running_loop().time()
    await _send(page, box, prompt, observation)
    await _await_answer(page, box, prompt, observation, options.wait_ms / 1000)
    observation.took = asyncio.get_running_loop().time() - began
    observation.page = await page.locator("body").aria_snapshot()
    for candidate in offered if not observation.moved else ():
        if await finds(page, candidate, box):  # a name that went with the first turn finds nothing in the second
            observation.chat_box = candidate
            break
    if log is not None and log.exists():
        observation.log = (await _read_settled(log))[log_size:].decode("utf-8", "replace").splitlines()


async def _read_settled(log: Path) -> bytes:
    """The log once it has come to rest: the last line of a turn may be written after its answer."""
    loop = asyncio.get_running_loop()
    end = loop.time() + RESTLESS * SETTLE
    size, since = -1, loop.time()
    while loop.time() < end and loop.time() - since < SETTLE:
        if log.stat().st_size != size:
            size, since = log.stat().st_size, loop.time()
        await asyncio.sleep(POLL)
    return log.read_bytes()


async def _box(page: View, options: BrowserOptions, observation: PageObservation) -> tuple[ElementHandle, list[Place]]:
    """The chat box, and the places that find it; one that is configured stays."""
    controls_found = await controls(page)
    if options.chat_box != BrowserOptions().chat_box:
        observation.chat_box = options.chat_box
        box = await locate(page, options.chat_box).first.element_handle()
        return box, [options.chat_box]
    if not controls_found["boxes"]:
        raise TargetError(
            "config",
            f"found no text box for a prompt at {page.url}. "
            "If the chat comes after a login or a click, describe the steps with -o 'steps=[...]'",
        )
    observation.boxes = controls_found["boxes"]
    box = await element(page, "Boxes")
    return box, await places(page, box, controls_found["boxes"][0]["names"], controls_found["boxes"][0]["tag"])


async def _send(page: View, box: ElementHandle, prompt: str, observation: PageObservation) -> None:
    """Write the prompt and press Enter; where that does not send it, click the button next to the box."""
    await box.fill(prompt)
    await box.press("Enter")
    if await _has_left(page, box, prompt):
        return
    await box.fill(prompt)
    buttons = (await controls(page))["buttons"]
    for index, control in enumerate(buttons):
        button = await element(page, "Buttons", index)
        offered = await places(page, button, control["names"], control["tag"])
        if offered and await button.is_enabled():
            await _click(button, offered[0])
            if await _has_left(page, box, prompt):
                observation.send = offered[0]
                return
    message = "the prompt stayed in its box: neither Enter nor a button next to it sent it; set `send`"
    raise TargetError("config", message)


async def _click(button: ElementHandle, location: Place) -> None:
    """Click what may send the prompt. Raises TargetError if something lies over it."""
    from playwright.async_api import TimeoutError as TooLongError

    try:
        await button.click(timeout=1000 * COMES_UP)
    except TooLongError as error:
        covered = ": something on the page covers it" * ("intercepts pointer events" in error.message)
        raise TargetError("config", f"{location} could not be clicked{covered}. {SAY_DISMISS}") from error


async def _has_left(page: View, box: ElementHandle, prompt: str) -> bool:
    """Whether the prompt has left its box."""
    from playwright.async_api import Error

    loop = asyncio.get_running_loop()
    end = loop.time() + SENT_WITHIN
    while loop.time() < end:
        try:
            if prompt not in await box.evaluate(VALUE) or not await box.evaluate("(element) => element.isConnected"):
                return True
        except Error:  # a new page is being loaded
            return True
        await asyncio.sleep(POLL)
    return False


async def _await_answer(
    page: View, box: ElementHandle, prompt: str, observation: PageObservation, seconds: float
) -> None:
    """Watch until there is text and nothing changes any more."""
    from playwright.async_api import Error

    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        await asyncio.sleep(POLL)
        try:
            state = await page.evaluate("() => window.carobLook ? window.carobLook.state() : null")
            if state is None:
                observation.moved = True
                await come_to_rest(page)
                return
            enough = PATIENT if state["working"] or 0 < len(observation.words) < FEW_LETTERS else QUIET
            if not state["changes"] or state["quiet"] < min(enough, QUIET):
                continue
            answer = await page.evaluate(ANSWERS, [prompt, box])
            observation.words, observation.spoke = answer["words"], answer["spoke"]
            observation.places = answer["places"]
            if observation.words and state["quiet"] >= (PATIENT if len(observation.words) < FEW_LETTERS else enough):
                watched = await page.evaluate("() => window.carobLook.stop()")
                observation.signs, observation.pause = watched["signs"], watched["pause"]
                return
        except Error as error:
            if not any(sign in error.message for sign in LOADING):
                raise
    raise TargetError("timeout", f"no text appeared within {seconds:g} s after the prompt")


def _note(response: Response, observation: PageObservation) -> None:
    request = response.request
    if request.resource_type in ("fetch", "xhr", "document", "eventsource"):
        kind = response.headers.get("content-type", "").partition(";")[0]
        line = f"{request.method} {urlsplit(request.url).path}: {response.status} {kind}".rstrip()
        if line not in observation.requests:
            observation.requests.append(line)
