"""The assistant's words of one turn: the text that a page shows and did not show before, less the prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from karat.targets.browser.echo import FEW, Echo, Kind, count_words

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

LOADING = ("Execution context was destroyed", "because of a navigation", "navigating and changing the content")
LONGEST = 80
ECHOES = frozenset({Kind.ECHO, Kind.REST, Kind.OPENING})
ALL_REPEATED = "all that appeared repeats it"
UNTOLD = "the answer could not be told from the prompt: {why}; set `answer` to the assistant's messages alone"

# The runs of text of each block, as a person sees them. A block is known again by its element, a run by its number.
READ = r"""(elements, mark) => {
const ignored = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "TEXTAREA", "SELECT", "IFRAME", "OBJECT"]);
const seen = (element, style) => style.opacity !== "0"
  && (style.display === "contents" || element.checkVisibility());
const shown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
  || (getComputedStyle(element).display === "contents" && [...element.children].some(shown));
const visible = elements.filter(shown);
const outermost = visible.filter((one) => !visible.some((other) => other !== one && other.contains(one)));
const marks = (window.karatMarks ||= { runs: new WeakMap(), places: new WeakSet() });
const placeOf = new Map(outermost.map((element, index) => [element, index]));
const places = outermost.map((element) => ({ text: element.innerText, old: marks.places.has(element) }));
const parts = [];
const runsOf = new Map();
let run = null;
const end = () => {
  if (run === null) return;
  const text = run.text.replace(/ *\n */g, "\n").trim();
  if (text) {
    const runs = runsOf.get(run.block) || runsOf.set(run.block, []).get(run.block);
    const was = (marks.runs.get(run.block) || [])[runs.length];
    parts.push({ text, was: was === undefined ? null : was, place: run.place, joint: run.joint });
    runs.push(text);
  }
  run = null;
};
const put = (text, block, place) => {
  const cell = getComputedStyle(block).display === "table-cell" && block.previousElementSibling;
  run ||= { text: "", block, place, joint: cell ? "\t" : "\n" };
  run.text += text;
};
const walk = (nodes, block, place) => {
  for (const node of nodes) {
    if (node.nodeType === Node.TEXT_NODE) {
      const style = getComputedStyle(node.parentElement || block);
      if (style.visibility !== "visible") continue;
      const kept = style.whiteSpaceCollapse !== "collapse";
      put(kept ? node.data : node.data.replace(/[ \t\r\n\f]+/g, " "), block, place);
    } else if (node.nodeType === Node.ELEMENT_NODE && !ignored.has(node.tagName)) {
      if (node.tagName === "BR") { put("\n", block, place); continue; }
      const style = getComputedStyle(node);
      if (style.display === "none" || !seen(node, style)) continue;
      const inside = placeOf.has(node) ? placeOf.get(node) : place;
      const own = node.tagName === "BUTTON" || inside !== place || !/^(inline|contents|ruby)/.test(style.display);
      const content = node.shadowRoot ? node.shadowRoot.childNodes
        : node.tagName === "SLOT" && node.assignedNodes().length ? node.assignedNodes() : node.childNodes;
      if (own) end();
      walk(content, own ? node : block, inside);
      if (own) end();
    }
  }
};
walk(document.body.childNodes, document.body, -1);
end();
if (mark) {
  window.karatMarks = { runs: new WeakMap(runsOf), places: new WeakSet(elements) };
}
return { parts, places };
}"""


class Line(NamedTuple):
    """A line of new text: the message it stands in (-1: none), and whether it took the place of another text."""

    text: str
    place: int
    joint: str
    changed: bool


class Said(NamedTuple):
    """What was said, and why nobody can be sure of it."""

    text: str
    doubt: str = ""


class Words:
    """What is said on one page; `messages` are those of the assistant, if anybody told where they stand."""

    def __init__(self, page: Page, messages: Locator | None) -> None:
        self._page = page
        self._messages = messages
        self._before: Counter[str] = Counter()

    async def mark(self) -> None:
        """Remember what is there, so that what comes can be told from it."""
        seen = await self._read(mark=True)
        self._before = Counter(line for part in seen["parts"] for line in _lines(part["text"]))

    async def since(self, prompts: Sequence[Echo]) -> Said:
        """What has been said since; `prompts` are all that were sent, and the last is the one that is answered."""
        if not prompts:
            return Said("")
        seen = await self._read(mark=False)
        fresh, kept = self._fresh(seen["parts"], prompts[-1])
        if self._messages is None:
            return _after_the_prompt(fresh, prompts)
        return _in_messages(fresh, kept, seen["places"], prompts)

    async def _read(self, *, mark: bool) -> dict[str, Any]:
        from playwright.async_api import Error

        try:
            return await self._once(mark)
        except Error as error:
            if not any(sign in error.message for sign in LOADING):
                raise
        await self._page.wait_for_load_state("domcontentloaded")
        return await self._once(mark)

    async def _once(self, mark: bool) -> dict[str, Any]:
        if self._messages is None:
            seen: dict[str, Any] = await self._page.evaluate(f"(mark) => ({READ})([], mark)", mark)
        else:
            seen = await self._messages.evaluate_all(READ, mark)
        return seen

    def _fresh(self, parts: Sequence[dict[str, Any]], echo: Echo) -> tuple[list[Line], set[int]]:
        """The lines that are new, and the messages that hold old ones. Text that only moved is not new."""
        gone = self._before.copy()
        candidates: list[Line] = []
        kept: set[int] = set()
        for part in parts:
            text, was = part["text"], part["was"]
            grown = was is not None and text.startswith(was)
            if grown:
                gone.subtract(_lines(was))
                kept.add(part["place"])
                text = text[len(was) :]
            for number, line in enumerate(_lines(text)):
                joint = part["joint"] if number == 0 else "\n"
                candidates.append(Line(line, part["place"], joint, was is not None and not grown))
        fresh = []
        for new in candidates:
            if gone[new.text] > 0 and not echo.is_whole(new.text):
                gone[new.text] -= 1
                kept.add(new.place)
            else:
                fresh.append(new)
        return fresh, kept


def _lines(text: str) -> Iterator[str]:
    return (line.strip() for line in text.split("\n") if line.strip())


def _joined(lines: Sequence[Line]) -> str:
    return "".join(line.joint + line.text for line in lines).strip()


def _kinds(lines: Sequence[Line], prompts: Sequence[Echo]) -> tuple[list[Kind], set[int]]:
    """What each line is to the prompt, and the lines that repeat an earlier prompt."""
    *earlier, echo = prompts
    texts = [line.text for line in lines]
    kinds = echo.kinds(texts)
    if Kind.ECHO not in kinds:
        kinds = [Kind.ECHO if echo.is_like(text) else kind for text, kind in zip(texts, kinds, strict=True)]
    of_earlier = {
        index
        for old in earlier
        for index, kind in enumerate(old.kinds(texts))
        if old.distinct and kind in ECHOES and kinds[index] not in ECHOES
    }
    return kinds, of_earlier


def _after_the_prompt(lines: Sequence[Line], prompts: Sequence[Echo]) -> Said:
    """Where nobody said which words are the assistant's: all that is new after the prompt."""
    kinds, of_earlier = _kinds(lines, prompts)
    if ECHOES.isdisjoint(kinds) and Kind.NAMED in kinds:
        kinds[kinds.index(Kind.NAMED)] = Kind.ECHO
    begin = next((index for index, kind in enumerate(kinds) if kind in ECHOES), 0)
    told = not ECHOES.isdisjoint(kinds)
    unsure = {Kind.NAMED, Kind.QUOTED, Kind.BEGINNING} | (set() if told else {Kind.PART})
    words, odd = [], []
    for index, line in enumerate(lines):
        if index < begin or index in of_earlier or kinds[index] in ECHOES:
            continue
        words.append(line)
        if kinds[index] in unsure or any(old.is_whole(line.text) for old in prompts):
            odd.append(line)
    if odd:
        return Said(_joined(words), f"{_short(odd[0].text)} may be either")
    if not words and kinds.count(Kind.ECHO) > 1:
        return Said("", ALL_REPEATED)
    return Said(_joined(words))


def _in_messages(
    lines: Sequence[Line], kept: set[int], places: Sequence[dict[str, Any]], prompts: Sequence[Echo]
) -> Said:
    """What the assistant's messages say. One that the prompt's own bubble is among, or stands in, is not its alone."""
    kinds, of_earlier = _kinds(lines, prompts)
    told = Kind.ECHO in kinds
    echoes = {Kind.ECHO, Kind.REST} if told else ECHOES
    by_place: dict[int, list[int]] = {}
    for index, line in enumerate(lines):
        by_place.setdefault(line.place, []).append(index)
    by_place.pop(-1, None)
    messages, changes, odd, dropped = [], [], None, False
    for place, found in by_place.items():
        left = [n for n in found if n not in of_earlier and kinds[n] not in echoes]
        if not places[place]["old"] and _quotes(lines, kinds, found):
            left = found
        if not told and prompts[-1].is_like(_joined([lines[n] for n in found])):
            left = []
        dropped |= len(left) < len(found)
        added = [lines[n] for n in left if not lines[n].changed]
        if len(left) == len(found) and place not in kept and not places[place]["old"]:
            messages.append(places[place]["text"].strip())
        elif added:
            messages.append(_joined(added))
        changes.append(_joined([lines[n] for n in left]))
        odd = odd or next((lines[n] for n in left if kinds[n] is Kind.NAMED and not told), None)
    text = "\n".join(filter(None, messages or changes))
    if odd is not None:
        return Said(text, f"{_short(odd.text)} may be either")
    return Said(text, ALL_REPEATED if dropped and not text else "")


def _quotes(lines: Sequence[Line], kinds: Sequence[Kind], found: Sequence[int]) -> bool:
    """Whether a message repeats the prompt after words of its own, and the prompt also stands by itself before it."""
    first = next((at for at, n in enumerate(found) if kinds[n] is Kind.ECHO), 0)
    own = sum(count_words(lines[n].text) for n in found[:first])
    return own > FEW and Kind.ECHO in kinds[: found[0]]


def _short(text: str) -> str:
    return repr(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")
