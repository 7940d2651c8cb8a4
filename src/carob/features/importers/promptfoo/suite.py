"""`promptfooconfig.yaml`: prompts × tests × variables → cases; assertions → checks."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple, TypedDict

from carob.criteria.identity import criterion_id
from carob.features.importers.criteria import why_no_criterion
from carob.features.importers.promptfoo.assertion import NOT, Asked, Assertion, MisfitError, unjudged_check
from carob.features.importers.promptfoo.assertions import (
    CODE_TYPES,
    CRITERIA,
    SET,
    UNJUDGED,
    code,
    criterion,
    from_text,
    path_of,
    read_assertion,
)
from carob.features.importers.promptfoo.files import SCHEME, Entry, NamedFiles, NotTextError, split_columns
from carob.features.importers.promptfoo.providers import CODE, target_of
from carob.features.importers.promptfoo.templates import (
    BadTemplateError,
    is_template,
    render_prompt,
    render_tree,
    render_variable,
    without_break,
)
from carob.features.importers.promptfoo.tool_assertions import OF_OUTPUT, is_of_trace
from carob.model.suite import MEETS
from carob.providers.base import tool_schemas
from carob.suites.diagnostics import Path, PathDiagnostic, RefusedError
from carob.suites.formats.base import Format, ParsedSuite, SuiteCatalog, SuiteFile
from carob.suites.formats.builder import CaseBuilder, Expectations, SuiteBuilder
from carob.suites.shapes.foreign import find_misfits
from carob.targets.recordings.result_files import ALIKE, IDENTITY, normalize_said
from carob.text.wording import did_you_mean, join_words, kind, quoted

OWN_KEYS = ("prompts", "tests", "providers", "targets", "defaultTest", "scenarios", "redteam")
MOST_CASES = 1_000_000
READ_APART = (*CODE_TYPES, *CRITERIA)
"""Types of which equal assertions are not one: each has a place of its own."""
WHOLE = ("is-json", "contains-json", "is-xml", "contains-xml", "is-html", "contains-html", "is-sql", "contains-sql")
"""Types that judge the whole output, and not a value in it."""
MOST_EXPANDED = 10_000
_RESULTS = ("results", "evalId")

Tree = Mapping[str, Any]
_Assertions = str | dict[str, Any] | list[str | dict[str, Any]]
_Test = TypedDict(
    "_Test",
    {
        "description": str,
        "vars": str | dict[str, Any],
        "assert": _Assertions,
        "options": dict[str, Any],
        "metadata": dict[str, Any],
        "prompts": list[str],
    },
    total=False,
)


class _Config(TypedDict, total=False):
    description: str
    prompts: str | dict[str, str] | list[str | dict[str, Any]]
    tests: str | dict[str, Any] | list[Any]
    scenarios: str | list[str | dict[str, Any]]
    defaultTest: str | _Test
    assertionTemplates: dict[str, dict[str, Any]]


class Prompt(NamedTuple):
    """A prompt as it is sent, with variables. `why_unknown`: it is made by code, or otherwise not known."""

    text: str
    label: str
    why_unknown: str = ""
    id: str = ""

    def is_among(self, names: Sequence[object]) -> bool:
        """Whether one of the names of a test's `prompts` is its label, id or text, or the group before a colon."""
        groups = tuple(f"{name.removesuffix(':*')}:" for name in names if isinstance(name, str))
        return any(own in names or own.startswith(groups) for own in (self.label, self.id, self.text) if own)


class TestCase(NamedTuple):
    """One test with what the whole file says of all of them."""

    tree: Tree
    entry: Entry
    number: int

    @property
    def options(self) -> Tree:
        return self.tree.get("options") or {}

    @property
    def name(self) -> str:
        description = self.tree.get("description")
        words = description.split() if isinstance(description, str) else []
        return " ".join(words) or f"test-{self.number}"


class Promptfoo(Format):
    """A configuration of promptfoo."""

    name = "promptfoo"
    title = "promptfoo configuration"
    description = "an object with 'prompts' and 'tests' (promptfoo)"

    def recognizes(self, file: SuiteFile) -> bool:
        tree = file.tree
        return (
            isinstance(tree, dict)
            and not tree.keys() & {"cases", "carob", *_RESULTS}
            and any(key in tree for key in OWN_KEYS)
        )

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        return ConfigReader(file, catalog).read()


class ConfigReader:
    """Reads one configuration."""

    def __init__(self, file: SuiteFile, catalog: SuiteCatalog) -> None:
        self._tree: dict[str, Any] = file.tree
        self._suite = SuiteBuilder(file, catalog)
        self._files = NamedFiles(file)
        self._folder = file.folder
        self._ids: dict[str, int] = {}
        self._conversations: dict[str, CaseBuilder] = {}
        self._known: dict[tuple[str, str, Any], list[Asked]] = {}
        self._said: dict[tuple[str, ...], list[tuple[CaseBuilder, dict[str, object]]]] = {}
        """The cases by what the user says, each with what distinguishes it from others with the same words."""
        self._count = 0
        self._target = target_of(self._tree.get("providers", self._tree.get("targets")), str(file.folder))
        self._is_code = self._target.spec == CODE
        self._tools = self._read_tools()

    def read(self) -> ParsedSuite:
        try:
            self._suite.require(self._tree, _Config)
            self._read_cases()
        except RefusedError as refused:
            self._suite.diagnostics += refused.diagnostics
        except NotTextError as found:
            message = f"its tests are {found}. Save them as a .yaml, .json or .csv file; no code is run for them."
            self._suite.problem(("tests",), message, "made-by-code")
        about = self._tree.get("description")
        built = self._suite.build(description=about if isinstance(about, str) else "", target=self._target.spec)
        return built._replace(target_options=self._target.options, target_is_code=self._is_code)

    def _read_tools(self) -> Mapping[str, Any] | str:
        """The schemas of the tools that the providers are given, or why they are not known."""
        providers = self._tree.get("providers", self._tree.get("targets"))
        found: dict[str, Any] = {}
        for provider in providers if isinstance(providers, list) else [providers]:
            config = provider.get("config") if isinstance(provider, dict) else None
            for key in ("tools", "functions"):
                tools = config.get(key) if isinstance(config, dict) else None
                if isinstance(tools, str) and tools.startswith(SCHEME):
                    try:
                        tools = self._files.value(tools, ("providers",))
                    except (RefusedError, NotTextError):
                        return f"the tools of its provider are in {tools}, which is not data here"
                if is_template(json.dumps(tools, default=str)):
                    return "the tools of its provider are templates"
                for name, schema in tool_schemas(tools).items():
                    if found.setdefault(name, schema) != schema:
                        return f"its providers have different tools called {name}"
        return found

    def _read_cases(self) -> None:
        default = self._default_test()
        prompts = list(self._prompts())
        tests = list(self._tests(default))
        if not tests and "redteam" in self._tree:
            message = "a model makes its tests (redteam). Save them first: promptfoo redteam generate -o tests.yaml."
            self._suite.problem(("redteam",), message, "made-by-model")
        for test in tests:
            self._read_test(test, prompts)
            if self._count > MOST_CASES:
                self._suite.problem(test.entry.path, f"it has more than {MOST_CASES:,} cases. Split it.", "too-large")
                return
        for same in self._said.values():
            distinguish(same)

    def _default_test(self) -> Tree:
        default = self._tree.get("defaultTest")
        if isinstance(default, str):
            if not default.startswith(SCHEME):
                message = f"expected a test or a file of one, found {quoted(default)}. Write file:// before its name."
                raise RefusedError(PathDiagnostic(("defaultTest",), message, "wrong-type"))
            default = self._files.value(default, ("defaultTest",))
            self._suite.require(default, _Test, ("defaultTest",))
        return default or {}

    def _prompts(self) -> Iterator[Prompt]:
        prompts = self._tree.get("prompts", "{{prompt}}")
        if isinstance(prompts, dict):  # an old spelling: labels by prompt
            prompts = [{"raw": raw, "label": label} for raw, label in prompts.items()]
        listed = [prompts] if isinstance(prompts, str) else prompts or []
        for index, prompt in enumerate(listed):
            path: Path = ("prompts", index)
            if isinstance(prompt, str) and prompt in listed[:index]:
                continue  # a prompt that is listed again is the same one there
            text = (prompt.get("raw") or prompt.get("id")) if isinstance(prompt, dict) else prompt
            label = str(prompt.get("label", "")) if isinstance(prompt, dict) else ""
            if isinstance(text, str):
                own_id = str(prompt.get("id", "")) if isinstance(prompt, dict) else ""
                yield from (read._replace(id=own_id) for read in self._prompt(text, label, path))
            else:
                self._suite.problem(path, f"expected a prompt, found {kind(prompt)}.", "invalid-value")

    def _prompt(self, text: str, label: str, path: Path) -> Iterator[Prompt]:
        if text.startswith(("exec:", "langfuse://", "helicone://", "portkey://")):
            yield Prompt("", label or text, f"its prompt is generated by {text.split(':')[0]}")
            return
        names = self._files.prompt_names(text, path)
        if not names:
            yield Prompt(text, label)
        for name in names:
            try:
                parts = self._files.prompts(name, path)
            except NotTextError as found:
                yield Prompt("", label or name, f"its prompt is {found}")
                continue
            for number, (part, own) in enumerate(parts, 1):
                yield Prompt(part, own or label or (f"{name}#{number}" if len(parts) > 1 else name))

    def _tests(self, default: Tree) -> Iterator[TestCase]:
        numbers = itertools.count(1)
        for entry in self._files.entries(self._tree.get("tests"), ("tests",)):
            if test := self._as_test(entry, default, next(numbers)):
                yield test
        for index, scenario in enumerate(self._tree.get("scenarios") or ()):
            path: Path = ("scenarios", index)
            for part in self._files.entries(scenario, path) if isinstance(scenario, str) else [Entry(scenario, path)]:
                if isinstance(part.value, dict):
                    yield from self._scenario(part, default, numbers)
        if "tests" not in self._tree and "scenarios" not in self._tree and default.get("assert"):
            yield TestCase(merge_test(default, {}), Entry({}, ("defaultTest",)), next(numbers))

    def _scenario(self, entry: Entry, default: Tree, numbers: Iterator[int]) -> Iterator[TestCase]:
        """Each configuration of a scenario with each of its tests."""
        configs = list(self._files.entries(entry.value.get("config") or [{}], (*entry.path, "config"), entry.source))
        tests = list(self._files.entries(entry.value.get("tests") or [{}], (*entry.path, "tests"), entry.source))
        for config, test in itertools.product(configs, tests):
            both = merge_test(config.value, test.value) if isinstance(test.value, dict) else test.value
            if case := self._as_test(test._replace(value=both), default, next(numbers)):
                yield case

    def _as_test(self, entry: Entry, default: Tree, number: int) -> TestCase | None:
        tree = entry.value
        if not isinstance(tree, dict):
            self._suite.diagnostics.append(entry.problem(f"expected a test, found {kind(tree)}."))
            return None
        if misfits := [] if ".csv:" in entry.source else find_misfits(tree, _Test):
            self._suite.diagnostics += [entry.problem(one.message, one.slug, *one.path) for one in misfits]
            return None
        if ".csv:" in entry.source:
            tree = split_columns(tree)
        elif entry.source and not tree.keys() & {"vars", "assert", "description", "options", "metadata"}:
            tree = {"vars": tree}  # a row of data is its variables
        return TestCase(merge_test(default, tree), entry, number)

    def _read_test(self, test: TestCase, prompts: Sequence[Prompt]) -> None:
        try:
            expanded = list(self._expand(test))
        except NotTextError as found:
            self._skip(test, f"a variable is {found}")
            return
        except BadTemplateError as error:
            self._skip(test, f"{error}")
            return
        for prompt in self._select(test, prompts):
            for number, (values, written) in enumerate(expanded, 1):
                parts = [test.name]
                parts += [f"prompt {prompts.index(prompt) + 1}"] if len(prompts) > 1 else []
                parts += [str(number)] if len(expanded) > 1 else []
                self._case(test, " / ".join(parts), prompt, values, written)

    def _select(self, test: TestCase, prompts: Sequence[Prompt]) -> Sequence[Prompt]:
        """The prompts that a test names, or all; a name that no prompt has is a problem of the file."""
        chosen = test.tree.get("prompts")
        if not isinstance(chosen, list) or not chosen:
            return prompts
        for index, name in enumerate(chosen):
            if not any(prompt.is_among([name]) for prompt in prompts):
                labels = [label for prompt in prompts if (label := prompt.label or prompt.id)]
                near = did_you_mean(str(name), labels) or (f"Known: {join_words(labels, 'and')}." if labels else "")
                message = f"no prompt is called {quoted(str(name))}. {near}".rstrip()
                self._suite.diagnostics.append(test.entry.problem(message, "unknown-value", "prompts", index))
        return [prompt for prompt in prompts if prompt.is_among(chosen)]

    def _expand(self, test: TestCase) -> Iterator[tuple[dict[str, Any], Tree]]:
        """The variables of a test, and as results have them; where one is a list, each of its values in turn."""
        variables = test.tree.get("vars") or {}
        if isinstance(variables, str):
            variables = self._read_variables(variables, test.entry)
        if not isinstance(variables, dict):
            raise RefusedError(
                test.entry.problem(f"expected variables, found {kind(variables)}.", "invalid-value", "vars")
            )
        loaded = {name: self._load(value, test.entry.path) for name, value in variables.items()}
        combinations: Iterable[tuple[Any, ...]] = [tuple(loaded.values())]
        if not test.options.get("disableVarExpansion") and any(map(has_cases, loaded.values())):
            combinations = itertools.product(*(v if has_cases(v) else [v] for v in loaded.values()))
        for count, combination in enumerate(combinations):
            if count >= MOST_EXPANDED:
                message = f"its variables have more than {MOST_EXPANDED:,} combinations. Split it."
                raise RefusedError(test.entry.problem(message, "too-large", "vars"))
            values = {name: without_break(value) for name, value in zip(loaded, combination, strict=True)}
            # A variable may be a template of others; a second look is enough for those that are there.
            plain_text = all(type(value) is str and "{" not in value for value in values.values())
            filled = values if plain_text else {name: render_variable(one, values) for name, one in values.items()}
            # Results have a template as it is, and the name of a file.
            yield filled, {name: one for name, one in values.items() if not names_file(variables[name])}

    def _read_variables(self, reference: str, entry: Entry) -> Any:
        """The variables of the files that a test names, from the folder of the file that the test is in."""
        folder = PurePath(entry.source).parent
        name = os.path.normpath(folder / reference.removeprefix(SCHEME))
        parts = [self._files.value(f"{SCHEME}{name}", entry.path) for name in self._files.names(name, entry.path)]
        if len(parts) == 1 or not all(isinstance(part, dict) for part in parts):
            return parts[0]
        return {key: value for part in parts for key, value in part.items()}

    def _load(self, value: Any, path: Path) -> Any:
        if isinstance(value, list):
            return [self._load(each, path) for each in value]
        if not isinstance(value, str) or not value.startswith(SCHEME):
            return value
        names = self._files.names(value, path)
        loaded = [self._files.variable(name, path) for name in names]
        return loaded if len(loaded) > 1 else loaded[0]

    def _case(self, test: TestCase, name: str, prompt: Prompt, values: dict[str, Any], written: Tree) -> None:
        self._count += 1
        skip = prompt.why_unknown
        if not skip and test.options.get("transformVars"):
            skip = "its variables are computed by code (transformVars)"
        text = raw = f"({skip})"
        setup: list[str] = []
        if not skip:
            raw, skip = self._render(test, prompt, values)
            said = [] if self._is_code else user_messages(raw)  # a provider is given the whole prompt
            *setup, text = said or [raw]
        metadata = test.tree.get("metadata") or {}
        key = metadata.get("conversationId")
        if key is not None and not skip:
            self._turn(str(key), test, text, prompt, values)
            return
        case = self._suite.case(
            self._unique(name),
            text,
            test.entry.path,
            setup_prompts=setup,
            skip=skip,
            metadata=metadata | ({"vars": values} if self._is_code else {}),
        )
        case.answered = False
        if not skip:
            identity = describe_identity(raw, written, test.tree.get("description"))
            self._said.setdefault(normalize_said((*setup, text)), []).append((case, identity))
        self._expect(case, test, values, text)
        self._score(case, test)

    def _render(self, test: TestCase, prompt: Prompt, values: dict[str, Any]) -> tuple[str, str]:
        """The prompt as it is sent, and why it is not known."""
        before, after = (test.options.get(key) or "" for key in ("prefix", "suffix"))
        try:
            text = render_prompt(f"{before}{prompt.text}{after}", values)
        except BadTemplateError as error:
            return f"({error})", str(error)
        if not text.strip():
            return "(the prompt is empty)", "its prompt is empty once the variables are filled in"
        return text, ""

    def _turn(self, key: str, test: TestCase, text: str, prompt: Prompt, values: dict[str, Any]) -> None:
        """One turn of a conversation that several tests make up, for each prompt its own."""
        conversation = f"{key} {prompt.label or prompt.text}"
        case = self._conversations.get(conversation)
        if case is None:
            metadata: dict[str, object] = {IDENTITY: describe_identity(conversation=key)}
            case = self._suite.case(self._unique(f"conversation {key}"), text, test.entry.path, metadata=metadata)
            case.answered = False
            self._conversations[conversation] = case
        self._expect(case.turn(text, test.entry.path), test, values, text)
        if test.tree.get("threshold") is not None:
            self._suite.diagnostics.append(
                test.entry.problem(
                    "a single turn of a conversation cannot have a threshold.", "invalid-value", "threshold"
                )
            )

    def _skip(self, test: TestCase, why: str) -> None:
        case = self._suite.case(self._unique(test.name), f"({why})", test.entry.path, skip=why)
        case.answered = False
        case.check("unjudged", {"what": why}, test.entry.path, label="vars")

    def _unique(self, name: str) -> str:
        count = self._ids[name] = self._ids.get(name, 0) + 1
        return name if count == 1 else self._unique(f"{name} #{count}")

    def _score(self, case: CaseBuilder, test: TestCase) -> None:
        threshold = test.tree.get("threshold")
        if threshold is None:
            return
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold <= 1:
            message = f"a threshold of {threshold!r} decides nothing. Write a number over 0 and up to 1."
            self._suite.diagnostics.append(test.entry.problem(message, "invalid-value", "threshold"))
            return
        case.threshold = float(threshold)

    def _expect(self, case: Expectations, test: TestCase, values: dict[str, Any], prompt: str) -> None:
        weighed = test.tree.get("threshold") is not None
        assertions = test.tree.get("assert") or []
        transform = test.options.get("transform", test.options.get("postprocess"))
        around = Around(values, prompt, weighed, transform)
        for index, tree in enumerate(assertions):
            path = self._path(test, index)
            label = f"assert[{index}]"
            try:
                self._assert(case, tree, path, label, around)
            except MisfitError as misfit:
                self._suite.diagnostics.append(Entry(tree, path, test.entry.source).problem(str(misfit)))
        if case.is_empty:
            reason = "no assertion: a person looks at the answer"
            case.check("unjudged", {"what": reason}, test.entry.path, label="assert")

    def _path(self, test: TestCase, index: int) -> Path:
        """Where an assertion is: those of `defaultTest` come first."""
        assertions = test.entry.value.get("assert") if isinstance(test.entry.value, dict) else None
        before = len(test.tree.get("assert") or ()) - (len(assertions) if isinstance(assertions, list) else 0)
        if index < before:
            return ("defaultTest", "assert", index)
        return test.entry.path if test.entry.source else (*test.entry.path, "assert", index - before)

    def _assert(self, case: Expectations, raw: Any, path: Path, label: str, around: Around) -> None:
        tree = self._resolve(raw, path)
        if tree.get("weight") == 0:
            message = "with a weight of 0 it cannot fail, here as in promptfoo, and is not checked."
            self._suite.warn(path, message, "asks-nothing")
            return
        if tree["type"] == SET:
            self._assert_set(case, tree, path, label, around)
            return
        metric = tree.get("metric")
        label = f"{label} {tree['type']}{f' ({metric})' if isinstance(metric, str) else ''}"
        weight = _weight(tree) if around.weighed else None
        for number, check in enumerate(self._read_checks(tree, path, around)):
            if check.name == MEETS:
                check = _once(case, check)
            if check.args.get("error"):
                self._suite.warn(path, str(check.args["what"]), "unknown-field")
            case.check(
                check.name,
                check.args,
                path,
                label=f"{label} #{number + 1}" if number else label,
                negated=check.negated,
                weight=weight,
            )

    def _resolve(self, assertion: Any, path: Path) -> dict[str, Any]:
        if isinstance(assertion, str):
            assertion = from_text(assertion)
        if isinstance(assertion, dict) and isinstance(assertion.get("$ref"), str):
            name = assertion["$ref"].rpartition("/")[2]
            template = (self._tree.get("assertionTemplates") or {}).get(name)
            if not isinstance(template, dict):
                raise MisfitError(f"there is no assertion {quoted(assertion['$ref'])}.")
            assertion = {**template, **{key: value for key, value in assertion.items() if key != "$ref"}}
        if not isinstance(assertion, dict) or not isinstance(assertion.get("type"), str):
            raise MisfitError(f"expected an assertion with a `type`, found {kind(assertion)}.")
        return assertion

    def _assert_set(self, case: Expectations, tree: Tree, path: Path, label: str, around: Around) -> None:
        inside, threshold = tree.get("assert"), tree.get("threshold")
        if not isinstance(inside, list) or not inside:
            raise MisfitError(f"{SET} needs a list of assertions, found {kind(inside)}.")
        if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int | float)):
            raise MisfitError(f"{SET} needs a number as `threshold`, found {kind(threshold)}.")
        parts = [(index, self._resolve(part, path)) for index, part in enumerate(inside)]
        checks = [(part, each) for _, part in parts for each in self._read_checks(part, path, around)]
        plain_checks = all(each.name not in ("unjudged", "code", MEETS) and not each.negated for _, each in checks)
        if threshold is not None and checks and plain_checks:
            of = [{"check": each.name, "args": each.args, "weight": _weight(part)} for part, each in checks]
            weight = _weight(tree) if around.weighed else None
            case.check("score_of", {"threshold": float(threshold), "of": of}, path, label=f"{label} set", weight=weight)
        elif threshold is not None:
            reason = "assert-set (Carob does not weigh it): some of its parts are code or need a model"
            case.check("unjudged", {"what": reason}, path, label=f"{label} set")
        else:
            for index, part in parts:
                self._assert(case, part, (*path, "assert", index), f"{label}.assert[{index}]", around)

    def _read_checks(self, tree: Tree, path: Path, around: Around) -> list[Asked]:
        """The checks of an assertion. Most of a file repeat others, and are read once."""
        value = tree.get("value")
        if around.transform is None and isinstance(value, str) and "{" not in value and not value.startswith(SCHEME):
            key = (tree["type"], value, tree.get("threshold"))
            if len(tree) == 2 + ("threshold" in tree) and tree["type"].removeprefix(NOT) not in READ_APART:
                if key not in self._known:
                    self._known[key] = self._read_assertion(tree, path, around)
                return self._known[key]
        return self._read_assertion(tree, path, around)

    def _read_assertion(self, tree: Tree, path: Path, around: Around) -> list[Asked]:
        name: str = tree["type"]
        base = name.removeprefix(NOT)
        assertion = Assertion(base, tree.get("value"), tree.get("threshold"), len(base) < len(name), tools=self._tools)
        if "threshold" in tree and tree["threshold"] is None:
            return [unjudged_check(assertion, "its threshold is null")]
        if base in CRITERIA:
            return [self._criterion(assertion, tree, path, around)]
        if base in UNJUDGED or base.startswith("promptfoo:redteam:"):
            return [unjudged_check(assertion, UNJUDGED.get(base, "it needs a model"))]
        transforms = [each for each in (around.transform, tree.get("transform")) if each is not None]
        if not transforms or is_of_trace(base):
            return self._read_plain(assertion, tree, path, around)
        if base in OF_OUTPUT:
            return [unjudged_check(assertion, "its transform is code, and it looks for calls in what that returns")]
        at = path_of(transforms[0]) if len(transforms) == 1 and isinstance(transforms[0], str) else None
        if at is not None and base not in (*CODE_TYPES, *WHOLE):
            return self._read_plain(assertion._replace(at=at), tree, path, around)
        checks = self._read_plain(assertion, tree, path, around)
        for transform in reversed(transforms):
            checks = [self._transform_output(assertion, check, transform, around.context(tree)) for check in checks]
        return checks

    def _read_plain(self, assertion: Assertion, tree: Tree, path: Path, around: Around) -> list[Asked]:
        """The checks of an assertion about the answer as it is, or about a value in it."""
        if assertion.type in CODE_TYPES:
            return code(self._with_code(assertion._replace(context=around.context(tree))))
        filled = self._value(assertion.value, path, around)
        return read_assertion(assertion if filled is assertion.value else assertion._replace(value=filled))

    def _transform_output(
        self, assertion: Assertion, check: Asked, transform: Any, context: Mapping[str, Any]
    ) -> Asked:
        """The check, of what the code of a transform makes of the answer; it runs where the user trusts it."""
        if check.name in ("unjudged", MEETS):
            return check
        if not isinstance(transform, str):
            return unjudged_check(assertion, f"its transform is {kind(transform)}")
        rule: dict[str, Any] = {"language": "javascript", "code": transform}
        if transform.startswith(SCHEME):
            name, _, function = transform.removeprefix(SCHEME).partition(":")
            suffix = PurePath(name).suffix
            if suffix not in (".py", ".js", ".cjs", ".mjs"):
                return unjudged_check(assertion, f"its transform is a {suffix or 'program'}, which Carob does not run")
            rule = {"language": "javascript", "file": str(self._folder / name)}
            if suffix == ".py":
                rule["language"], function = "python", function or "get_transform"
            rule |= {"function": function} if function else {}
        args = {**check.args, **({"$not": True} if check.negated else {})}
        return Asked("code", {**rule, "context": dict(context), "then": {"check": check.name, "args": args}})

    def _criterion(self, assertion: Assertion, tree: Tree, path: Path, around: Around) -> Asked:
        """A criterion with its variables filled in; what people do not use is said to be left out."""
        text = assertion.value
        if tree.get("transform") is not None or around.transform is not None:
            return unjudged_check(assertion, "its transform is code")
        if isinstance(text, str) and text.startswith(SCHEME):
            return unjudged_check(assertion, "its text is in a file")
        try:
            filled = render_tree(text, around.values)
        except BadTemplateError as error:
            return unjudged_check(assertion, f"{error}")
        left = [key for key in ("threshold", "rubricPrompt", "provider") if tree.get(key) is not None]
        if left:
            message = f"{assertion.type} is for people to decide, without its {' and '.join(left)}."
            self._suite.warn(path, message, "not-used")
        return criterion(assertion._replace(value=filled))

    def _value(self, value: Any, path: Path, around: Around) -> Any:
        try:
            filled = render_tree(value, around.values)
        except BadTemplateError as error:
            raise MisfitError(f"{error}.") from None
        if isinstance(filled, str) and filled.startswith(SCHEME):
            try:
                return self._files.value(filled, path)
            except NotTextError as found:
                raise MisfitError(f"its value is {found}. Write the value down.") from None
        return filled

    def _with_code(self, assertion: Assertion) -> Assertion:
        text = assertion.value
        if not isinstance(text, str):
            raise MisfitError(f"{assertion.type} needs code as `value`, not {kind(text)}.")
        if not text.startswith(SCHEME):
            return assertion._replace(code=text)
        name, _, function = text.removeprefix(SCHEME).partition(":")
        return assertion._replace(file=str(self._folder / name), function=function)


def _once(case: Expectations, check: Asked) -> Asked:
    """The criterion, or if its case has it already, that it has."""
    text = check.args["says"]
    before = {criterion_id(json.loads(bytes(spec.args))["says"]) for spec, _ in case.checks if spec.name == MEETS}
    why = why_no_criterion(text, before)
    return Asked("unjudged", {"what": f"llm-rubric ({why}): {text[:300]}"}) if why else check


class Around(NamedTuple):
    """What an assertion is within."""

    values: dict[str, Any]
    prompt: str
    weighed: bool
    transform: Any

    def context(self, tree: Tree) -> dict[str, Any]:
        """What code is given in addition to the answer."""
        config = {"config": tree["config"]} if tree.get("config") else {}
        return {"vars": self.values, "prompt": self.prompt, **config}


def _weight(tree: Tree) -> float:
    weight = tree.get("weight", 1)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0:
        raise MisfitError(f"expected a weight of 0 or more, found {kind(weight)}.")
    return float(weight)


def merge_test(default: Tree, test: Tree) -> dict[str, Any]:
    """A test with what holds for all of them: its own keys win, variables and assertions are put together."""
    both: dict[str, Any] = {**default, **test}
    for key in ("vars", "options", "metadata"):
        first, second = default.get(key), test.get(key)
        if isinstance(first, dict) and (isinstance(second, dict) or not second):
            both[key] = {**first, **(second or {})}
    assertions = as_list(test.get("assert"))
    skip = (both.get("options") or {}).get("disableDefaultAsserts")
    both["assert"] = [*(() if skip else as_list(default.get("assert"))), *assertions]
    for index, threshold in (both.pop("thresholds", None) or {}).items():
        if index < len(assertions):
            position = len(both["assert"]) - len(assertions) + index
            both["assert"][position] = {**from_text(assertions[index]), "threshold": threshold}
    return both


def describe_identity(
    raw: str | None = None,
    values: Mapping[str, Any] | None = None,
    description: object = None,
    conversation: object = None,
) -> dict[str, object]:
    """What distinguishes tests in which the user says the same, as far as it is known."""
    found: dict[str, object] = {}
    if raw is not None:
        try:
            prompt = json.loads(raw)
        except (ValueError, RecursionError):
            prompt = raw
        found["prompt"] = raw if isinstance(prompt, str | int | float) else json.dumps(prompt, sort_keys=True)
    if values is not None:
        # A table has texts only, and an empty one where a variable is not set.
        texts = {
            name: without_break(one) if isinstance(one, str) else json.dumps(one, sort_keys=True)
            for name, one in values.items()
            if not names_file(one)
        }
        found["vars"] = {name: text for name, text in texts.items() if text and not name.startswith("_")}
    if isinstance(description, str) and description:
        found["description"] = description
    return found | ({"conversation": str(conversation)} if conversation is not None else {})


def distinguish(same: Sequence[tuple[CaseBuilder, dict[str, object]]]) -> None:
    """Write into cases in which the user says the same what each result must be of, if there are several."""
    first = same[0][1]
    differ = {key for _, known in same for key in known.keys() | first.keys() if known.get(key) != first.get(key)}
    groups: dict[str, list[CaseBuilder]] = {}
    for case, known in same:
        identity = {key: known[key] for key in sorted(differ & known.keys())}
        groups.setdefault(json.dumps(identity), []).append(case)
    for written, cases in groups.items():
        for number, case in enumerate(cases):
            identity = json.loads(written) | ({ALIKE: [number, len(cases)]} if len(cases) > 1 else {})
            if identity:
                case.fields["metadata"] = {**case.fields["metadata"], IDENTITY: identity}


def has_cases(value: Any) -> bool:
    """Whether each value of a variable is one of a case of its own: a list that begins with a text."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], str)


def names_file(value: Any) -> bool:
    """Whether a variable is what files hold."""
    return any(isinstance(one, str) and one.startswith(SCHEME) for one in as_list(value))


def as_list(value: Any) -> list[Any]:
    """The assertions of a test; one alone needs no list."""
    return value if isinstance(value, list) else [value] if value else []


def user_messages(text: str) -> list[str]:
    """What the user says in a prompt that is a list of messages; nothing if it is not one."""
    if not text.lstrip().startswith("["):
        return []
    try:
        messages = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(messages, list) or not all(
        isinstance(message, dict) and "role" in message for message in messages
    ):
        return []
    contents = [message.get("content") for message in messages if message["role"] == "user"]
    return [message if isinstance(message, str) else json.dumps(message) for message in contents]
