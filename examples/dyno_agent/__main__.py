"""`python -m dyno_agent "Book vehicle 42 ..."`: a conversation with the agent on a fresh lab."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable
from typing import Any, cast

from langchain_core.messages import AnyMessage, HumanMessage

from dyno_agent.database import DynoContext
from dyno_agent.graph import DynoState, Graph, make_graph
from dyno_agent.settings import ConfigurationError
from dyno_agent.testing import setup, teardown

USAGE = """usage: python -m dyno_agent [MESSAGE ...]

Each MESSAGE is one turn of the conversation; without any they are read from standard input, one a line.
Every run has a fresh lab: a SQLite file, or a schema in DYNO_DATABASE_URL. DYNO_MODEL chooses the model:
rule-based (default), local, or a name at OPENAI_BASE_URL. DYNO_NOW sets the lab's clock."""
EXIT_USAGE = 4


async def converse(graph: Graph, turns: Iterable[str]) -> None:
    """Answer each turn; tools report to standard error while they work."""
    context = await setup("terminal")
    messages: list[AnyMessage] = []
    try:
        for turn in turns:
            messages.append(HumanMessage(turn))
            # LangGraph fills the rest of the state by itself.
            state = cast(DynoState, {"messages": messages})
            stream: AsyncIterator[Any] = graph.astream(
                state, context=DynoContext(**context), stream_mode=["custom", "values"]
            )
            async for mode, part in stream:
                if mode == "custom":
                    print(f"  [{part['source']} {part['event']}] {part['data'].get('message', '')}", file=sys.stderr)
                else:
                    messages = list(part["messages"])
            print(messages[-1].text, flush=True)
    finally:
        await teardown(context)


def main(arguments: list[str]) -> int:
    if any(argument in ("-h", "--help") for argument in arguments):
        print(USAGE)
        return 0
    turns = arguments or (line.strip() for line in sys.stdin if line.strip())
    try:
        asyncio.run(converse(make_graph(), turns))
    except ConfigurationError as problem:
        print(f"dyno_agent: {problem}", file=sys.stderr)
        return EXIT_USAGE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
