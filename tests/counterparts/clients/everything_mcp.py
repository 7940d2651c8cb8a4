"""An agent on an MCP server that asks its client: for its roots, for a completion, and for the user's own words."""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters, types

CALLS: list[dict[str, object]] = []


async def elicit(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ada Lovelace", "check": True, "integer": 7})


async def complete(context: object, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    words = types.TextContent(type="text", text="Ninety-nine balloons.")
    return types.CreateMessageResult(role="assistant", content=words, model="m", stop_reason="endTurn")


async def list_roots(context: object) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///home/ada/balloons", name="balloons")])


async def work(server: object) -> str:
    async with Client(
        server,
        mode="legacy",
        elicitation_callback=elicit,
        sampling_callback=complete,
        list_roots_callback=list_roots,
    ) as client:
        said = []
        for tool, arguments in (
            ("echo", {"message": "up 🎈"}),
            ("get-sum", {"a": 12, "b": 7}),
            ("trigger-sampling-request", {"prompt": "How many balloons?", "maxTokens": 20}),
            ("trigger-elicitation-request", {}),
            ("get-roots-list", {}),
            ("trigger-long-running-operation", {"duration": 1, "steps": 2}),
        ):
            result = await client.call_tool(tool, arguments)
            said += [block.text for block in result.content if block.type == "text"]
            CALLS.append({"name": tool, "arguments": arguments, "success": not result.is_error})
        return "\n".join(said)


if __name__ == "__main__":
    json.loads(sys.stdin.read())
    command = os.environ.get("EVERYTHING_COMMAND", "").split()
    at = StdioServerParameters(command=command[0], args=command[1:]) if command else os.environ["EVERYTHING_URL"]
    print(json.dumps({"final_message": asyncio.run(work(at)), "tool_calls": CALLS}))
