"""What a miss says: what changed, and what fixes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from carob.proxy.tape.file import Answer, Exchange, Tape
from carob.proxy.tape.player import Miss, TapePlayer
from carob.proxy.tape.requests import IgnoreRules, ServiceRequest
from carob.proxy.tape.secrets import SecretKeeper

SYSTEM = {"role": "system", "content": "You are a bank."}
HELLO, ANSWER, BYE = ({"role": r, "content": c} for r, c in (("user", "Hello"), ("assistant", "Hi."), ("user", "Bye")))


def request(body: Any, path: str = "/v1/chat/completions") -> ServiceRequest:
    return ServiceRequest.of("openai", "POST", path, "application/json", json.dumps(body).encode())


def miss(recorded: Any, asked: Any, path: str = "/v1/chat/completions") -> Miss:
    exchange = Exchange(case="a", request=request(recorded, path), answer=Answer(200))
    player = TapePlayer(Tape(path=Path(), runs={("a", 0): [exchange]}), "replay", IgnoreRules(), SecretKeeper([]))
    case = player.begin("a", 0)
    assert player.answer(request(asked, path), case) is None
    return case.misses[0]


@pytest.mark.parametrize("system", [[], [SYSTEM]])
def test_a_shared_conversation_is_called_one(system: list[Any]) -> None:
    found = miss({"messages": [*system, BYE]}, {"messages": [*system, HELLO, ANSWER, BYE]})
    assert found.cause == "the request has 2 messages more before those that were recorded"
    assert "let it begin one for each conversation id" in found.advice
    assert "ignore" not in found.detail + found.advice


def test_a_longer_conversation_is_not_ignored() -> None:
    found = miss({"messages": [HELLO]}, {"messages": [HELLO, ANSWER, BYE]})
    assert found.cause == "$.messages changed"
    assert "ignore" not in found.detail


def test_what_varies_is_ignored() -> None:
    found = miss({"messages": [HELLO], "id": "run-17"}, {"messages": [HELLO], "id": "run-18"})
    assert "add it to `ignore`" in found.detail


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("systemInstruction", "/v1beta/models/m:generateContent"),
        ("system_instruction", "/v1beta/models/m:generateContent"),
        ("system", "/v1/messages"),
        ("instructions", "/v1/responses"),
    ],
)
def test_a_system_text_is_called_that_of_the_system(key: str, path: str) -> None:
    contents = [{"role": "user", "parts": [{"text": "Hello"}]}]
    before, after = ({key: {"parts": [{"text": text}]}, "contents": contents} for text in ("A bank.", "A shop."))
    assert miss(before, after, path).cause.endswith("changed (the system message)")


def test_a_message_is_called_by_its_role() -> None:
    found = miss({"messages": [SYSTEM, HELLO]}, {"messages": [SYSTEM, BYE]})
    assert found.cause == "$.messages[1].content changed (the user message)"
