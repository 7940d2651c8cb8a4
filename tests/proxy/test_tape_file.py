"""Tapes on disk: nothing is lost, and what was changed or cut off is not played."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.errors import ConfigError
from carob.proxy.tape.file import Answer, Exchange, StreamEvent, Tape, read_tape, seal_tape
from carob.proxy.tape.requests import ServiceRequest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def exchange(case: str = "a", body: bytes = b'{"q":1}', answer: Answer | None = None) -> Exchange:
    request = ServiceRequest.of("openai", "POST", "/v1/x", "application/json", body)
    return Exchange(case=case, request=request, answer=answer or Answer(200, text="ok"), recorded="2026-11-18")


def written(path: Path, *exchanges: Exchange) -> Path:
    runs: dict[tuple[str, int], list[Exchange]] = {}
    for exchange in exchanges:
        runs.setdefault((exchange.case, exchange.repeat), []).append(exchange)
    Tape(path=path, runs=runs).write()
    return path


@given(asked=st.dictionaries(st.text(), JSON), said=JSON, ascii=st.booleans(), indent=st.sampled_from([None, 2]))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, asked: object, said: object, ascii: bool, indent: int | None
) -> None:
    body = json.dumps(said, ensure_ascii=ascii, indent=indent).encode("utf-8", "surrogatepass")
    recorded = exchange(
        body=json.dumps(asked).encode(), answer=Answer.of_body(200, {"content-type": "a/b", "x": "1"}, body)
    )
    path = written(tmp_path_factory.mktemp("t") / "s.tape.yaml", recorded)
    reread = read_tape(path).runs["a", 0]
    assert reread == [recorded]
    assert reread[0].answer.body == body
    assert reread[0].answer.headers == {"content-type": "a/b", "x": "1"}


@pytest.mark.parametrize(
    "body",
    [b"", b"plain", b"\xff\x00\x01", '{"a":"é"}'.encode(), b'{"a" :1}', b"[1e-07,1e400]", b'{"a":1,"a":2}', b'"text"'],
)
def test_bodies_come_back_byte_for_byte(tmp_path: Path, body: bytes) -> None:
    path = written(tmp_path / "s.tape.yaml", exchange(answer=Answer.of_body(200, {}, body)))
    assert read_tape(path).exchanges[0].answer.body == body


def test_streams_come_back_with_their_pauses(tmp_path: Path) -> None:
    events = (
        StreamEvent(12, 'data: {"a": 1}\n\n'),
        StreamEvent(0, "data: café\n\n"),
        StreamEvent(3, "data: [DONE]\r\n\r\n"),
    )
    path = written(tmp_path / "s.tape.yaml", exchange(answer=Answer(200, events=events)))
    assert read_tape(path).exchanges[0].answer.events == events


def test_a_tape_that_was_cut_off_is_refused_wherever(tmp_path: Path) -> None:
    path = written(tmp_path / "s.tape.yaml", exchange("a"), exchange("b"))
    lines = path.read_text().splitlines(keepends=True)
    for length in range(len(lines)):
        path.write_text("".join(lines[:length]))
        with pytest.raises(ConfigError) as refused:
            read_tape(path)
        assert "delete it and record it again" in str(refused.value)


def test_a_tape_that_was_edited_is_refused_until_it_is_sealed(tmp_path: Path) -> None:
    path = written(tmp_path / "s.tape.yaml", exchange("a"), exchange("b"))
    path.write_text(path.read_text().replace("text: ok", "text: fine", 1))
    with pytest.raises(ConfigError, match=r"exchange 1 \(case 'a'\) was edited. .*carob tape seal"):
        read_tape(path)
    assert seal_tape(path) == 1
    assert read_tape(path).exchanges[0].answer.text == "fine"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            "carob_tape: 2\nexchanges: []\ncases: {}\n", "has version 2; this Carob reads version 1. Update", id="newer"
        ),
        pytest.param("- 1\n", "`carob_tape` is missing", id="another-file"),
        pytest.param("a: [", "not a tape", id="not-yaml"),
        pytest.param("carob_tape: 1\nexchanges: [{case: a}]\ncases: {a: 1}\n", "exchange 1 cannot be read", id="half"),
        pytest.param(
            "carob_tape: 1\nexchanges: []\ncases: {a: 2}\n", "'a' has 0 exchanges, but 2 were recorded", id="lost"
        ),
        pytest.param(None, "cannot be read: No such file", id="missing"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "s.tape.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError) as refused:
        read_tape(path)
    assert message in str(refused.value)
    assert "[bad-tape]" in str(refused.value)


def test_a_tape_does_not_depend_on_the_order_in_which_cases_ended(tmp_path: Path) -> None:
    first = written(tmp_path / "1.yaml", exchange("a"), exchange("b"))
    other = written(tmp_path / "2.yaml", exchange("b"), exchange("a"))
    assert first.read_bytes() == other.read_bytes()
