"""The messages of `carob judge`, a JSON object a line. What a client sends has `do`, what it gets has `is`.

Each struct is both what is read and written and what the JSON Schema is made of.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from carob.errors import CarobError, SuiteError, UsageError
from carob.model.suite import Case as SuiteCase
from carob.model.suite import Suite
from carob.model.verdict import Verdict

PROTOCOL: Final = 1
MAX_BYTES: Final = 16 << 20
"""The longest line that is read."""
MAX_CASES: Final = 1_000
"""How many cases may wait for answers at once."""
MAX_WAITING: Final = 16
"""How many messages are read ahead; the client waits with the others."""
MAX_HELD: Final = 64
"""How many suites and rules are held; the one that was used longest ago goes first."""
WRITE_PROTOCOL: Final = 'Send a JSON object with "protocol": 1, an id and `do`; `carob help judge` lists the messages.'

Id: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)] | int
Document: TypeAlias = str | dict[str, Any]


class Request(Struct, forbid_unknown_fields=True, kw_only=True, tag_field="do"):
    """What a client asks for. Every message about it has its id."""

    protocol: Literal[1]
    id: Id


class Load(Request, tag="load"):
    """Read a suite: the path of a file, its text, or the object that it would hold."""

    suite: Document


class Judge(Request, tag="judge"):
    """Judge the trace of one case of a suite that was read, without a run."""

    suite: str
    case: str
    trace: dict[str, Any]


class Check(Request, tag="check"):
    """Judge a trace by keys of `expected`, as `carob.check` does."""

    trace: dict[str, Any]
    expected: dict[str, Any]


class Rules(Request, tag="rules"):
    """Judge a conversation by a file of rules, its text or the object."""

    trace: dict[str, Any]
    rules: Document


class Run(Request, tag="run"):
    """Begin a run of a suite whose agent is the client. Its journal is where `carob run` would write it."""

    suite: str
    target: Annotated[str, Meta(min_length=1, max_length=200)]
    """What the agent is called in journals and reports."""
    repeat: Annotated[int, Meta(ge=1, le=1000)] = 1
    timeout: Annotated[float, Meta(gt=0)] | None = None
    """Seconds for one case."""
    retries: Annotated[int, Meta(ge=0, le=100)] = 0
    results_dir: str | None = None
    reports: list[str] = field(default_factory=list)


class Case(Request, tag="case"):
    """Run a case once: an `ask` follows for each prompt, then what it came to."""

    run: str
    case: str


class Answer(Request, tag="answer"):
    """The answer to an `ask`: text, or a trace in the short form. It gets no message of its own."""

    ask: str
    trace: str | dict[str, Any]


class Finish(Request, tag="finish"):
    """End a run: cases that were not run were not selected. Writes the end of the journal, and the reports."""

    run: str
    interrupted: bool = False


class Close(Request, tag="close"):
    """End the judge, as the end of stdin does."""


AnyRequest: TypeAlias = Load | Judge | Check | Rules | Run | Case | Answer | Finish | Close


class Reply(Struct, kw_only=True, tag_field="is", omit_defaults=True):
    """What a client gets."""


class Ready(Reply, tag="ready"):
    """The first line."""

    protocol: int
    version: str


class CaseListed(Struct, kw_only=True, omit_defaults=True):
    """A case as a test runner shows it: the prompts in the order in which they will be asked, as far as is known."""

    id: str
    prompts: list[str]
    line: int
    category: str = ""
    tags: list[str] = field(default_factory=list)
    skip: str = ""
    xfail: str = ""


class SuiteLoaded(Reply, tag="suite"):
    """A suite that was read; `suite` names it from now on."""

    id: Id
    suite: str
    file: str
    name: str
    cases: list[CaseListed]
    warnings: list[str]


class Difference(Struct, kw_only=True):
    """A check that does not hold: what it expected, and what it found."""

    check: str
    status: str
    expected: Any
    found: Any


class Judged(Reply, tag="judged"):
    """What a trace came to. `lines` explain it, for a terminal; `verdict` is what a journal holds.

    `outcome` is what a test runner reports: a case that is skipped, or fails as the suite says, is `skipped`.
    """

    id: Id
    outcome: Literal["passed", "failed", "skipped"]
    status: str
    reason: str
    lines: list[str]
    differences: list[Difference]
    verdict: Verdict


class RunStarted(Reply, tag="run"):
    """A run that was begun; `run` names it from now on."""

    id: Id
    run: str


class Ask(Reply, tag="ask"):
    """A prompt for the agent, on behalf of the `case` message with this id.

    `conversation` is the same for all prompts of one run of a case, and of no other.
    """

    id: Id
    ask: str
    case: str
    conversation: str
    turn: int
    prompt: str


class Finished(Reply, tag="finished"):
    """A run that ended: its journal and reports, the line that a person reads, and the exit code of `carob run`."""

    id: Id
    journal: str
    reports: list[str]
    summary: str
    exit_code: int
    problems: list[str]


class Closed(Reply, tag="closed"):
    """The last line after `close`."""

    id: Id


class Problem(Struct, kw_only=True):
    """What is wrong, in the form that every error of Carob has."""

    where: str
    cause: str
    fix: str
    slug: str


class Error(Reply, tag="error"):
    """A message that could not be carried out; the judge goes on. `id` is null where the message had none."""

    id: Id | None
    where: str
    cause: str
    fix: str
    slug: str
    problems: list[Problem] = field(default_factory=list)
    """Each problem of a suite, at its place."""


AnyReply: TypeAlias = Ready | SuiteLoaded | Judged | RunStarted | Ask | Finished | Closed | Error
encode = msgspec.json.Encoder().encode


def describe_error(error: CarobError, id: Id | None) -> Error:
    """An error as a message."""
    problems = []
    if isinstance(error, SuiteError):
        for problem in error.problems:
            place = f"{problem.file}:{problem.line}:{problem.column}" if problem.file else ""
            where = " ".join(filter(None, (place, problem.path)))
            problems.append(Problem(where=where, cause=problem.message, fix="", slug=problem.slug))
    first = problems[0] if problems else Problem(where=error.where, cause=error.message, fix=error.fix, slug=error.slug)
    return Error(id=id, where=first.where, cause=first.cause, fix=first.fix, slug=first.slug, problems=problems)


def schema_text() -> str:
    """The JSON Schema of all messages, as a file of it is written."""
    from carob.evidence.short_form import Short  # late: a judge that starts needs no schema

    kinds = [AnyRequest, AnyReply, Short]
    (sent, received, _), components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    short = {"$ref": "#/$defs/Short"}
    for struct in AnyRequest.__args__:
        properties = components[struct.__name__]["properties"]
        if "trace" in properties:
            text = {"type": "string"}
            properties["trace"] = {"anyOf": [text, short]} if struct is Answer else short
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Messages of carob judge",
        "description": "One JSON object a line: what a client sends to stdin, and what it gets from stdout.",
        "$defs": {"Sent": sent, "Received": received, **components},
        "anyOf": [{"$ref": "#/$defs/Sent"}, {"$ref": "#/$defs/Received"}],
    }
    return msgspec.json.format(msgspec.json.encode(schema, order="deterministic"), indent=2).decode() + "\n"


def find_case(suite: Suite, name: str) -> SuiteCase:
    """The case of this id."""
    case = next((case for case in suite.cases if case.id == name), None)
    if case is None:
        fix = "Name one of the cases that `load` listed."
        raise UsageError(f"the suite has no case {name!r}.", where=suite.file, fix=fix, slug="no-case")
    return case
