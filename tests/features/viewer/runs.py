"""Two runs of one suite with something for every page in them, and a viewer that serves them."""

from __future__ import annotations

import struct
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import structs

import carob
from carob.features.viewer import library
from carob.journal.index import Index
from carob.journal.reader import Journal
from carob.journal.writer import encode

OK = {"must_say_any": ["ok"]}
SUITE = {
    "carob": 1,
    "cases": [
        {
            "id": "refund",
            "category": "money",
            "tags": ["smoke"],
            "prompt": "I want my money back.",
            "expected": {
                "tool_calls_any": ["pay"],
                "tool_calls_none": ["delete"],
                "must_not_say": ["as an AI"],
                "must_say_any": ["49.00"],
            },
        },
        {"id": "hello", "category": "small talk", "prompt": "Hello?", "expected": {"must_say_any": ["hello"]}},
        {"id": "crash", "prompt": "Crash", "expected": {"must_say_any": ["x"]}},
        *(
            {"id": f"many-{number}", "category": "many", "prompt": f"Number {number}?", "expected": OK}
            for number in range(1, 231)
        ),
    ],
}  # fmt: skip


def _png() -> bytes:
    """A small picture."""
    rows = b"".join(b"\x00" + b"\x40\x80\xc0" * 60 for _ in range(30))
    parts = ((b"IHDR", struct.pack(">IIBBBBB", 60, 30, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    number = struct.Struct(">I").pack
    made = (number(len(data)) + kind + data + number(zlib.crc32(kind + data)) for kind, data in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(made)


def answer(prompt: str, better: bool) -> object:
    if prompt == "Crash":
        raise RuntimeError("the model is down")
    if "money" not in prompt:
        return "Hello, ok." if better or prompt != "Hello?" else "Good day."
    calls = [
        {"name": "lookup", "arguments": {"order": "A-17"}, "result": {"total": 49}, "success": True},
        {"name": "pay", "arguments": {"amount": 49}, "result": {"status": "paid"}, "success": True},
    ]
    if not better:
        calls.append({"name": "delete", "arguments": {"order": "A-17"}, "success": True, "parent": "pay"})
    words = "I paid **49.00** back." if better else "**Done**, as an AI I paid 49.00:\n\n- order `A-17`"
    return {"final_message": words, "tool_calls": calls}


def recorded(folder: Path) -> tuple[Path, Path]:
    """The journals of a worse run and of a better one after it, the first with files."""
    for better in (False, True):
        carob.run(SUITE, lambda prompt, better=better: answer(prompt, better), results_dir=folder)
        time.sleep(0.01)
    first, second = sorted(folder.glob("*.jsonl"), key=lambda path: Journal(path).header.started_at)
    _attach(first)
    return first, second


def _attach(journal: Path) -> None:
    """Give its first case files: a picture, another thing, and what is not the run's own."""
    own = journal.parent / "files"
    own.mkdir()
    (own / "shot.png").write_bytes(_png())
    (own / "notes.html").write_text("<script>window.owned=1</script>")
    (journal.parent.parent / "secret.txt").write_text("secret")
    (own / "link.png").symlink_to(journal.parent.parent / "secret.txt")
    files = {
        "screenshot": "files/shot.png",
        "notes": "files/notes.html",
        "link": "files/link.png",
        "up": "../secret.txt",
        "root": "/etc/passwd",
    }
    head, first, *rest = journal.read_bytes().splitlines(keepends=True)
    record = msgspec.json.decode(first, type=carob.CaseRecord)
    changed = structs.replace(record, trace=structs.replace(record.trace, attachments=files))
    journal.write_bytes(b"".join([head, encode(changed) + b"\n", *rest]))


@dataclass
class Site:
    """A viewer that answers. `address` has the token."""

    address: str
    folder: Path
    first: str
    second: str

    @property
    def root(self) -> str:
        return self.address.removesuffix("/")

    @property
    def origin(self) -> str:
        return self.root.rpartition("/")[0]

    @property
    def token(self) -> str:
        return self.root.rpartition("/")[2]


@contextmanager
def serving(folder: Path, label: str = "") -> Iterator[str]:
    """A viewer over a folder of runs, in which `label` may write; its address."""
    viewer = library.open_viewer(folder, label=label)
    thread = threading.Thread(target=viewer.run)
    thread.start()
    try:
        yield viewer.address
    finally:
        viewer.stop()
        thread.join(30)
        assert not thread.is_alive()


@contextmanager
def site(folder: Path) -> Iterator[Site]:
    journals = recorded(folder)
    with serving(folder) as address:
        yield Site(address, folder, *(Index.key_of(path) for path in journals))
