"""The assistant's words of one turn: what its messages say and did not say before.

`answer` of the configuration says where they are. Without it, what appears after the prompt is taken for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from carob.features.browser.prompt_echo import FEW, Likeness, PromptMatcher, count_words
from carob.features.browser.screen import answer_boxes, with_sight
from carob.model.trace import ElementBox
from carob.text.wording import quoted, shorten

if TYPE_CHECKING:
    from playwright.async_api import Locator

    from carob.features.browser.navigation import View

LOADING = ("Execution context was destroyed", "because of a navigation", "navigating and changing the content")
READ = with_sight("read.js")
GONE_MS = 2000
"""So long a message that was just read is looked for: a list may show it no more."""
ALL_REPEATED = "all that appeared repeats it"
UNSEPARATED = "the answer could not be separated from the prompt: {why}; set `answer` to the assistant's messages alone"
EITHER = "{} may be either"
DISCOVERED = "no `answer` is configured: took what appeared after the prompt, in {where}"

CAUGHT = "caught when the app left the page"
LEFT = "the app left the page before its answer could be read"
SAME = "the answer is the same text as before, so it is unknown whether the assistant said it again"


class SeenMessage(TypedDict):
    """A message as `read.js` reports it: what it says now, and said before."""

    text: str
    was: str | None
    rewritten: bool


class SeenPlace(SeenMessage):
    """One that is on the page: which of them it is, and what of it is hidden."""

    index: int
    hidden: str


class SeenLine(TypedDict):
    """A line that is in no message, and the element that holds it."""

    text: str
    path: str


class SeenPage(TypedDict):
    """All that `read.js` reports; `left` are the messages of a page that the app has left."""

    places: list[SeenPlace]
    outside: list[SeenLine]
    moved: bool
    left: list[SeenMessage]


class AnswerWords(NamedTuple):
    """What was said, why it is uncertain, and how it was found if not simply at its place."""

    text: str
    doubt: str = ""
    found: str = ""
    unseen: str = ""
    """Why there may be words that were not seen."""
    hidden: str = ""
    """What is at the place of the answer, but hidden."""
    elsewhere: tuple[str, ...] = ()
    """Where words appeared while nothing was at the place of the answer."""


class NewWords(NamedTuple):
    """What a message says that it did not say before; nothing, if it was there already."""

    text: str
    is_known: bool = False
    """Whether it was said in an earlier turn, as far as anybody can tell."""


class AnswerTracker:
    """What is said on one page; `messages` are those of the assistant, if it is configured where they are."""

    def __init__(self, page: View, messages: Locator | None) -> None:
        self._page = page
        self._messages = messages
        self._before: Counter[str] = Counter()
        self._known: Counter[str] = Counter()
        """The messages of earlier turns, each as often as it was there at most."""
        self._outside: Counter[str] = Counter()
        self._matched = False
        self._fresh: list[int] = []
        """Which of the messages are new."""

    async def mark(self) -> None:
        """Remember what is there, so that what comes can be distinguished from it."""
        page = await self._read(mark=True)
        self._matched = self._matched or bool(page["places"])
        self._outside = _count_lines(part["text"] for part in page["outside"])
        self._before = _count_lines(part["text"] for part in page["places"])
        self._known |= Counter(part["text"] for part in page["places"])

    async def since(self, prompts: Sequence[PromptMatcher]) -> AnswerWords:
        """What has been said since; `prompts` are all that were sent, and the last is the one that is answered."""
        if not prompts:
            return AnswerWords("")
        page = await self._read(mark=False)
        discovered = _discover(page["outside"], self._outside, prompts)
        if self._messages is None:
            return discovered._replace(unseen=LEFT if page["moved"] and not discovered.text else "")
        self._matched = self._matched or bool(page["places"])
        self._fresh = [message["index"] for message in page["places"] if message["was"] is None]
        text, fresh = self._read_configured(page["places"], prompts)
        if text or not page["moved"]:
            doubt = _doubt(text, fresh, page["outside"], prompts[-1])
            hidden = "\n".join(
                message["hidden"] for message in page["places"] if message["was"] is None and message["hidden"]
            )
            is_same = not text and any(message["rewritten"] and message["text"] for message in page["places"])
            elsewhere = () if self._matched else discovered.elsewhere
            return AnswerWords(text, doubt, unseen=SAME * is_same, hidden=hidden, elsewhere=elsewhere)
        caught, _ = self._read_configured(page["left"], prompts)
        return AnswerWords(caught, found=CAUGHT * bool(caught), unseen="" if caught else LEFT)

    def _read_configured(
        self, places: Sequence[SeenMessage], prompts: Sequence[PromptMatcher]
    ) -> tuple[str, list[str]]:
        """What new messages say and old ones were given, else how old ones changed; and all that is new in them."""
        removed = self._before - _count_lines(message["text"] for message in places if message["was"] is not None)
        there = Counter(message["text"] for message in places)
        added, changed, fresh, echo = [], [], [], prompts[-1]
        for message in places:
            text, was = message["text"], message["was"]
            if was is None:
                new = _without(removed, text)
                is_known = there[text] <= self._known[text]
                added.append(NewWords(_without_own_prompt(new, echo), is_known))
            elif message["rewritten"] and _is_panel(text, was, prompts):
                new = text
                changed.append(new)
            elif text.startswith(was):
                new = _added_text(was, text)
                added.append(NewWords(_without_prompt(new, echo)))
            else:
                new = _without(Counter(lines(was)), text)
                changed.append(_without_prompt(new, echo))
            fresh.append(new)
        answer = "\n".join(_without_history(added)) or "\n".join(filter(None, changed))
        return answer, list(filter(None, fresh))

    async def snapshot(self) -> str | None:
        """The new messages as assistive technology sees them; None if their place is unknown, or they are gone."""
        from playwright.async_api import TimeoutError as TooLongError

        if self._messages is None:
            return None
        locators = [self._messages.nth(index) for index in self._fresh]
        try:
            return "\n".join([await locator.aria_snapshot(timeout=GONE_MS) for locator in locators])
        except TooLongError:
            return None

    async def boxes(self, answer: str) -> list[ElementBox]:
        """Where the lines of what was said stand on a picture of the page."""
        return await answer_boxes(self._page, self._messages, self._fresh, answer)

    async def _read(self, *, mark: bool) -> SeenPage:
        from playwright.async_api import Error

        try:
            return await self._once(mark)
        except Error as error:
            if not any(sign in error.message for sign in LOADING):
                raise
        await self._page.wait_for_load_state("domcontentloaded")
        return await self._once(mark)

    async def _once(self, mark: bool) -> SeenPage:
        if self._messages is None:
            page: SeenPage = await self._page.evaluate(f"(mark) => ({READ})([], mark)", mark)
        else:
            page = await self._messages.evaluate_all(READ, mark)
        return page


def _added_text(was: str, text: str) -> str:
    """What was added to a text. A line that goes on is said as a whole: it may be another that begins alike."""
    more = text[len(was) :]
    return more.strip() if not was or not more or more.startswith("\n") else text[was.rfind("\n") + 1 :]


def _is_panel(text: str, was: str, prompts: Sequence[PromptMatcher]) -> bool:
    """Whether a place shows one answer after the other: it changed, and holds nothing that was asked."""
    now, before = [*lines(text)], [*lines(was)]
    repeats_prompt = (Likeness.WHOLE in echo.likenesses(texts) for echo in prompts for texts in (now, before))
    return now != before and not any(repeats_prompt)


def _without_history(messages: Sequence[NewWords]) -> Iterator[str]:
    """What new messages say, less those of earlier turns that a list shows again beyond others that were there."""
    runs: list[list[NewWords]] = [[]]
    for message in messages:
        if message.text:
            runs[-1].append(message)
        else:
            runs.append([])
    fresh = [run for run in runs if not all(message.is_known for message in run)] or runs
    yield from (message.text for run in fresh for message in run)


def _doubt(answer: str, fresh: Sequence[str], outside: Sequence[SeenLine], echo: PromptMatcher) -> str:
    """Why messages may hold the prompt: nothing else is new in them, or one names it and it is seen nowhere else."""
    if not answer:
        return ALL_REPEATED if fresh else ""
    texts = [line for text in fresh for line in lines(text)]
    alike = echo.likenesses(texts)
    odd = next((text for text, likeness in zip(texts, alike, strict=True) if likeness is Likeness.NAMED), None)
    if odd is None or Likeness.WHOLE in alike:
        return ""
    repeated = Likeness.WHOLE in echo.likenesses([line for part in outside for line in lines(part["text"])])
    return "" if repeated else EITHER.format(quoted(odd))


def _discover(parts: Sequence[SeenLine], before: Counter[str], prompts: Sequence[PromptMatcher]) -> AnswerWords:
    """All that is new after the first line that repeats the prompt, less what repeats it or an earlier one."""
    old = before.copy()
    fresh = [(line, part["path"]) for part in parts for line in lines(part["text"]) if not _take_line(line, old)]
    texts = [line for line, _ in fresh]
    *earlier, echo = prompts
    alike = echo.likenesses(texts)
    has_prompt = Likeness.WHOLE in alike
    begin = alike.index(Likeness.WHOLE) if has_prompt else 0
    repeated = [alike, *(prompt.likenesses(texts) for prompt in earlier if prompt.distinct)]
    words = [n for n in range(begin, len(texts)) if all(each[n] is not Likeness.WHOLE for each in repeated)]
    unsure = {Likeness.NAMED, Likeness.QUOTED, Likeness.START} | (set() if has_prompt else {Likeness.PART})
    odd = next((texts[n] for n in words if alike[n] in unsure or any(e.is_whole(texts[n]) for e in earlier)), None)
    where = tuple(dict.fromkeys(fresh[n][1] for n in words))
    doubt = EITHER.format(quoted(odd)) if odd else ALL_REPEATED if not words and alike.count(Likeness.WHOLE) > 1 else ""
    how_found = DISCOVERED.format(where=shorten(", ".join(where)))
    return AnswerWords("\n".join(texts[n] for n in words), doubt, how_found, elsewhere=where)


def _without_own_prompt(text: str, echo: PromptMatcher) -> str:
    """A new message without the prompt, unless that is after more than a few other words: then it is quoted."""
    texts = [*lines(text)]
    alike = echo.likenesses(texts)
    first = alike.index(Likeness.WHOLE) if Likeness.WHOLE in alike else 0
    return text if count_words(" ".join(texts[:first])) > FEW else _without_prompt(text, echo)


def _without_prompt(text: str, echo: PromptMatcher) -> str:
    texts = [*lines(text)]
    alike = echo.likenesses(texts)
    if Likeness.WHOLE not in alike:
        return text
    return "\n".join(line for line, likeness in zip(texts, alike, strict=True) if likeness is not Likeness.WHOLE)


def _without(old: Counter[str], text: str) -> str:
    """A text without the lines that were on the page before; they are taken from `old`."""
    if old.keys().isdisjoint(texts := [*lines(text)]):
        return text
    return "\n".join(line for line in texts if not _take_line(line, old))


def _take_line(line: str, old: Counter[str]) -> bool:
    """Whether one of these lines is left; then it is one less."""
    is_left = old[line] > 0
    old[line] -= is_left
    return is_left


def _count_lines(texts: Iterable[str]) -> Counter[str]:
    return Counter(line for text in texts for line in lines(text))


def lines(text: str) -> Iterator[str]:
    """The lines of a text that are not blank."""
    return (line.strip() for line in text.split("\n") if line.strip())
