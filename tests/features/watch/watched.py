"""A watch under test, and what came of it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from benchmarks.watch import POLICY, Collector, make_turn
from carob.features.watch.session import ConversationWatch, WatchOptions
from carob.features.watch.tables import StoreLimits
from carob.journal.append_log import list_files
from carob.plugins.project import Project
from evidence.spans.span_factory import post

Json = dict[str, Any]
QUIET, PATIENCE = 5.0, 60.0
HELD = {"explicit-yes": "held", "look-first": "held"}
UNKNOWN = dict.fromkeys(("explicit-yes", "look-first", "never-refund"), "unknown")
FORGETS_TO_LOOK, UNASKED, UNASKED_AND_UNSEEN, PLAIN = 8, 10, 15, 2
"""Numbers of conversations that break `look-first`, `explicit-yes` or both, and of one that keeps all rules."""


def as_request(spans: Sequence[Json]) -> bytes:
    return msgspec.json.encode({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def turn(number: int, place: int = 0, session: str | None = None) -> list[Json]:
    """The spans of a turn: model, tool, model, ..., and the root at the end."""
    return make_turn(number, place, f"s-{number}" if session is None else session)


class Watched:
    """A watch with a clock of its own."""

    latest: ClassVar[float] = 0.0
    """What its clock says, also after a restart."""

    def __init__(
        self, folder: Path, collector: Collector, *, running_since: float, policy: str = POLICY, **options: Any
    ) -> None:
        self.folder = folder
        self.collector = collector
        self.lines: list[str] = []
        self.is_closed = False
        self.policy = folder / "policy.carob.yaml"
        if not self.policy.exists():
            self.policy.write_text(policy)
        limits = {name: options.pop(name) for name in StoreLimits.__struct_fields__ if name in options}
        environ = options.pop("environ", {})
        how = WatchOptions(
            folder=folder / "watch",
            port=0,
            quiet=QUIET,
            patience=PATIENCE,
            export=collector.url,
            limits=StoreLimits(**limits),
            **options,
        )
        Watched.latest = running_since
        self.watch = ConversationWatch(
            [self.policy], None, how, Project(), environ=environ, say=self.lines.append, clock=lambda: Watched.latest
        )
        self.watch.open()

    @property
    def url(self) -> str:
        return self.watch.address

    def send(self, *spans: Json, status: int = 200, **headers: str) -> None:
        sent = post(self.url, as_request(spans), Content_Type="application/json", **headers)
        assert sent == status

    def wait(self, seconds: float = QUIET) -> None:
        """Time passes; then everything is judged that is ready, and its verdicts are sent."""
        Watched.latest += seconds
        while self.watch.judge_due():
            pass
        for _ in range(2_000):
            if not self.figure("carob_watch_unsent_reports"):
                return
            time.sleep(0.005)
        raise AssertionError("the verdicts were not sent")

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.watch.close()

    def figure(self, name: str, **labels: str) -> float:
        """A figure, as Prometheus would read it."""
        inside = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
        text = f"{name}{{{inside}}}" if inside else name
        found = re.search(rf"(?m)^{re.escape(text)} (\S+)$", self.watch.figures())
        assert found, text
        return float(found[1])

    def verdicts(self, name: str) -> list[dict[str, str]]:
        """What the collector was sent of a conversation, judgement by judgement."""
        judgements: dict[int, dict[str, str]] = {}
        for _, event in self.collector.events:
            if event["gen_ai.conversation.id"] == name:
                rules = judgements.setdefault(event["carob.revision"], {})
                rules[event["gen_ai.evaluation.name"]] = event["gen_ai.evaluation.score.label"]
        return [judgements[revision] for revision in sorted(judgements)]

    def journals(self) -> list[Path]:
        """Those that are there, the oldest first."""
        return [path for path in list_files(self.folder / "watch" / "watch.jsonl") if path.exists()]

    def post(self, body: bytes, path: str = "/v1/traces", **headers: str) -> int:
        return post(self.url, body, path, **headers)


def host_of(url: str) -> str:
    return urlsplit(url).netloc
