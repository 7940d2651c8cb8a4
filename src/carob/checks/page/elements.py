"""Elements that a page must or must not show, and how many of them it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, NamedTuple, NotRequired, TypedDict

import regex
from msgspec import Meta, Struct, structs

from carob.checks.base import regex_problems
from carob.checks.page.snapshot import COMPONENTS, Node, nodes, nodes_below
from carob.model.check import CheckProblem
from carob.model.trace import THE_PROMPT, Trace
from carob.text.folded_search import find_first
from carob.text.folding import fold, fold_phrase
from carob.text.numbers.spelling import spell_numbers, spelled_phrase
from carob.text.regexes import safe_regex

COMPONENT = "component"


class UiElement(TypedDict):
    """Elements by role, accessible name and text, and how many of them the page must show."""

    role: NotRequired[Annotated[str, Meta(min_length=1, description="The role of the element, such as `heading`.")]]
    name: NotRequired[Annotated[str, Meta(min_length=1, description="Its accessible name.")]]
    name_contains: NotRequired[Annotated[str, Meta(min_length=1, description="A part of its name.")]]
    name_regex: NotRequired[Annotated[str, Meta(min_length=1, description="A regex that is found in its name.")]]
    text: NotRequired[Annotated[str, Meta(min_length=1, description="What it shows.")]]
    within: NotRequired[Annotated[dict[str, object], Meta(description="The element that contains it, as an object.")]]
    new: NotRequired[Annotated[bool, Meta(description="true: it was not there before the turn.")]]
    visible: NotRequired[Annotated[bool, Meta(description="false: there is no such element.")]]
    min: NotRequired[Annotated[int, Meta(ge=0, description="At least this many.")]]
    max: NotRequired[Annotated[int, Meta(ge=0, description="At most this many.")]]
    any: NotRequired[
        Annotated[list[dict[str, object]], Meta(min_length=1, description="Objects of which at least one must match.")]
    ]


class Element(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What to count on the page, and how many there may be. `words`: all of them are in the name, in any order."""

    role: str = ""
    name: str = ""
    name_contains: str = ""
    name_regex: str = ""
    text: str = ""
    within: Element | None = None
    """Only in elements like this one."""
    words: tuple[str, ...] = ()
    visible: bool = True
    min: int | None = None
    max: int | None = None
    new: bool = False
    """Only those that were not there before the turn."""
    any: tuple[Element, ...] = ()
    """One of these will do, and nothing else is given."""

    @property
    def bounds(self) -> tuple[int, int | None]:
        if not self.visible:
            return 0, 0
        return (self.min if self.min is not None else int(self.max is None), self.max)

    @property
    def subject(self) -> Element:
        """What is counted, whatever its bounds: equal for elements that ask for the same."""
        names = {"name": fold(self.name), "name_contains": fold(self.name_contains)}
        return structs.replace(self, **names, visible=True, min=None, max=None)

    @property
    def is_named(self) -> bool:
        return bool(self.name or self.name_contains or self.name_regex or self.text or self.words)

    def fits(self, node: Node) -> bool:
        if self.role == COMPONENT:
            if node.role not in COMPONENTS or node.talk:
                return False
        elif self.role and node.role != self.role:
            return False
        name = node.name or node.text
        return (
            (not self.name or _holds(self.name, name, str.__eq__))
            and (not self.name_contains or _holds(self.name_contains, name, _contains))
            and (not self.text or _holds(self.text, node.text, _contains))
            and (not self.name_regex or safe_regex.search(self.name_regex, name) is not None)
            and set(self.words) <= set(words_of(name))
        )

    def validate(self) -> Iterator[CheckProblem]:
        """Why this element makes no sense."""
        if self.any:
            if structs.replace(self, any=()) != Element():
                yield CheckProblem("wrong-shape", "'any' must be the only key: put the others into its elements.")
            for alternative in self.any:
                yield from alternative.validate()
            return
        parts = (self.role, self.name, self.name_contains, self.name_regex, self.text)
        if not any(parts):
            yield CheckProblem(
                "wrong-shape", "give at least one of 'role', 'name', 'name_contains', 'name_regex' and 'text'."
            )
        if any(part and not fold(part) for part in parts):
            yield CheckProblem("empty-expectation", "a blank role or name matches everything. Write one.")
        if self.name_regex:
            yield from regex_problems(self.name_regex, is_forbidden=self.bounds[1] == 0)
        if self.within is not None:
            yield from self.within.validate()
        yield from self._bounds_problems()

    def _bounds_problems(self) -> Iterator[CheckProblem]:
        low, high = self.bounds
        if not self.visible and (self.min or self.max):
            yield CheckProblem("out-of-range", "invisible elements cannot be counted: remove 'min' and 'max'.")
        if high is not None and low > high:
            yield CheckProblem("out-of-range", f"min {low} is greater than max {high}.")
        if low == 0 and high is None:
            yield CheckProblem("empty-expectation", "min 0 without max passes on every page.")

    def __str__(self) -> str:
        if self.any:
            return " or ".join(map(str, self.any))
        low, high = self.bounds
        count = f"{low}" if low == high else f"at least {low}" if high is None else f"{low} to {high}"
        return f"{count} {self.kind}"

    @property
    def kind(self) -> str:
        """What is counted, in words."""
        label = self.name or self.name_contains or self.name_regex or self.text or " ".join(self.words)
        inside = f" within {self.within.kind}" if self.within is not None else ""
        return f"{'new ' * self.new}{self.role or 'element'}{f' {label!r}' * bool(label)}{inside}"


class ElementCount(NamedTuple):
    """How many fit: all that are there, those that a reader sees, and of both those that do not echo the prompt."""

    present: int
    certain: int
    """Of those, the ones that certainly do not repeat the prompt."""
    visible: int
    """Of those that may be the app's own, the ones that a reader sees."""
    certain_visible: int
    first: Node | None


def count(element: Element, trace: Trace) -> ElementCount:
    """What the page shows of it: what is forbidden counts where it is there, what is required where it is seen."""
    fitting = _fitting(element, nodes(trace.page or ""))
    if element.new:
        fitting = _new(fitting, _fitting(element, nodes(trace.page_before or "")))
    echoes = element.is_named or element.new
    certain = [node for node in fitting if not (echoes and node.mark)]
    visible = [node for node in fitting if node.visible and not (echoes and node.mark == THE_PROMPT)]
    certain_visible = sum(node.visible for node in certain)
    return ElementCount(len(fitting), len(certain), len(visible), certain_visible, next(iter(fitting), None))


def _fitting(element: Element, among: Sequence[Node]) -> list[Node]:
    if element.within is None:
        return [node for node in among if element.fits(node)]
    inside = {
        node.start: node
        for index, outer in enumerate(among)
        if element.within.fits(outer) and (outer.visible or not element.visible)
        for node in nodes_below(among, index)
    }
    return [node for node in inside.values() if element.fits(node)]


def _new(fitting: Sequence[Node], before: Sequence[Node]) -> list[Node]:
    """Those that were not there before; what was there and not seen is new to a reader."""
    old = Counter((_key(node), node.visible) for node in before)
    new = []
    for node in fitting:
        state = next((visible for visible in {node.visible, True} if old[_key(node), visible] > 0), None)
        if state is None:
            new.append(node)
        else:
            old[_key(node), state] -= 1
    return new


def _key(node: Node) -> tuple[str, str]:
    """What a node is known by; the text of a component may change, and it is still the same."""
    return node.role, node.name or ("" if node.role in COMPONENTS else node.text)


def _contains(seen: str, phrase: str) -> bool:
    return find_first(seen, phrase, required=True) is not None


def _holds(phrase: str, seen: str, test: Callable[[str, str], bool]) -> bool:
    """Whether a text of a page is or holds a phrase, or the phrase with its numbers in another spelling."""
    number_phrase = spelled_phrase(phrase)
    return test(seen, fold_phrase(phrase)) or (
        number_phrase != "" and test(fold(spell_numbers(seen).text), fold_phrase(number_phrase))
    )


def words_of(name: str) -> tuple[str, ...]:
    return tuple(regex.findall(r"\w+", name))
