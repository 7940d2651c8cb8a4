"""What the page must show after the turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NotRequired, TypedDict

import msgspec
import regex
from msgspec import Meta, Struct, structs

from karat.checks.base import PAGE, Check, Phrase, Reading
from karat.checks.page import COMPONENTS, UNSURE, Node, components, nodes
from karat.checks.sample_traces import says, shows
from karat.checks.says import unfailable
from karat.errors import ConfigError
from karat.model.check import Example, Field, Flaw
from karat.model.snapshot import LIKE_PROMPT, THE_PROMPT
from karat.model.suite import Case, CheckSpec, Suite
from karat.model.trace import Trace
from karat.model.verdict import At, CheckResult, Group, Status
from karat.text.folding import fold, fold_phrase

HOW_TO_DEFINE = "no rule reads this sentence: define it in ui_vocabulary of the target, or write an object instead"
COMPONENT = "component"
LONGEST = 80
LISTED = 6

SHOWN = regex.compile(
    r"(?P<article>an?|one|the) (?P<what>.+?) (?:component|widget|tile|panel) is (?:visible|shown)\.?", regex.I
)
NONE_ADDED = regex.compile(r"no (?:new )?(?:component|widget|tile|panel) is added\.?", regex.I)
BECOMES = regex.compile(r"(?:.*\s)?title becomes (?P<what>.+?)\.?", regex.I)
SLOT = regex.compile(r"\{([^\W\d]\w*)\}")

ACTIVITY = '- main:\n  - region "GitHub My Activity":\n    - heading "My Activity" [level=2]\n    - list:\n'
ECHO = f'- link "Milk" {THE_PROMPT}'
LIKE = f'- link "Milk" {LIKE_PROMPT}'
BULLETS = "      - listitem: 1\n      - listitem: 2\n"


class UiElement(TypedDict):
    """Elements by role and accessible name, and how many of them the page must show."""

    role: NotRequired[Phrase]
    name: NotRequired[Phrase]
    name_contains: NotRequired[Phrase]
    visible: NotRequired[bool]
    min: NotRequired[Annotated[int, Meta(ge=0)]]
    max: NotRequired[Annotated[int, Meta(ge=0)]]


class Element(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What to count on the page, and how many there may be. `words`: all of them stand in the name, in any order."""

    role: str = ""
    name: str = ""
    name_contains: str = ""
    words: tuple[str, ...] = ()
    visible: bool = True
    min: int | None = None
    max: int | None = None
    new: bool = False

    @property
    def bounds(self) -> tuple[int, int | None]:
        if not self.visible:
            return 0, 0
        return (self.min if self.min is not None else int(self.max is None), self.max)

    @property
    def named(self) -> bool:
        return bool(self.name or self.name_contains or self.words)

    def fits(self, node: Node) -> bool:
        if self.role == COMPONENT:
            if node.role not in COMPONENTS or node.talk:
                return False
        elif self.role and node.role != self.role:
            return False
        name = node.name or node.text
        return (
            (not self.name or name == fold_phrase(self.name))
            and (not self.name_contains or fold_phrase(self.name_contains) in name)
            and set(self.words) <= set(_words(name))
        )

    def __str__(self) -> str:
        named = self.name or self.name_contains or " ".join(self.words)
        low, high = self.bounds
        count = f"{low}" if low == high else f"at least {low}" if high is None else f"{low} to {high}"
        return f"{count} {'new ' * self.new}{self.role or 'element'}{f' {named!r}' * bool(named)}"


@dataclass(frozen=True, slots=True)
class Ui(Check):
    """The page shows what a sentence or an object asks for."""

    name: ClassVar = "ui"
    group: ClassVar = Group.TOOL_HYGIENE
    looks_at: ClassVar = PAGE
    fields: ClassVar = (
        Field(
            "ui",
            Annotated[list[Phrase | UiElement], Meta(min_length=1)],
            "What the page shows after the turn: sentences that the target's ui_vocabulary or the small grammar "
            "knows, or objects such as {role, name, visible, min, max}.",
        ),
    )
    examples: ClassVar = (
        Example({"elements": [{"role": "heading", "name": "My activity"}]}, shows(ACTIVITY), Status.PASSED),
        Example({"elements": [{"role": "heading", "name": "Activity"}]}, shows(ACTIVITY), Status.FAILED),
        Example({"elements": [{"role": "listitem", "min": 2}]}, shows(ACTIVITY + BULLETS), Status.PASSED),
        Example({"elements": [{"role": "listitem", "min": 2}]}, shows(ACTIVITY), Status.FAILED),
        Example({"elements": [{"role": "alert", "visible": False}]}, shows(ACTIVITY), Status.PASSED),
        Example({"elements": [{"role": "alert", "visible": False}]}, shows('- alert "Oops"'), Status.FAILED),
        Example({"sentence": "A GitHub my-activity component is visible."}, shows(ACTIVITY), Status.PASSED),
        Example({"sentence": "A Slack mentions component is visible."}, shows(ACTIVITY), Status.FAILED),
        Example({"sentence": "No new component is added."}, shows(ACTIVITY, before=ACTIVITY), Status.PASSED),
        Example({"sentence": "No new component is added."}, shows(ACTIVITY, before="- main"), Status.FAILED),
        Example({"sentence": "No new component is added."}, shows(ACTIVITY), Status.UNKNOWN),
        Example({"sentence": "The panel title becomes My Activity"}, shows(ACTIVITY, before="- main"), Status.PASSED),
        Example({"sentence": "The panel title becomes Alerts"}, shows(ACTIVITY, before="- main"), Status.FAILED),
        Example({"sentence": "The confetti falls."}, shows(ACTIVITY), Status.UNKNOWN),
        Example({"elements": [{"role": "link", "name": "Milk"}]}, shows(ECHO), Status.FAILED),
        Example({"elements": [{"role": "link", "name": "Milk", "visible": False}]}, shows(ECHO), Status.UNKNOWN),
        Example({"elements": [{"role": "link", "name": "Milk"}]}, shows(LIKE), Status.UNKNOWN),
        Example({"elements": [{"role": "link", "name": "Milk", "visible": False}]}, shows(LIKE), Status.UNKNOWN),
        Example({"sentence": "A GitHub component is visible."}, says("Added."), Status.UNKNOWN),
    )
    sentence: str = ""
    elements: tuple[Element, ...] = ()

    @classmethod
    def read(cls, expected: Mapping[str, Any]) -> Iterator[Reading]:
        for index, entry in enumerate(expected.get("ui", ())):
            args = {"sentence": entry} if isinstance(entry, str) else {"elements": [entry]}
            yield Reading(args, ("ui", index))

    @property
    def wanted(self) -> str:
        return self.sentence or " and ".join(map(str, self.elements))

    def flaws(self) -> Iterator[Flaw]:
        if not self.elements:
            yield from unfailable(self.sentence)
        for element in self.elements:
            low, high = element.bounds
            if not (element.role or element.name or element.name_contains):
                yield Flaw("wrong-shape", "give at least one of 'role', 'name' and 'name_contains'.")
            if any(given and not fold(given) for given in (element.role, element.name, element.name_contains)):
                yield Flaw("empty-expectation", "a blank role or name is like any other. Say which.")
            if not element.visible and (element.min or element.max):
                yield Flaw("out-of-range", "what is not visible cannot be counted: leave 'min' and 'max' out.")
            if high is not None and low > high:
                yield Flaw("out-of-range", f"min {low} is over max {high}.")
            if low == 0 and high is None:
                yield Flaw("empty-expectation", "min 0 without max holds on every page.")

    def judge(self, trace: Trace) -> CheckResult:
        elements = self.elements or grammar(self.sentence)
        if not elements:
            return self.unknown(HOW_TO_DEFINE)
        why = trace.unseen("page") or trace.cut("page") or ("the target shows no page" if trace.page is None else None)
        if why or trace.page is None:
            return self.unknown(why or "")
        for element in elements:
            if element.new and (trace.page_before is None or trace.cut("page_before")):
                return self.unknown(trace.doubt("page_before") or "the page was not captured before the turn")
            fitting = [node for node in nodes(trace.page) if element.fits(node)]
            found = _new(element, fitting, trace) if element.new else len(fitting)
            low, high = element.bounds
            marks = Counter(node.mark for node in fitting if element.named or element.new)
            own = found - marks[THE_PROMPT]
            if own < low:
                return self.failed(f"{own} for {element}{_instead(element, trace.page)}", At("page"))
            sure = own - marks[LIKE_PROMPT]
            if sure < low or (high is not None and sure <= high < found):
                return self.unknown(UNSURE)
            if high is not None and found > high:
                first = next(iter(fitting), None)
                at = At("page", first.start, first.end) if first else At("page")
                return self.failed(f"{found} for {element}", at)
        return self.passed(at=At("page"))


def grammar(sentence: str) -> tuple[Element, ...]:
    """What a sentence of the small built-in grammar asks for; nothing where it is not of that grammar."""
    plain = fold(sentence)
    if NONE_ADDED.fullmatch(plain):
        return (Element(role=COMPONENT, new=True, max=0),)
    if m := SHOWN.fullmatch(plain):
        return (Element(role=COMPONENT, words=_words(m["what"]), max=1 if m["article"] == "one" else None, min=1),)
    if m := BECOMES.fullmatch(plain):
        return (Element(role="heading", name=m["what"].strip("'\""), new=True),)
    return ()


def resolve(case: Case, vocabulary: Mapping[str, Sequence[Mapping[str, Any]]]) -> Case:
    """The case with every sentence that the target's vocabulary knows turned into elements."""
    if not vocabulary or not any(spec.name == Ui.name for spec in case.checks):
        return case
    return msgspec.structs.replace(case, checks=tuple(_resolved(spec, vocabulary) for spec in case.checks))


def worded(suite: Suite, vocabulary: Mapping[str, Any], target: str = "") -> Suite:
    """The suite with every UI sentence that the target's vocabulary knows turned into elements."""
    for why in vocabulary_flaws(vocabulary):
        where = ".".join(part for part in ("targets", target, "ui_vocabulary") if part)
        fix = 'Write it as a list of elements: [{ role = "heading", name = "My Activity" }].'
        raise ConfigError(why, where=where, fix=fix)
    return structs.replace(suite, cases=tuple([resolve(case, vocabulary) for case in suite.cases]))


def vocabulary_flaws(vocabulary: Mapping[str, Any]) -> Iterator[str]:
    """Why a target's vocabulary cannot be used: each sentence stands for a list of elements that a page can lack."""
    for sentence, objects in vocabulary.items():
        yield from (f"{sentence!r}: {why}" for why in _entry_flaws(sentence, objects))


def _entry_flaws(sentence: str, objects: Any) -> Iterator[str]:
    try:
        check = Ui(sentence, msgspec.convert(objects, tuple[Element, ...]))
    except msgspec.ValidationError as error:
        yield f"{error}."
        return
    if not check.elements:
        yield "the list is empty."
    yield from (flaw.message for flaw in check.flaws())
    known = SLOT.findall(fold(sentence))
    yield from (f"{{{slot}}} stands twice in the sentence." for slot, count in Counter(known).items() if count > 1)
    for element in check.elements:
        for slot in SLOT.findall(f"{element.name} {element.name_contains} {element.role}".casefold()):
            if slot not in known:
                yield f"the sentence has no {{{slot}}}."


def _resolved(spec: CheckSpec, vocabulary: Mapping[str, Sequence[Mapping[str, Any]]]) -> CheckSpec:
    if spec.name != Ui.name:
        return spec
    check = msgspec.json.decode(spec.args, type=Ui)
    for pattern, objects in vocabulary.items():
        slots = _slots(pattern, check.sentence) if check.sentence else None
        if slots is not None:
            filled = [{k: _fill(v, slots) for k, v in element.items()} for element in objects]
            args = {"sentence": check.sentence, "elements": msgspec.convert(filled, list[Element])}
            return CheckSpec(spec.name, msgspec.Raw(msgspec.json.encode(args)), spec.path)
    return spec


def _slots(pattern: str, sentence: str) -> dict[str, str] | None:
    """What stands at each `{slot}` of a vocabulary pattern, or None where the sentence is not of that pattern."""
    parts = SLOT.split(fold(pattern))
    source = "".join(regex.escape(p) if i % 2 == 0 else f"(?P<{p}>.+?)" for i, p in enumerate(parts))
    try:
        m = regex.fullmatch(source.removesuffix(r"\.") + r"\.?", fold(sentence), timeout=1)
    except TimeoutError:
        why = f"the sentence {_short(pattern)} of ui_vocabulary takes too long to compare with {_short(sentence)}."
        raise ConfigError(why, fix="Use fewer slots, with words between them.") from None
    return m.groupdict() if m else None


def _short(text: str) -> str:
    return repr(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def _fill(value: Any, slots: Mapping[str, str]) -> Any:
    if not isinstance(value, str):
        return value
    return SLOT.sub(lambda m: slots.get(m[1].casefold(), m[0]), value)


def _instead(element: Element, page: str) -> str:
    """The elements of this role that the page does have."""
    plain = Element(role=element.role)
    names = dict.fromkeys(node.name or node.text for node in nodes(page) if element.role and plain.fits(node))
    listed = [_short(name) for name in names if name]
    if not listed:
        return ""
    more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
    return f"; there is {', '.join(listed[:LISTED])}{more}"


def _new(element: Element, fitting: Sequence[Node], trace: Trace) -> int:
    before = trace.page_before or ""
    if element.role == COMPONENT and not element.named:
        return (components(trace.page or "") - components(before)).total()
    old = Counter((n.role, n.name) for n in nodes(before))
    return (Counter((n.role, n.name) for n in fitting) - old).total()


def _words(name: str) -> tuple[str, ...]:
    return tuple(regex.findall(r"\w+", name))
