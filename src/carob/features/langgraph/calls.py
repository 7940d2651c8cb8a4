"""Tool calls of a LangGraph turn: what the messages tell of them, with what callbacks saw of their runs.

Messages know what the model asked for, unknown tools and broken arguments included, and what its provider did for it;
callbacks know when a tool began and ended, also in subgraphs, in nodes that call tools themselves, and when a turn was
cut short.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from carob.evidence.recorder import RanCall
from carob.features.langgraph.callbacks import TurnRecorder, WrittenMessage
from carob.features.langgraph.messages import plain_text
from carob.model.trace import CallKind, PossibleCall, ToolCall
from carob.text.clean import jsonable
from carob.text.tool_results import call_success, missing_fields, parse_result, shows_failure

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage, ToolMessage


NOT_A_CALL = "the model's call could not be read"
ANSWERED = (
    "{} was answered, but the tool was not seen to run: middleware or a cache may have answered for it, or called a "
    "function of its own. Call the tool itself, by its `invoke` or `ainvoke`"
)
IN_A_NODE = (
    "a model asked for {} within a node, and whether the node ran it was not seen. Call the tool by its `invoke` or "
    "`ainvoke`, or write the messages to the state"
)
HANDED_BACK = "__is_handoff_back"
"""How langgraph-supervisor marks the messages that it writes when an agent returns."""


@dataclass(slots=True)
class RequestedCall:
    """A call that a message asks for, with its runs and the answers to it."""

    order: int
    name: str
    call_id: str | None
    arguments: Any
    parent: str | None = None
    unreadable: str | None = None
    hands_back: bool = False
    message: str | None = None
    """The message that asks for it, if there is one."""
    with_words: bool | None = None
    by_node: bool = False
    """Whether a node ran the tool itself, as a plain function, which no callback sees."""
    runs: list[RanCall] = field(default_factory=list)
    answers: list[ToolMessage] = field(default_factory=list)

    def as_calls(self) -> Iterator[ToolCall]:
        """One call for each run: an agent that tries again calls again. The last has the answer."""
        for run in self.runs[:-1]:
            yield self._call(run, None)
        yield self._call(self.runs[-1] if self.runs else None, self.answers[-1] if self.answers else None)

    def _call(self, run: RanCall | None, answer: ToolMessage | None) -> ToolCall:
        ending = (
            CallOutcome.from_run(run, self.unreadable)
            if answer is None
            else CallOutcome.from_message(answer, run, by_node=self.by_node)
        )
        why = (run and run.error) or self.unreadable or plain_text(ending.result)
        timed = run if run is not None and run.began else None
        return ToolCall(
            self.name,
            jsonable(_arguments(self.arguments, run)),
            id=self.call_id,
            started=timed is not None or self.by_node,
            result=jsonable(parse_result(ending.result)),
            error=why if ending.broke else None,
            success=ending.success,
            missing_fields=missing_fields(parse_result(ending.result)),
            started_at=timed.started_at if timed else None,
            ended_at=timed.ended_at if timed else None,
            unfinished=not ending.over,
            kind=_kind(self, run),
            parent=self.parent or (run.parent if run else None),
            message=self.message,
            with_words=self.with_words,
            refused=run is not None and run.refused,
        )


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call came out. What never ran has no end, whatever was answered."""

    result: Any
    artifact: Any
    broke: bool
    over: bool

    @classmethod
    def from_message(cls, answer: ToolMessage, run: RanCall | None, *, by_node: bool = False) -> CallOutcome:
        broke = answer.status == "error" or (run is not None and run.broke)  # middleware may answer for it
        return cls(answer.content, answer.artifact, broke, run.began if run is not None else by_node)

    @classmethod
    def from_run(cls, run: RanCall | None, unreadable: str | None) -> CallOutcome:
        if run is None:
            return cls(None, None, bool(unreadable), False)
        return cls(run.result, run.artifact, run.broke or bool(unreadable), run.began and run.ended_at is not None)

    @property
    def success(self) -> bool | None:
        raised = self.broke or (self.over and shows_failure(jsonable(self.artifact)))
        return call_success(self.result, raised=raised, ended=self.over)


def run_as_call(run: RanCall) -> ToolCall:
    """A run that no message asks for, or of which none is known yet."""
    (call,) = RequestedCall(run.order, run.name, run.call_id, run.arguments, runs=[run]).as_calls()
    return call


def tool_calls(
    entries: Sequence[WrittenMessage],
    book: TurnRecorder,
    before: Iterable[BaseMessage] = (),
    structured_response: Any = None,
    in_tool_nodes: Collection[str] = (),
) -> tuple[ToolCall, ...]:
    """The calls of a turn in their order: those that messages ask for, and those that only callbacks saw.

    Calls that were asked for in an earlier turn and run in this one keep the order in which they were asked for.
    `in_tool_nodes` are the tools whose runs callbacks see.
    """
    requests = sorted(_requested_calls(entries), key=lambda call: call.order)
    runs = book.runs
    _share_out(requests, runs, entries)
    for call in requests:
        call.by_node = _is_run_in_node(call, book, in_tool_nodes)
    matched = {id(run) for call in requests for run in call.runs}
    schemas = {call.name for call in requests if _is_schema(call, structured_response)}
    calls_before = (call for message in before for call in getattr(message, "tool_calls", ()))
    ranks = {call["id"]: rank for rank, call in enumerate(calls_before) if call["id"] is not None}
    late = min((run.order for run in runs if run.call_id in ranks), default=0)
    calls: list[tuple[float, ToolCall]] = [
        (call.order, tool_call)
        for call in requests
        if call.runs or call.name not in schemas
        for tool_call in call.as_calls()
    ]
    for run in runs:
        if id(run) not in matched:
            rank = ranks.get(run.call_id)
            calls.append((run.order if rank is None else late + rank / (len(ranks) + 1), run_as_call(run)))
    calls += provider_calls(entries)
    return tuple(call for _, call in sorted(calls, key=lambda pair: pair[0]))


def possible_calls(
    calls: Iterable[ToolCall], unwritten: Iterable[WrittenMessage], in_tool_nodes: Collection[str]
) -> tuple[PossibleCall, ...]:
    """The tools of tool nodes that were answered for, but did not run there, and those that a node may have run."""
    in_loops = {call["id"] for entry in unwritten for call in getattr(entry.message, "tool_calls", ())}
    found: dict[str, str] = {}
    for call in calls:
        if call.called or call.error is not None:
            continue
        if call.result is not None:
            found.setdefault(call.name, ANSWERED.format(call.name))
        elif call.id in in_loops and call.name not in in_tool_nodes:
            found.setdefault(call.name, IN_A_NODE.format(call.name))
    return tuple(PossibleCall(name, why) for name, why in found.items())


def _is_run_in_node(call: RequestedCall, book: TurnRecorder, in_tool_nodes: Collection[str]) -> bool:
    """Whether an answer shows that a node ran a tool: no tool node has it, and nothing says that it was refused."""
    if call.runs or not call.answers or call.name in in_tool_nodes:
        return False
    return call.answers[-1].status != "error" or (call.name in book.offered and not in_tool_nodes)


def _kind(request: RequestedCall, run: RanCall | None) -> CallKind:
    return "handoff" if request.hands_back or (run is not None and run.hands_over) else "tool"


def _is_schema(request: RequestedCall, answer: Any) -> bool:
    """Whether a call only carries the structured answer: no tool runs for it."""
    if answer is None or request.runs or not request.answers:
        return False
    return request.name == type(answer).__name__ or jsonable(request.arguments) == jsonable(answer)


def _arguments(requested: Any, run: RanCall | None) -> Any:
    """What the tool was called with: a person who was asked may have changed it."""
    ran = run.arguments if run is not None else None
    return (
        ran if isinstance(ran, dict) and isinstance(requested, dict) and ran.keys() == requested.keys() else requested
    )


def _requested_calls(entries: Iterable[WrittenMessage]) -> Iterator[RequestedCall]:
    from langchain_core.messages import AIMessage

    for order, message, parent in entries:
        if isinstance(message, AIMessage):
            back = bool(message.response_metadata.get(HANDED_BACK))
            of_message: dict[str, Any] = {"message": str(order), "with_words": bool(plain_text(message.content))}
            for call in message.tool_calls:
                yield RequestedCall(
                    order, call["name"], call["id"], call["args"], parent, hands_back=back, **of_message
                )
            for broken in message.invalid_tool_calls:
                why = broken["error"] or NOT_A_CALL
                yield RequestedCall(
                    order, broken["name"] or "", broken["id"], broken["args"], parent, why, **of_message
                )


def _share_out(requests: Sequence[RequestedCall], runs: Sequence[RanCall], entries: Iterable[WrittenMessage]) -> None:
    """Give every call its runs and answers. Ids may come again: models that count from one do so in every round."""
    from langchain_core.messages import ToolMessage

    by_id: dict[object, list[RequestedCall]] = defaultdict(list)
    for call in requests:
        if call.call_id is not None:
            by_id[call.call_id].append(call)
            by_id[call.call_id, call.name].append(call)
    for order, message, _ in entries:
        if isinstance(message, ToolMessage) and message.tool_call_id in by_id:
            _owner(by_id[message.tool_call_id], order, "answers").answers.append(message)
    for run in runs:
        if (run.call_id, run.name) in by_id:
            _owner(by_id[run.call_id, run.name], run.order, "runs").runs.append(run)
    _share_out_nameless(requests, [run for run in runs if run.call_id is None])


def _owner(requests: Sequence[RequestedCall], order: int, got: Literal["answers", "runs"]) -> RequestedCall:
    """The call before an event; before any call, as when a node reports all at its end, the first that has none."""
    index = bisect_right([call.order for call in requests], order) - 1
    if index >= 0:
        return requests[index]
    return next((call for call in requests if not getattr(call, got)), requests[-1])


def _share_out_nameless(requests: Sequence[RequestedCall], runs: list[RanCall]) -> None:
    """Runs without an id belong to calls of their name that have none: by equal arguments, or because of an answer."""
    for call in requests:
        if call.runs:
            continue
        candidates = [run for run in runs if run.name == call.name]
        match = next(
            (run for run in candidates if run.arguments == call.arguments),
            candidates[0] if candidates and call.answers else None,
        )
        if match is not None:
            call.runs.append(match)
            runs.remove(match)


NAMED = frozenset({"server_tool_call", "server_tool_use", "mcp_tool_use", "mcp_call"})
"""Blocks that say in `name` which tool it was; of others it is a part of their type: `web_search_call`."""
OURS = frozenset(
    {"function_call", "tool_call", "custom_tool_call", "invalid_tool_call", "computer_call", "local_shell_call"}
)
"""Calls that the agent runs itself."""
_CALL = re.compile(r"(\w+)_call")
_RESULT = re.compile(r"server_tool_result|\w+_tool_result|\w+_call_output|code_execution_result")
_IDS = ("tool_call_id", "tool_use_id", "call_id", "id")
_ENDED = frozenset({"completed", "success", "done", "incomplete", "failed", "error"})


def provider_calls(entries: Iterable[WrittenMessage]) -> list[tuple[int, ToolCall]]:
    """The calls of a turn that the provider ran, each with the place of its message."""
    calls: list[tuple[int, ToolCall]] = []
    blocks = [(entry, block) for entry in entries for block in _blocks(entry.message)]
    results = {_id(block): block for _, block in blocks if _RESULT.fullmatch(block["type"])}
    seen_keys: set[tuple[str, str]] = set()
    for entry, block in blocks:
        name = _name(block)
        key = (name or "", str(_id(block)))
        if name is None or (block.get("id") and key in seen_keys):
            continue
        seen_keys.add(key)
        calls.append((entry.order, _call(name, block, results.get(_id(block)), entry.parent)))
    return calls


def _blocks(message: Any) -> Iterator[dict[str, Any]]:
    if message.type != "ai":
        return
    content = message.content if isinstance(message.content, list) else []
    for block in (*content, *(message.additional_kwargs.get("tool_outputs") or ())):
        if isinstance(block, dict) and isinstance(block.get("type"), str):
            yield block


def _name(block: dict[str, Any]) -> str | None:
    kind = block["type"]
    if kind in NAMED:
        return str(block.get("name") or kind)
    if kind == "executable_code":
        return "code_execution"
    match = _CALL.fullmatch(kind)
    return match[1] if match and kind not in OURS else None


def _call(name: str, block: dict[str, object], answer: dict[str, object] | None, parent: str | None) -> ToolCall:
    arguments = next((block[key] for key in ("args", "input", "arguments", "action", "code") if key in block), None)
    source = block if answer is None else answer
    result = next(
        (source[key] for key in ("output", "content", "result", "results") if source.get(key) is not None), None
    )
    status = block.get("status") if answer is None else answer.get("status")
    error = block.get("error") or (answer or {}).get("error")
    ended = answer is not None or (isinstance(status, str) and status in _ENDED)
    return ToolCall(
        name,
        jsonable(arguments),
        id=str(_id(block)) if _id(block) is not None else None,
        result=jsonable(result),
        error=str(error) if error else None,
        success=_success(status, result, error=bool(error)) if ended else None,
        kind="provider",
        parent=parent,
    )


def _success(status: object, result: object, *, error: bool) -> bool | None:
    return call_success({"status": status, "result": result}, raised=error or _is_error_result(result))


def _is_error_result(result: object) -> bool:
    """Anthropic's results have a type of their own where they failed."""
    first = result[0] if isinstance(result, list) and result else result
    kind = first.get("type") if isinstance(first, dict) else None
    return isinstance(kind, str) and kind.endswith("_error")


def _id(block: dict[str, object]) -> object:
    return next((block[key] for key in _IDS if block.get(key)), None)
