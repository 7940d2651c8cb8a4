"""From what a file says to rules, and everything that is wrong with it, by path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, NoReturn

from msgspec import structs

from carob.matchers.matcher import Matcher
from carob.matchers.reading import SIGN, find_problems, matcher
from carob.model.check import CheckProblem
from carob.rules.clauses import (
    After,
    AtMost,
    Before,
    Clause,
    ClausePlan,
    Last,
    LastUser,
    NeverAfter,
    NeverBefore,
    Same,
    ValueSource,
    Where,
)
from carob.rules.conditions import CelCondition, Condition, ConditionError, Matched
from carob.rules.contract import CompiledRule, When
from carob.rules.events import COMMAND, EDIT, TEXT_KINDS
from carob.rules.patterns import MEMBERS, OF_RESULT, EventPattern, NamePlace, Phrases
from carob.rules.sources import USER, Sources
from carob.rules.talk import ConsentWords
from carob.rules.values import EVERY, Steps, ValuePath, read_path
from carob.text.tool_names import invisible_in, is_any_named
from carob.text.tool_reading import ToolReading
from carob.text.wording import did_you_mean, join_words, kind, quoted
from carob.text.words import WordLists

Path = tuple[str | int, ...]

AS, SAME = "$as", "$same"
PARTS: Final = ("arguments", "result", "error")
FLAGS: Final = ("parallel", "beside_words")
KINDS: Final = ("call", "user", "says", "asks_approval", "approved", "denied", "handoff")
PATTERN_KEYS: Final = (*KINDS, *PARTS, "success", "except", *FLAGS)
FORMS: Final = ("needs", "forbids", "where", "at_most", "same", "values_from")
REFINING: Final = ("total", "within_text", "once")
RULE_KEYS: Final = ("id", "why", "each", *FORMS, *REFINING, "when", "except", "mode", "on_unknown")
NEEDS: Final = ("before", "last", "last_user", "after")
FORBIDS: Final = ("before", "after")
MODES: Final = ("block", "ask", "observe")
ON_UNKNOWN: Final = ("block", "allow")
CONSENT_LISTS: Final[Mapping[str, str]] = {"@yes": "consent", "@no": "dissent"}
"""The published lists of words that `last_user` can name; `@yes:de` is that of another language."""
EACH: Final = "each"
DEEDS: Final = (COMMAND, EDIT)


class Surroundings(NamedTuple):
    """What rules are read with: groups of tools, and the word lists of the suite or the project."""

    groups: Mapping[str, Sequence[str]] = {}
    words: Mapping[str, Sequence[str]] = {}
    reading: ToolReading = ToolReading()
    """How calls are read, where no target says it."""
    conditions: Mapping[str, bytes] = {}
    """What the library made of conditions before, by their texts."""


class _Wrong(Exception):
    """A part of a rule that cannot be read; what is wrong with it was reported."""


def read_rules(tree: object, around: Surroundings = Surroundings()) -> tuple[list[CompiledRule], list[CheckProblem]]:  # noqa: B008
    """The rules of a list, and what is wrong with it. Paths are from the list."""
    if not isinstance(tree, list | tuple):
        return [], [CheckProblem("wrong-type", f"rules are a list, found {kind(tree)}. Begin each with '- id: NAME'.")]
    rules: list[CompiledRule] = []
    problems: list[CheckProblem] = []
    places: dict[str, int] = {}
    for number, raw in enumerate(tree):
        rule, wrong = read_rule(raw, around)
        problems += [problem._replace(path=(number, *problem.path)) for problem in wrong]
        name = raw.get("id") if isinstance(raw, dict) else None
        if isinstance(name, str) and places.setdefault(name, number) != number:
            message = f"rules[{places[name]}] already has the id {quoted(name)}. Give each rule its own."
            problems.append(CheckProblem("duplicate-id", message, (number, "id")))
        if rule is not None:
            rules.append(rule)
    return rules, problems


def read_rule(raw: object, around: Surroundings = Surroundings()) -> tuple[CompiledRule | None, list[CheckProblem]]:  # noqa: B008
    """One rule, if nothing is wrong with it. Paths are from the rule."""
    reader = _RuleReader(around)
    try:
        rule = reader.read(raw)
    except _Wrong:
        rule = None
    return (None if reader.problems else rule), reader.problems


def read_groups(tree: object) -> tuple[dict[str, list[str]], list[CheckProblem]]:
    """Groups of tools by name, `tools: {writes: [...]}`, and what is wrong with them."""
    if not isinstance(tree, dict):
        return {}, [CheckProblem("wrong-type", f"groups of tools are an object, found {kind(tree)}.")]
    groups: dict[str, list[str]] = {}
    problems: list[CheckProblem] = []
    for name, tools in tree.items():
        is_list = isinstance(tools, list) and tools and all(isinstance(tool, str) and tool.strip() for tool in tools)
        if not is_list:
            problems.append(CheckProblem("wrong-type", "a group is a list of names of tools.", (name,)))
            continue
        groups[name] = tools
    for name, tools in groups.items():
        if any(tool.startswith("@") for tool in tools):
            message = "a group holds names of tools, not other groups. Write the names."
            problems.append(CheckProblem("invalid-value", message, (name,)))
    return groups, problems


def expand_groups(names: Iterable[str], groups: Mapping[str, Sequence[str]]) -> tuple[list[str], list[str]]:
    """The names of tools with those of each `@group` in its place, and the groups that are not known."""
    expanded: list[str] = []
    unknown: list[str] = []
    for name in names:
        if not name.startswith("@") or (name in DEEDS and name[1:] not in groups):
            expanded.append(name)
        elif name[1:] in groups:
            expanded.extend(groups[name[1:]])
        else:
            unknown.append(name)
    return list(dict.fromkeys(expanded)), unknown


class _Need(NamedTuple):
    """One entry of `needs` as it is read."""

    form: str
    name: str
    plan: ClausePlan


class _RuleReader:
    """Reads one rule, and notes what is wrong with it."""

    def __init__(self, around: Surroundings) -> None:
        self.problems: list[CheckProblem] = []
        self._around = around
        self._lists = WordLists.of(around.words)
        self._bound: dict[str, Path] = {}

    def read(self, raw: object) -> CompiledRule:
        rule = self._object(raw, (), RULE_KEYS, "a rule")
        for key in ("id", "each"):
            if key not in rule:
                example = "id: look-first" if key == "id" else "each: {call: TOOL}"
                self._report("missing-field", f"the rule has no {quoted(key)}. Write {example}.", ())
        name = self._text(rule.get("id", ""), ("id",), needed="id" in rule)
        why = self._text(rule.get("why", ""), ("why",), needed=False)
        if EACH not in rule:
            raise _Wrong
        each = self._pattern(rule[EACH], (EACH,), wide=True)
        self._bound = {bind.name: (EACH,) for bind in each.binds}
        self._check_never(each, rule)
        plans = tuple(self._clauses(rule))
        each = self._with_end(each, EACH, self._read_of_each(plans))
        return CompiledRule(
            id=name,
            why=why,
            each=each,
            clauses=plans,
            when=self._when(rule["when"]) if "when" in rule else None,
            excepted=self._tags(rule["except"], ("except",)) if "except" in rule else (),
            mode=self._choice(rule.get("mode", "block"), ("mode",), MODES),  # type: ignore[arg-type]
            reading=self._around.reading,
            allow_unknown=self._choice(rule.get("on_unknown", "block"), ("on_unknown",), ON_UNKNOWN) == "allow",
        )

    def _clauses(self, rule: Mapping[str, Any]) -> Iterator[ClausePlan]:
        forms = [form for form in FORMS if form in rule]
        if not forms and not any(problem.slug == "unknown-field" for problem in self.problems):
            message = f"the rule asks nothing of the event. Give it one of {join_words(map(repr, FORMS))}."
            self._report("no-checks", message, ())
        extra = [form for form in forms[1:] if not (form == "where" and forms[0] in ("needs", "forbids"))]
        for form in extra:
            message = f"{quoted(forms[0])} is here too. Write two rules."
            self._report("duplicate-field", message, (form,), key=True)
        for key, refined in (("total", ("at_most",)), ("within_text", ("values_from",)), ("once", ("needs",))):
            if key in rule and not any(form in rule for form in refined):
                message = f"it only modifies '{refined[0]}', which is not set. Remove it, or add '{refined[0]}'."
                self._report("no-effect", message, (key,), key=True)
        readers: Mapping[str, Callable[[Mapping[str, Any]], Iterable[ClausePlan]]] = {
            "needs": self._needs,
            "forbids": self._forbids,
            "where": self._where_alone,
            "at_most": self._at_most,
            "same": self._read_same,
            "values_from": self._values_from,
        }
        for form in forms[:1]:
            yield from readers[form](rule)

    def _needs(self, rule: Mapping[str, Any]) -> Iterable[ClausePlan]:
        raw = rule["needs"]
        is_list = isinstance(raw, list)
        if is_list and not raw:
            self._fail("empty-expectation", "the list asks for nothing.", ("needs",))
        once = self._flag(rule.get("once", False), ("once",))
        needs: list[_Need] = []
        for number, entry in enumerate(raw if is_list else [raw]):
            path: Path = ("needs", number) if is_list else ("needs",)
            where = None if is_list else rule.get("where")
            needs.append(self._need(entry, path, where, needs, once))
        return self._joint_where(rule["where"], needs) if is_list and "where" in rule else [n.plan for n in needs]

    def _need(self, raw: object, path: Path, where: object, earlier: Sequence[_Need], once: bool) -> _Need:
        entry = self._object(raw, path, (*NEEDS, "as", "where", "once"), "a need")
        forms = [form for form in NEEDS if form in entry]
        if len(forms) != 1:
            message = f"it needs exactly one of {join_words(NEEDS)}."
            self._fail("duplicate-field" if forms else "missing-field", message, path)
        form = forms[0]
        once = once or self._flag(entry.get("once", False), (*path, "once"))
        name = self._text(entry.get("as", form), (*path, "as"))
        if name == EACH or any(need.name == name for need in earlier):
            self._report("duplicate-id", f"another event is called {quoted(name)}. Give it a name with 'as'.", path)
        if where is not None and "where" in entry:
            self._report("duplicate-field", "there is a 'where' in 'needs' too. Keep one.", ("where",), key=True)
        where_path: Path = ("where",) if where is not None else (*path, "where")
        where = entry.get("where") if where is None else where
        if form == "last_user":
            if where is not None:
                self._report("no-effect", "'last_user' looks for words, and has no event to name.", where_path)
            plan = ClausePlan(clause=LastUser, consent=self._consent(entry[form], (*path, form)), once=once)
        else:
            plan = self._event_need(form, name, entry[form], (*path, form), earlier, (where, where_path))
            if once and (form != "before" or plan.where is not None):
                message = "'once' is for 'last_user', and for 'before' without a condition."
                self._report("no-effect", message, (*path, "once") if "once" in entry else ("once",), key=True)
            plan = structs.replace(plan, once=once)
        return _Need(form, name, plan)

    def _event_need(
        self, form: str, name: str, raw: object, path: Path, earlier: Sequence[_Need], where: tuple[object, Path]
    ) -> ClausePlan:
        pattern = self._pattern(raw, path, wide=False, can_bind=form == "last")
        lasts = [need.name for need in earlier if need.form == "last"]
        condition = None if where[0] is None else self._condition(*where, (EACH, *lasts, name))
        pattern = self._with_end(pattern, name, [condition] if condition else [])
        bound_by_needs = {bound for bound, place in self._bound.items() if place != (EACH,)}
        roots = {place.root for place in condition.paths} if condition else set()
        depends = bool(roots - {EACH, name}) or any(place.name in bound_by_needs for place in pattern.sames)
        for place in pattern.binds:
            if place.name in self._bound:
                fix = f"Compare with its value: {{$same: {place.name}}}; or bind this one by another name"
                self._report("duplicate-id", f"{quoted(place.name)} is bound already. {fix}.", path)
            self._bound[place.name] = path
        clauses: Mapping[str, type[Clause]] = {"before": Before, "last": Last, "after": After}
        return ClausePlan(clause=clauses[form], name=name, patterns=(pattern,), where=condition, depends=depends)

    def _joint_where(self, raw: object, needs: Sequence[_Need]) -> list[ClausePlan]:
        """The plans of a list of needs, and a condition on all of its latest events."""
        condition = self._condition(raw, ("where",), (EACH, *(need.name for need in needs if need.form == "last")))
        plans = []
        for need in needs:
            plan = need.plan
            if need.form == "last":
                plan = structs.replace(plan, patterns=(self._with_end(plan.patterns[0], need.name, [condition]),))
            plans.append(plan)
        return [*plans, ClausePlan(clause=Where, where=condition, depends=True)]

    def _forbids(self, rule: Mapping[str, Any]) -> Iterable[ClausePlan]:
        entry = self._object(rule["forbids"], ("forbids",), (*FORBIDS, "where"), "'forbids'")
        forms = [form for form in FORBIDS if form in entry]
        if not forms:
            self._fail("missing-field", f"it needs one of {join_words(FORBIDS)}.", ("forbids",))
        where_path: Path = ("forbids", "where") if "where" in entry else ("where",)
        where = entry.get("where", rule.get("where"))
        for form in forms:
            pattern = self._pattern(entry[form], ("forbids", form), wide=True, can_bind=False)
            condition = None if where is None else self._condition(where, where_path, (EACH, form))
            pattern = self._with_end(pattern, form, [condition] if condition else [])
            clause = NeverBefore if form == "before" else NeverAfter
            yield ClausePlan(clause=clause, name=form, patterns=(pattern,), where=condition)

    def _where_alone(self, rule: Mapping[str, Any]) -> Iterable[ClausePlan]:
        yield ClausePlan(clause=Where, where=self._condition(rule["where"], ("where",), (EACH,)))

    def _at_most(self, rule: Mapping[str, Any]) -> Iterable[ClausePlan]:
        most, path = rule["at_most"], None
        is_number = isinstance(most, int | float) and not isinstance(most, bool) and most >= 0 and most < 1e18
        if not is_number or ("total" not in rule and most != int(most)):
            expected = "a number that is not negative" if "total" in rule else "a whole number that is not negative"
            self._fail("wrong-type", f"at_most is {expected}, found {kind(most)}.", ("at_most",))
        if "total" in rule:
            path = self._value_path(rule["total"], ("total",))
        yield ClausePlan(clause=AtMost, path=path, most=Decimal(repr(most)))

    def _read_same(self, rule: Mapping[str, Any]) -> Iterable[ClausePlan]:
        yield ClausePlan(clause=Same, path=self._value_path(rule["same"], ("same",)))

    def _values_from(self, rule: Mapping[str, Any]) -> Iterable[ClausePlan]:
        raw = rule["values_from"]
        if not isinstance(raw, dict) or not raw:
            self._fail("wrong-type", "values_from takes an object: {each.arguments.x: [user, tool]}.", ("values_from",))
        sources: list[tuple[ValuePath, tuple[ValueSource, ...]]] = []
        for text, names in raw.items():
            text_path = ("values_from", text)
            path = self._value_path(text, text_path, key=True, every=True)
            listed = names if isinstance(names, list) else [names]
            sources.append((path, tuple(self._sources(listed, text_path))))
        patterns = {source.pattern for _, listed in sources for source in listed}
        within = self._flag(rule.get("within_text", False), ("within_text",))
        yield ClausePlan(clause=Sources, sources=tuple(sources), patterns=tuple(patterns), within_text=within)

    def _sources(self, names: Sequence[object], path: Path) -> Iterator[ValueSource]:
        tools = [name for name in self._tool_names(names, path) if name != USER]
        if USER in names:
            yield ValueSource(USER, EventPattern(kind="user", wide=False))
        for tool in tools:
            yield ValueSource(tool, EventPattern(kind="call", tools=(tool,), wide=False, at_end=True))

    def _read_of_each(self, plans: Sequence[ClausePlan]) -> list[Condition]:
        """What the clauses read of the event that triggers the rule."""
        paths = [path for plan in plans for path in ((plan.path,) if plan.path else ())]
        paths += [path for plan in plans for path, _ in plan.sources]
        read = Matched(tuple((path, matcher({})) for path in paths))
        return [read, *(plan.where for plan in plans if plan.where is not None)]

    def _with_end(self, pattern: EventPattern, name: str, conditions: Sequence[Condition]) -> EventPattern:
        """The pattern as what is read of its event needs it: a result is there when a call has ended.

        A result that a condition reads of another event than `each` is that of a call that succeeded.
        """
        if pattern.kind != "call":
            return pattern
        paths = [path for condition in conditions for path in condition.paths if path.root == name]
        if name != EACH and pattern.success is None and any(path.steps[:1] in ((), ("result",)) for path in paths):
            pattern = structs.replace(pattern, success=True)
        reads = (*pattern.read_parts, *(str(path.steps[0]) for path in paths if path.steps))
        at_end = pattern.success is not None or not OF_RESULT.isdisjoint(reads)
        return structs.replace(pattern, at_end=at_end)

    def _check_never(self, each: EventPattern, rule: Mapping[str, Any]) -> None:
        """What keeps a rule from ever being triggered."""
        if each.tools and each.excluded and all(is_any_named(each.excluded, tool) for tool in each.tools):
            message = "'except' leaves out every tool that 'each' names, so nothing triggers the rule."
            self._report("never-triggered", message, (EACH, "except"))
        parts = {name for name, _ in each.parts}
        if each.success is True and "error" in parts:
            message = "a call that succeeded has no error, so nothing triggers the rule. Keep 'success' or 'error'."
            self._report("never-triggered", message, (EACH, "error"))
        when, excepted = rule.get("when"), rule.get("except")
        if isinstance(when, dict) and isinstance(excepted, dict):
            tags, out = when.get("tags"), excepted.get("tags")
            if isinstance(tags, list) and isinstance(out, list) and tags and set(map(str, tags)) <= set(map(str, out)):
                message = "'except' leaves out every tag of 'when', so nothing triggers the rule."
                self._report("never-triggered", message, ("except", "tags"))

    # Patterns

    def _pattern(self, raw: object, path: Path, *, wide: bool, can_bind: bool = True) -> EventPattern:
        """A pattern of an event. `wide`: names match in any spelling, and a request is enough."""
        if isinstance(raw, str):
            self._fail("wrong-type", f"a pattern is an object, found a string. Write {{call: {quoted(raw)}}}.", path)
        if isinstance(raw, dict) and "tool" in raw and "call" not in raw:
            self._fail("unknown-field", "unknown field. Did you mean 'call'?", (*path, "tool"), key=True)
        keys = self._object(raw, path, PATTERN_KEYS, "a pattern")
        kinds = [key for key in KINDS if key in keys]
        if len(kinds) != 1:
            flaw = f"a pattern names one kind of event: {join_words(KINDS)}."
            self._fail("duplicate-field" if kinds else "missing-field", flaw, path)
        name = kinds[0]
        if name in TEXT_KINDS:
            return self._text_pattern(keys, name, path, wide)
        tools = self._tools(keys[name], (*path, name))
        excluded = self._tools(keys["except"], (*path, "except")) if "except" in keys else ()
        ended = [key for key in (*OF_RESULT, *FLAGS) if key in keys and name != "call"]
        for key in ended:
            message = f"only a call has it, not {quoted(name)}. Remove it."
            self._report("no-effect", message, (*path, key), key=True)
        places: dict[str, list[NamePlace]] = {AS: [], SAME: []}
        parts = tuple(self._parts(keys, path, places))
        binds = tuple(places[AS])
        if binds and not can_bind:
            same = ", ".join(f"{{$same: {bind.name}}}" for bind in binds)
            message = f"only 'each' and 'last' bind a value with '$as'. Compare with one that is bound there: {same}."
            self._report("bad-binding", message, path)
        bound_here = {bind.name for bind in binds}
        success = self._flag(keys["success"], (*path, "success")) if "success" in keys else None
        pattern = EventPattern(
            kind=name,  # type: ignore[arg-type]
            tools=tools,
            excluded=excluded,
            wide=wide,
            success=success,
            parts=parts,
            flags=tuple((flag, self._flag(keys[flag], (*path, flag))) for flag in FLAGS if flag in keys),
            binds=binds,
            sames=tuple(bind for bind in places[SAME] if bind.name not in bound_here),
            own_sames=tuple(bind for bind in places[SAME] if bind.name in bound_here),
        )
        self._check_bound(pattern, path)
        return structs.replace(
            pattern, at_end=name == "call" and (success is not None or not OF_RESULT.isdisjoint(pattern.read_parts))
        )

    def _check_bound(self, pattern: EventPattern, path: Path) -> None:
        for same in pattern.sames:
            if same.name not in self._bound:
                hint = did_you_mean(same.name, self._bound) or "Bind it with '$as' in 'each'."
                message = f"nothing binds {quoted(same.name)} before. {hint}"
                self._report("unbound", message, (*path, *same.steps, SAME))

    def _text_pattern(self, keys: Mapping[str, Any], name: str, path: Path, wide: bool) -> EventPattern:
        for key in keys:
            if key != name and not _is_note(key):
                message = f"{quoted(name)} has no {quoted(key)}. Remove it."
                self._report("no-effect", message, (*path, key), key=True)
        raw, text_path = keys[name], (*path, name)
        if raw == "*":
            return EventPattern(kind=name, wide=wide)  # type: ignore[arg-type]
        text: Matcher | Phrases
        if isinstance(raw, dict):
            self._matchers(raw, text_path)
            text = matcher(raw)
        else:
            text = Phrases(tuple(self._phrases(raw, text_path)), wide)
        return EventPattern(kind=name, wide=wide, text=text)  # type: ignore[arg-type]

    def _parts(
        self, keys: Mapping[str, Any], path: Path, places: dict[str, list[NamePlace]]
    ) -> Iterator[tuple[str, Matcher]]:
        for part in PARTS:
            if part in keys:
                members = self._take_names(keys[part], (part,), (*path, part), places)
                if members is not _NOTHING:
                    self._matchers(members, (*path, part))
                    yield part, matcher(members)

    def _take_names(self, value: Any, steps: Steps, path: Path, places: dict[str, list[NamePlace]]) -> Any:
        """What is left of a value without `$as` and `$same`, which are noted with their places."""
        if not isinstance(value, dict):
            self._refuse_names(value, path)
            return value
        names = {key: value[key] for key in (AS, SAME) if key in value}
        members = {key: member for key, member in value.items() if key not in names}
        for key, name in names.items():
            if isinstance(name, str) and name.isidentifier():
                places[key].append(NamePlace(name, steps))
            else:
                self._report("wrong-type", f"{key} takes a name of letters, digits and _.", (*path, key))
        if any(key.startswith(SIGN) for key in members):
            self._refuse_names(members, path)
            return members
        remaining = {}
        for key, member in members.items():
            inner = self._take_names(member, (*steps, key), (*path, key), places)
            if inner is not _NOTHING:
                remaining[key] = inner
        return remaining if remaining or not (members or names) else _NOTHING

    def _refuse_names(self, value: Any, path: Path) -> None:
        members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, member in members:
            if key in (AS, SAME):
                message = f"{key} belongs to a member of an object, not into a list or another matcher."
                self._report("bad-binding", message, (*path, key), key=True)
            self._refuse_names(member, (*path, key))

    def _matchers(self, value: Any, path: Path) -> None:
        problems = [problem._replace(path=(*path, *problem.path)) for problem in find_problems(value)]
        self.problems += problems
        if problems:
            raise _Wrong

    def _tools(self, raw: object, path: Path) -> tuple[str, ...]:
        return tuple(self._tool_names(raw if isinstance(raw, list) else [raw], path, listed=isinstance(raw, list)))

    def _tool_names(self, names: Sequence[object], path: Path, *, listed: bool = True) -> list[str]:
        if not names:
            self._fail("empty-expectation", "the list names no tool, so no event is meant.", path)
        plain: list[str] = []
        for number, name in enumerate(names):
            name_path = (*path, number) if listed else path
            if not isinstance(name, str):
                self._fail("wrong-type", f"it takes names of tools, found {kind(name)}.", name_path)
            if not name.strip() or name != name.strip() or invisible_in(name):
                self._fail("empty-expectation", f"no tool is called {quoted(name)}.", name_path)
            plain.append(name)
        expanded, unknown = expand_groups(plain, self._around.groups)
        for group in unknown:
            groups = [*(f"@{name}" for name in self._around.groups), *DEEDS]
            hint = did_you_mean(group, groups) or "Write it under 'tools' at the top: tools: {writes: [...]}."
            self._report("unknown-group", f"no group of tools is called {quoted(group)}. {hint}", path)
        if unknown:
            raise _Wrong
        return expanded

    def _consent(self, raw: object, path: Path) -> ConsentWords:
        phrases, names = [], []
        for phrase in self._phrases(raw, path):
            if not phrase.startswith("@"):
                phrases.append(phrase)
                continue
            from carob.text.prose.consent import LANGUAGES

            base, _, language = phrase.partition(":")
            if base not in CONSENT_LISTS or (language and language not in LANGUAGES):
                list_names = [
                    *CONSENT_LISTS,
                    *(f"{base_list}:{code}" for base_list in CONSENT_LISTS for code in LANGUAGES),
                ]
                hint = did_you_mean(phrase, list_names) or f"Known: {join_words(list_names, 'and')}."
                self._fail("unknown-value", f"no published list is called {quoted(phrase)}. {hint}", path)
            names.append(f"{CONSENT_LISTS[base]}_{language}" if language else CONSENT_LISTS[base])
        return ConsentWords(tuple(phrases), self._lists, tuple(names))

    # SourceValues

    def _condition(self, raw: object, path: Path, names: Sequence[str]) -> Condition:
        if isinstance(raw, dict) and raw:
            return Matched(tuple(self._read_matchers(raw, path, names)))
        if not isinstance(raw, str) or not raw.strip():
            self._fail("wrong-type", f"'where' is a condition, or matchers by path, found {kind(raw)}.", path)
        try:
            return CelCondition(raw, names, self._around.conditions.get(raw, b""))
        except ConditionError as error:
            self._fail(error.slug, str(error), path)

    def _read_matchers(
        self, raw: Mapping[str, Any], path: Path, names: Sequence[str]
    ) -> Iterator[tuple[ValuePath, Matcher]]:
        for text, condition in raw.items():
            value_path = self._value_path(text, (*path, text), names, key=True)
            self._refuse_names(condition, (*path, text))
            self._matchers(condition, (*path, text))
            if condition == {}:
                self._report("empty-expectation", "every object is like this. Say what it must be.", (*path, text))
            yield value_path, matcher(condition)

    def _value_path(
        self, raw: object, path: Path, names: Sequence[str] = (EACH,), *, key: bool = False, every: bool = False
    ) -> ValuePath:
        value_path = read_path(raw) if isinstance(raw, str) else None
        roots = join_words([f"'{name}.'" for name in names])
        if value_path is None or value_path.root not in names or not value_path.steps:
            actual = quoted(raw) if isinstance(raw, str) else kind(raw)
            self._fail("bad-path", f"{actual} is not a path that begins with {roots}: each.arguments.x.", path, key=key)
        if value_path.steps[0] not in MEMBERS:
            hint = did_you_mean(str(value_path.steps[0]), MEMBERS) or f"It has {join_words(MEMBERS, 'and')}."
            self._fail("bad-path", f"an event has no {str(value_path.steps[0])!r}. {hint}", path, key=key)
        if EVERY in value_path.steps and not every:
            self._fail("bad-path", "'[*]' is for 'values_from'. Name one value, or use all() of CEL.", path, key=key)
        return value_path

    def _when(self, raw: object) -> When:
        keys = self._object(raw, ("when",), ("tags", "metadata"), "'when'")
        metadata = keys.get("metadata", {})
        if not isinstance(metadata, dict):
            self._fail("wrong-type", f"metadata is an object, found {kind(metadata)}.", ("when", "metadata"))
        self._matchers(metadata, ("when", "metadata"))
        tags = self._tags(keys, ("when",)) if "tags" in keys else ()
        if not tags and not metadata:
            self._fail("empty-expectation", "it narrows nothing. Name tags or metadata.", ("when",))
        return When(tags, tuple((name, matcher(condition)) for name, condition in metadata.items()))

    def _tags(self, raw: object, path: Path) -> tuple[str, ...]:
        keys = self._object(
            raw, path, ("tags", "metadata") if path == ("when",) else ("tags",), f"{quoted(str(path[0]))}"
        )
        return tuple(self._phrases(keys.get("tags"), (*path, "tags")))

    def _phrases(self, raw: object, path: Path) -> list[str]:
        listed: list[Any] = raw if isinstance(raw, list) else [raw]
        if not listed or not all(isinstance(entry, str) for entry in listed):
            self._fail("wrong-type", f"it takes a text or a list of texts, found {kind(raw)}.", path)
        for number, phrase in enumerate(listed):
            if not any(char.isalnum() for char in phrase):
                message = "a phrase without a letter or digit is in every text. Write the words."
                self._fail("empty-expectation", message, (*path, number) if isinstance(raw, list) else path)
            if (name := phrase.strip("{}")) in self._bound and phrase == f"{{{name}}}":
                message = f"'{phrase}' is not filled in here, and no conversation says that."
                fix = "To ask whether the user named it: values_from: { each.arguments.NAME: [user] }."
                self._fail("unfilled", f"{message} {fix}", (*path, number) if isinstance(raw, list) else path)
        return listed

    def _object(self, raw: object, path: Path, keys: Sequence[str], subject: str) -> Mapping[str, Any]:
        if not isinstance(raw, dict):
            self._fail("wrong-type", f"{subject} is an object, found {kind(raw)}.", path)
        for key in raw:
            if key not in keys and not _is_note(key):
                hint = did_you_mean(str(key), keys) or f"Known: {join_words(keys, 'and')}."
                self._report("unknown-field", f"unknown field. {hint}", (*path, key), key=True)
        return raw

    def _text(self, raw: object, path: Path, *, needed: bool = True) -> str:
        if not isinstance(raw, str):
            self._fail("wrong-type", f"it is a text, found {kind(raw)}.", path)
        if needed and (not raw.strip() or not raw.isprintable()):
            self._report("empty-value", "it is blank, or has characters that cannot be shown.", path)
        elif needed and ": " in raw:
            self._report("invalid-value", "': ' ends a name in reports. Write another sign.", path)
        return raw

    def _flag(self, raw: object, path: Path) -> bool:
        if not isinstance(raw, bool):
            self._fail("wrong-type", f"it is true or false, found {kind(raw)}.", path)
        return raw

    def _choice(self, raw: object, path: Path, choices: Sequence[str]) -> str:
        if not isinstance(raw, str) or raw not in choices:
            hint = did_you_mean(raw, choices) if isinstance(raw, str) else ""
            self._report("unknown-value", f"it is one of {join_words(choices)}. {hint}".rstrip(), path)
        return str(raw)

    def _report(self, slug: str, message: str, path: Path, *, key: bool = False) -> None:
        self.problems.append(CheckProblem(slug, message, path, key))

    def _fail(self, slug: str, message: str, path: Path, *, key: bool = False) -> NoReturn:
        self._report(slug, message, path, key=key)
        raise _Wrong


_NOTHING: Final = object()


def _is_note(key: object) -> bool:
    return key == "metadata" or (isinstance(key, str) and key.startswith("x-"))
