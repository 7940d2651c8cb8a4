"""JSON Patch: RFC 6902's own examples, what does not fit, and AG-UI's state after snapshots and deltas."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.targets.base import RunContext
from carob.targets.http.ag_ui import MOST_OPERATIONS, apply_delta
from targets.conftest import case, opened

from .server import LAST, constantly, serving, sse, started


@pytest.mark.parametrize(
    ("document", "patch", "made"),
    [
        ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": 1}], {"foo": "bar", "baz": 1}),
        ({"foo": [1, 3]}, [{"op": "add", "path": "/foo/1", "value": 2}], {"foo": [1, 2, 3]}),
        ({"foo": [1]}, [{"op": "add", "path": "/foo/-", "value": [2]}], {"foo": [1, [2]]}),
        ({"a": 1, "b": 2}, [{"op": "remove", "path": "/a"}], {"b": 2}),
        ([1, 2, 3], [{"op": "remove", "path": "/1"}], [1, 3]),
        ({"a": [1]}, [{"op": "replace", "path": "/a/0", "value": 9}], {"a": [9]}),
        ({"a": {"x": 1}, "b": {}}, [{"op": "move", "from": "/a/x", "path": "/b/y"}], {"a": {}, "b": {"y": 1}}),
        ({"a": [1]}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": [1], "b": [1]}),
        (
            {"a/b": 1, "m~n": 2},
            [{"op": "test", "path": "/a~1b", "value": 1}, {"op": "remove", "path": "/m~0n"}],
            {"a/b": 1},
        ),
        ({"a": 1}, [{"op": "replace", "path": "", "value": {"b": 2}}], {"b": 2}),
    ],
)
def test_a_patch_is_followed(document: Any, patch: Any, made: Any) -> None:
    assert apply_delta(document, patch) == made


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/b", "value": 1},
        {"op": "remove", "path": "/b"},
        {"op": "add", "path": "/b/c", "value": 1},
        {"op": "add", "path": "/a/9", "value": 1},
        {"op": "add", "path": "/a/01", "value": 1},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/b"},
        {"op": "test", "path": "/a", "value": 1},
        {"op": "grow", "path": "/a", "value": 1},
        "add",
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_changed(operation: Any) -> None:
    document = {"a": [1]}
    with pytest.raises(ValueError, match=r"."):
        apply_delta(document, [{"op": "add", "path": "/n", "value": 0}, operation])
    assert document == {"a": [1]}


def test_a_very_long_patch_is_not_applied() -> None:
    change = {"op": "add", "path": "/n", "value": 1}
    assert apply_delta({}, [change] * MOST_OPERATIONS) == {"n": 1}
    with pytest.raises(ValueError, match="very long"):
        apply_delta({}, [change] * (MOST_OPERATIONS + 1))


@given(st.recursive(st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_whatever_is_no_patch_is_refused(patch: Any) -> None:
    if patch == []:
        assert apply_delta({}, patch) == {}
    else:
        with pytest.raises(ValueError, match=r"."):
            apply_delta({}, patch)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        pytest.param([], {}, id="nothing-told"),
        pytest.param([{"op": "add", "path": "/n", "value": 1}], {"old": 0, "n": 1}, id="changed"),
        pytest.param([{"op": "remove", "path": "/gone"}], {}, id="a-change-that-does-not-fit"),
    ],
)
async def test_the_state_of_an_ag_ui_run_is_what_its_deltas_make_of_it(changes: list[Any], state: Any) -> None:
    deltas = [{"type": "STATE_DELTA", "delta": changes}] if changes else []
    text = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Done."}
    answer = constantly(started(), sse({"type": "RUN_STARTED"}, *deltas, text, {"type": "RUN_FINISHED"}), LAST)
    async with serving(answer) as server, opened("ag-ui", server.url, options={"state": {"old": 0}}) as target:
        trace = await target.run(case("Hi", setup_prompts=("Before",)), RunContext())
    assert trace.state == state
    assert ("state" in trace.unobserved) is (not state)
    first, second = (asked.json["state"] for asked in server.asked)
    assert (first, second) == ({"old": 0}, state or ({"old": 0} if not changes else None))
