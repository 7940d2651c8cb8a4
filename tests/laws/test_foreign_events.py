"""Law 3 for every channel at once: what is late, foreign, doubled or concurrent is of its own case, or of none."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.tools import tool as as_tool

import carob
from carob.model.run import CaseRecord
from carob.model.verdict import CaseStatus
from carob.targets.config import TargetConfig
from carob.targets.in_process.cases import CASES as RUNNING
from carob.targets.python import Conversation
from evidence.spans.span_factory import post, request, span, tool
from laws.coverage import Coverage, require
from scripted_model import serve
from targets.wrappers.test_mcp_evidence import StandIn, call

ROOT = Path(__file__).parents[1]
USED, FORBIDDEN = "lookup", "delete_all"
CASES = 4
FOREIGN = "nobody"
AGENT = "agent"
"""Which of the agents here runs."""
RULES: dict[str, Any] = {
    "rules": [
        {"when": {"user": rf"{name} (?P<of>\w+) (?P<n>\d+)"}, "call": {name: {"of": "${of}", "n": "${n}"}}}
        for name in (USED, FORBIDDEN)
    ]
    + [{"when": {"results": "any"}, "say": "Done."}]
}


class Planned(NamedTuple):
    """One event: by which channel, which tool, and how it is related to the case in which it is made."""

    channel: str
    tool: str
    fate: str
    number: int


Plans = dict[str, list[Planned]]


class Speaker(NamedTuple):
    """What identifies the one who makes an event."""

    of: str
    conversation: Conversation | None
    headers: dict[str, str]


@as_tool
def lookup(of: str, n: str) -> dict[str, str]:
    """Look up."""
    return {"of": of}


@as_tool
def delete_all(of: str, n: str) -> dict[str, str]:
    """Delete."""
    return {"of": of}


def in_process(speaker: Speaker, event: Planned, times: int) -> None:
    {USED: lookup, FORBIDDEN: delete_all}[event.tool].invoke({"of": speaker.of, "n": str(event.number)})


def by_function(speaker: Speaker, event: Planned, times: int) -> None:
    def work(of: str, n: str) -> dict[str, str]:
        return {"of": of}

    work.__name__ = event.tool
    if speaker.conversation is not None:
        speaker.conversation.tool(work)(of=speaker.of, n=str(event.number))


def by_report(speaker: Speaker, event: Planned, times: int) -> None:
    if speaker.conversation is not None:
        arguments = {"of": speaker.of, "n": str(event.number)}
        speaker.conversation.tool_call(event.tool, arguments=arguments, result={"of": speaker.of})


def by_span(speaker: Speaker, event: Planned, times: int) -> None:
    trace, above = speaker.headers["traceparent"].split("-")[1:3]
    root = span("invoke_agent", trace, parent=above, gen_ai__operation__name="invoke_agent")
    arguments = json.dumps({"of": speaker.of, "n": str(event.number)})
    own = tool(event.tool, trace, arguments, parent=root.span_id.hex())
    for _ in range(times):
        post(os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"], request([own, root]))


def by_mcp(speaker: Speaker, event: Planned, times: int) -> None:
    params = {"name": event.tool, "arguments": {"of": speaker.of, "n": str(event.number)}}
    body = json.dumps({"jsonrpc": "2.0", "id": event.number, "method": "tools/call", "params": params})
    call(event.tool, body=body.encode(), **speaker.headers)


def by_model(speaker: Speaker, event: Planned, times: int) -> None:
    """A request that is repeated, as after a failure, is one call."""
    offered = [{"type": "function", "function": {"name": name}} for name in (USED, FORBIDDEN)]
    messages: list[Any] = [{"role": "user", "content": f"{event.tool} {speaker.of} {event.number}"}]
    for _ in range(times):
        message = _ask({"model": "m", "messages": messages, "tools": offered})
    answers = [{"role": "tool", "tool_call_id": made["id"], "content": "{}"} for made in message["tool_calls"]]
    _ask({"model": "m", "messages": [*messages, message, *answers], "tools": offered})


def _ask(body: object) -> dict[str, Any]:
    address = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    sent = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(sent, timeout=20) as reply:
        message: dict[str, Any] = json.load(reply)["choices"][0]["message"]
    return message


CHANNELS: dict[str, Callable[[Speaker, Planned, int], None]] = {
    "in process": in_process,
    "function": by_function,
    "report": by_report,
    "spans": by_span,
    "mcp": by_mcp,
    "models": by_model,
}
inbox: SimpleQueue[tuple[Callable[[], None], threading.Event]] = SimpleQueue()
pool = ThreadPoolExecutor(32)


def act_late(is_over: threading.Event, speaker: Speaker, event: Planned) -> None:
    is_over.wait(10)
    with suppress(OSError):  # the run may be over too
        CHANNELS[event.channel](speaker, event, 1)


def act_foreign(event: Planned) -> None:
    """By a thread that is older than all cases, in which nothing says whose it is."""
    headers = {"traceparent": f"00-{os.urandom(16).hex()}-{os.urandom(8).hex()}-01"}
    is_done = threading.Event()
    inbox.put((lambda: CHANNELS[event.channel](Speaker(FOREIGN, None, headers), event, 1), is_done))
    assert is_done.wait(20)


def serve_inbox() -> None:
    while True:
        work, is_done = inbox.get()
        with suppress(OSError):
            work()
        is_done.set()


threading.Thread(target=serve_inbox, daemon=True).start()


async def agent(prompt: str, conversation: Conversation) -> str:
    """Makes the events of its plan, all at once, and others while the next cases run, or the same ones."""
    case, *planned = json.loads(prompt)
    speaker, is_over = Speaker(case, conversation, conversation.headers), threading.Event()
    await asyncio.sleep(0.05)
    own = []
    for event in (Planned(*each) for each in planned):
        if event.fate == "late":
            pool.submit(act_late, is_over, speaker, event)
        elif event.fate == "foreign":
            own.append(asyncio.to_thread(act_foreign, event))
        else:
            times = 2 if event.fate == "doubled" else 1
            own.append(asyncio.to_thread(CHANNELS[event.channel], speaker, event, times))
    await asyncio.gather(*own)
    await asyncio.sleep(0.1 + 0.05 * int(case[1:]))
    asyncio.get_running_loop().call_later(0.05, is_over.set)
    return "Done."


@pytest.fixture(scope="module")
def services() -> Iterator[str]:
    """A scripted model, and an MCP server."""
    patch = pytest.MonkeyPatch()
    with serve(RULES) as model, ThreadingHTTPServer(("127.0.0.1", 0), StandIn) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        patch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()
    patch.undo()


def run_planned(plans: Plans, mcp: str, folder: Path, **telemetry: Any) -> dict[str, CaseRecord]:
    expected = {"tool_calls_none": [FORBIDDEN], "outcome": "completed"}
    cases = [{"id": case, "prompt": json.dumps([case, *plan]), "expected": expected} for case, plan in plans.items()]
    file = folder / "suite.json"
    file.write_text(json.dumps({"version": "0.3", "cases": cases}))
    target = TargetConfig(
        kind="python",
        spec=f"{__name__}:{AGENT}",
        root=ROOT,
        telemetry={"otlp": {"wait_ms": 600, "complete": True}, **telemetry},
        mcp_record=mcp,
        mcp_complete=True,
    )
    result = carob.run(str(file), target, results_dir=folder, concurrency=CASES, workers=1)
    return {record.case.id: record for record in result}


def plans_of(channels: list[str]) -> st.SearchStrategy[Plans]:
    """What each case makes; the first one begins alone, so that what is foreign there could be of no other."""
    fates = st.sampled_from(["own", "own", "doubled", "late", "foreign"])
    events = st.tuples(st.sampled_from(channels), st.sampled_from([USED, USED, FORBIDDEN]), fates)
    return st.lists(st.lists(events, max_size=6), min_size=CASES, max_size=CASES).map(
        lambda drawn: {
            f"c{case}": [
                Planned(*event, case * 100 + index)
                for index, event in enumerate(listed)
                if case or event[2] != "foreign"
            ]
            for case, listed in enumerate(drawn)
        }
    )


def check_run(coverage: Coverage, plans: Plans, services: str, **telemetry: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        records = run_planned(plans, services, Path(folder), **telemetry)
    for case, plan in plans.items():
        record = records[case]
        seen = Counter((each.name, each.arguments["of"], int(each.arguments["n"])) for each in record.trace.tool_calls)
        own = {(each.tool, case, each.number) for each in plan if each.fate in ("own", "doubled")}
        allowed = own | {(each.tool, case, each.number) for each in plan if each.fate == "late"}
        coverage.try_one(own <= seen.keys(), f"{case} lost {own - seen.keys()} of {plan}")
        coverage.try_one(seen.keys() <= allowed, f"{case} has {seen.keys() - allowed} of another: {plans}")
        coverage.try_one(max(seen.values(), default=1) == 1, f"{case} has a call twice: {seen} of {plan}")
        status = record.verdict.status
        if any(name == FORBIDDEN for name, *_ in own):
            coverage.try_one(status is CaseStatus.FAIL, f"{case} is {status} and deleted all: {plan}")
        elif not any(name == FORBIDDEN for name, *_ in allowed):
            coverage.try_one(status in (CaseStatus.PASS, CaseStatus.PARTIAL), f"{case} is {status}: {plan}")


@pytest.mark.limit(300)
@pytest.mark.parametrize(
    ("channels", "telemetry"),
    [
        pytest.param([name for name in CHANNELS if name != "models"], {}, id="side-by-side"),
        pytest.param([*CHANNELS], {"models": {"complete": True}}, id="one-after-the-other", marks=pytest.mark.thorough),
    ],
)
def test_events_of_every_channel_are_of_their_own_case_or_of_none(
    channels: list[str], telemetry: dict[str, Any], services: str, record_property: Callable[[str, object], None]
) -> None:
    """Cases that ask a model run one at a time in a process; the others at once."""
    coverage = Coverage(3, "late, foreign, doubled and concurrent events are of no other case", doors=channels)

    @given(plans_of(channels))
    @settings(max_examples=settings().max_examples // 10)
    def try_plans(plans: Plans) -> None:
        check_run(coverage, plans, services, **telemetry)

    try_plans()
    require(coverage, record_property)


def take_last(cases: Any, name: str) -> Any:
    """Planted: a call is of the case that began last."""
    running = list(cases._running.values())
    return running[-1] if running else None


async def careless(prompt: str, conversation: Conversation) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{type(RUNNING).__module__}.{type(RUNNING).__name__}.of_call", take_last)
        return await agent(prompt, conversation)


def test_a_source_that_gives_calls_to_whoever_runs_is_noticed(services: str, monkeypatch: pytest.MonkeyPatch) -> None:
    coverage = Coverage(3, "planted")
    plans = {f"c{n}": [Planned("in process", USED, "own", n * 100)] for n in range(CASES)}
    monkeypatch.setattr(f"{__name__}.AGENT", "careless")
    check_run(coverage, plans, services)
    assert coverage.violations
