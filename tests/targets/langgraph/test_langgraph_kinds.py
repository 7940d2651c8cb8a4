"""The kinds of graphs and agents that Karat talks to: what is recorded of each, which is also the table in the docs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from karat.errors import ConfigError
from karat.model.trace import ToolCall
from karat.targets.base import TargetError
from targets.conftest import ask, opened

HERE = Path(__file__).parent
DOCS = HERE.parents[2] / "docs" / "langgraph.md"
BEGIN, END = "<!-- kinds: written by the tests -->\n", "<!-- end of kinds -->"
SETUP = {"setup": "kinds.py:desk"}
FOUND, BOOKED = 'find(day="Friday") ok', 'book(room="Blue") ok'


class Kind(NamedTuple):
    """A kind of graph, what is said to it, and what is recorded."""

    name: str
    spec: str
    prompts: tuple[str, ...]
    calls: tuple[str, ...] = ()
    says: str = ""
    error: str = ""
    rest: dict[str, Any] = {}  # noqa: RUF012 - never changed


def options(**given: Any) -> dict[str, Any]:
    return {"options": given}


OWN = {"input": {"user_input": "{prompt}", "user_name": "Ada"}, "output": "$.reply.words"}
ROOM = ("Book a room",)
EDIT = {"type": "edit", "edited_action": {"name": "book", "args": {"room": "Green"}}}
EDITED = json.dumps({"decisions": [EDIT, {"type": "approve"}]})

KINDS = [
    Kind("`StateGraph` with a `ToolNode`", "graph", ROOM, (FOUND, BOOKED), "Blue is yours."),
    Kind("`create_agent`", "agent", ROOM, (FOUND, BOOKED), "Blue is yours."),
    Kind("`create_react_agent`", "prebuilt", ROOM, (FOUND, BOOKED), "Blue is yours."),
    Kind("a graph that is not compiled", "uncompiled", ("Book Red",), ('book(room="Red") failed',), "Red is taken."),
    Kind("async factory", "async_factory", ROOM, (FOUND, BOOKED), "Blue is yours."),
    Kind("factory that takes a config", "by_config", ("Hi",), (), "Hello from Desk 7.", rest=SETUP),
    Kind("factory as an async context manager", "in_a_context", ROOM, (FOUND, BOOKED), "Blue is yours."),
    Kind("factory as a context manager", "in_a_sync_context", ROOM, (FOUND, BOOKED), "Blue is yours."),
    Kind(
        "file in a package, relative imports",
        "project/desk_agent/graph.py:graph",
        ("Hi",),
        (),
        "Hello from the package.",
    ),
    Kind("named in a `langgraph.json`", "project/langgraph.json:desk", ("Hi",), (), "Hello from the package."),
    Kind("factory named in a `langgraph.json`", "project/langgraph.json:made", ("Hi",), (), "Hello from the package."),
    Kind("context without a `context_schema`", "without_schema", ("Hi",), (), "Hello from Desk 7.", rest=SETUP),
    Kind(
        "state without messages, `input` and `output`",
        "own_state",
        ("Room on Friday",),
        (FOUND,),
        "Ada, Blue is free.",
        rest=options(**OWN),
    ),
    Kind(
        "input made by a hook",
        "own_state",
        ("Room on Friday.",),
        (FOUND,),
        "Bo, Blue is free.",
        rest=options(input="kinds.py:ask_hook", output="$.reply.words"),
    ),
    Kind(
        "entrypoint: text to text", "text_to_text", ("Room on Friday",), (f"text_to_text › {FOUND}",), "Blue is free."
    ),
    Kind(
        "entrypoint: messages to messages",
        "messages_to_messages",
        ("Room on Friday",),
        (f"messages_to_messages › {FOUND}",),
        "Blue is free.",
    ),
    Kind(
        "entrypoint: dict to dict",
        "dict_to_dict",
        ("Friday",),
        (f"dict_to_dict › {FOUND}",),
        "Blue is free.",
        rest=options(input={"day": "{prompt}"}, output="$.answer"),
    ),
    Kind("entrypoint with an interrupt", "asking_entrypoint", ("Hi", "Friday"), (), "You said Friday."),
    Kind("interrupt in a tool", "signing", ("Sign it",), ('sign(paper="A") waits',), "One moment.\nSign A?"),
    Kind("interrupt in a tool, answered", "signing", ("Sign it", "yes"), ('sign(paper="A") ok',), "Done."),
    Kind(
        "interrupt without a checkpointer, answered",
        "forgetting",
        ("Sign it", "yes"),
        error="compile it with a checkpointer",
    ),
    Kind(
        "human in the loop: approved", "approving", ("Both", "yes"), (BOOKED, 'pay(room="Blue") ok'), "Booked and paid."
    ),
    Kind("human in the loop: rejected", "approving", ("Both", "no thanks"), (), "Then not."),
    Kind(
        "human in the loop: edited",
        "approving",
        ("Both", EDITED),
        ('book(room="Green") ok', 'pay(room="Blue") ok'),
        "Booked and paid.",
    ),
    Kind(
        "human in the loop: an answer for each call",
        "approving_each",
        ("Both", '["yes", "no thanks"]'),
        (BOOKED,),
        "Then not.",
    ),
    Kind("`interrupt_before`: held", "stopping", ROOM, ('find(day="Friday") never ran',), ""),
    Kind("`interrupt_before`: let go", "stopping", (*ROOM, "go on", "go on"), (BOOKED,), "Blue is yours."),
    Kind("structured output by a tool", "structured", ("The weather?",), (), "Here you are."),
    Kind(
        "tools of the provider",
        "searching",
        ("Any rooms?",),
        (
            'provider: web_search(query="rooms") ok',
            'provider: code_execution(code="1/0") failed',
            'provider: web_search(query="beds") ok',
        ),
        "There are three.",
    ),
    Kind("retries by middleware", "trying_again", ("Try it",), ("wobble() error", "wobble() ok"), "It holds."),
    Kind("a retry loop in a node", "looping_inside", ("Try it",), ("wobble() error", "wobble() ok"), "steady now"),
    Kind("words and an artifact", "artifacts", ("Fetch A",), ('fetch(name="A") failed',), "I looked."),
    Kind("a tool that speaks of an error", "agent", ("Pay Red",), ('pay(room="Red") failed',), "I could not pay."),
    Kind("an unknown tool", "agent", ("Fly to Rome",), ('fly(to="Rome") never ran',), "I cannot fly."),
    Kind("arguments that do not fit", "agent", ("Which room?",), ('find(date="Friday") never ran',), "Which day?"),
    Kind("subgraph as a node", "nested", ROOM, (f"desk › {FOUND}", f"desk › {BOOKED}"), "Blue is yours."),
    Kind(
        "subgraph called by a node", "hidden", ROOM, (f"only › {FOUND}", f"only › {BOOKED}"), "They say: Blue is yours."
    ),
    Kind(
        "agent as a tool",
        "nested_agents",
        ("Ask the expert",),
        ('ask_expert(question="Book a room") ok', f"ask_expert › {FOUND}", f"ask_expert › {BOOKED}"),
        "It is done.",
    ),
    Kind(
        "deepagents with a subagent",
        "deep",
        ("Plan it",),
        ('task(description="Book a room", subagent_type="rooms") ok', f"task › {FOUND}", f"task › {BOOKED}"),
        "The room is booked.",
    ),
    Kind(
        "langgraph-supervisor",
        "supervised",
        ROOM,
        (
            "supervisor › handoff: transfer_to_rooms() ok",
            f"rooms › {FOUND}",
            f"rooms › {BOOKED}",
            "handoff: transfer_back_to_supervisor() ok",
        ),
        "The desk booked Blue.",
    ),
    Kind(
        "langgraph-supervisor, `ignore_tools`",
        "supervised",
        ROOM,
        (f"rooms › {FOUND}", f"rooms › {BOOKED}"),
        "The desk booked Blue.",
        rest=options(ignore_tools=["transfer_*"]),
    ),
    Kind(
        "langgraph-swarm",
        "swarm",
        ROOM,
        ("front › handoff: transfer_to_rooms() ok", f"rooms › {FOUND}"),
        "Blue is free.",
    ),
    Kind("a node that returns a `Command`", "commanding", ("Hi",), (), "Handed over."),
    Kind("a tool that raises, unhandled", "raising", ("Hi",), error="ValueError: fuse blown"),
    Kind(
        "a loop without end", "looping", ("Hi",), error="Recursion limit of 6 reached", rest=options(recursion_limit=6)
    ),
    Kind("“need more steps”", "tired", ("Hi",), error="the agent ran out of steps"),
    Kind(
        "a sync saver", "sync_saver", ("Hi",), error="a SqliteSaver, cannot be used in an async run. Use its async form"
    ),
    Kind(
        "state without messages, nothing said of it",
        "own_state",
        ("Hi",),
        error="has no `messages` (it has: reply, user_input, user_name). Set `input` and `output`",
    ),
]


def spelled(call: ToolCall) -> str:
    within = f"{call.parent} › " if call.parent else ""
    kind = "" if call.kind == "tool" else f"{call.kind}: "
    given = ", ".join(f"{name}={json.dumps(value)}" for name, value in (call.arguments or {}).items())
    how = {True: "ok", False: "error" if call.error else "failed", None: "waits" if call.unfinished else "unknown"}[
        call.success
    ]
    return f"{within}{kind}{call.name}({given}) {how if call.called else 'never ran'}"


def graph(kind: Kind) -> Any:
    spec = kind.spec if "/" in kind.spec else f"kinds.py:{kind.spec}"
    return opened("langgraph", spec, HERE, **kind.rest)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.error], ids=lambda kind: kind.name)
async def test_what_is_recorded(kind: Kind) -> None:
    *setup, prompt = kind.prompts
    async with graph(kind) as target:
        trace = await ask(target, prompt, setup_prompts=tuple(setup))
    assert tuple(map(spelled, trace.tool_calls)) == kind.calls
    assert trace.final_message == kind.says
    assert set(trace.unobserved) == {"telemetry"}


TOLD = {
    "interrupt without a checkpointer, answered": "the graph waits for an answer, and without a checkpointer nobody "
    "can give it one: compile it with a checkpointer, such as InMemorySaver() [agent]",
    "a tool that raises, unhandled": "ValueError: fuse blown [agent]",
    "a loop without end": "GraphRecursionError: Recursion limit of 6 reached without hitting a stop condition. You can "
    "increase the limit by setting the `recursion_limit` config key.",
    "“need more steps”": "the agent ran out of steps (50): raise recursion_limit [agent]",
    "a sync saver": "the checkpointer of 'kinds.py:sync_saver', a SqliteSaver, cannot be used in an async run. Use its "
    "async form, such as AsyncSqliteSaver or AsyncPostgresSaver, or an InMemorySaver. [sync-saver]",
    "state without messages, nothing said of it": "the state of 'kinds.py:own_state' has no `messages` (it has: reply, "
    "user_input, user_name). Set `input` and `output` in its options, for instance "
    'input = { question = "{prompt}" } and output = "$.answer". [no-messages]',
}
"""Every error of the table, word for word; of LangGraph's own, its first lines."""


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.error], ids=lambda kind: kind.name)
async def test_what_is_an_error(kind: Kind) -> None:
    *setup, prompt = kind.prompts
    with pytest.raises((TargetError, ConfigError)) as caught:
        async with graph(kind) as target:
            await ask(target, prompt, setup_prompts=tuple(setup))
    assert kind.error in TOLD[kind.name]
    assert str(caught.value)[: len(TOLD[kind.name])] == TOLD[kind.name]


async def test_a_context_manager_is_left_when_the_target_is_closed() -> None:
    async with graph(Kind("", "in_a_context", ())):
        assert os.environ.get("KARAT_KINDS") == "open"
    assert "KARAT_KINDS" not in os.environ


async def test_structured_output_is_state() -> None:
    async with graph(Kind("", "structured", ())) as target:
        trace = await ask(target, "The weather?")
    assert trace.state == {"structured_response": {"city": "Rome", "degrees": 21}}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"input": {"user_input": "{prompt}"}}, "Set `output` in its options"),
        ({"output": "$.reply"}, "Set `input` in its options"),
        ({"input": {}, "output": "reply["}, "'reply[' is no JSONPath"),
    ],
)
async def test_options_that_do_not_fit_the_graph(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        async with graph(Kind("", "own_state", (), rest=options(**given))):
            pass
    assert says in str(caught.value)


async def test_an_output_that_finds_nothing_is_a_bad_answer() -> None:
    given = options(**{**OWN, "output": "$.answer"})
    async with graph(Kind("", "own_state", (), rest=given)) as target:
        with pytest.raises(TargetError, match=r"`output` \$\.answer finds nothing in what the graph gave") as caught:
            await ask(target, "Room on Friday")
    assert caught.value.kind == "bad-answer"


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("project/langgraph.json", "names no graph '' (it has: desk, made). Name one: project/langgraph.json:desk"),
        ("project/langgraph.json:dsk", "Did you mean 'desk'?"),
        (
            "project/missing/langgraph.json:x",
            "langgraph.json: it cannot be read: [Errno 2] No such file or directory: ",
        ),
    ],
)
async def test_a_langgraph_json_that_does_not_help(spec: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        async with opened("langgraph", spec, HERE):
            pass
    assert says in str(caught.value)


def table() -> str:
    rows = ["| graph or agent | what is said | calls recorded | final message |", "|---|---|---|---|"]
    for kind in KINDS:
        said = " · ".join(f"`{prompt}`" for prompt in kind.prompts)
        calls = "<br>".join(f"`{call}`" for call in kind.calls) or ("" if kind.error else "none")
        rows.append(f"| {kind.name} | {said} | {calls} | {_cell(kind)} |")
    return "\n".join(rows) + "\n"


def _cell(kind: Kind) -> str:
    if kind.error:
        return f"**ERROR**: {kind.error}"
    return kind.says.replace("\n", "<br>") or "(empty)"


def test_the_table_in_the_docs() -> None:
    assert len(KINDS) >= 22
    text = DOCS.read_text()
    head, _, rest = text.partition(BEGIN)
    written, _, tail = rest.partition(END)
    if os.environ.get("KARAT_UPDATE_GOLDEN"):
        DOCS.write_text(f"{head}{BEGIN}{table()}{END}{tail}")
        return
    assert written == table(), "write it anew: KARAT_UPDATE_GOLDEN=1 pytest tests/targets/langgraph"
