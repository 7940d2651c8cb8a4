"""How long a guard takes, and what it keeps: `python -m benchmarks.guard`.

What it refuses in published conversations says `python -m benchmarks.published guard`.
"""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from carob.features.guard.conversation import GuardedConversation
from carob.features.guard.install import install_guard, plan_installation
from carob.features.guard.policy import load_policy

RULES = 20
LENGTHS = 10, 100, 1_000
"""Decisions are timed in conversations of these many events by turns, so that all see the same machine."""
CALLS = 2_000
"""So many decisions are timed at each length."""
HOOKS = 15


def policy_text() -> str:
    """Twenty rules about four tools, of every form that looks back."""
    forms = (
        "needs: { last_user: ['@yes'] }",
        "needs: { before: { call: get, success: true, arguments: { id: { $same: id } } } }",
        "at_most: 100000",
        "where: { each.arguments.amount: { $lte: 500 } }",
        "total: each.arguments.amount, at_most: 100000000",
    )
    rules = [
        f"  - {{ id: r{n}, each: {{ call: pay{n % 4 or ''}, success: true, arguments: {{ id: {{ $as: id }} }} }}, "
        f"{forms[n % len(forms)]} }}"
        for n in range(RULES)
    ]
    return "\n".join(["carob: 1", "rules:", *rules, ""])


def percentiles(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    return f"p50 {1e3 * ordered[len(ordered) // 2]:.3f} ms, p99 {1e3 * ordered[int(len(ordered) * 0.99)]:.3f} ms"


def grow(conversation: GuardedConversation, events: int) -> None:
    """Let so many events happen, the last ones of which make a payment legal."""
    while conversation._monitor.last_index < events - 4:
        number = conversation._monitor.last_index
        conversation.report(conversation.allow("get", {"id": number}), {"total": 3})
    conversation.user("Yes, go ahead.")
    conversation.report(conversation.allow("get", {"id": "A"}), {"total": 3})


def time_in_process(folder: Path) -> Iterator[str]:
    path = folder / "policy.carob.yaml"
    path.write_text(policy_text())
    policy = load_policy(path)
    taken: dict[int, list[float]] = {events: [] for events in LENGTHS}
    busy: dict[int, list[float]] = {events: [] for events in LENGTHS}
    for batch in range(CALLS // 50):
        first = batch % len(LENGTHS)  # whose first decision finds the processor's caches cold
        conversations = {events: GuardedConversation(policy, "c") for events in LENGTHS[first:] + LENGTHS[:first]}
        for events, conversation in conversations.items():
            grow(conversation, events)
        for _ in range(50):
            for events, conversation in conversations.items():
                start, cpu = time.perf_counter(), time.thread_time()
                decision = conversation.allow("pay", {"id": "A", "amount": 5})
                taken[events].append(time.perf_counter() - start)
                busy[events].append(time.thread_time() - cpu)
                assert decision, decision.message
                conversation.report_cancelled(decision)
    for events in LENGTHS:
        yield (
            f"in process, {RULES} rules, at event {events}: {percentiles(taken[events])}; "
            f"CPU: {percentiles(busy[events])}"
        )
    gc.collect()
    tracemalloc.start()
    kept = []
    for _ in range(50):
        kept.append(GuardedConversation(policy, "c"))
        grow(kept[-1], 100)
    yield f"memory of a conversation of 100 events: {tracemalloc.get_traced_memory()[0] / 50 / 1024:.0f} KiB"
    tracemalloc.stop()


def time_serve(folder: Path) -> str:
    command = [Path(sys.executable).with_name("carob"), "guard", "serve", folder / "policy.carob.yaml"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = urlsplit(server.stdout.readline().strip())
    connection = HTTPConnection(address.netloc)

    def post(body: dict[str, Any]) -> dict[str, Any]:
        connection.request("POST", address.path, json.dumps(body))
        return dict(json.loads(connection.getresponse().read()))

    got = post({"conversation": "c", "begin": True, "user": "Yes.", "call": {"tool": "get", "arguments": {"id": "A"}}})
    post({"conversation": "c", "results": [{"call": got["call"], "result": {"total": 3}}]})
    taken = []
    for _ in range(CALLS):
        start = time.perf_counter()
        answer = post({"conversation": "c", "call": {"tool": "pay", "arguments": {"id": "A", "amount": 5}}})
        taken.append(time.perf_counter() - start)
        assert answer["allowed"], answer
        post({"conversation": "c", "results": [{"call": answer["call"], "cancelled": True}]})
    server.terminate()
    server.wait()
    return f"serve, over loopback: {percentiles(taken)}"


def cpu_of(run: Callable[[], object]) -> float:
    """Milliseconds of CPU time of the processes that this starts, the median of several."""
    taken = []
    for _ in range(HOOKS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1e3 * sorted(taken)[HOOKS // 2]


def time_hook(folder: Path) -> str:
    (folder / "work").mkdir()
    path = folder / "policy.carob.yaml"
    installed = plan_installation(path, "claude", environ={"HOME": str(folder)}, workspace=folder / "work")
    install_guard(installed)
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "pay", "tool_input": {"id": "A"}}
    shell = ["/bin/sh", "-c", installed.command]
    hook = cpu_of(lambda: subprocess.run(shell, input=json.dumps(event).encode(), capture_output=True))
    bare = cpu_of(lambda: subprocess.run([sys.executable, "-c", "pass"]))
    return f"hook, cold: {hook:.0f} ms of CPU time, {hook - bare:.0f} ms above python -c pass"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for line in time_in_process(Path(folder)):
            print(line, flush=True)
        print(time_serve(Path(folder)), flush=True)
        print(time_hook(Path(folder)), flush=True)


if __name__ == "__main__":
    main()
