"""What a run records: in little memory, and whatever ends the run, the tape is the old one or a whole new one."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from carob.errors import ConfigError
from carob.evidence.model_traffic import ModelTraffic
from carob.proxy.tape import file as recording_module
from carob.proxy.tape.file import Answer, Exchange, Recording, Tape, read_tape
from carob.proxy.tape.player import TapePlayer
from carob.proxy.tape.requests import IgnoreRules, ServiceRequest
from carob.proxy.tape.secrets import SecretKeeper

LONG = "long " * 4_000
COUNT = 60
MOST = 12 * len(LONG)


def exchange(case: str, text: str = "ok", number: int = 0) -> Exchange:
    body = json.dumps({"number": number}).encode()
    request = ServiceRequest.of("openai", "POST", "/v1/x", "application/json", body)
    return Exchange(case=case, request=request, answer=Answer(200, text=text), recorded="2026-11-18")


def tape_at(path: Path, *cases: str) -> Tape:
    Tape(path=path, runs={(case, 0): [exchange(case)] for case in cases}).write()
    return read_tape(path)


def kept_after(work: Callable[[], object]) -> int:
    """The bytes that are still held after it."""
    tracemalloc.start()
    try:
        held = work()
        size = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held is not None
    return size


def test_what_is_recorded_is_not_held_in_memory(tmp_path: Path) -> None:
    tape = Tape(path=tmp_path / "s.tape.yaml")
    recording = Recording(tape)

    def record() -> object:
        made = [recording.add(exchange("a", LONG, number)) for number in range(COUNT)]
        recording.end("a", 0, made)
        return recording

    assert kept_after(record) < MOST
    recording.close()
    exchanges = read_tape(tape.path).runs["a", 0]
    assert [one.request.json for one in exchanges] == [{"number": number} for number in range(COUNT)]
    assert {one.answer.text for one in exchanges} == {LONG}


def test_what_requests_to_a_model_repeat_is_held_once() -> None:
    def ask() -> object:
        traffic = ModelTraffic()
        tool = {"type": "function", "function": {"name": f"find_{LONG}", "parameters": {"type": "object"}}}
        for number in range(COUNT):
            messages = [{"role": "system", "content": LONG}, {"role": "user", "content": f"Say {LONG}"}]
            messages += [{"role": "assistant", "content": f"{place} {LONG}"} for place in range(number % 3)]
            body = {"model": "m", "messages": messages, "tools": [tool]}
            assert traffic.add_request("openai", "/v1/chat/completions", json.dumps(body).encode()) is not None
        assert {exchange.system for exchange in traffic.exchanges} == {LONG}
        assert {exchange.prompt for exchange in traffic.exchanges} == {f"Say {LONG}"}
        return traffic

    assert kept_after(ask) < MOST


def test_cases_that_are_not_recorded_again_stay_on_the_tape(tmp_path: Path) -> None:
    recording = Recording(tape_at(tmp_path / "s.tape.yaml", "a", "b"))
    recording.end("b", 0, [recording.add(exchange("b", "new")), recording.add(exchange("b", "newer", 1))])
    recording.write()
    recording.end("c", 0, [recording.add(exchange("c", "other"))])
    recording.close()
    reread = read_tape(tmp_path / "s.tape.yaml")
    assert [(one.case, one.answer.text) for one in reread.exchanges] == [
        ("a", "ok"), ("b", "new"), ("b", "newer"), ("c", "other"),
    ]  # fmt: skip


def test_a_killed_recording_leaves_the_old_tape_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "s.tape.yaml"
    old = tape_at(path, "a")
    child = os.fork()
    if child == 0:
        recording = Recording(old)
        recording.add(exchange("a", "half"))
        os._exit(9)
    os.waitpid(child, 0)
    assert [one.name for one in tmp_path.iterdir()] == ["s.tape.yaml"]
    assert read_tape(path).runs == {("a", 0): [exchange("a")]}


def test_a_write_that_fails_leaves_the_old_tape_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.tape.yaml"
    recording = Recording(tape_at(path, "a"))
    recording.end("a", 0, [recording.add(exchange("a", "new"))])
    with monkeypatch.context() as patch:
        patch.setattr(Recording, "_read", lambda self, kept: _full())
        with pytest.raises(ConfigError, match=r"the tape cannot be written: No space left on device\. .*`file`"):
            recording.write()
    assert [one.name for one in tmp_path.iterdir()] == ["s.tape.yaml"]
    assert read_tape(path).runs == {("a", 0): [exchange("a")]}
    recording.close()
    assert read_tape(path).runs == {("a", 0): [exchange("a", "new")]}


def _full() -> bytes:
    raise OSError(28, "No space left on device")


def test_a_tape_without_a_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="the tape cannot be written: "):
        TapePlayer(Tape(path=tmp_path / "file" / "s.tape.yaml"), "record", IgnoreRules(), SecretKeeper([])).open()


def test_ended_cases_reach_the_tape_while_others_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_module, "SECONDS_BETWEEN_WRITES", 0)
    recording = Recording(Tape(path=tmp_path / "s.tape.yaml"))
    running = recording.add(exchange("b", "first"))
    recording.end("a", 0, [recording.add(exchange("a"))])
    assert [one.case for one in read_tape(tmp_path / "s.tape.yaml").exchanges] == ["a"]
    recording.end("b", 0, [running, recording.add(exchange("b", "second", 1))])
    recording.close()
    exchanges = read_tape(tmp_path / "s.tape.yaml").runs["b", 0]
    assert [one.answer.text for one in exchanges] == ["first", "second"]
