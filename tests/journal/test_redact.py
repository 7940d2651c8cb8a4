from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from time import process_time
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from msgspec import structs

from carob.checks.base import has_lost_secret
from carob.errors import ConfigError
from carob.evidence.logs.events import parse
from carob.journal.limits import cap_trace
from carob.model.check import CheckSpec
from carob.model.faults import AlteredCall, Fault, Stub
from carob.model.run import CaseRecord
from carob.model.suite import Case, Reply, Turn
from carob.model.trace import (
    OF_CASE,
    REMOVED,
    SECRETS_REMOVED,
    TEXT_CAP,
    Message,
    PossibleCall,
    SpanNode,
    TextLoss,
    ToolCall,
    Trace,
    TraceError,
)
from carob.model.verdict import CaseStatus, CheckResult, EvidenceLocation, Group, Status, Verdict
from carob.model.workspace import FileChange, WorkspaceEvidence
from carob.redaction.redactor import Redactor

SECRET = 'pä"ss\\wo/rd & 100%'


def encoded(trace: Trace) -> bytes:
    return msgspec.json.encode(trace)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Authorization: Bearer abc.def", "Authorization: [removed]"),
        ("authorization: Basic dXNlcjpwYXNz next", "authorization: [removed] next"),
        ("Proxy-Authorization: xyz", "Proxy-Authorization: [removed]"),
        ('Authorization: Digest user="a", response="b"\nHost: x', "Authorization: [removed]\nHost: x"),
        ('{"Authorization": "Bearer a b", "x": 1}', '{"Authorization": "[removed]", "x": 1}'),
        ("{'authorization': 'k'}", "{'authorization': '[removed]'}"),
        (r'{"m": "{\"Authorization\": \"Bearer a\"}"}', r'{"m": "{\"Authorization\": \"[removed]\"}"}'),
        ("curl -H 'Authorization: token abc' url", "curl -H 'Authorization: [removed]' url"),
        ("Bearer eyJhbGciOi.9x", "Bearer [removed]"),
        ("Cookie: sid=abc; theme=dark\nHost: x", "Cookie: [removed]\nHost: x"),
        ("Set-Cookie: sid=abc; Path=/", "Set-Cookie: [removed]"),
        ('{"cookie": "sid=abc"}', '{"cookie": "[removed]"}'),
        ("https://user:pass@host/path", "https://[removed]@host/path"),
        ("postgresql+asyncpg://u:p%40x@db:5432/a", "postgresql+asyncpg://[removed]@db:5432/a"),
        ("https://token@github.com", "https://[removed]@github.com"),
    ],
)
def test_removed(text: str, cleaned: str) -> None:
    assert Redactor().text(text) == cleaned
    assert Redactor().text(cleaned) == cleaned
    assert Redactor().finds(encoded(Trace(case_id="a", final_message=text)))


@pytest.mark.parametrize(
    "text",
    [
        "bearer instruments",
        "the cookie: a small file",
        "write to me@example.com or see https://example.com/@me",
        "https://example.com:8080/path",
        "your authorization was refused",
        "sk-123",
    ],
)
def test_left_alone(text: str) -> None:
    assert Redactor().text(text) == text


SPELLED = {
    "plain": SECRET,
    "json": json.dumps(SECRET),
    "json-utf8": json.dumps(SECRET, ensure_ascii=False),
    "url": quote(SECRET, safe=""),
    "url-path": quote(SECRET),
    "url-lower": quote(SECRET, safe="").lower(),
    "form": quote_plus(SECRET),
}


@pytest.mark.parametrize("spelled", SPELLED.values(), ids=SPELLED.keys())
@pytest.mark.parametrize("channel", ["final_message", "page", "page_before", "answer_page", "input"])
def test_values_in_every_spelling(spelled: str, channel: str) -> None:
    redactor = Redactor([SECRET])
    trace = Trace(case_id="a", **{channel: f"it is {spelled}!"})  # type: ignore[arg-type]
    assert redactor.finds(encoded(trace))
    cleaned = redactor.trace(trace)
    assert getattr(cleaned, channel).replace('"', "") == f"it is {REMOVED}!"
    assert cleaned.cuts == ({} if channel == "input" else {channel: TextLoss(SECRETS_REMOVED)})
    assert not redactor.finds(encoded(cleaned).replace(b'"cuts":', b""))


NESTED = {"k": [SECRET], SECRET: 1}
SPEC = CheckSpec("a", msgspec.Raw(msgspec.json.encode(NESTED)), SECRET)
PLACES: dict[type[msgspec.Struct], dict[str, Any]] = {
    Trace: {
        "input": SECRET,
        "final_message": SECRET,
        "messages": (Message(SECRET, SECRET, SECRET),),
        "tool_calls": (ToolCall("t", SECRET),),
        "setup_calls": (ToolCall("t", SECRET),),
        "possible_calls": (PossibleCall(SECRET, SECRET),),
        "telemetry": (SECRET,),
        "page": SECRET,
        "page_before": SECRET,
        "answer_page": SECRET,
        "database": {"rows": [NESTED]},
        "state": NESTED,
        "dialect": SECRET,
        "tool_schemas": {"t": NESTED},
        "ended_by": SECRET,
        "unobserved": {"page": SECRET, SECRET: "x"},
        "attachments": {"a": SECRET, SECRET: "b"},
        "metadata": NESTED,
        "workspace": WorkspaceEvidence(files=(FileChange("a", "changed", after_text=SECRET),)),
        "error": TraceError(SECRET, SECRET, SECRET),
        "case_id": SECRET,
        "timings": {SECRET: 1.0},
        "turns": (Trace(case_id="a", final_message=SECRET),),
        "altered_calls": (AlteredCall(hits="tool", name=SECRET, call=1, kind=SECRET, before=SECRET, after=SECRET),),
        "spans": (SpanNode(SECRET, SECRET, error=SECRET, model=SECRET),),
        "setup_prompts": (SECRET,),
    },
    ToolCall: {
        "name": SECRET,
        "arguments": NESTED,
        "id": SECRET,
        "result": NESTED,
        "error": SECRET,
        "missing_fields": (SECRET,),
        "parent": SECRET,
        "server": SECRET,
        "unobserved": {"result": SECRET},
        "message": SECRET,
    },
    Case: {
        "words": {"refusal": (SECRET,)},
        "prompt": SECRET,
        "setup_prompts": (SECRET,),
        "preconditions": (SECRET,),
        "checks": (SPEC,),
        "metadata": NESTED,
        "id": SECRET,
        "category": SECRET,
        "cluster": SECRET,
        "tags": (SECRET,),
        "skip": SECRET,
        "xfail": SECRET,
        "turns": (Turn(SECRET, (SPEC,)),),
        "replies": (Reply((SECRET,), SECRET),),
        "stubs": (Stub(tool=SECRET, result=NESTED, error=SECRET),),
        "faults": (Fault(hits="tool", kind="error", name=SECRET, value=NESTED, at=SECRET),),
    },
    Verdict: {"reason": SECRET, "checks": (CheckResult("c", Group.QA, Status.FAILED, SECRET, SECRET),)},
}
NO_PLACES = {
    Trace: {"earlier", "cuts", "started_at", "duration_ms", "steps", "tokens", "screen"},
    ToolCall: {
        "started",
        "success",
        "started_at",
        "ended_at",
        "unfinished",
        "kind",
        "with_words",
        "refused",
        "exit_code",
        "approvals",
    },
    Case: {"outcome", "scoring", "min_pass_rate", "max_turns"},
    Verdict: {"status", "groups", "soft", "hard_fail_triggered", "left_to_others"},
}
"""Names and figures: no secret comes there from an agent."""


def texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value, keys included."""
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list):
        yield from chain.from_iterable(map(texts, value))
    elif isinstance(value, str):
        yield value


def holding(part: type[msgspec.Struct], name: str) -> CaseRecord:
    """A record with a secret in one field of one of its parts."""
    whole, given = record("hello", "", None), {name: PLACES[part][name]}
    if part is Trace:
        return structs.replace(whole, trace=structs.replace(whole.trace, **given))
    if part is ToolCall:
        call = structs.replace(ToolCall("t"), **given)
        return structs.replace(whole, trace=structs.replace(whole.trace, tool_calls=(call,)))
    if part is Case:
        return structs.replace(whole, case=structs.replace(whole.case, **given))
    return structs.replace(whole, verdict=structs.replace(whole.verdict, **given))


@pytest.mark.parametrize(("part", "name"), [(part, name) for part, named in PLACES.items() for name in named])
def test_every_place_of_a_record(part: type[msgspec.Struct], name: str) -> None:
    whole = holding(part, name)
    redactor = Redactor([SECRET])
    assert redactor.finds(msgspec.json.encode(whole))
    shown = [*texts(msgspec.json.decode(msgspec.json.encode(redactor.record(whole))))]
    assert REMOVED in shown
    assert [text for text in shown if SECRET in text] == []


def test_earlier_attempts_are_cleaned_too() -> None:
    tried = Trace(case_id="a", final_message=SECRET)
    (cleaned,) = Redactor([SECRET]).record(structs.replace(record("hello", "", None), attempts=(tried,))).attempts
    assert (cleaned.final_message, cleaned.cuts.keys()) == (REMOVED, {"final_message"})


@pytest.mark.parametrize("part", PLACES)
def test_no_place_is_forgotten(part: type[msgspec.Struct]) -> None:
    assert {*PLACES[part], *NO_PLACES[part]} == {*part.__struct_fields__}


def test_what_a_trace_lost_is_told() -> None:
    line = json.dumps({"source": "tool.a", "event": "result", "success": True, "data": {"k": SECRET, "Cookie": "a"}})
    trace = Trace(
        case_id="a",
        tool_calls=(ToolCall("t", result={"Authorization": "x", "n": 1}),),
        telemetry=(line, "plain"),
        error=TraceError("agent", SECRET, retry_after=2.0),
        **{name: PLACES[Trace][name] for name in ("messages", "database", "unobserved", "attachments", "metadata")},
    )
    redactor = Redactor([SECRET])
    cleaned = redactor.trace(trace)
    assert cleaned.cuts.keys() == {"messages", "tool_results", "telemetry", "database"}
    assert cleaned.tool_calls[0].result == {"Authorization": REMOVED, "n": 1}
    assert cleaned.error == TraceError("agent", REMOVED, retry_after=2.0)
    event = parse(cleaned.telemetry[0])
    assert event is not None, "an event stays an event"
    assert (event.tool, event.success, event.data) == ("a", True, {"k": REMOVED, "Cookie": REMOVED})
    assert cleaned.telemetry[1] == "plain"
    assert redactor.trace(Trace(case_id="a", tool_calls=(ToolCall(SECRET),))).cuts.keys() == {"tools", "tool_results"}


def test_a_secret_at_the_cut_does_not_leave_its_beginning() -> None:
    redactor = Redactor(["hunter2-hunter2"])
    long = cap_trace(Trace(case_id="a", final_message="x" * (TEXT_CAP - 9) + "hunter2-hunter2" + "y" * 99))
    assert long.final_message.endswith("xhunter2-h")
    assert redactor.finds(encoded(long))
    cleaned = redactor.trace(long)
    assert cleaned.final_message.endswith(f"x{REMOVED}")
    assert cleaned.cuts["final_message"].why == f"{long.cuts['final_message'].why}; {SECRETS_REMOVED}"
    assert cleaned.cuts["final_message"].sha256 == ""


def in_list(channel: str, first: str, last: str) -> Trace:
    """A trace of whose channel the last text was cut off."""
    parts: dict[str, Any] = {
        "messages": {"messages": (Message("user", first), Message("bot", last))},
        "telemetry": {"telemetry": (first, last)},
        "tool_results": {"tool_calls": (ToolCall("t", result=first), ToolCall("t", result=last), ToolCall("u"))},
    }
    return Trace(case_id="a", cuts={channel: TextLoss("only the first bytes were kept", 9, "hash")}, **parts[channel])


@pytest.mark.parametrize("channel", ["messages", "telemetry", "tool_results"])
@pytest.mark.parametrize(
    ("secrets", "torn", "cleaned"),
    [(["hunter2-hunter2"], "hunter2-hu", "[removed]"), ([], "ftp://bob:hu", "ftp://[removed]")],
    ids=["value", "url"],
)
def test_nor_does_one_at_the_end_of_a_list(channel: str, secrets: list[str], torn: str, cleaned: str) -> None:
    redactor = Redactor(secrets)
    trace = in_list(channel, f"x {torn}", f"x {torn}")
    assert redactor.finds(encoded(trace))
    cut = {channel: TextLoss(f"only the first bytes were kept; {SECRETS_REMOVED}", 9)}
    assert redactor.trace(trace) == structs.replace(in_list(channel, f"x {torn}", f"x {cleaned}"), cuts=cut)


def record(text: str, found: str, span: tuple[int, int] | None, **more: Any) -> CaseRecord:
    check = CheckResult(
        "c", Group.QA, Status.FAILED, "no secret", found, EvidenceLocation("final_message", *span) if span else None
    )
    trace = Trace(case_id="a", final_message=text, **more)
    case = Case(id="a", prompt="p", checks=())
    return CaseRecord(index=0, case=case, trace=trace, verdict=Verdict(CaseStatus.FAIL, (check,)))


@pytest.mark.parametrize(
    ("text", "piece", "found", "shown"),
    [
        pytest.param("the key is hush-1234.", "hush-1234", "[removed]", "[removed]", id="the-secret"),
        pytest.param("hush-1234 and refund", "refund", "refund", "refund", id="behind-it"),
        pytest.param("refund and hush-1234", "refund", "refund", "refund", id="before-it"),
        pytest.param(
            "a refund hush-1234 b", "refund hush-1234", "refund [removed]", "refund [removed]", id="around-it"
        ),
        pytest.param("the key is hush-1234.", "key is hush", "[removed]", None, id="its-beginning"),
        pytest.param("the key is hush-1234.", "1234.", "[removed]", None, id="its-end"),
        pytest.param("Authorization: token a", "Authorization", "Authorization", "Authorization", id="beside-it"),
        pytest.param("Authorization: token a; b", "token a; b", "[removed]; b", "[removed]; b", id="out-of-a-header"),
        pytest.param("hush-1234hush-1234 a refund", "refund", "[removed]", None, id="behind-two-in-one"),
        pytest.param("https://a:hush-1234@b refund", "refund", "refund", "refund", id="one-in-the-other"),
        pytest.param("\0 hush-1234 refund", "refund", "[removed]", None, id="not-to-be-told"),
    ],
)
def test_evidence_stands_where_it_says(text: str, piece: str, found: str, shown: str | None) -> None:
    start = text.index(piece)
    cleaned = Redactor(["hush-1234"]).record(record(text, piece, (start, start + len(piece))))
    (check,) = cleaned.verdict.checks
    assert check.found == found
    assert check.at is not None
    span = check.at.start, check.at.end
    assert (cleaned.trace.final_message[slice(*span)] if span != (None, None) else None) == shown


PEM = "-----BEGIN KEY-----\nMIIEow\nIBAAKC\n-----END KEY-----\n"


@pytest.mark.parametrize(
    ("secret", "found", "shown"),
    [
        pytest.param("hush-1234", "the key is hush-1…", "the key is [removed]…", id="cut-off"),
        pytest.param("hush-1234", "see https://bob:hunt…", "see https://[removed]…", id="cut-off-url"),
        pytest.param(PEM, f"it is {' '.join(PEM.split())} now", "it is [removed] now", id="on-one-line"),
        pytest.param(SECRET, repr(f"is {SECRET}"), "'is [removed]'", id="quoted"),
        pytest.param(SECRET, repr(f"it's {SECRET}"), "'it\\'s [removed]'", id="quoted-with-both"),
    ],
)
def test_evidence_as_checks_show_it(secret: str, found: str, shown: str) -> None:
    (check,) = Redactor([secret]).record(record("hello", found, None)).verdict.checks
    assert check.found == shown


def test_a_case_is_cleaned_and_says_so() -> None:
    specs = (
        CheckSpec("must_say_any", msgspec.Raw(b'{"phrases": ["hello"]}'), "must_say_any"),
        CheckSpec("database", msgspec.Raw(b'{"sql": "hush-1234", "rows": [1]}'), "database.hush-1234"),
    )
    case = Case(
        id="a",
        prompt="hush-1234",
        setup_prompts=("hush-1234",),
        preconditions=("hush-1234",),
        checks=specs,
        metadata={"k": ["hush-1234"]},
    )
    whole = structs.replace(record("hello", "", None), case=case)
    redactor = Redactor(["hush-1234"])
    cleaned = redactor.record(whole)
    assert b"hush" not in msgspec.json.encode(cleaned)
    assert cleaned.trace.cuts == {OF_CASE: TextLoss(SECRETS_REMOVED)}
    assert cleaned.case.checks[0] == specs[0]
    assert [has_lost_secret(spec, cleaned.trace) for spec in cleaned.case.checks] == [False, True]
    assert redactor.record(cleaned) == cleaned
    assert redactor.record(record("hello", "", None)).trace.cuts == {}


def test_an_empty_value_hides_nothing() -> None:
    assert Redactor(["", "topsecret"]).text("plain topsecret") == "plain [removed]"


def test_names() -> None:
    redactor = Redactor.from_names(["KEY", "UNSET", "EMPTY"], {"KEY": "topsecret", "EMPTY": "", "OTHER": "visible"})
    assert redactor.text("topsecret visible") == "[removed] visible"
    with pytest.raises(ConfigError, match="secret KEY has fewer than 4 characters") as caught:
        Redactor.from_names(["KEY"], {"KEY": "abc"})
    assert "abc" not in str(caught.value)


@given(st.text(min_size=4).filter(lambda secret: secret != REMOVED), st.text(), st.text())
@example("hush", "hu", "sh")
@example("moved]", "[re", "")
def test_no_value_survives(secret: str, before: str, after: str) -> None:
    trace = cap_trace(Trace(case_id="a", final_message=before + secret + after, telemetry=(json.dumps({"k": secret}),)))
    assume("\ufffd" not in trace.final_message)
    redactor = Redactor([secret])
    assert redactor.finds(encoded(trace))
    cleaned = redactor.trace(trace)
    assert [piece for piece in cleaned.final_message.split(REMOVED) if secret in piece] == []
    assert cleaned.cuts.keys() == {"final_message", "telemetry"}


@pytest.mark.parametrize(
    "unit", ["cookie:", "bearer ", "authorization:\\", "a://", "https://a@", "authorization ", 'Cookie: "', "\\"]
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    text = unit * (TEXT_CAP // len(unit))
    began = process_time()
    Redactor().text(text)
    assert process_time() - began < 5
