"""`python -m benchmarks.watch`: carob watch where spans come late, doubled and out of order, or are lost.

The process is killed once and ended once while spans arrive, and started again. What the exporter sent is held against
a check of the spans that were acknowledged, written to a file: each conversation must be judged once, again where spans
came late, and come out as that check says.
"""

from __future__ import annotations

import argparse
import gzip
import heapq
import http.client
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import carob
from carob.system.loopback import Connection, HttpRequest, LoopbackServer, format_reply

POLICY = """\
carob: 1
rules:
  - id: explicit-yes
    each: { call: cancel_order }
    needs: { last_user: ["@yes"] }
  - id: look-first
    each: { call: cancel_order, arguments: { order: { $as: order } } }
    needs: { before: { call: lookup_order, success: true, arguments: { order: { $same: order } } } }
  - { id: never-refund, each: { call: refund }, forbids: { before: { call: "*" } } }
"""
RULES = ("explicit-yes", "look-first", "never-refund")
LATE, LOST, DOUBLED, TWO_TURNS = 0.03, 0.03, 0.05, 0.2
QUIET, PATIENCE, LATENESS = 2.0, 6.0, 9.0
"""Seconds: as `carob watch` is asked for, and how late what is late comes."""
SPREAD = 1.5
"""The spans of a turn come within so many seconds, in any order."""
SENDERS = 4
BATCH = 64
SAMPLE = 5.0
MEMORY = "process_resident_memory_bytes"
SETTLE_SECONDS = 120.0
Json = dict[str, Any]


class Outcome(NamedTuple):
    """What came of a stream of conversations."""

    conversations: int
    spans: int
    judged: int
    """Conversations of which the exporter sent a first judgement."""
    again: int
    """Conversations that were judged again."""
    late: int
    """Conversations of which a span or a turn was sent after they were judged."""
    missing: int
    """Conversations that should have a judgement and have none."""
    twice: int
    """First judgements that were sent under two names."""
    wrong: list[str]
    """Conversations whose last judgement is not that of the check."""
    foreign: list[str]
    """Conversations whose explanation names the order of another one."""
    not_again: list[str]
    """Conversations with late spans that were not judged again."""
    repeated: int
    """Events that were sent twice under the same name, as after a kill."""
    labels: Counter[tuple[str, str]]
    memory: list[int]
    """The bytes of memory that the process had, every few seconds."""
    disk: int
    cpu: float
    delays: list[float]
    """Seconds from the last span of a conversation to its verdict."""
    refused: int
    """Requests that were not taken at first, and sent again."""

    @property
    def is_sound(self) -> bool:
        return not (self.missing or self.twice or self.wrong or self.foreign or self.not_again) and self.judged > 0

    def describe(self) -> Iterator[str]:
        """The figures, for people to read."""
        yield f"{self.conversations} conversations, {self.spans} spans acknowledged"
        yield f"judged once: {self.judged}; missing: {self.missing}; under two names: {self.twice}"
        yield f"judged again: {self.again}, of {self.late} with late spans or turns; not again: {len(self.not_again)}"
        yield f"unlike a check of the same spans: {len(self.wrong)}; by another's evidence: {len(self.foreign)}"
        yield f"events sent twice under one name: {self.repeated}; requests sent again: {self.refused}"
        for (rule, label), number in sorted(self.labels.items()):
            yield f"  {rule} {label}: {number}"
        along = ", ".join(str(size >> 20) for size in self.memory[:: max(len(self.memory) // 12, 1)])
        yield f"memory: at most {max(self.memory) >> 20} MiB, along the way {along}"
        yield f"spans on disk: {self.disk >> 20} MiB; CPU: {self.cpu:.0f} s"
        if delays := sorted(self.delays):
            shown = ", ".join(f"{delays[int(len(delays) * q)]:.1f} s ({q:.0%})" for q in (0.5, 0.95, 0.99))
            yield f"from the last span to the verdict, with {QUIET:.0f} s of quiet: {shown}"


class Collector:
    """The service that --export sends to: it notes every event."""

    def __init__(self) -> None:
        self.events: list[tuple[float, Json]] = []
        self._server = LoopbackServer(self._serve, "the collector")

    def __enter__(self) -> Collector:
        self._server.open()
        self.url = self._server.url
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def _serve(self, connection: Connection, request: HttpRequest) -> bool:
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

        now = time.monotonic()
        for group in ExportLogsServiceRequest.FromString(request.body).resource_logs:
            for scope in group.scope_logs:
                for record in scope.log_records:
                    pairs = {p.key: getattr(p.value, p.value.WhichOneof("value")) for p in record.attributes}
                    self.events.append((now, {**pairs, "trace": record.trace_id.hex(), "span": record.span_id.hex()}))
        connection.send(format_reply(200, "application/x-protobuf"))
        return request.keeps_alive


def make_turn(number: int, turn: int, session: str) -> list[Json]:
    """The spans of one turn: a model that looks an order up and cancels it, or forgets to look, or cancels unasked."""
    trace, began = f"{number:028x}{turn:04x}", time.time_ns()
    order, clock, ids = f"A-{number}", count(began + 1_000_000, 1_000_000), count(2)
    words = f"hm, {order}" if number % 5 == 0 else f"yes, cancel {order}"
    names = {0: [], 1: ["cancel_order"]}.get(number % 7, ["lookup_order", "cancel_order"]) if turn == 0 else []
    said: list[Json] = [_message("user", {"type": "text", "content": words if turn == 0 else "thanks"})]

    def span(name: str, **attributes: object) -> Json:
        start = next(clock)
        pairs = [{"key": k.replace("__", "."), "value": {"stringValue": str(v)}} for k, v in attributes.items()]
        own = {"traceId": trace, "spanId": f"{next(ids):016x}", "parentSpanId": f"{1:016x}", "name": name}
        return {**own, "startTimeUnixNano": start, "endTimeUnixNano": next(clock), "attributes": pairs}

    def chat(answer: Json) -> Json:
        given, gave = json.dumps(said), json.dumps([answer])
        return span(
            "chat m", gen_ai__operation__name="chat", gen_ai__input__messages=given, gen_ai__output__messages=gave
        )

    spans: list[Json] = []
    for name in names:
        call = f"call-{number}-{name}"
        arguments = {"order": order}
        asked = _message("assistant", {"type": "tool_call", "id": call, "name": name, "arguments": arguments})
        spans.append(chat(asked))
        spans.append(
            span(
                f"execute_tool {name}",
                gen_ai__operation__name="execute_tool",
                gen_ai__tool__name=name,
                gen_ai__tool__call__id=call,
                gen_ai__tool__call__arguments=json.dumps(arguments),
                gen_ai__tool__call__result='{"ok": true}',
            )
        )
        said += [asked, _message("tool", {"type": "tool_call_response", "id": call, "response": {"ok": True}})]
    spans.append(chat(_message("assistant", {"type": "text", "content": "Done."})))
    root = span("invoke_agent desk", gen_ai__operation__name="invoke_agent", session__id=session)
    return [*spans, {**root, "spanId": f"{1:016x}", "parentSpanId": "", "startTimeUnixNano": began}]


def _message(role: str, part: Json) -> Json:
    return {"role": role, "parts": [part]}


class Stream:
    """What is sent when: a heap of spans by the moment at which each is to go."""

    def __init__(self, rate: float, seconds: float, seed: int, lateness: float) -> None:
        self._lateness = lateness
        self._random = random.Random(seed)
        self._began = time.monotonic()
        self._queue: list[tuple[float, int, Json]] = []
        self._ids = count()
        self._lock = threading.Lock()
        for number in range(1, int(rate / 60 * seconds) + 1):
            self._plan(number, number * 60 / rate)

    def _plan(self, number: int, at: float) -> None:
        session, chance = f"s-{number}", self._random.random
        turns = 2 if chance() < TWO_TURNS else 1
        for turn in range(turns):
            spans = make_turn(number, turn, session)
            begins = at + turn * self._lateness
            kind = chance()
            child = self._random.randrange(len(spans) - 1) if len(spans) > 1 else 0
            for place, span in enumerate(spans):
                moment = begins + chance() * min(SPREAD, self._lateness / 4)  # whatever the order in which they ended
                if place == child and kind < LOST:
                    continue
                if place == child and kind < LOST + LATE:
                    moment = begins + self._lateness
                self._put(moment, span)
                if chance() < DOUBLED:
                    self._put(moment + chance() * self._lateness, span)

    def _put(self, moment: float, span: Json) -> None:
        heapq.heappush(self._queue, (moment, next(self._ids), span))

    def take(self) -> list[Json] | None:
        """The spans that are to be sent now; None if there are no more."""
        now = time.monotonic() - self._began
        with self._lock:
            if not self._queue:
                return None
            spans: list[Json] = []
            while self._queue and self._queue[0][0] <= now and len(spans) < BATCH:
                spans.append(heapq.heappop(self._queue)[2])
        return spans


class Process:
    """`carob watch` as a process, which is started again after it was ended."""

    def __init__(self, folder: Path, export: str, quiet: float, patience: float) -> None:
        self._folder = folder
        self._options = ["--quiet", str(quiet), "--patience", str(patience), "--export", export]
        self._options += ["--resend", "600"]  # the senders do not give up
        self.port = 0
        self.cpu = 0.0
        self.samples: list[int] = []
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [
            str(Path(sys.executable).with_name("carob")),
            "watch",
            "--rules",
            str(self._folder / "policy.carob.yaml"),
        ]
        command += ["--port", str(self.port), "--folder", str(self._folder / "watch"), *self._options]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        if "listening at" not in line:
            raise RuntimeError(line + self._process.stderr.read())
        self.port = int(line.partition("/v1/traces")[0].rpartition(":")[2])
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        with process.stderr:
            for _ in process.stderr:
                pass

    def end(self, how: signal.Signals) -> None:
        """End it by a signal; what it used is added up."""
        process = self._process
        assert process is not None
        process.send_signal(how)
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
        self._reader.join()
        self.cpu += used.ru_utime + used.ru_stime

    def run_for(self, seconds: float) -> None:
        """Let it run, and note how much memory it has."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, SAMPLE))
            self.samples += [int(size) for name, size in self.measure().items() if name == MEMORY]

    def measure(self) -> dict[str, float]:
        """The figures without labels; nothing while it does not answer."""
        figures: dict[str, float] = {}
        with suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            connection.request("GET", "/metrics")
            for line in connection.getresponse().read().decode().splitlines():
                name, _, value = line.rpartition(" ")
                if not line.startswith("#") and "{" not in name:
                    figures[name] = float(value)
            connection.close()
        return figures


class Sender(threading.Thread):
    """Sends what is due, again until it is taken, as exporters do."""

    def __init__(self, stream: Stream, process: Process, number: int) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._process = process
        self._number = number
        self._connection: http.client.HTTPConnection | None = None
        self.taken: list[tuple[float, Json]] = []
        """Each span that was acknowledged, with the moment at which it was first sent, which may have been enough."""
        self.refused = 0

    def run(self) -> None:
        while (spans := self._stream.take()) is not None:
            if not spans:
                time.sleep(0.02)
                continue
            body = msgspec.json.encode({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
            sent = time.monotonic()
            while not self._post(body):
                self.refused += 1
                time.sleep(0.1)
            self.taken += [(sent, span) for span in spans]
        if self._connection is not None:
            self._connection.close()

    def _post(self, body: bytes) -> bool:
        headers = {"Content-Type": "application/json"}
        if self._number % 2:
            headers["Content-Encoding"], body = "gzip", gzip.compress(body, 1)
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._process.port, timeout=10)
            self._connection.request("POST", "/v1/traces", body, headers)
            reply = self._connection.getresponse()
            return reply.read() == b"{}" and reply.status == 200
        except (OSError, http.client.HTTPException):
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            return False


def watch_stream(
    folder: Path,
    *,
    minutes: float,
    rate: float,
    seed: int = 1,
    quiet: float = QUIET,
    patience: float = PATIENCE,
    lateness: float = LATENESS,
) -> Outcome:
    """Send a stream of conversations to `carob watch`, which is killed once and ended once; what came of it."""
    seconds = minutes * 60
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.carob.yaml").write_text(POLICY)
    with Collector() as collector:
        process = Process(folder, collector.url, quiet, patience)
        process.start()
        stream = Stream(rate, seconds, seed, lateness)
        senders = [Sender(stream, process, number) for number in range(SENDERS)]
        for sender in senders:
            sender.start()
        for how in (signal.SIGKILL, signal.SIGTERM):
            process.run_for(seconds / 3)
            process.end(how)
            process.start()
        for sender in senders:
            sender.join()
        _wait_until_judged(process)
        disk = sum(file.stat().st_size for file in (folder / "watch").glob("spans.sqlite*"))
        process.end(signal.SIGTERM)
        time.sleep(0.2)
    taken = sorted((entry for sender in senders for entry in sender.taken), key=lambda entry: entry[0])
    expected = check_spans(folder, [span for _, span in taken])
    refused = sum(sender.refused for sender in senders)
    return _compare(taken, expected, Received(collector.events), process, disk, refused)


def _wait_until_judged(process: Process) -> None:
    until = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < until:
        figures = process.measure()
        if figures and not (figures["carob_watch_open_conversations"] or figures["carob_watch_unsent_reports"]):
            return
        time.sleep(0.25)


def check_spans(folder: Path, spans: Sequence[Json]) -> dict[str, dict[str, str]]:
    """How each rule comes out in each conversation, as a check of these spans in a file says."""
    path = folder / "spans.jsonl"
    with path.open("wb") as file:
        for span in spans:
            file.write(msgspec.json.encode({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}) + b"\n")
    judge = carob.prepare_judge(str(folder / "policy.carob.yaml"))
    outcomes = {}
    for conversation in carob.read_conversations(path):
        verdicts = judge.judge(conversation.trace, conversation.tags, conversation.metadata)  # type: ignore[union-attr]
        outcomes[conversation.id] = {v.rule: v.outcome.value for v in verdicts if v.outcome != "not_triggered"}
    return outcomes


class Received:
    """What the exporter sent: the last verdicts of each conversation, and how often it was judged."""

    def __init__(self, events: Sequence[tuple[float, Json]]) -> None:
        self.latest: dict[str, dict[str, str]] = {}
        self.revisions: dict[str, int] = {}
        self.judged_at: dict[str, float] = {}
        self.moments: list[tuple[str, float]] = []
        self.foreign: list[str] = []
        self.repeated = 0
        self.first: dict[str, set[str]] = defaultdict(set)
        seen: set[tuple[str, str]] = set()
        for moment, event in events:
            key = (event["carob.judgement"], event["gen_ai.evaluation.name"])
            self.repeated += key in seen
            if key not in seen:
                seen.add(key)
                self._note(moment, event)

    def _note(self, moment: float, event: Json) -> None:
        name, revision = event["gen_ai.conversation.id"], event["carob.revision"]
        if not name.startswith("s-"):  # the root, which names the session, had not come yet
            return
        self.judged_at.setdefault(name, moment)
        self.moments.append((name, moment))
        if revision == 1:
            self.first[name].add(event["carob.judgement"])
        if revision > self.revisions.get(name, 0):
            self.latest[name] = {}
        self.revisions[name] = max(revision, self.revisions.get(name, 0))
        label = event["gen_ai.evaluation.score.label"]
        if revision == self.revisions[name] and label != "not_triggered":
            self.latest[name][event["gen_ai.evaluation.name"]] = label
        words, order = event.get("gen_ai.evaluation.explanation", ""), name.replace("s-", "A-")
        if "A-" in words and not re.search(rf"{order}\b", words):
            self.foreign.append(f"{name}: {words}")


def _find_last(taken: Sequence[tuple[float, Json]]) -> dict[str, float]:
    """When the last span was sent of each conversation that was not there before."""
    last: dict[str, float] = {}
    known: set[tuple[str, str]] = set()
    for moment, span in taken:
        if (key := (span["traceId"], span["spanId"])) not in known:
            known.add(key)
            last[f"s-{int(span['traceId'][:28], 16)}"] = moment
    return last


def _compare(
    taken: Sequence[tuple[float, Json]],
    expected: dict[str, dict[str, str]],
    received: Received,
    process: Process,
    disk: int,
    refused: int,
) -> Outcome:
    sent_last, latest = _find_last(taken), received.latest
    late = {name for name, moment in received.judged_at.items() if moment < sent_last[name]}
    return Outcome(
        conversations=len(sent_last),
        spans=len(taken),
        judged=len(received.first),
        again=sum(revision > 1 for revision in received.revisions.values()),
        late=len(late),
        missing=sum(bool(outcomes) and name not in latest for name, outcomes in expected.items()),
        twice=sum(len(names) > 1 for names in received.first.values()),
        wrong=[
            f"{name}: {latest.get(name, {})}, and the check says {outcomes}"
            for name, outcomes in expected.items()
            if latest.get(name, {}) != outcomes
        ],
        foreign=received.foreign,
        not_again=[name for name in late if received.revisions[name] < 2],
        repeated=received.repeated,
        labels=Counter((rule, label) for rules in latest.values() for rule, label in rules.items()),
        memory=process.samples,
        disk=disk,
        cpu=process.cpu,
        delays=[moment - sent_last[name] for name, moment in received.moments if moment > sent_last[name]],
        refused=refused,
    )


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.watch", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=2_000.0, help="conversations a minute")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(given)
    scratch = Path(tempfile.mkdtemp(prefix="carob-bench-"))
    try:
        outcome = watch_stream(scratch, minutes=asked.minutes, rate=asked.rate, seed=asked.seed)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print("\n".join(outcome.describe()))
    for words in (*outcome.wrong[:5], *outcome.foreign[:5], *outcome.not_again[:5]):
        print("  !", words)
    return 0 if outcome.is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
