"""One secret, planted in every place and in every encoding: no byte of an artifact gives it away."""

from __future__ import annotations

import html
import json
import stat
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from carob.model.check import CheckSpec
from carob.model.run import CaseRecord
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.model.verdict import CaseStatus, CheckResult, Group, Status, Verdict
from carob.redaction.redactor import Redactor
from cli.support import Carob, eval_set, write

SECRET = "k4r/at+pässwörd<&>7'"


def in_base64(before: str) -> str:
    return b64encode((before + SECRET + "xyz").encode()).decode()


ENCODINGS = {
    "plain": SECRET,
    "base64": b64encode(SECRET.encode()).decode(),
    "base64 of more": in_base64("u:"),
    "base64 of one more": in_base64("u"),
    "base64 for urls": urlsafe_b64encode(SECRET.encode()).decode(),
    "hex": SECRET.encode().hex(),
    "url": quote(SECRET, safe=""),
    "url within a url": quote(quote(SECRET, safe=""), safe=""),
    "html": html.escape(SECRET),
    "json": json.dumps(SECRET)[1:-1],
    "json within json": json.dumps(json.dumps(SECRET))[1:-1],
    "html of json": html.escape(json.dumps(SECRET)[1:-1]),
}
PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "the answer": lambda s: {"final_message": f"It is {s}, he said."},
    "the input": lambda s: {"input": s},
    "a message": lambda s: {"messages": [{"role": "assistant", "content": s}]},
    "the role of a message": lambda s: {"messages": [{"role": s, "content": "hi"}]},
    "the name of a message": lambda s: {"messages": [{"role": "tool", "content": "hi", "name": s}]},
    "the name of a tool": lambda s: {"tool_calls": [{"name": s}]},
    "an argument": lambda s: {"tool_calls": [{"name": "t", "arguments": {"a": [{"b": s}]}}]},
    "the key of an argument": lambda s: {"tool_calls": [{"name": "t", "arguments": {s: 1}}]},
    "a bare argument": lambda s: {"tool_calls": [{"name": "t", "arguments": s}]},
    "the id of a call": lambda s: {"tool_calls": [{"name": "t", "id": s}]},
    "a result": lambda s: {"tool_calls": [{"name": "t", "result": {"x": s}}]},
    "the text of a result": lambda s: {"tool_calls": [{"name": "t", "result": f"see {s}"}]},
    "the key of a result": lambda s: {"tool_calls": [{"name": "t", "result": {s: [s]}}]},
    "the error of a call": lambda s: {"tool_calls": [{"name": "t", "error": s}]},
    "a missing field": lambda s: {"tool_calls": [{"name": "t", "success": False, "missing_fields": [s]}]},
    "telemetry": lambda s: {"telemetry": [json.dumps({"source": "x", "data": {"k": s}})]},
    "a key of telemetry": lambda s: {"telemetry": [json.dumps({"source": "x", "data": {s: 1}})]},
    "a line that is no event": lambda s: {"telemetry": [f"WARN {s}"]},
    "the page": lambda s: {"page": f"- paragraph: {s}"},
    "the page before": lambda s: {"page_before": f"- heading {s!r}"},
    "the database": lambda s: {"database": {"rows": [[s]]}},
    "a key of the database": lambda s: {"database": {s: []}},
    "what was not observed": lambda s: {"unobserved": {"page": s}},
    "the key of a timing": lambda s: {"timings": {s: 1.5}},
    "metadata": lambda s: {"metadata": {"a": {"b": [s]}}},
    "a key of metadata": lambda s: {"metadata": {s: 1}},
    "an attachment": lambda s: {"attachments": {"shot": s}},
    "the name of an attachment": lambda s: {"attachments": {s: "shot.png"}},
    "the kind of an error": lambda s: {"error": {"kind": s, "message": "x"}},
    "the message of an error": lambda s: {"error": {"kind": "agent", "message": s}},
    "the detail of an error": lambda s: {"error": {"kind": "agent", "message": "x", "detail": s}},
    "the id of the case": lambda s: {"case_id": s},
}


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value


def given_away(text: str) -> list[str]:
    """The encodings in which a text tells the secret, or its better part."""
    return [name for name, form in ENCODINGS.items() if form[2:-4] in text or form in text]


@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_left_of_it(place: str) -> None:
    redactor = Redactor([SECRET])
    for encoding, form in ENCODINGS.items():
        trace = msgspec.convert({"case_id": "a", **PLACES[place](form)}, Trace)
        case = Case(id=trace.case_id, prompt="p", checks=(CheckSpec("outcome", msgspec.Raw(b"{}")),))
        verdict = Verdict(CaseStatus.PASS, (CheckResult("outcome", Group.TOOL_HYGIENE, Status.PASSED),))
        record = CaseRecord(index=0, case=case, trace=trace, verdict=verdict, attempts=(trace,))
        assert redactor.finds(msgspec.json.encode(record)), encoding
        written = msgspec.json.decode(msgspec.json.encode(redactor.record(record)))
        assert [text for text in strings(written) if given_away(text)] == [], encoding


def test_the_places_and_encodings_are_many() -> None:
    assert len(PLACES) >= 30
    assert len(ENCODINGS) >= 8
    assert len({place for place in PLACES if given_away(json.dumps(PLACES[place](SECRET), ensure_ascii=False))}) >= 30


def everywhere() -> dict[str, Any]:
    """A recorded trace that tells the secret in every place but those that would end the case."""
    trace: dict[str, Any] = {"case_id": "a", "unobserved": {}}
    for place, planted in PLACES.items():
        for name, value in planted(" ".join(ENCODINGS.values())).items():
            if name in ("case_id", "error", "attachments"):
                continue
            if isinstance(value, list):
                trace[name] = [*trace.get(name, []), *value]
            elif isinstance(value, dict):
                trace[name] = {**trace.get(name, {}), **value}
            else:
                trace[name] = value
        assert place
    return {**trace, "unobserved": {"page_before": " ".join(ENCODINGS.values())}}


@pytest.fixture
def told(carob: Carob, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAROB_TEST_TOKEN", SECRET)
    write("carob.toml", 'secrets = ["CAROB_TEST_TOKEN"]\n')
    asked = {
        "id": "a",
        "category": f"of {SECRET}",
        "prompt": f"say {SECRET}",
        "metadata": {SECRET: [SECRET]},
        "preconditions": [SECRET],
        "expected": {"must_say_any": [SECRET, "x"], "must_not_say": [f"not {SECRET}"], "must_match_regex": ["pass"]},
    }
    broken = {"id": f"b {SECRET}", "prompt": "p", "expected": {"must_say_any": ["x"]}}
    suite = write("suite.json", eval_set(asked, broken, name=SECRET, description=SECRET))
    lines = [{"trace": everywhere()}, {"case_id": f"b {SECRET}", "error": f"down: {SECRET}"}]
    Path("traces.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = carob("run", suite, "-t", "replay:traces.jsonl", "--results-dir", "out", "--cases", f"a,b {SECRET}")
    assert ran.code == 1, ran.err
    carob("rescore", str(next(Path("out").glob("suite-*.jsonl"))), "--suite", suite, "--results-dir", "out")
    return Path("out")


def test_no_artifact_gives_it_away(told: Path) -> None:
    files = [file for file in told.rglob("*") if file.is_file()]
    assert len(files) >= 6
    for file in files:
        text = file.read_text()
        decoded = [text, *(json_strings(text) if file.suffix in (".json", ".jsonl") else [])]
        assert [given_away(piece) for piece in decoded if given_away(piece)] == [], file


def json_strings(text: str) -> Iterator[str]:
    for line in text.splitlines() if text.startswith('{"kind"') else [text]:
        yield from strings(json.loads(line))


def test_files_of_a_run_are_for_their_owner_alone(told: Path) -> None:
    for file in told.rglob("*"):
        if file.is_file():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
