"""The stub as a process of its own: `python stub_process.py PORT`. Asked to die, it does so, also after an answer.

Asked to meet, it answers only when two of its kind were asked, and then with its port and data folder.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from stub import Stub, _Handler


class Mortal(Stub):
    def answer(self, prompt: str, conversation: str) -> dict[str, Any]:
        if prompt.startswith("die"):
            os.kill(os.getpid(), signal.SIGKILL)
        answer = super().answer(prompt, conversation)
        if prompt.startswith("meet"):
            folder, data = Path(os.environ["STUB_MEETING"]), os.environ["STUB_DATA"]
            (folder / str(os.getpid())).touch()
            end = time.monotonic() + 60
            while len([*folder.iterdir()]) < 2 and time.monotonic() < end:
                time.sleep(0.05)
            answer["pieces"] = [f"{len([*folder.iterdir()])} {sys.argv[1]} {data} {Path(data).is_dir()}"]
        return answer

    def write(self, conversation: str, word: str) -> None:
        """What is done once the page has its answer."""
        if word == "last":
            os.kill(os.getpid(), signal.SIGKILL)
        super().write(conversation, word)


def main() -> None:
    needed = os.environ.get("STUB_ONLY_WITH")
    if needed and not Path(needed).exists():
        print("no such luck")
        sys.exit(3)
    log = os.environ.get("STUB_LOG")
    handler = type("Handler", (_Handler,), {"stub": Mortal(log=Path(log) if log else None)})
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print("serving", flush=True)
    server.serve_forever(poll_interval=0.05)


if __name__ == "__main__":
    main()
