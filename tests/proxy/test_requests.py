"""What makes two requests the same."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from carob.errors import ConfigError
from carob.proxy.tape.requests import IgnoreRules, ServiceRequest, first_difference

ALL = IgnoreRules()
BODY: dict[str, Any] = {
    "model": "m-1",
    "temperature": 0.2,
    "stream": True,
    "messages": [
        {"role": "system", "content": "You are a bank."},
        {"role": "user", "content": [{"type": "text", "text": "balance?"}]},
    ],
    "tools": [{"function": {"name": "pay", "parameters": {"properties": {"to": {"type": "string"}}}}}],
}


def asked(body: object, address: str = "/v1/chat", kind: str = "application/json") -> ServiceRequest:
    return ServiceRequest.of("openai", "POST", address, kind, json.dumps(body).encode())


def leaves_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [leaf for key, below in value.items() for leaf in leaves_of(below, (*path, key))]
    if isinstance(value, list):
        return [leaf for number, below in enumerate(value) for leaf in leaves_of(below, (*path, number))]
    return [path]


def altered(path: tuple[Any, ...], how: str) -> dict[str, Any]:
    body = copy.deepcopy(BODY)
    at: Any = body
    for step in path[:-1]:
        at = at[step]
    if how == "removed":
        del at[path[-1]]
    elif how == "added":
        at.append("more") if isinstance(at, list) else at.update(extra=1)
    else:
        at[path[-1]] = {True: False}.get(at[path[-1]], f"{at[path[-1]]}x")
    return body


@pytest.mark.parametrize("how", ["changed", "removed", "added"])
@pytest.mark.parametrize("path", leaves_of(BODY), ids=str)
def test_every_field_of_a_request_counts(path: tuple[Any, ...], how: str) -> None:
    other = asked(altered(path, how))
    assert other.key(ALL) != asked(BODY).key(ALL)
    assert first_difference(asked(BODY).json, other.json) is not None


@pytest.mark.parametrize(
    "other",
    [
        ServiceRequest.of("anthropic", "POST", "/v1/chat", "application/json", json.dumps(BODY).encode()),
        ServiceRequest.of("openai", "PUT", "/v1/chat", "application/json", json.dumps(BODY).encode()),
        asked(BODY, "/v1/responses"),
        asked(BODY, "/v1/chat?beta=true"),
    ],
    ids=["service", "method", "path", "query"],
)
def test_the_address_counts(other: ServiceRequest) -> None:
    assert other.key(ALL) != asked(BODY).key(ALL)


def test_the_order_of_keys_and_of_a_query_does_not_count() -> None:
    other = {key: BODY[key] for key in reversed(BODY)}
    assert asked(other, "/v1/chat?b=2&a=1").key(ALL) == asked(BODY, "/v1/chat?a=1&b=2").key(ALL)


def test_the_order_of_messages_counts() -> None:
    other = {**BODY, "messages": BODY["messages"][::-1]}
    assert asked(other).key(ALL) != asked(BODY).key(ALL)


def form(boundary: str, value: str = "hello") -> ServiceRequest:
    body = f'--{boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n{value}\r\n--{boundary}--\r\n'
    return ServiceRequest.of("files", "POST", "/up", f'multipart/form-data; boundary="{boundary}"', body.encode())


def test_the_boundary_of_a_form_does_not_count_and_its_values_do() -> None:
    assert form("x1").key(ALL) == form("y2").key(ALL)
    assert form("x1").key(ALL) != form("x1", "bye").key(ALL)


def test_credentials_in_an_address_are_not_kept() -> None:
    request = asked(BODY, "/v1beta/models/m:generateContent?key=AIzaSecret&alt=sse")
    assert "AIzaSecret" not in str(request)
    assert request.path.endswith("?alt=sse")


def test_what_is_ignored_does_not_count_and_all_else_does() -> None:
    ignore_rules = IgnoreRules.of(["$.messages[0].content", r"\d{4}-\d{2}-\d{2}"])
    body = {**BODY, "user": "since 2026-01-02"}
    other = copy.deepcopy(body) | {"user": "since 2027-11-30"}
    other["messages"][0]["content"] = "You are a shop."
    assert asked(body).key(ignore_rules) == asked(other).key(ignore_rules)
    assert asked(body).key(ignore_rules) != asked(other | {"model": "m-2"}).key(ignore_rules)
    assert asked(body).json == body, "what is kept is the request itself"


@pytest.mark.parametrize("entry", ["$.a[", "(open"])
def test_what_cannot_be_read_is_refused(entry: str) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        IgnoreRules.of([entry])


@pytest.mark.parametrize(
    ("recorded", "now", "path", "shown"),
    [
        pytest.param({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, "$.a[1].b", ("2", "3"), id="value"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, "$.b", ("missing", "2"), id="added"),
        pytest.param([1, 2], [1], "$", ("2 items", "1 items"), id="length"),
        pytest.param(
            {"a": "x" * 200 + "one"}, {"a": "x" * 200 + "two"}, "$.a", ("…" + "x" * 20 + "one", "…" + "x" * 20 + "two"),
            id="long-text",
        ),
    ],
)  # fmt: skip
def test_the_first_difference_is_found(recorded: object, now: object, path: str, shown: tuple[str, str]) -> None:
    difference = first_difference(recorded, now)
    assert difference is not None
    assert (difference.path, (difference.recorded, difference.actual)) == (path, shown)


def test_the_context_of_a_trace_in_a_message_of_mcp_does_not_count() -> None:
    def called(**meta: object) -> ServiceRequest:
        params = {"name": "pay", **({"_meta": meta} if meta else {})}
        return asked({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

    traced = called(traceparent="00-1-2-01", tracestate="a=b", baggage="c=d")
    assert traced.key(ALL) == called(traceparent="00-3-4-01").key(ALL) == called().key(ALL)
    assert "00-1-2-01" in str(traced.json), "the recording has it"
    assert called(progressToken=1).key(ALL) != called().key(ALL)
    assert called(progressToken=1, traceparent="00-1-2-01").key(ALL) == called(progressToken=1).key(ALL)
    other = {"params": {"_meta": {"traceparent": "1"}}}
    assert asked(other).key(ALL) != asked({"params": {}}).key(ALL), "what is not of MCP counts"
