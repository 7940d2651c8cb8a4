"""What is counted, as text for Prometheus. Labels are ids of rules and words of Carob: nothing that a user said."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PAGE: Final = 4096
"""Bytes of a page of memory, in which Linux counts."""
Labels = tuple[tuple[str, str], ...]


class Metric(NamedTuple):
    """A figure with its meaning: a counter grows, a gauge goes up and down."""

    name: str
    kind: str
    words: str


COUNTERS: Final = (
    Metric("carob_rule_verdicts_total", "counter", "Conversations by rule and verdict; a change counts again."),
    Metric("carob_watch_conversations_judged_total", "counter", "Conversations that were judged for the first time."),
    Metric("carob_watch_conversations_judged_again_total", "counter", "Judgements because more spans came."),
    Metric("carob_watch_conversations_incomplete_total", "counter", "Judgements without a root or a parent."),
    Metric("carob_watch_conversations_dropped_total", "counter", "Conversations that could not be held: unknown."),
    Metric("carob_watch_conversations_let_go_total", "counter", "Judged ones whose spans were removed."),
    Metric("carob_watch_conversations_without_agent_total", "counter", "Traces without a span of an agent or a model."),
    Metric("carob_watch_spans_total", "counter", "Spans by what became of them; late ones were accepted too."),
    Metric("carob_watch_requests_total", "counter", "Requests by answer."),
    Metric("carob_watch_rules_reloads_total", "counter", "Times that other rules were read from the files."),
    Metric("carob_watch_rules_failures_total", "counter", "Times that the files were changed to what cannot be read."),
    Metric("carob_watch_events_total", "counter", "Events for --export by what became of them."),
    Metric("carob_watch_failures_total", "counter", "What could not be done, by what it was."),
)  # fmt: skip
PLAIN: Final = frozenset(metric.name for metric in COUNTERS if "_conversations_" in metric.name)
"""Counters without labels: they are there from the beginning, so that the first one is seen as an increase."""
GAUGES: Final = (
    Metric("carob_watch_rules_current", "gauge", "1 if the rules in use are those of the files."),
    Metric("carob_watch_rules", "gauge", "Rules and expectations in use."),
    Metric("carob_watch_open_conversations", "gauge", "Conversations with spans that were not judged yet."),
    Metric("carob_watch_held_conversations", "gauge", "Conversations whose spans are held."),
    Metric("carob_watch_held_spans", "gauge", "Spans that are held, on disk."),
    Metric("carob_watch_held_bytes", "gauge", "Bytes of the spans that are held."),
    Metric("carob_watch_unsent_reports", "gauge", "Reports that --export did not take yet."),
    Metric("process_resident_memory_bytes", "gauge", "Memory of this process."),
)


class WatchMetrics:
    """Counters that any thread may add to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: Counter[tuple[str, Labels]] = Counter()

    def count(self, name: str, number: int = 1, **labels: str) -> None:
        with self._lock:
            self._counters[name, tuple(sorted(labels.items()))] += number

    def total(self, name: str, **labels: str) -> int:
        """What a counter has reached, over all of its labels but these."""
        with self._lock:
            asked = set(labels.items())
            return sum(n for (key, pairs), n in self._counters.items() if key == name and asked <= set(pairs))

    def text(self, others: Mapping[tuple[str, Labels], float], gauges: Mapping[str, float]) -> str:
        """Everything that is counted here, what others count, and what is measured now."""
        with self._lock:
            counted = {**self._counters, **others}
        lines: list[str] = []
        for metric in COUNTERS:
            rows = sorted((labels, value) for (name, labels), value in counted.items() if name == metric.name)
            lines += _describe(metric, rows or ([((), 0)] if metric.name in PLAIN else []))
        for metric in GAUGES:
            lines += _describe(metric, [((), gauges.get(metric.name, 0))])
        return "\n".join(lines) + "\n"


def _describe(metric: Metric, rows: Iterable[tuple[Labels, float]]) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.words}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for labels, value in rows:
        inside = ",".join(f'{name}="{_escape(text)}"' for name, text in labels)
        yield f"{metric.name}{{{inside}}} {value:.0f}" if inside else f"{metric.name} {value:.0f}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def measure_memory() -> int:
    """Bytes of memory that this process has, where the system says it."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * PAGE
    return 0
