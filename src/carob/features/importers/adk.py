"""Eval sets of Google's Agent Development Kit, new ones and the lists before them, and results of `adk eval`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Required, TypedDict

from carob.evidence.exports.record import RecordedCase
from carob.evidence.exports.results import ResultReader
from carob.suites.diagnostics import Path, PathDiagnostic, RefusedError
from carob.suites.formats.base import Format, ParsedSuite, SuiteCatalog, SuiteFile
from carob.suites.formats.builder import CaseBuilder, SuiteBuilder
from carob.suites.shapes.foreign import require_type

CONFIG = "test_config.json"
TRAJECTORY, RESPONSE = "tool_trajectory_avg_score", "response_match_score"
DEFAULTS: Mapping[str, Any] = {TRAJECTORY: 1.0, RESPONSE: 0.8}
MATCHES = {"EXACT": "ordered", "IN_ORDER": "in_order", "ANY_ORDER": "superset", "0": "ordered"}
MATCHES |= {"1": "in_order", "2": "superset"}


class _Call(TypedDict, total=False):
    name: Required[str]
    args: dict[str, Any]


class _Part(TypedDict, total=False):
    text: str
    function_call: _Call


class _Content(TypedDict, total=False):
    parts: list[_Part]


class _Event(TypedDict, total=False):
    content: _Content


class _Calls(TypedDict, total=False):
    tool_uses: list[_Call]
    invocation_events: list[_Event]


class Invocation(TypedDict, total=False):
    """What is read of a turn, in a set and in the results of a run."""

    user_content: Required[_Content]
    final_response: _Content
    intermediate_data: _Calls


class _Session(TypedDict, total=False):
    state: dict[str, Any]


class _Case(TypedDict, total=False):
    eval_id: Required[str]
    conversation: list[Invocation]
    session_input: _Session
    final_session_state: dict[str, Any]


class _EvalSet(TypedDict, total=False):
    name: str
    eval_set_id: str
    description: str
    eval_cases: Required[list[_Case]]


class _LegacyCall(TypedDict, total=False):
    tool_name: Required[str]
    tool_input: dict[str, Any]


class _LegacyTurn(TypedDict, total=False):
    query: Required[str]
    expected_tool_use: list[_LegacyCall]
    reference: str


class _LegacyCase(TypedDict, total=False):
    name: str
    data: Required[list[_LegacyTurn]]
    initial_state: _Session
    initial_session: _Session


class Call(NamedTuple):
    """A call of a tool that is expected."""

    name: str
    args: dict[str, Any]


class ExpectedTurn(NamedTuple):
    """One prompt, with the calls and the answer that are expected; None where the file does not say."""

    prompt: str
    calls: list[Call] | None
    answer: str | None
    path: Path


class Criterion(NamedTuple):
    """A metric and how much of it is enough."""

    threshold: float
    match: str = "ordered"
    ignore_args: bool = False


class AdkEvalSet(Format):
    """An eval set, with the criteria of `test_config.json` next to it."""

    name = "adk"
    title = "ADK eval set"
    description = "an object with 'eval_cases' or a list with 'query' (ADK)"

    def recognizes(self, file: SuiteFile) -> bool:
        tree = file.tree
        if isinstance(tree, dict):
            return "eval_cases" in tree or "evalCases" in tree
        first = next(iter(tree), None) if _is_list(tree) else None
        if not isinstance(first, dict) or "id" in first:
            return False
        return "query" in first or isinstance(first.get("data"), list)

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        return EvalSetReader(file, catalog).read()


def _is_list(tree: Any) -> bool:
    """A list of JSON may be parsed as it is walked through."""
    return isinstance(tree, Sequence) and not isinstance(tree, str)


def field(tree: Any, name: str) -> Any:
    """A field by its name in snake case or in camel case."""
    if not isinstance(tree, dict):
        return None
    first, *words = name.split("_")
    return tree.get(name, tree.get("".join([first, *(part.capitalize() for part in words)])))


class EvalSetReader:
    """Reads one eval set."""

    def __init__(self, file: SuiteFile, catalog: SuiteCatalog) -> None:
        self._file = file
        self._suite = SuiteBuilder(file, catalog)
        self._models: list[str] = []

    def read(self) -> ParsedSuite:
        tree = self._file.tree
        if _is_list(tree):
            is_grouped = "data" in tree[0]
            self._suite.require(tree, list[_LegacyCase] if is_grouped else list[_LegacyTurn])
            self._read_legacy(list(tree), self._criteria(), is_grouped=is_grouped)
            return self._suite.build("legacy")
        self._suite.require(tree, _EvalSet)
        criteria = self._criteria()
        key = "eval_cases" if "eval_cases" in tree else "evalCases"
        for index, case in enumerate(tree[key]):
            self._read_case(case, (key, index), criteria)
        name = field(tree, "name") or field(tree, "eval_set_id") or ""
        return self._suite.build(name=name, description=field(tree, "description") or "")

    def _criteria(self) -> dict[str, Criterion]:
        """The metrics to judge by; what needs a model is noted for every case."""
        configured: Any = DEFAULTS
        if (self._file.folder / CONFIG).is_file() and not self._file.path.startswith("<"):
            try:
                configured = field(json.loads(self._file.read_other(CONFIG)), "criteria")
            except (ValueError, RefusedError) as error:
                self._refuse_config(f"not a configuration: {str(error)[:100]}.")
        criteria = {}
        for name, value in (configured if isinstance(configured, dict) else DEFAULTS).items():
            if name not in DEFAULTS:
                self._models.append(str(name))
                continue
            try:
                criteria[name] = _criterion(value)
            except ValueError as error:
                self._refuse_config(f"{name}: {error}.")
        return criteria

    def _refuse_config(self, message: str) -> None:
        path = str(self._file.folder / CONFIG)
        self._suite.diagnostics.append(PathDiagnostic((), message, "bad-config", place=(1, 1), file=path))

    def _read_case(self, tree: Any, path: Path, criteria: Mapping[str, Criterion]) -> None:
        eval_id = field(tree, "eval_id")
        state = field(field(tree, "session_input"), "state")
        metadata = {"session_state": state} if state else {}
        conversation = field(tree, "conversation")
        if not conversation:
            if field(tree, "conversation_scenario"):
                why = "its user is played by a model (conversation_scenario)"
                case = self._suite.case(eval_id, f"({why})", path, skip=why)
                case.check("unjudged", {"what": why}, path, label="conversation_scenario")
            else:
                self._suite.problem(path, "the case has no conversation.", "no-checks")
            return
        key = (*path, "conversation")
        turns = [self._turn(invocation, (*key, index)) for index, invocation in enumerate(conversation)]
        self._case(eval_id, turns, path, criteria, metadata, field(tree, "final_session_state") or {})

    def _turn(self, invocation: Any, path: Path) -> ExpectedTurn:
        answer, calls = field(invocation, "final_response"), read_calls(field(invocation, "intermediate_data"))
        prompt = content_text(field(invocation, "user_content"))
        return ExpectedTurn(prompt, calls, None if answer is None else content_text(answer), path)

    def _read_legacy(self, tree: Sequence[Any], criteria: Mapping[str, Criterion], *, is_grouped: bool) -> None:
        """A list of turns is one conversation; a list of objects with `data` holds several."""
        if is_grouped:
            for index, session in enumerate(tree):
                state = field(session.get("initial_state") or session.get("initial_session"), "state")
                turns = [_legacy_turn(each, (index, "data", n)) for n, each in enumerate(session["data"])]
                metadata = {"session_state": state} if state else {}
                self._case(session.get("name") or f"case-{index + 1}", turns, (index,), criteria, metadata, {})
            return
        turns = [_legacy_turn(each, (index,)) for index, each in enumerate(tree)]
        self._case(self._file.name.split(".")[0] or "case", turns, (), criteria, {}, {})

    def _case(
        self,
        name: str,
        turns: Sequence[ExpectedTurn],
        path: Path,
        criteria: Mapping[str, Criterion],
        metadata: dict[str, object],
        state: Mapping[str, Any],
    ) -> None:
        for turn in turns:
            if not turn.prompt.strip():
                self._suite.problem(turn.path, "the user's message has no text. Carob sends only text.", "empty-value")
        silent = all(turn.calls is None and turn.answer is None for turn in turns)
        if silent and not state and not self._models:
            message = "nothing is expected: it has neither tool calls nor a response. Add one of the two."
            self._suite.problem(path, message, "no-checks")
            return
        case = self._suite.case(name, turns[0].prompt if turns else "", path, metadata=metadata)
        case.answered = False
        each = [case.turn(turn.prompt, turn.path) for turn in turns] if len(turns) > 1 else [case]
        if TRAJECTORY in criteria:
            self._expect_calls(case, each, turns, criteria[TRAJECTORY])
        if RESPONSE in criteria and any(turn.answer for turn in turns):
            self._expect_answers(case, turns, criteria[RESPONSE])
        for key, value in state.items():
            at = (*path, "final_session_state", key)
            case.check("state", {"path": f"$[{json.dumps(key)}]", "value": {"$eq": value}}, at, label=f"state.{key}")
        for metric in self._models:
            case.check("unjudged", {"what": f"{metric} (it needs a model)"}, path, label=metric)

    def _expect_calls(
        self, case: CaseBuilder, each: Sequence[Any], turns: Sequence[ExpectedTurn], criterion: Criterion
    ) -> None:
        rules = [_rule(turn, criterion) for turn in turns]
        if criterion.threshold < 1 and len(turns) > 1:
            of = [
                {"check": "trajectory", "args": rule, "turn": number} if rule else {"check": "always", "args": {}}
                for number, rule in enumerate(rules, 1)
            ]
            parts = [part for part in of if part["check"] != "always"]
            # Turns of which nothing is asked hold: they lower the share that the others must reach.
            needed = criterion.threshold * len(of) - (len(of) - len(parts))
            if parts and needed > 0:
                args = {"threshold": needed / len(parts), "of": parts}
                case.check("score_of", args, case.path, label=TRAJECTORY)
            return
        for turn, builder, rule in zip(turns, each, rules, strict=True):
            if rule:
                builder.check("trajectory", rule, turn.path, label=TRAJECTORY)

    def _expect_answers(self, case: CaseBuilder, turns: Sequence[ExpectedTurn], criterion: Criterion) -> None:
        if not all(turn.answer for turn in turns):
            message = f"some turns have no response, so {RESPONSE} is not judged. Add 'final_response' to each."
            self._suite.warn(case.path, message, "no-reference")
            case.check("unjudged", {"what": f"{RESPONSE}: a turn has no reference"}, case.path, label=RESPONSE)
            return
        args = {"texts": [turn.answer for turn in turns], "threshold": criterion.threshold}
        case.check("response_match", args, case.path, label=RESPONSE)


def _criterion(value: Any) -> Criterion:
    threshold = field(value, "threshold") if isinstance(value, dict) else value
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold <= 1:
        raise ValueError(f"expected a threshold over 0 and up to 1, found {threshold!r}")
    match = str(field(value, "match_type") or "EXACT").upper() if isinstance(value, dict) else "EXACT"
    if match not in MATCHES:
        raise ValueError(f"unknown match type {match!r}. Use EXACT, IN_ORDER or ANY_ORDER")
    return Criterion(float(threshold), MATCHES[match], bool(field(value, "ignore_args")))


def _rule(turn: ExpectedTurn, criterion: Criterion) -> dict[str, Any]:
    """The calls that are wanted; nothing where every turn would do."""
    calls = turn.calls or []
    if not calls and criterion.match != "ordered":
        return {}
    calls_of_rule = [
        {"tool": call.name} if criterion.ignore_args else {"tool": call.name, "arguments": {"$eq": call.args}}
        for call in calls
    ]
    return {"calls": calls_of_rule, "match": criterion.match}


def _legacy_turn(tree: Any, path: Path) -> ExpectedTurn:
    uses = field(tree, "expected_tool_use")
    calls = [Call(field(use, "tool_name"), field(use, "tool_input") or {}) for use in uses or ()]
    answer = field(tree, "reference") or None
    return ExpectedTurn(field(tree, "query"), None if uses is None else calls, answer, path)


def _call(raw: Any) -> Call:
    return Call(field(raw, "name"), field(raw, "args") or {})


def _parts(content: Any) -> Iterator[Any]:
    yield from field(content, "parts") or ()


def read_calls(data: Any) -> list[Call] | None:
    """The calls of an invocation, as events or as a list of them; None where nothing is said of them."""
    events = field(data, "invocation_events")
    if events is not None:
        parts = [part for event in events for part in _parts(field(event, "content"))]
        return [_call(raw) for part in parts if (raw := field(part, "function_call"))]
    return None if data is None else [_call(raw) for raw in field(data, "tool_uses") or ()]


def content_text(content: Any) -> str:
    """The text of a message, a line for each part of it."""
    return "\n".join(part["text"] for part in _parts(content) if part.get("text"))


class _Turn(TypedDict, total=False):
    actual_invocation: Required[Invocation]


class _CaseResult(TypedDict, total=False):
    eval_id: str
    eval_case_id: str
    eval_metric_result_per_invocation: list[_Turn]


def _split(row: Any) -> list[Any]:
    results = field(row, "eval_case_results")
    require_type(results, list[Any])
    return list(results)


def _read(result: Any) -> Iterator[RecordedCase]:
    require_type(result, _CaseResult)
    name = field(result, "eval_id") or field(result, "eval_case_id") or ""
    turns = [_form(field(invocation, "actual_invocation")) for invocation in _invocations(result)]
    form: dict[str, Any] = {"turns": turns} if turns else {"error": "the result contains no invocation"}
    yield RecordedCase(name, turns[0] if len(turns) == 1 else form)


RESULTS = ResultReader(_read, _split)


def _invocations(result: Any) -> list[Any]:
    return field(result, "eval_metric_result_per_invocation") or []


def _form(invocation: Any) -> dict[str, Any]:
    calls = read_calls(field(invocation, "intermediate_data"))
    form: dict[str, Any] = {
        "input": content_text(field(invocation, "user_content")),
        "final_message": content_text(field(invocation, "final_response")),
    }
    requests = [{"name": call.name, "arguments": call.args} for call in calls or ()]
    return form | ({"tool_calls": requests} if calls is not None else {})
