"""The canned agent behind HTTP: as little server as answers, so that what is measured is on the other side."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress

from benchmarks.programs.canned import TOOL_CALLS, text_for


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
            prompt = json.loads(await reader.readexactly(length))["message"]
            body = json.dumps({"text": text_for(prompt), "tool_calls": TOOL_CALLS}).encode()
            kind = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
            writer.write(kind + b"content-length: %d\r\n\r\n" % len(body) + body)
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
