"""How long a guard takes, what it keeps, and what it refuses in published conversations: `python -m benchmarks.guard`.

With `--trajectories FILE` (the format of tau-bench) the policy of its desk in `published/policies` is held against
every call of every conversation: the decision of the guard, and that of judging the conversation up to that call.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import karat
from benchmarks.published.rules import Policy, find_domain, judge_runs, read_policy, read_runs
from karat.guard.conversation import GuardedConversation
from karat.guard.decision import decide
from karat.guard.install import install_guard
from karat.guard.policy import load_policy
from karat.guard.serve import DecisionServer
from karat.rules.events import ConversationEvent
from karat.rules.monitor import Monitor

RULES = 20
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
    return "\n".join(["karat: 1", "rules:", *rules, ""])


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
    path = folder / "policy.karat.yaml"
    path.write_text(policy_text())
    policy = load_policy(path)
    for events in (10, 100, 1_000):
        taken, busy = [], []
        for _ in range(CALLS // 50):
            conversation = GuardedConversation(policy, "c")
            grow(conversation, events)
            for _ in range(50):
                start, cpu = time.perf_counter(), time.thread_time()
                decision = conversation.allow("pay", {"id": "A", "amount": 5})
                taken.append(time.perf_counter() - start)
                busy.append(time.thread_time() - cpu)
                assert decision, decision.message
                conversation.report_cancelled(decision)
        yield f"in process, {RULES} rules, at event {events}: {percentiles(taken)}; CPU: {percentiles(busy)}"
    gc.collect()
    tracemalloc.start()
    kept = []
    for _ in range(50):
        kept.append(GuardedConversation(policy, "c"))
        grow(kept[-1], 100)
    yield f"memory of a conversation of 100 events: {tracemalloc.get_traced_memory()[0] / 50 / 1024:.0f} KiB"
    tracemalloc.stop()


def time_serve(folder: Path) -> str:
    server = DecisionServer(karat.Guard(folder / "policy.karat.yaml", seam="serve"))
    server.open()
    address = urlsplit(server.url)
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
    server.close()
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
    path = folder / "policy.karat.yaml"
    installed = install_guard(path, "claude", environ={"HOME": str(folder)}, workspace=folder / "work")
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "pay", "tool_input": {"id": "A"}}
    shell = ["/bin/sh", "-c", installed.command]
    hook = cpu_of(lambda: subprocess.run(shell, input=json.dumps(event).encode(), capture_output=True))
    bare = cpu_of(lambda: subprocess.run([sys.executable, "-c", "pass"]))
    return f"hook, cold: {hook:.0f} ms of CPU time, {hook - bare:.0f} ms above python -c pass"


class Refused(NamedTuple):
    """A call of a published conversation that the guard would have refused."""

    conversation: str
    reward: float
    rule: str
    why: str


def hold_published(path: Path) -> tuple[str, list[Refused]]:
    """Ask the guard about every call, and judge the conversation up to it; both must say the same."""
    runs = read_runs(path)
    policy = read_policy(find_domain(runs))
    calls, agree = 0, 0
    refused: list[Refused] = []
    conversations = list(judge_runs(policy, runs))
    for conversation in conversations:
        monitor = Monitor(policy.contract)
        for place, event in enumerate(conversation.events.events):
            if event.kind == "call":
                calls += 1
                decision = decide(monitor.preview(event), event, frozenset())
                agree += bool(decision) is not finds_more(policy, conversation.events.events[:place], event)
                if not decision:
                    first = decision.reasons[0]
                    refused.append(Refused(conversation.id, conversation.reward, first.rule, first.evidence))
            monitor.feed(event)
    stopped = {one.conversation for one in refused}
    of_rewarded = {one.conversation for one in refused if one.reward > 1 - 1e-6}
    rewarded = sum(one.reward > 1 - 1e-6 for one in conversations)
    text = (
        f"{path.name}: {len(conversations)} conversations, {calls} calls, the guard and the judge agree on {agree}; "
        f"refused {len(refused)} calls in {len(stopped)} conversations, of which {len(stopped - of_rewarded)} had no "
        f"reward ({len(conversations) - rewarded} had none) and {len(of_rewarded)} had one ({rewarded} had one); "
        f"by rule: {dict(Counter(one.rule for one in refused).most_common())}"
    )
    return text, refused


def finds_more(policy: Policy, before: Sequence[ConversationEvent], call: ConversationEvent) -> bool:
    """Whether judging finds more with the call than without it, if the call succeeds."""
    end = ConversationEvent(kind="result", index=call.index + 1, tool=call.tool, call=call.call, success=True)
    return findings(policy, [*before, call, end]) > findings(policy, before)


def findings(policy: Policy, events: Sequence[ConversationEvent]) -> int:
    guarded = {rule.id for rule in policy.contract.rules if not rule.is_known_afterwards}
    monitor = Monitor(policy.contract)
    for event in events:
        monitor.feed(event)
    return sum(len(verdict.findings) for verdict in monitor.verdicts() if verdict.rule in guarded)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trajectories", type=Path, nargs="*", default=())
    parser.add_argument("--show", action="store_true", help="print what is refused in conversations with a reward")
    asked = parser.parse_args()
    for path in asked.trajectories:
        text, refused = hold_published(path)
        print(text)
        for one in refused if asked.show else ():
            if one.reward > 1 - 1e-6:
                print(f"  {one.conversation} {one.rule}: {one.why}")
    if asked.trajectories:
        return
    with tempfile.TemporaryDirectory() as folder:
        for line in time_in_process(Path(folder)):
            print(line, flush=True)
        print(time_serve(Path(folder)), flush=True)
        print(time_hook(Path(folder)), flush=True)


if __name__ == "__main__":
    main()
