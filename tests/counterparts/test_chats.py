"""Chat front ends that nobody designed for Carob: inspected, then driven by what the inspection wrote, unedited."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.support import Carob
from counterparts.chats import CHATS, HERE, Chat, free_port, serving
from counterparts.recording import record

SUITE = str(HERE / "suite.json")
CASES = ("checkout", "rooms", "cancel", "pool", "memory")


@pytest.mark.limit(900)
@pytest.mark.parametrize("chat", CHATS, ids=lambda chat: chat.name)
def test_five_right_answers_pass_and_five_wrong_ones_do_not(carob: Carob, tmp_path: Path, chat: Chat) -> None:
    port = free_port()
    with serving(chat, tmp_path, port) as url:
        inspected = carob("init", "--inspect", url, "--name", chat.name, "--write")
        print(inspected.err, Path("carob.toml").read_text() if Path("carob.toml").exists() else "")
        assert inspected.code == 0
        right = carob("run", SUITE, "--target", chat.name)
        print(right.out)
        assert right.statuses == dict.fromkeys(CASES, "PASS")
        if os.environ.get("RECORD"):  # what `make test` plays again
            record(chat.name, chat.requirements[0].partition("==")[2], url, Path("carob.toml"))
    with serving(chat, tmp_path, port, WRONG="1"):
        wrong = carob("run", SUITE, "--target", chat.name)
        print(wrong.out)
        assert wrong.statuses == dict.fromkeys(CASES, "FAIL")
