"""The segment of a log that a turn wrote, whatever becomes of the file meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.evidence.logs import jsonl_tail
from carob.evidence.logs.jsonl_tail import CaptureBrokenError, LogSegment

END = '{"event": "end"}'


def ends(line: str) -> bool:
    return line == END


def mine(line: str) -> bool:
    return "other" not in line


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "telemetry.jsonl"
    path.write_text('{"old": 1}\n')
    return path


def append(path: Path, text: str | bytes) -> None:
    with path.open("ab") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


async def read(segment: LogSegment, seconds: float = 5) -> list[str]:
    try:
        return await segment.finish(seconds)
    finally:
        segment.close()


async def test_only_what_was_written_since(log: Path) -> None:
    segment = LogSegment(log, mine, ends)
    append(log, f'{{"a": 1}}\r\n\n{{"other": 1}}\nplain text\n{END}\n')
    assert await read(segment) == ['{"a": 1}', "plain text", END]


async def test_the_end_is_waited_for(log: Path) -> None:
    segment = LogSegment(log, mine, ends)
    append(log, '{"a": 1}\n')
    reading = asyncio.create_task(read(segment))
    await asyncio.sleep(0.1)
    assert not reading.done()
    append(log, f"{END}\n")
    assert await reading == ['{"a": 1}', END]


async def test_the_end_of_another_does_not_count(log: Path) -> None:
    segment = LogSegment(log, lambda line: "mine" in line, lambda line: "end" in line)
    append(log, '{"event": "end"}\n{"mine": 1}\n')
    with pytest.raises(CaptureBrokenError, match=r"did not show the end of the turn within 0\.1 s"):
        await read(segment, 0.1)


async def test_torn_lines_are_put_together(log: Path) -> None:
    segment = LogSegment(log, mine, ends)
    whole = f'{{"a": "é"}}\n{END}\n'.encode()
    for byte in whole[:-1]:
        append(log, bytes([byte]))
        segment.read()
    append(log, whole[-1:])
    assert await read(segment) == ['{"a": "é"}', END]


async def test_a_last_line_without_an_end_counts_once_it_is_whole(log: Path) -> None:
    segment = LogSegment(log, mine, ends)
    append(log, END[:-1])
    segment.read()
    assert segment.lines == []
    append(log, END[-1:])
    assert await read(segment) == [END]


async def test_a_line_that_was_begun_before_the_turn_is_not_of_it(log: Path) -> None:
    append(log, '{"half": ')
    segment = LogSegment(log, None, ends)
    append(log, f'"done"}}\n{END}\n')
    assert await read(segment) == [END]


@pytest.mark.parametrize("kept_open", [True, False], ids=["writer-keeps-the-old-file", "writer-opens-anew"])
async def test_rotation(log: Path, kept_open: bool) -> None:
    segment = LogSegment(log, mine, ends)
    with log.open("a") as writer:
        writer.write('{"a": 1}\n')
        writer.flush()
        segment.read()
        writer.write('{"b": 2}\n')
        writer.flush()
        log.rename(log.with_suffix(".1"))
        append(log, '{"c": 3}\n')
        segment.read()
        if kept_open:
            writer.write(f"{END}\n")
            writer.flush()
        else:
            append(log, f"{END}\n")
    assert await read(segment) == ['{"a": 1}', '{"b": 2}', '{"c": 3}', END]


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells how often a file was replaced")
@pytest.mark.parametrize("exists", [True, False], ids=["log-is-there", "log-is-made"])
async def test_a_file_that_nobody_could_read_in_time_is_a_broken_capture(tmp_path: Path, exists: bool) -> None:
    log = tmp_path / "telemetry.jsonl"
    if exists:
        log.touch()
    segment = LogSegment(log, mine, ends)
    append(log, '{"a": 1}\n')
    log.rename(log.with_suffix(".1"))
    if exists:
        append(log, '{"b": 2}\n')
        log.replace(log.with_suffix(".1"))
    append(log, f"{END}\n")
    with pytest.raises(CaptureBrokenError, match="was replaced faster than it could be read"):
        await read(segment)


async def test_where_nobody_counts_a_replaced_log_is_a_broken_capture(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl_tail, "_watch_folder", lambda folder: None)
    made = LogSegment(tmp_path / "new.jsonl", mine, ends)
    append(tmp_path / "new.jsonl", f"{END}\n")
    assert await read(made) == [END]
    segment = LogSegment(log, mine, ends)
    log.rename(log.with_suffix(".1"))
    append(log, f"{END}\n")
    with pytest.raises(CaptureBrokenError, match="so lines may be missing"):
        await read(segment)


async def test_a_log_that_never_rests_is_a_broken_capture(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl_tail, "SETTLE", 0.05)
    monkeypatch.setattr(jsonl_tail, "RESTLESS", 4)

    async def ticking() -> None:
        while True:
            append(log, '{"tick": 1}\n')
            await asyncio.sleep(0.01)

    segment = LogSegment(log, mine)
    ticks = asyncio.create_task(ticking())
    with pytest.raises(CaptureBrokenError, match="keeps growing"):
        await read(segment, 0.1)
    ticks.cancel()


async def test_a_log_that_is_made_in_the_turn(tmp_path: Path) -> None:
    segment = LogSegment(tmp_path / "new.jsonl", mine, ends)
    segment.read()
    append(tmp_path / "new.jsonl", f'{{"a": 1}}\n{END}\n')
    assert await read(segment) == ['{"a": 1}', END]


async def test_without_an_end_the_log_must_come_to_rest(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl_tail, "SETTLE", 2)
    segment = LogSegment(log, mine)
    append(log, '{"a": 1}\n')
    reading = asyncio.create_task(read(segment, 0.01))
    await asyncio.sleep(0.1)
    assert not reading.done(), "what has begun is waited for, also beyond the time to begin"
    append(log, '{"b": 2}\n')
    assert await reading == ['{"a": 1}', '{"b": 2}']


async def test_silence_is_a_broken_capture_where_a_line_ends_a_turn(log: Path) -> None:
    with pytest.raises(CaptureBrokenError, match=r"nothing was written to .* in this turn within 0\.05 s"):
        await read(LogSegment(log, mine, ends), 0.05)


async def test_silence_is_no_lines_where_none_ends_a_turn(log: Path) -> None:
    assert await read(LogSegment(log, mine), 0.05) == []
    segment = LogSegment(log, mine)
    log.unlink()
    with pytest.raises(CaptureBrokenError, match="nothing was written to"):
        await read(segment, 0.05)


async def test_a_missing_log_is_a_broken_capture(tmp_path: Path) -> None:
    with pytest.raises(CaptureBrokenError, match=r"gone\.jsonl does not exist"):
        await read(LogSegment(tmp_path / "gone.jsonl", mine, ends), 0.05)


async def test_a_log_that_is_taken_away_is_a_broken_capture(log: Path) -> None:
    segment = LogSegment(log, mine, ends)
    log.unlink()
    with pytest.raises(CaptureBrokenError, match="nothing was written to"):
        await read(segment, 0.05)


@pytest.mark.parametrize(
    ("now", "message"),
    [
        pytest.param("", "was truncated during the turn", id="truncated"),
        pytest.param(f"{'x' * 40}\n{END}\n", "was rewritten during the turn", id="rewritten-and-grown"),
    ],
)
async def test_a_log_that_lost_lines_is_a_broken_capture(log: Path, now: str, message: str) -> None:
    segment = LogSegment(log, mine, ends)
    append(log, '{"a": 1}\n')
    segment.read()
    log.write_text(now)
    with pytest.raises(CaptureBrokenError, match=message):
        await read(segment)


async def test_too_much_is_a_broken_capture(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl_tail, "LARGEST", 1 << 20)
    for text in ("x" * (2 << 20), "xxxxxxx\n" * (1 << 18)):
        segment = LogSegment(log, mine, ends)
        append(log, text)
        with pytest.raises(CaptureBrokenError, match="more than 1 MiB"):
            await read(segment)


@pytest.mark.parametrize("kind", ["folder", "pipe", "closed"])
def test_what_is_no_log_is_told_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "log"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path = path / "below" / "log"
        path.parent.parent.write_text("a file, no folder")
    with pytest.raises(CaptureBrokenError, match=r"is not a log|cannot be read"):
        LogSegment(path)


@given(
    st.lists(st.dictionaries(st.text(max_size=3), st.text(), max_size=2).map(json.dumps), max_size=6),
    st.lists(st.integers(1, 40), max_size=20),
)
def test_however_it_is_written_the_lines_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], cuts: list[int]
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.touch()
    segment = LogSegment(path)
    data, at = "".join(f"{line}\n" for line in lines).encode(), 0
    for cut in [*cuts, len(data)]:
        append(path, data[at : at + cut])
        at += cut
        segment.read()
    segment.close()
    assert segment.lines == lines
