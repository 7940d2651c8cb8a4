"""What the page must show after the turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import msgspec
import regex
from msgspec import Meta, Struct, structs

from carob.checks.base import PAGE, Check, CheckRequest, Phrase, own_field, unfailable
from carob.checks.page.elements import COMPONENT, Element, UiElement, count, words_of
from carob.checks.page.snapshot import COMPONENTS, ROLES, UNSURE, Node, components, nodes
from carob.checks.sample_traces import says, shows
from carob.errors import ConfigError
from carob.model.check import CheckProblem, CheckSpec, Example, Expected
from carob.model.suite import Case, Suite
from carob.model.trace import LIKE_PROMPT, NOT_SEEN, THE_PROMPT, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Group, Status
from carob.text.folding import fold
from carob.text.regexes import lazy
from carob.text.wording import did_you_mean

HEADING = '{"role": "heading", "name": "My Activity"}'
HOW_TO_DEFINE = (
    f"Carob does not know this sentence: define it in the target's ui_vocabulary, or write an object, such as {HEADING}"
)
INSTEAD = 'write what must not appear as an object, such as {"role": "heading", "new": true, "visible": false}'
UNMARKED = f"no element of the page has the role of a component ({', '.join(sorted(COMPONENTS))})"
NO_COMPONENTS = f"{UNMARKED}: {INSTEAD}"
SHOWN_OTHERWISE = "{}, and it shows the heading {}: write what must show as an object, such as {}"
LOOSE_HEADING = "the heading {} is new and not in a component: {}"
NAME_A_ROLE = "Write the role that the page's snapshot has, such as region, or name or text alone."
LONGEST = 80
LISTED = 6

SHOWN = lazy.regex(
    r"(?P<article>an?|one|the) (?P<what>.+?) (?:component|widget|tile|panel) is (?:visible|shown)\.?", regex.I
)
NONE_ADDED = lazy.regex(r"no (?:new )?(?:component|widget|tile|panel) is added\.?", regex.I)
BECOMES = lazy.regex(r"(?:.*\s)?title becomes (?P<what>.+?)\.?", regex.I)
SLOT = lazy.regex(r"\{([^\W\d]\w*)\}")

ACTIVITY = '- main:\n  - region "GitHub My Activity":\n    - heading "My Activity" [level=2]\n    - list:\n'
ECHO = f'- link "Milk" {THE_PROMPT}'
LIKE = f'- link "Milk" {LIKE_PROMPT}'
HIDDEN = f'- heading "My Activity" [level=2] {NOT_SEEN}'
TILE = '- text: Board\n- heading "Slack Mentions"'
BULLETS = "      - listitem: 1\n      - listitem: 2\n"


class Ui(Check, Struct, frozen=True):
    """The page shows what a sentence or an object asks for."""

    name: ClassVar = "ui"
    group: ClassVar = Group.TOOL_HYGIENE
    channels: ClassVar = PAGE
    field: ClassVar = own_field(
        Annotated[list[Phrase | UiElement], Meta(min_length=1)],
        "What the page shows after the turn: sentences of the target's ui_vocabulary or the built-in grammar, "
        "or objects such as {role, name, within, new, visible, min, max} or {any: [objects]}.",
        since="0.1",
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
        Example({"sentence": "A Slack mentions component is visible."}, shows(TILE), Status.UNKNOWN),
        Example({"sentence": "A GitHub component is visible."}, shows(TILE), Status.FAILED),
        Example({"sentence": "No new component is added."}, shows(ACTIVITY, before=ACTIVITY), Status.PASSED),
        Example({"sentence": "No new component is added."}, shows(ACTIVITY, before="- main"), Status.FAILED),
        Example({"sentence": "No new component is added."}, shows(ACTIVITY), Status.UNKNOWN),
        Example({"sentence": "No new component is added."}, shows(TILE, before="- text: Board"), Status.UNKNOWN),
        Example({"sentence": "No new component is added."}, shows(ACTIVITY + TILE, before=ACTIVITY), Status.UNKNOWN),
        Example({"elements": [{"role": "heading", "name": "My Activity"}]}, shows(HIDDEN), Status.FAILED),
        Example({"elements": [{"role": "heading", "visible": False}]}, shows(HIDDEN), Status.FAILED),
        Example({"elements": [{"name_regex": "^my a.+y$"}]}, shows(ACTIVITY), Status.PASSED),
        Example({"elements": [{"name_regex": "^activity$"}]}, shows(ACTIVITY), Status.FAILED),
        Example({"elements": [{"text": "board"}]}, shows(TILE), Status.PASSED),
        Example({"elements": [{"text": "activity"}]}, shows(ACTIVITY), Status.FAILED),
        Example({"elements": [{"role": "heading", "new": True}]}, shows(TILE, before="- text: Board"), Status.PASSED),
        Example({"elements": [{"role": "heading", "new": True}]}, shows(TILE, before=TILE), Status.FAILED),
        Example(
            {"elements": [{"role": "listitem", "within": {"role": "list"}}]}, shows(ACTIVITY + BULLETS), Status.PASSED
        ),
        Example(
            {"elements": [{"role": "listitem", "within": {"role": "table"}}]}, shows(ACTIVITY + BULLETS), Status.FAILED
        ),
        Example({"elements": [{"any": [{"role": "alert"}, {"role": "heading"}]}]}, shows(ACTIVITY), Status.PASSED),
        Example({"elements": [{"any": [{"role": "alert"}, {"role": "table"}]}]}, shows(ACTIVITY), Status.FAILED),
        Example({"sentence": "The panel title becomes My Activity"}, shows(ACTIVITY, before="- main"), Status.PASSED),
        Example({"sentence": "The panel title becomes Alerts"}, shows(ACTIVITY, before="- main"), Status.FAILED),
        Example({"sentence": "The confetti falls."}, shows(ACTIVITY), Status.UNKNOWN),
        Example({"elements": [{"role": "card", "name": "My Activity"}]}, shows(ACTIVITY), Status.UNKNOWN),
        Example({"elements": [{"role": "card", "visible": False}]}, shows(ACTIVITY), Status.UNKNOWN),
        Example({"elements": [{"role": "list", "within": {"role": "card"}}]}, shows(ACTIVITY), Status.UNKNOWN),
        Example({"elements": [{"role": "link", "name": "Milk"}]}, shows(ECHO), Status.FAILED),
        Example({"elements": [{"role": "link", "name": "Milk", "visible": False}]}, shows(ECHO), Status.UNKNOWN),
        Example({"elements": [{"role": "link", "name": "Milk"}]}, shows(LIKE), Status.UNKNOWN),
        Example({"elements": [{"role": "link", "name": "Milk", "visible": False}]}, shows(LIKE), Status.UNKNOWN),
        Example({"sentence": "A GitHub component is visible."}, says("Added."), Status.UNKNOWN),
    )
    sentence: str = ""
    elements: tuple[Element, ...] = ()

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        for index, entry in enumerate(expected.get("ui", ())):
            args = {"sentence": entry} if isinstance(entry, str) else {"elements": [entry]}
            yield CheckRequest(args, ("ui", index))

    @property
    def description(self) -> str:
        return self.sentence or " and ".join(map(str, self.elements))

    def validate(self) -> Iterator[CheckProblem]:
        if not self.elements:
            yield from unfailable(self.sentence)
        for element in self.elements:
            yield from element.validate()

    def judge(self, trace: Trace) -> CheckResult:
        elements = self.elements or grammar(self.sentence)
        if not elements:
            return self.unknown(HOW_TO_DEFINE)
        why = (
            trace.why_unobserved("page")
            or trace.cut("page")
            or ("the target shows no page" if trace.page is None else None)
        )
        if why or trace.page is None:
            return self.unknown(why or "")
        results = (self._judge_element(element, trace) for element in elements)
        return next(
            (result for result in results if result.status is not Status.PASSED),
            self.passed(at=EvidenceLocation("page")),
        )

    def _judge_element(self, element: Element, trace: Trace) -> CheckResult:
        if element.any:
            return self._any(element, trace)
        if why := _why_unknown_role(element, trace):
            return self.unknown(why)
        if element.new and (trace.page_before is None or trace.cut("page_before")):
            return self.unknown(trace.why_incomplete("page_before") or "the page was not captured before the turn")
        counted = count(element, trace)
        low, high = element.bounds
        if counted.visible < low and (otherwise := _why_shown_otherwise(element, trace)):
            return self.unknown(otherwise)
        if counted.visible < low:
            hidden = f", {counted.certain - counted.certain_visible} not visible to a reader" * (
                counted.certain > counted.certain_visible
            )
            why = f"{counted.visible} for {element}{hidden}{_instead(element, trace.page or '')}"
            return self.failed(why, _nearest_place(element, trace))
        if high is not None and counted.certain > high:
            return self.failed(f"{counted.present} for {element}", _at(counted.first))
        unsure = counted.certain_visible < low or (high is not None and counted.present > high)
        return self.passed_unless(UNSURE if unsure else _why_undecided(element, trace), at=EvidenceLocation("page"))

    def _any(self, element: Element, trace: Trace) -> CheckResult:
        """The best that becomes of the elements of an `any`."""
        results = [self._judge_element(alternative, trace) for alternative in element.any]
        for status in (Status.PASSED, Status.UNKNOWN):
            if best := next((result for result in results if result.status is status), None):
                return best
        return self.failed("; ".join(result.found for result in results), results[0].at)


def grammar(sentence: str) -> tuple[Element, ...]:
    """What a sentence of the small built-in grammar asks for; nothing where it is not of that grammar."""
    plain = fold(sentence)
    if NONE_ADDED.fullmatch(plain):
        return (Element(role=COMPONENT, new=True, max=0),)
    if m := SHOWN.fullmatch(plain):
        return (Element(role=COMPONENT, words=words_of(m["what"]), max=1 if m["article"] == "one" else None, min=1),)
    if m := BECOMES.fullmatch(plain):
        return (Element(role="heading", name=m["what"].strip("'\""), new=True),)
    return ()


def resolve(case: Case, vocabulary: Mapping[str, Any]) -> Case:
    """The case with every sentence that the target's vocabulary knows turned into elements."""
    if not vocabulary or not any(spec.name == Ui.name for _, spec in case.all_checks):
        return case
    turns = [structs.replace(turn, checks=_all_resolved(turn.checks, vocabulary)) for turn in case.turns]
    return structs.replace(case, checks=_all_resolved(case.checks, vocabulary), turns=tuple(turns))


def resolve_sentences(suite: Suite, vocabulary: Mapping[str, Any], target: str = "") -> Suite:
    """The suite with every UI sentence that the target's vocabulary knows turned into elements."""
    check_vocabulary(vocabulary, target)
    return structs.replace(suite, cases=tuple([resolve(case, vocabulary) for case in suite.cases]))


def check_vocabulary(vocabulary: Mapping[str, Any], target: str = "") -> None:
    """Raise ConfigError if a target's vocabulary cannot be used."""
    for why in vocabulary_problems(vocabulary):
        where = ".".join(part for part in ("targets", target, "ui_vocabulary") if part)
        fix = 'Write it as a list of elements: [{ role = "heading", name = "My Activity" }].'
        raise ConfigError(why, where=where, fix=fix)


def vocabulary_problems(vocabulary: Mapping[str, object]) -> Iterator[str]:
    """Why a target's vocabulary cannot be used: each sentence means a list of elements that a page can lack."""
    for sentence, objects in vocabulary.items():
        yield from (f"{sentence!r}: {why}" for why in _entry_problems(sentence, objects))


def _entry_problems(sentence: str, objects: object) -> Iterator[str]:
    try:
        check = Ui(sentence, msgspec.convert(objects, tuple[Element, ...]))
    except msgspec.ValidationError as error:
        yield f"{error}."
        return
    if not check.elements:
        yield "the list is empty."
    yield from (problem.message for problem in check.validate())
    slots = SLOT.findall(fold(sentence))
    yield from (f"{{{slot}}} is in the sentence twice." for slot, count in Counter(slots).items() if count > 1)
    for element in check.elements:
        for slot in SLOT.findall(" ".join(_texts(msgspec.to_builtins(element))).casefold()):
            if slot not in slots:
                yield f"the sentence has no {{{slot}}}."


def _all_resolved(
    specs: Sequence[CheckSpec], vocabulary: Mapping[str, Sequence[Mapping[str, object]]]
) -> tuple[CheckSpec, ...]:
    return tuple([_resolve_spec(spec, vocabulary) for spec in specs])


def _resolve_spec(spec: CheckSpec, vocabulary: Mapping[str, Sequence[Mapping[str, object]]]) -> CheckSpec:
    if spec.name != Ui.name:
        return spec
    check = msgspec.json.decode(spec.args, type=Ui)
    for pattern, objects in vocabulary.items():
        slots = _slots(pattern, check.sentence) if check.sentence else None
        if slots is not None:
            filled = _fill(list(objects), slots)
            args = {"sentence": check.sentence, "elements": msgspec.convert(filled, list[Element])}
            return CheckSpec(spec.name, msgspec.Raw(msgspec.json.encode(args)), spec.path)
    return spec


def _slots(pattern: str, sentence: str) -> dict[str, str] | None:
    """What is at each `{slot}` of a vocabulary pattern, or None where the sentence is not of that pattern."""
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


def _fill(value: object, slots: Mapping[str, str]) -> object:
    if isinstance(value, Mapping):
        return {key: _fill(inner, slots) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_fill(inner, slots) for inner in value]
    return SLOT.sub(lambda m: slots.get(m[1].casefold(), m[0]), value) if isinstance(value, str) else value


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)


def _why_unknown_role(element: Element, trace: Trace) -> str:
    """Why the page cannot show whether it is there: no element of any page has such a role."""
    role = element.role
    if (
        role
        and role != COMPONENT
        and role not in ROLES
        and not any(node.role == role for node in nodes(trace.page or ""))
    ):
        return f"{role!r} is not a role that elements have. {did_you_mean(role, ROLES) or NAME_A_ROLE}"
    return _why_unknown_role(element.within, trace) if element.within is not None else ""


def _instead(element: Element, page: str) -> str:
    """The elements of this role that the page does have."""
    plain = Element(role=element.role)
    names = dict.fromkeys(node.name or node.text for node in nodes(page) if element.role and plain.fits(node))
    listed = [_short(name) for name in names if name]
    if not listed:
        return ""
    more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
    return f"; there is {', '.join(listed[:LISTED])}{more}"


def _at(node: Node | None) -> EvidenceLocation:
    return EvidenceLocation("page", node.start, node.end) if node is not None else EvidenceLocation("page")


def _nearest_place(element: Element, trace: Trace) -> EvidenceLocation:
    """The part of the page that matters where something is missing: its region, its like, or what the turn brought."""
    after = nodes(trace.page or "")
    within = element.within
    old = Counter((node.role, node.name, node.text) for node in nodes(trace.page_before or ""))
    candidates = (
        next((node for node in after if within is not None and within.fits(node)), None),
        next((node for node in after if element.role and node.role == element.role and not node.talk), None),
        next((node for node in after if old[node.role, node.name, node.text] == 0), None) if old else None,
    )
    return _at(next((node for node in candidates if node is not None), None))


def _why_shown_otherwise(element: Element, trace: Trace) -> str:
    """Why a component that is asked for may be there all the same: the page marks none, and a heading speaks of it."""
    page = trace.page or ""
    if element.role != COMPONENT or not element.words or components(page) or components(trace.page_before or ""):
        return ""
    heading_element = Element(role="heading", words=element.words)
    nearest = next(
        (node for _, node in _loose_headings(page) if node.visible and not node.mark and heading_element.fits(node)),
        None,
    )
    if nearest is None:
        return ""
    spelled = msgspec.json.encode({"role": "heading", "name": nearest.name}).decode()
    return SHOWN_OTHERWISE.format(UNMARKED, _short(nearest.name), spelled)


def _why_undecided(element: Element, trace: Trace) -> str:
    """Why their roles do not show that no component came: there are none, or something else has a heading."""
    if not (element.new and element.role == COMPONENT and element.bounds[1] == 0):
        return ""
    before, after = trace.page_before or "", trace.page or ""
    if not components(before) and not components(after):
        return NO_COMPONENTS
    old = Counter(name for name, _ in _loose_headings(before))
    for name, node in _loose_headings(after):
        if old[name] == 0:
            return LOOSE_HEADING.format(_short(node.name), INSTEAD)
        old[name] -= 1
    return ""


def _loose_headings(page: str) -> Iterator[tuple[str, Node]]:
    """Headings that are in no component and not in the conversation."""
    depth = None
    for node in nodes(page):
        if depth is not None and node.depth <= depth:
            depth = None
        if depth is None and node.role in COMPONENTS:
            depth = node.depth
        if depth is None and node.role == "heading" and not node.talk:
            yield node.name, node
