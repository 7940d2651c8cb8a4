"""How the agent went about it: whether its calls fit its tools, and whether it came to an end by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta, Struct, structs

from carob.checks.base import CALLS, Check, CheckRequest, Phrase, excerpt, own_field
from carob.checks.sample_traces import calls, performs, says
from carob.checks.tools.names import describe_calls, why_unseen
from carob.model.check import CheckProblem, Example, Expected
from carob.model.suite import Case
from carob.model.trace import BY_ITSELF, REMOVED, ToolCall, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Group, Status
from carob.providers.base import ending_of, read_ending
from carob.text.tool_names import find_spellings
from carob.text.tool_results import parse_result
from carob.text.wording import did_you_mean

if TYPE_CHECKING:
    import jsonschema_rs

NO_SCHEMAS = (
    "the schemas of the agent's tools are not known: they come from a LangGraph graph with tool nodes, the "
    "tools of an `openai:` target, an MCP server with `mcp_record`, or spans with tool definitions"
)
NO_ENDING = "it is unknown whether a limit cut the turn off: the target gave no finish reason and no `ended_by`"
BOOK: Mapping[str, Any] = {
    "book": {"type": "object", "properties": {"day": {"type": "string"}, "seats": {"type": "integer"}}},
    "look": None,
}


def booking(name: str, arguments: object, **more: Any) -> Trace:
    return performs(ToolCall(name, arguments, success=True), tool_schemas=dict(BOOK), **more)


class ValidArguments(Check, Struct, frozen=True):
    """Every call names a tool that exists, with arguments that its own JSON Schema takes."""

    name: ClassVar = "valid_arguments"
    group: ClassVar = Group.TOOL_HYGIENE
    channels: ClassVar = CALLS | {"tool_schemas"}
    prohibits: ClassVar = True
    description: ClassVar = "calls to existing tools, with arguments that fit their schemas"
    field: ClassVar = own_field(
        Literal[True] | Annotated[dict[Phrase, dict[str, Any]], Meta(min_length=1)],
        "Every call names an existing tool, with arguments that fit its JSON Schema: that of the agent's tools, or of "
        "`{tool: schema}`. A parameter that is not in the schema fails, unless it allows `additionalProperties`.",
    )
    examples: ClassVar = (
        Example({}, booking("book", {"day": "Mon", "seats": 2}), Status.PASSED),
        Example({}, booking("book", {"day": "Mon", "seats": "two"}), Status.FAILED),
        Example({}, booking("book", {"date": "Mon"}), Status.FAILED),
        Example({}, booking("fly", {}), Status.FAILED),
        Example({}, booking("fly", {}, unobserved={"tool_schemas": "some of them"}), Status.UNKNOWN),
        Example({}, booking("book", None), Status.UNKNOWN),
        Example({}, booking("look", {}), Status.UNKNOWN),
        Example({}, calls("book"), Status.UNKNOWN),
        Example({"schemas": BOOK}, performs(ToolCall("book", {"seats": 2}, success=True)), Status.PASSED),
        Example({"schemas": BOOK}, performs(ToolCall("book", {"seats": "2"}, success=True)), Status.FAILED),
        Example({"schemas": BOOK}, performs(ToolCall("fly", {}, success=True)), Status.FAILED),
    )
    schemas: dict[str, dict[str, Any] | None] = {}

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        if "valid_arguments" in expected:
            schemas = expected["valid_arguments"]
            yield CheckRequest({} if schemas is True else {"schemas": schemas}, ("valid_arguments",))

    def validate(self) -> Iterator[CheckProblem]:
        for name, schema in self.schemas.items():
            try:
                _validator(msgspec.json.encode(schema or {}))
            except ValueError as error:
                message = f"the schema of {name!r} cannot be used: {excerpt(str(error))}."
                yield CheckProblem("bad-schema", message, (name,))

    def judge(self, trace: Trace) -> CheckResult:
        if self.schemas:
            unobserved = {part: why for part, why in trace.unobserved.items() if part != "tool_schemas"}
            trace = structs.replace(trace, tool_schemas=self.schemas, unobserved=unobserved)
        if not trace.tool_schemas:
            return self.unknown(trace.why_unobserved("tool_schemas") or NO_SCHEMAS)
        doubts: list[str] = []
        for index, call in enumerate(trace.tool_calls):
            if call.kind != "tool":
                continue
            wrong, doubt = _argument_problem(call, trace)
            if wrong:
                return self.failed(wrong, EvidenceLocation("tool_calls", index=index))
            doubts += [doubt] if doubt else []
        return self.passed_unless(next(iter(doubts), None) or why_unseen(trace), describe_calls(trace))


def _argument_problem(call: ToolCall, trace: Trace) -> tuple[str, str]:
    """What is wrong with a call, and else why that is not known."""
    schemas = trace.tool_schemas
    name = next((name for name in find_spellings(call.full_name) if name in schemas), "")
    if not name:
        if why := trace.why_unobserved("tool_schemas"):
            return "", f"it is unknown whether there is a tool {call.name!r}: {why}"
        return f"there is no tool {call.name!r}. {did_you_mean(call.name, schemas)}".rstrip(), ""
    schema, arguments = schemas[name], parse_result(call.arguments)
    if arguments is None:
        return "", call.unobserved.get("arguments") or f"the arguments of {call.name} are unknown"
    if not isinstance(schema, Mapping):
        return "", f"the schema of {call.name} is not known"
    try:
        error = next(iter(_validator(msgspec.json.encode(schema)).iter_errors(arguments)), None)
    except ValueError as broken:
        return "", f"the schema of {call.name} cannot be used: {excerpt(str(broken))}"
    if error is None:
        return "", ""
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
    wrong = f"{call.name}{where and f' at {where.removeprefix(chr(46))}'}: {excerpt(error.message)}"
    if trace.cut("tool_results") and REMOVED.encode() in msgspec.json.encode(arguments):
        return "", f"{wrong}, but secrets were removed there"
    return wrong, ""


@lru_cache(maxsize=512)
def _validator(raw: bytes) -> jsonschema_rs.Validator:
    """What accepts the arguments: its own parameters and no other. Nothing is fetched."""
    import jsonschema_rs  # loading it takes time, and few suites ask for this

    schema = msgspec.json.decode(raw)
    closed = {"additionalProperties": False} if "properties" in schema and not _OPENERS & schema.keys() else {}
    return jsonschema_rs.validator_for({**schema, **closed}, offline=True)


_OPENERS = frozenset(
    {"additionalProperties", "patternProperties", "unevaluatedProperties", "$ref", "allOf", "anyOf", "oneOf"}
)


class EndedByItself(Check, Struct, frozen=True):
    """The agent came to an end by itself, or for the given reason: no other limit cut it off."""

    name: ClassVar = "ended"
    group: ClassVar = Group.TOOL_HYGIENE
    channels: ClassVar = frozenset({"ended_by", "metadata"})
    field: ClassVar = own_field(
        Literal[True] | Phrase,
        "The agent ended by itself; no limit of steps, turns, tokens or recursion cut it off. A text: it ended with "
        "this finish reason, such as `length`.",
    )
    examples: ClassVar = (
        Example({}, says("Done.", ended_by=BY_ITSELF), Status.PASSED),
        Example({}, says("So I", ended_by="length"), Status.FAILED),
        Example({"reason": "Length"}, says("So I", ended_by="length"), Status.PASSED),
        Example({"reason": "length"}, says("Done.", ended_by=BY_ITSELF), Status.FAILED),
        Example({"reason": "stop"}, says("Done.", ended_by=BY_ITSELF), Status.PASSED),
        Example({}, says("Done."), Status.UNKNOWN),
    )
    reason: str = BY_ITSELF

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        if "ended" in expected:
            reason = expected["ended"]
            yield CheckRequest({} if reason is True else {"reason": reason}, ("ended",))

    @property
    def description(self) -> str:
        return "the agent ended by itself" if self.reason == BY_ITSELF else f"the agent ended with {self.reason!r}"

    def judge(self, trace: Trace) -> CheckResult:
        ending = ending_of(trace)
        if not ending:
            return self.unknown(NO_ENDING)
        shown = "by itself" if ending == BY_ITSELF else f"cut off: {ending}"
        return (
            self.passed(shown)
            if read_ending(ending).lower() == read_ending(self.reason).lower()
            else self.failed(shown)
        )


def judges_arguments(case: Case) -> bool:
    """Whether a check of the case looks at the schemas of tools: they are large, and no other does."""
    return any(spec.name == ValidArguments.name for _, spec in case.all_checks)
