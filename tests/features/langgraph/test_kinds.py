"""The kinds of graphs and agents that Carob talks to: what is recorded of each, which is also the table in the docs."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from carob.errors import ConfigError
from carob.model.trace import ToolCall
from carob.targets.base import TargetError
from carob.text.wording import shorten
from targets.conftest import ask, opened

HERE = Path(__file__).parent
DOCS = HERE.parents[2] / "docs" / "langgraph.md"
BEGIN, END = "<!-- kinds: written by the tests -->\n", "<!-- end of kinds -->"
SETUP = {"setup": "kinds.py:desk"}
BLUE = '→ {"success": true, "room": "Blue"}'
DONE = '→ {"success": true, "when": "datetime.date(2026, 1, 5)"}'
FOUND, BOOKED = f'find(day="Friday") ok {BLUE}', f'book(room="Blue") ok {DONE}'
PAID, UNPAID = 'pay(room="Blue") ok → "Blue is paid"', 'pay(room="Red") failed → "Error: nothing was paid"'
WOBBLED = ("wobble() error → ConnectionError: wobbles", 'wobble() ok → "steady now"')


class Kind(NamedTuple):
    """A kind of graph, what is said to it, and what is recorded."""

    name: str
    spec: str
    prompts: tuple[str, ...]
    calls: tuple[str, ...] = ()
    says: str = ""
    error: str = ""
    rest: dict[str, Any] = {}  # noqa: RUF012 - never changed


def options(**keys: Any) -> dict[str, Any]:
    return {"options": keys}


OWN = {"input": {"user_input": "{prompt}", "user_name": "Ada"}, "output": "$.reply.words"}
ROOM = ("Book a room",)
EDIT = {"type": "edit", "edited_action": {"name": "book", "args": {"room": "Green"}}}
SCHEMAS: dict[str, Any] = {"input": {"question": "{prompt}"}, "output": "$.answer"}
RESPONDED = json.dumps({"decisions": [{"type": "respond", "message": "nothing was paid"}]})
EDITED = json.dumps({"decisions": [EDIT, {"type": "approve"}]})

KINDS = [
    Kind("`StateGraph` with a `ToolNode`", "graph", ROOM, (FOUND, BOOKED), "Blue is yours."),
    Kind("`create_agent`", "agent", ROOM, (FOUND, BOOKED), "Blue is yours."),
    Kind("`create_react_agent`", "prebuilt", ROOM, (FOUND, BOOKED), "Blue is yours."),
    Kind(
        "a graph that is not compiled",
        "uncompiled",
        ("Book Red",),
        ('book(room="Red") failed → {"success": false, "when": "datetime.date(2026, 1, 5)"}',),
        "Red is taken.",
    ),
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
    Kind(
        "interrupt in a tool, answered", "signing", ("Sign it", "yes"), ('sign(paper="A") ok → "signed: yes"',), "Done."
    ),
    Kind(
        "interrupt without a checkpointer, answered",
        "forgetting",
        ("Sign it", "yes"),
        error="compile it with a checkpointer",
    ),
    Kind("human in the loop: approved", "approving", ("Both", "yes"), (BOOKED, PAID), "Booked and paid."),
    Kind("human in the loop: rejected", "approving", ("Both", "no thanks"), (), "Then not."),
    Kind(
        "human in the loop: edited",
        "approving",
        ("Both", EDITED),
        (f'book(room="Green") ok {DONE}', PAID),
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
            'provider: web_search(query="rooms") ok → "3 rooms"',
            'provider: code_execution(code="1/0") failed → {"type": "code_execution_tool_result_error", "error_code": '
            '"unavailable"}',
            'provider: web_search(query="beds") ok',
        ),
        "There are three.",
    ),
    Kind("retries by middleware", "trying_again", ("Try it",), WOBBLED, "It holds."),
    Kind("a retry loop in a node", "looping_inside", ("Try it",), WOBBLED, "steady now"),
    Kind("words and an artifact", "artifacts", ("Fetch A",), ('fetch(name="A") failed → "Have a look."',), "I looked."),
    Kind("a tool that speaks of an error", "agent", ("Pay Red",), (UNPAID,), "I could not pay."),
    Kind(
        "an unknown tool",
        "agent",
        ("Fly to Rome",),
        ('fly(to="Rome") never ran → Error: fly is not a valid tool, try one of [find, book, pay].',),
        "I cannot fly.",
    ),
    Kind(
        "arguments that do not fit",
        "agent",
        ("Which room?",),
        (
            'find(date="Friday") never ran → ValidationError: 1 validation error for find day Field required '
            "[type=missing, input_valu…",
        ),
        "Which day?",
    ),
    Kind("subgraph as a node", "nested", ROOM, (f"desk › {FOUND}", f"desk › {BOOKED}"), "Blue is yours."),
    Kind(
        "subgraph called by a node", "hidden", ROOM, (f"only › {FOUND}", f"only › {BOOKED}"), "They say: Blue is yours."
    ),
    Kind(
        "agent as a tool",
        "nested_agents",
        ("Ask the expert",),
        ('ask_expert(question="Book a room") ok → "Blue is yours."', f"ask_expert › {FOUND}", f"ask_expert › {BOOKED}"),
        "It is done.",
    ),
    Kind(
        "deepagents with a subagent",
        "deep",
        ("Plan it",),
        (
            'task(description="Book a room", subagent_type="rooms") ok → "Blue is yours."',
            f"task › {FOUND}",
            f"task › {BOOKED}",
        ),
        "The room is booked.",
    ),
    Kind(
        "langgraph-supervisor",
        "supervised",
        ROOM,
        (
            'supervisor › handoff: transfer_to_rooms() ok → "Successfully transferred to rooms"',
            f"rooms › {FOUND}",
            f"rooms › {BOOKED}",
            'handoff: transfer_back_to_supervisor() ok → "Successfully transferred back to supervisor"',
        ),
        "The desk booked Blue.",
    ),
    Kind(
        "langgraph-supervisor, `ignore_tools`",
        "supervised",
        ROOM,
        (f"rooms › {FOUND}", f"rooms › {BOOKED}"),
        "The desk booked Blue.",
        rest={"ignore_tools": ("transfer_*",)},
    ),
    Kind(
        "langgraph-swarm",
        "swarm",
        ROOM,
        ('front › handoff: transfer_to_rooms() ok → "Successfully transferred to rooms"', f"rooms › {FOUND}"),
        "Blue is free.",
    ),
    Kind("a node that returns a `Command`", "commanding", ("Hi",), (), "Handed over."),
    Kind("`interrupt_after`: let go", "further:stopping_after", (*ROOM, "go on", "go on"), (BOOKED,), "Blue is yours."),
    Kind(
        "a tool that takes the state and returns a `Command`",
        "further:noting",
        ("Note it",),
        ('note(words="Blue") ok → "Blue after 2 messages"',),
        "Noted.",
    ),
    Kind(
        "`ToolNode` that answers what tools raise",
        "further:handled",
        ("Try both",),
        ("boom() error → ValueError: fuse blown", FOUND),
        "Half of it.",
    ),
    Kind("a model that only streams", "further:streaming", ROOM, (FOUND, BOOKED), "Blue is yours. "),
    Kind(
        "fan-out by `Send`",
        "further:fan_out",
        ("Rooms:",),
        (FOUND, 'find(day="Sunday") failed → {"success": false, "room": "Blue"}'),
        "Rooms: Friday: True, Sunday: False",
        rest=options(input={"topic": "{prompt}"}, output="$.report"),
    ),
    Kind(
        "input and output schemas of their own",
        "further:schemas",
        ("rooms",),
        (),
        "About: rooms",
        rest=options(**SCHEMAS),
    ),
    Kind(
        "entrypoint: a model of pydantic",
        "further:takes_a_model",
        ("rooms",),
        (),
        "You ask: rooms",
        rest=options(input=SCHEMAS["input"]),
    ),
    Kind(
        "entrypoint: a dataclass",
        "further:takes_a_dataclass",
        ("rooms",),
        (),
        "You ask: rooms",
        rest=options(**SCHEMAS),
    ),
    Kind(
        "entrypoint that remembers", "further:remembers", ("rooms", "beds"), (), "First you said rooms, in all 2 times."
    ),
    Kind(
        "context from the options",
        "further:greeting",
        ("Hi",),
        (),
        "Hello from Desk 9.",
        rest=options(context={"name": "Desk 9"}),
    ),
    Kind(
        "limit of tool calls by middleware",
        "further:tool_limit",
        ("Go",),
        (FOUND, 'find(day="Friday") never ran → Tool call limit exceeded. Do not make additional tool calls.'),
        "That is enough.",
    ),
    Kind("summaries by middleware", "further:summarizing", (*ROOM, "Pay Red"), (UNPAID,), "I could not pay."),
    Kind(
        "human in the loop: answered for the tool",
        "further:answered_for",
        ("Pay Red", RESPONDED),
        (),
        "I could not pay.",
    ),
    Kind("deepagents with `interrupt_on`", "further:deep_asking", ("Pay Red", "yes"), (UNPAID,), "I could not pay."),
    Kind(
        "handed over by a tool to another node",
        "further:office",
        ("Hi",),
        ('front › handoff: move() ok → "moved"',),
        "Back office here.",
    ),
    Kind(
        "subgraph with a memory of its own",
        "further:remembering_inside",
        (*ROOM, *ROOM),
        (f"desk › {FOUND}", f"desk › {BOOKED}"),
        "Blue is yours. Bye.",
    ),
    Kind(
        "plain functions that a node calls, messages as dicts",
        "further:plain_functions",
        ("Keep it",),
        ('note(words="milk") ok → "kept milk"', 'note(words="Sunday") failed → "Error: no room for Sunday"'),
        "Half of it is kept.",
    ),
    Kind("the answer in a human message with the name of an agent", "further:researched", ("Hi",), (), "Blue is free."),
    Kind("human messages of a user at the end", "further:quoted", ("Hi",), (), "Blue is free."),
    Kind("interrupt answered with a number", "further:typed_answer", ("Hi", "3"), (), "int: 3"),
    Kind("interrupt answered with true", "further:typed_answer", ("Hi", "true"), (), "bool: True"),
    Kind("interrupt answered with a number as text", "further:typed_answer", ("Hi", '"3"'), (), "str: 3"),
    Kind("interrupt answered with words", "further:typed_answer", ("Hi", "3 rooms"), (), "str: 3 rooms"),
    Kind(
        "`input` with `messages`, no checkpointer",
        "further:guests",
        ("one", "two"),
        (),
        "one then two, for Ada",
        rest=options(input={"messages": "{prompt}", "who": "Ada"}),
    ),
    Kind(
        "`input` with `{messages}`, no checkpointer",
        "further:letter",
        ("one", "two"),
        (),
        "two [human one, ai one [human one], human two]",
        rest=options(input={"question": "{prompt}", "earlier": "{messages}"}, output="$.answer"),
    ),
    Kind(
        "`input` with `{messages}` in a text",
        "further:letter",
        ("{prompt}", "two"),
        (),
        "two [] So far:\nuser: {prompt}\nassistant: {prompt} [] So far:\nuser: {prompt}\nuser: two",
        rest=options(input={"question": "{prompt}", "transcript": "So far:\n{messages}"}, output="$.answer"),
    ),
    Kind(
        "`input` that drops what was said, no checkpointer",
        "further:letter",
        ("one", "two"),
        error="use {messages} in `input`",
        rest=options(input={"question": "{prompt}"}, output="$.answer"),
    ),
    Kind('`store = "memory"`', "further:remembering", ("one", "two"), (), "one, two", rest=options(store="memory")),
    Kind(
        "a store that is not there",
        "further:storeless",
        ("one",),
        error="the graph has no store and perhaps no context",
    ),
    Kind("`store` for a graph with a config", "further:bound", ("one",), (), "one", rest=options(store="memory")),
    Kind(
        "limit of model calls by middleware",
        "further:model_limit",
        ("Go",),
        error="Model call limits exceeded: run limit (2/2)",
    ),
    Kind("a tool that raises, unhandled", "raising", ("Hi",), error="ValueError: fuse blown"),
    Kind(
        "a sync saver", "sync_saver", ("Hi",), error="a SqliteSaver, cannot be used in an async run. Use its async form"
    ),
    Kind(
        "output without messages, nothing said of it",
        "further:schemas",
        ("Hi",),
        error="has no `messages` (it has: answer). Set `output`",
        rest=options(input=SCHEMAS["input"]),
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
    arguments = ", ".join(f"{name}={json.dumps(value)}" for name, value in (call.arguments or {}).items())
    how = {True: "ok", False: "error" if call.error else "failed", None: "waits" if call.unfinished else "unknown"}[
        call.success
    ]
    gave = call.error or ("" if call.result is None else json.dumps(call.result))
    end = f" → {shorten(' '.join(gave.split()), 90)}" if gave else ""
    return f"{within}{kind}{call.name}({arguments}) {how if call.called else 'never ran'}{end}"


def graph(kind: Kind) -> Any:
    further = kind.spec.removeprefix("further:")
    spec = f"kinds.py:{further}" if further == kind.spec else f"further_kinds.py:{further}"
    spec = kind.spec if "/" in kind.spec else spec
    return opened("langgraph", spec, HERE, **kind.rest)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.error], ids=lambda kind: kind.name)
async def test_what_is_recorded(kind: Kind) -> None:
    *setup, prompt = kind.prompts
    async with graph(kind) as target:
        trace = await ask(target, prompt, setup_prompts=tuple(setup))
    assert tuple(map(spelled, trace.tool_calls)) == kind.calls
    assert trace.final_message == kind.says
    assert set(trace.unobserved) == {"telemetry"}


NO_MESSAGES = (
    "the {} of 'kinds.py:own_state' has no `messages` (it has: reply, user_input, user_name). Set {} in its "
    'options, for instance input = {{ question = "{{prompt}}" }} and output = "$.answer". [no-messages]'
)
NO_PATH = "`output` 'reply[' is not a JSONPath: expected '$', found 'r'. For instance: $.data.reply [config]"
TOLD = {
    "a store that is not there": "AttributeError: 'NoneType' object has no attribute 'search': the graph has no store "
    'and perhaps no context; if it needs them, set `store = "memory"` and `context` [agent]',
    "`input` that drops what was said, no checkpointer": "the graph has no checkpointer, and `input` does not include "
    "the earlier messages: use {messages} in `input`, make the input with a function, or compile the graph with a "
    "checkpointer [config]",
    "interrupt without a checkpointer, answered": "the graph waits for an answer, and it cannot resume without a "
    "checkpointer: compile it with a checkpointer, such as InMemorySaver() [agent]",
    "a tool that raises, unhandled": "ValueError: fuse blown [agent]",
    "limit of model calls by middleware": "ModelCallLimitExceededError: Model call limits exceeded: run limit (2/2) "
    "[agent]",
    "a sync saver": "the checkpointer of 'kinds.py:sync_saver', a SqliteSaver, cannot be used in an async run. Use its "
    "async form, such as AsyncSqliteSaver or AsyncPostgresSaver, or an InMemorySaver. [sync-saver]",
    "output without messages, nothing said of it": "the output of 'further_kinds.py:schemas' has no `messages` (it "
    'has: answer). Set `output` in its options, for instance input = { question = "{prompt}" } and output = '
    '"$.answer". [no-messages]',
    "state without messages, nothing said of it": NO_MESSAGES.format("state", "`input` and `output`"),
}
"""Every error of the table, word for word."""


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.error], ids=lambda kind: kind.name)
async def test_what_is_an_error(kind: Kind) -> None:
    *setup, prompt = kind.prompts
    with pytest.raises((TargetError, ConfigError)) as caught:
        async with graph(kind) as target:
            await ask(target, prompt, setup_prompts=tuple(setup))
    assert kind.error in TOLD[kind.name]
    assert str(caught.value) == TOLD[kind.name]


@pytest.mark.parametrize(("name", "limit"), [("looping", 6), ("tired", 50)])
async def test_a_limit_is_how_the_turn_ended(name: str, limit: int) -> None:
    async with graph(Kind("", name, (), rest=options(recursion_limit=limit))) as target:
        assert (await ask(target, "Hi")).ended_by == "recursion_limit"


async def test_a_context_manager_is_left_when_the_target_is_closed() -> None:
    async with graph(Kind("", "in_a_context", ())):
        assert os.environ.get("CAROB_KINDS") == "open"
    assert "CAROB_KINDS" not in os.environ


async def test_structured_output_is_state() -> None:
    async with graph(Kind("", "structured", ())) as target:
        trace = await ask(target, "The weather?")
    assert trace.state == {"structured_response": {"city": "Rome", "degrees": 21}}


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"input": {"user_input": "{prompt}"}}, NO_MESSAGES.format("output", "`output`")),
        ({"output": "$.reply"}, NO_MESSAGES.format("input", "`input`")),
        ({"input": {}, "output": "reply["}, NO_PATH),
    ],
)
async def test_options_that_do_not_fit_the_graph(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        async with graph(Kind("", "own_state", (), rest=options(**keys))):
            pass
    assert str(caught.value) == says


async def test_an_input_that_does_not_fit_the_entrypoint() -> None:
    keys = options(input={"words": "{prompt}"})
    async with graph(Kind("", "further:takes_a_dataclass", (), rest=keys)) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "rooms")
    assert str(caught.value) == (
        "`input` cannot be made into Ticket, which the entrypoint takes: Ticket.__init__() got an unexpected keyword "
        "argument 'words' [config]"
    )


async def test_an_output_that_finds_nothing_is_a_bad_answer() -> None:
    keys = options(**{**OWN, "output": "$.answer"})
    async with graph(Kind("", "own_state", (), rest=keys)) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "Room on Friday")
    assert str(caught.value) == (
        "`output` $.answer finds nothing in what the graph returned (it has: user_input, user_name, reply): correct "
        "`output` [bad-answer]"
    )


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (
            "project/langgraph.json",
            "project/langgraph.json names no graph '' (it has: desk, made). Name one: "
            "project/langgraph.json:desk [config]",
        ),
        (
            "project/langgraph.json:dsk",
            "project/langgraph.json names no graph 'dsk' (it has: desk, made). Did you mean 'desk'? [config]",
        ),
        (
            "project/missing/langgraph.json:x",
            f"{HERE / 'project/missing/langgraph.json'}: it cannot be read: No such file or directory. Name graphs by "
            'file and attribute: "graphs": {"agent": "./agent.py:graph"}. [config]',
        ),
    ],
)
async def test_a_langgraph_json_that_does_not_help(spec: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        async with opened("langgraph", spec, HERE):
            pass
    assert str(caught.value) == says


def table() -> str:
    """Kinds of which the same calls are recorded share a row; arguments and results are left out."""
    kinds: dict[str, list[str]] = {}
    for kind in (kind for kind in KINDS if kind.calls):
        calls = "<br>".join(f"`{_without_data(call)}`" for call in kind.calls)
        kinds.setdefault(calls, []).append(kind.name)
    rows = [f"| {'; '.join(names)} | {calls} |" for calls, names in kinds.items()]
    return "\n".join(["| graph or agent | calls recorded |", "|---|---|", *rows]) + "\n"


def _without_data(call: str) -> str:
    return re.sub(r"\(.*\)", "", call.partition(" → ")[0])


def test_the_table_in_the_docs() -> None:
    assert len(KINDS) >= 22
    text = DOCS.read_text()
    head, _, rest = text.partition(BEGIN)
    written, _, tail = rest.partition(END)
    if os.environ.get("CAROB_UPDATE_GOLDEN"):
        DOCS.write_text(f"{head}{BEGIN}{table()}{END}{tail}")
        return
    assert written == table(), "write it anew: CAROB_UPDATE_GOLDEN=1 pytest tests/features/langgraph"


async def test_store_of_memory_is_empty_for_each_case_and_a_file_is_shared(tmp_path: Path) -> None:
    for store, second in (("memory", "two"), (str(tmp_path / "kept.db"), "one, two")):
        async with graph(Kind("", "further:remembering", (), rest=options(store=store))) as target:
            assert (await ask(target, "one")).final_message == "one"
            assert (await ask(target, "two")).final_message == second
    assert (tmp_path / "kept.db").is_file()
    (tmp_path / "notes.txt").write_text("not a database, and longer than the head of one " * 9)
    for store, why in (
        ("no/such/kept.db", "folder that does not exist"),
        (".", "unable to open"),
        ("notes.txt", "not a"),
    ):
        with pytest.raises(ConfigError, match=why):
            async with graph(Kind("", "further:remembering", (), rest=options(store=str(tmp_path / store)))):
                pass


@pytest.mark.parametrize(
    ("spec", "prompts", "started"),
    [
        ("further:plain_functions", ("Keep it",), [True, True]),
        ("further:tool_limit", ("Go",), [True, False]),
        ("signing", ("Sign it",), [True]),
    ],
)
async def test_what_was_started(spec: str, prompts: tuple[str, ...], started: list[bool]) -> None:
    async with graph(Kind("", spec, prompts)) as target:
        trace = await ask(target, prompts[-1])
    assert [call.started for call in trace.tool_calls] == started
