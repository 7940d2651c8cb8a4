"""A watch, from its options to its summary: spans come in by one way, verdicts go out by four."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from carob.errors import UsageError
from carob.evidence.spans.otlp import SpanRecord
from carob.features.watch.export import JudgementReport, ReportExporter, SentVerdict, encode_report
from carob.features.watch.journal import WatchJournal
from carob.features.watch.judging import JudgedConversation, judge_held, judge_unseen
from carob.features.watch.metrics import Labels, WatchMetrics, measure_memory
from carob.features.watch.rules import CurrentRules, describe_rules
from carob.features.watch.server import WatchServer, is_local
from carob.features.watch.store import NAME_CAP, SpanStore
from carob.features.watch.tables import HeldConversation, NotedJudgement, StoreLimits
from carob.judging.judges import AnyPolicy, ConversationJudge, name_policy
from carob.judging.records import mask_conversation
from carob.plugins.project import Project
from carob.redaction.named import has_named, named_redactor
from carob.redaction.personal_data import Discretion
from carob.redaction.redactor import Redactor
from carob.rules.events import RuleOutcome, RuleVerdict
from carob.text.wording import error_text, pluralize, shorten

TICK: Final = 0.1
AT_ONCE: Final = 64
BEAT: Final = 1.0
TIDY: Final = 30.0
AFTER_FAILURE: Final = 1.0
RARELY: Final = 60.0
"""Seconds between two lines that say the same."""
SHORTEST_TOKEN: Final = 16
SHOWN_ALARMS: Final = 20
"""So many conversations that broke a rule are shown in each minute; the journal has all of them."""
VERDICTS: Final = "carob_rule_verdicts_total"
JUDGED: Final = "carob_watch_conversations_judged_total"
AGAIN: Final = "carob_watch_conversations_judged_again_total"
INCOMPLETE: Final = "carob_watch_conversations_incomplete_total"
NO_AGENT: Final = "carob_watch_conversations_without_agent_total"
REQUESTS: Final = "carob_watch_requests_total"
FAILURES: Final = "carob_watch_failures_total"
DROPPED: Final = "carob_watch_conversations_dropped_total"
_FAILURES: Final = ("store", "journal", "judgement")
_SPANS: Final = ("accepted", "repeated", "late", "dropped")


class WatchOptions(Struct, frozen=True, kw_only=True):
    """How conversations are watched, as `carob watch` has it."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = 4318
    token: str = ""
    quiet: float = 5.0
    """A conversation is judged once nothing came of it for so many seconds."""
    patience: float = 60.0
    """One that lacks a root or a parent is judged after so many."""
    resend: float = 10.0
    """Exporters send again for so many seconds what was not taken: a stop that was shorter lost nothing."""
    export: str = ""
    limits: StoreLimits = StoreLimits()
    keep_personal_data: bool = False


class ConversationWatch:
    """Receives spans from `open` to `close`, and judges conversations in `run`, or in `judge_due` once."""

    def __init__(
        self,
        policies: Sequence[AnyPolicy],
        suite: AnyPolicy | None,
        options: WatchOptions,
        project: Project,
        *,
        environ: Mapping[str, str],
        say: Callable[[str], None] = lambda line: None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Read the rules and open the folder. Raises CarobError."""
        _refuse(options)
        self.options = options
        self._say = say
        self._said: dict[str, float] = {}
        self.metrics = WatchMetrics()
        self.rules = CurrentRules(policies, suite, project, say)
        self._redactor = Redactor.for_environ(environ)
        self._discretion = Discretion(options.keep_personal_data, self._redactor)
        self._clock = clock or _start_clock()
        self._stopped = threading.Event()
        self._alarms: list[float] = []
        self.waiting = 0
        """The conversations that were not complete at its end."""
        self.ended_well = True
        """Whether everything could be written down at its end."""
        self._wait_for_journal = AFTER_FAILURE
        self._beat_at = self._tidied_at = 0.0
        self.store = SpanStore(options.folder, options.limits, self._clock, quiet=options.quiet, resend=options.resend)
        try:
            names = [name_policy(policy) for policy in [*policies, *([] if suite is None else [suite])]]
            self._journal = WatchJournal(options.folder, (names or project.rules)[0], self._redactor)
            self._exporter = (
                ReportExporter(options.export, environ, self.store.unsent, self.store.note_sent, self._say_rarely)
                if options.export
                else None
            )
            self._server = WatchServer(options.host, options.token, self._accept, self.figures, self._note_request)
        except BaseException:
            self.store.close()
            raise

    @property
    def address(self) -> str:
        """Where it listens."""
        return self._server.address

    def open(self) -> None:
        """Listen. Raises ConfigError if the port is in use, ArtifactError if nothing can be written in the folder."""
        try:
            self._journal.begin()
            self._server.open(self.options.port)
        except BaseException:
            self._journal.end()
            self.store.close()
            raise
        if self._exporter is not None:
            self._exporter.open()

    def run(self) -> None:
        """Judge conversations as they become ready, until it is stopped."""
        while not self._stopped.is_set():
            try:
                worked = self.judge_due()
            except (sqlite3.Error, OSError) as error:
                self._note_failure("store", f"the folder cannot be used now: {error}")
                self._stopped.wait(AFTER_FAILURE)
            else:
                self._stopped.wait(0.0 if worked else TICK)

    def stop(self) -> None:
        """Have `run` return. Signal handlers may call it."""
        self._stopped.set()

    def close(self) -> None:
        """Stop listening, judge what is complete, send what is left, and end the journal."""
        self._server.close()
        self.ended_well = True
        try:
            self._judge_rest()
        except (sqlite3.Error, OSError) as error:
            self.ended_well = False
            self._note_failure("store", f"the folder cannot be used now: {error}")
        if self._exporter is not None:
            self._exporter.close()
        with suppress(sqlite3.Error):  # then it is not known how many there are
            self.waiting = self.store.measure().open
        try:
            self._journal.end()
        except OSError as error:
            self.ended_well = False
            self._note_failure("journal", f"the journal could not be ended: {error.strerror}")
        self.store.close()

    def judge_due(self) -> int:
        """Judge what is ready now; how many conversations were looked at."""
        now = self._clock()
        self.rules.refresh()
        if now - self._beat_at >= BEAT:
            self._beat_at = now
            self.store.beat()
        if now - self._tidied_at >= TIDY:
            self._tidied_at = now
            self.store.tidy()
            self._journal.touch()
        return self._judge_all(self.store.due(AT_ONCE), is_ending=False)

    def _judge_rest(self) -> None:
        """Nothing comes any more: judge each conversation that is complete. The others wait in the folder."""
        self._judge_all(self.store.due(self.options.limits.conversations * 2, is_ending=True), is_ending=True)

    def _judge_all(self, keys: Iterable[bytes], *, is_ending: bool) -> int:
        number = 0
        stops = self.store.stops
        for key in keys:
            number += 1
            held = self.store.load(key)
            if held is None:
                continue
            late = held.row.touched + self.options.patience
            if not held.row.dropped and not held.is_complete:
                if is_ending or self._clock() < late:
                    self.store.postpone(held, late)
                    continue
                self.metrics.count(INCOMPLETE)
            judge = self.rules.judge
            judged = judge_held(judge, held, stops)
            try:
                self._report(judge, held, judged)
            except sqlite3.Error:
                raise
            except Exception as error:  # noqa: BLE001 - one conversation must not end the judging of all others
                why = f"its verdict cannot be reported: {error_text(error)}"
                self._note_failure("judgement", f"a conversation cannot be reported: {error_text(error)}")
                self._report(judge, held, judge_unseen(judge, held, why))
        return number

    def _report(self, judge: ConversationJudge, held: HeldConversation, judged: JudgedConversation | None) -> None:
        """Let everybody know how a conversation came out, the store last: what is not noted there is judged again."""
        if judged is None:
            self.store.note_judgement(held, None)
            self.metrics.count(NO_AGENT)
            return
        row = held.row
        before: dict[str, str] = msgspec.json.decode(row.outcomes)
        report = self._describe(held, judged, before)
        is_kept = judged.needs_attention or row.is_kept
        if is_kept and not self._write_down(judge, held, judged, f"{report.id}:{report.revision}"):
            return
        outcomes = {verdict.rule: verdict.outcome.value for verdict in judged.verdicts}
        sent = [encode_report(report)] if self._exporter is not None and report.rules else []
        if not self.store.note_judgement(held, NotedJudgement(msgspec.json.encode(outcomes), is_kept, sent)):
            return
        if sent and self._exporter is not None:
            self._exporter.wake()
        self.metrics.count(AGAIN if row.revision else JUDGED)
        for verdict in judged.verdicts:
            if before.get(verdict.rule) != verdict.outcome:
                self.metrics.count(VERDICTS, rule=verdict.rule, verdict=verdict.outcome.value)
        self._show(report, before)

    def _write_down(
        self, judge: ConversationJudge, held: HeldConversation, judged: JudgedConversation, judgement: str
    ) -> bool:
        """Add a conversation to the journal; what cannot be written is judged again later, and not noted before."""
        try:
            self._journal.add(judge, mask_conversation(self._discretion, judged.conversation), judgement)
        except OSError as error:
            self.ended_well = False
            self._wait_for_journal = min(2 * self._wait_for_journal, RARELY)
            self.store.postpone(held, self._clock() + self._wait_for_journal)
            why = f"a conversation could not be written into the journal, and is judged again later: {error.strerror}"
            self._note_failure("journal", why)
            return False
        self._wait_for_journal = AFTER_FAILURE
        return True

    def _accept(self, records: Sequence[SpanRecord]) -> int:
        """Keep spans, without the secrets that the project names."""
        return self.store.accept([*map(named_redactor().redact, records)] if has_named() else records)

    def _describe(
        self, held: HeldConversation, judged: JudgedConversation, before: Mapping[str, str]
    ) -> JudgementReport:
        """What came out of the rules that something triggered, now or as far as was known before."""
        is_untriggered = RuleOutcome.NOT_TRIGGERED.value
        reported = [
            verdict
            for verdict in judged.verdicts
            if not verdict.outcome == before.get(verdict.rule, is_untriggered) == is_untriggered
        ]
        return JudgementReport(
            at=self._clock(),
            conversation=self._discretion.text(shorten(judged.conversation.id, NAME_CAP)),
            id=held.row.id.hex(),
            revision=held.row.revision + 1,
            trace=judged.trace,
            span=judged.span,
            rules=tuple(SentVerdict(verdict.rule, verdict.outcome, self._explain(verdict)) for verdict in reported),
        )

    def _explain(self, verdict: RuleVerdict) -> str:
        if verdict.outcome is RuleOutcome.HELD or verdict.first is None:
            return ""
        return self._discretion.text(verdict.first.why)

    def _show(self, report: JudgementReport, before: Mapping[str, str]) -> None:
        """Show conversations that broke a rule, as long as they are few."""
        for rule in report.rules:
            if rule.outcome is RuleOutcome.BROKEN and before.get(rule.rule) != rule.outcome:
                now = time.monotonic()
                self._alarms = [at for at in self._alarms if now - at < RARELY]
                self._alarms.append(now)
                if len(self._alarms) <= SHOWN_ALARMS:
                    self._say(f"{rule.rule} broken in {report.conversation}: {rule.why}")
                else:
                    self._say_rarely("more conversations break rules than are shown here: see the journal")

    def _note_request(self, why: str) -> None:
        """Count a request; `why` it was not taken, if so."""
        self.metrics.count(REQUESTS, answer="refused" if why else "taken")
        if why:
            self._say_rarely(f"a request was refused: {why}", key="request")

    def _note_failure(self, what: str, line: str) -> None:
        self.metrics.count(FAILURES, what=what)
        self._say_rarely(line)

    def _say_rarely(self, line: str, key: str = "") -> None:
        """Say a line, unless the same was said in the last minute."""
        now, key = time.monotonic(), key or line.partition(":")[0]
        if now - self._said.get(key, -RARELY) >= RARELY:
            self._said[key] = now
            self._say(line)

    def figures(self) -> str:
        """Everything that is counted and measured, for Prometheus."""
        counts, held = self.store.counts, self.store.measure()
        others: dict[tuple[str, Labels], float] = {
            ("carob_watch_spans_total", (("what", what),)): counts[f"spans_{what}"] for what in _SPANS
        }
        for rule in self.rules.judge.names:  # from the beginning, so that the first verdict is seen as an increase
            for verdict in (outcome.value for outcome in RuleOutcome):
                others[VERDICTS, (("rule", rule), ("verdict", verdict))] = self.metrics.total(
                    VERDICTS, rule=rule, verdict=verdict
                )
        for what in _FAILURES:
            others[FAILURES, (("what", what),)] = self.metrics.total(FAILURES, what=what)
        others[DROPPED, ()] = counts["conversations_dropped"]
        others["carob_watch_conversations_let_go_total", ()] = counts["conversations_let_go"]
        others["carob_watch_rules_reloads_total", ()] = self.rules.reloads
        others["carob_watch_rules_failures_total", ()] = self.rules.failures
        if (exporter := self._exporter) is not None:
            numbers = {"sent": exporter.sent, "refused": exporter.refused, "lost": counts["reports_lost"]}
            others |= {("carob_watch_events_total", (("what", what),)): n for what, n in numbers.items()}
            others[FAILURES, (("what", "export"),)] = exporter.failures
        gauges = {
            "carob_watch_rules_current": float(not self.rules.problem),
            "carob_watch_rules": float(len(self.rules.judge.names)),
            "carob_watch_open_conversations": float(held.open),
            "carob_watch_held_conversations": float(held.conversations),
            "carob_watch_held_spans": float(held.spans),
            "carob_watch_held_bytes": float(held.size),
            "carob_watch_unsent_reports": float(held.unsent),
            "process_resident_memory_bytes": float(measure_memory()),
        }
        return self.metrics.text(others, gauges)

    def describe(self) -> list[str]:
        """What is said as it begins."""
        options = self.options
        lines = [
            f"listening at {self.address}/v1/traces, figures at {self.address}/metrics",
            f"{describe_rules(self.rules.judge)}; conversations that break one: carob view {options.folder}",
        ]
        if not is_local(options.host):
            lines.append("other machines may send spans with the header Authorization: Bearer TOKEN")
        return lines

    def summarize(self) -> list[str]:
        """What is said at the end, after `close`: what was judged since it began."""
        total = self.metrics.total
        rules: dict[str, Counter[str]] = {}
        for name in self.rules.judge.names:
            rules[name] = Counter({o.value: total(VERDICTS, rule=name, verdict=o.value) for o in RuleOutcome})
        again = f", {total(AGAIN)} judged again" if total(AGAIN) else ""
        lines = [f"{pluralize(total(JUDGED), 'conversation')} judged{again}"]
        for name, numbers in rules.items():
            words = [f"{number} {outcome.replace('_', ' ')}" for outcome, number in numbers.items() if number]
            lines.append(f"  {name}: {', '.join(words) or 'nothing was judged'}")
        if dropped := self.store.counts["conversations_dropped"]:
            lines.append(f"  {pluralize(dropped, 'conversation')} could not be held, and are unknown")
        if waiting := self.waiting:
            lines.append(
                f"  {pluralize(waiting, 'conversation')} not complete: judged at the next start with this folder"
            )
        return lines


def _start_clock() -> Callable[[], float]:
    """Seconds since 1970 that never go back while Carob runs."""
    began = time.time() - time.monotonic()
    return lambda: began + time.monotonic()


def _refuse(options: WatchOptions) -> None:
    if not is_local(options.host) and not options.token:
        message = f"other machines reach {options.host}, so a token is needed."
        name_it = "Put one into a variable and name it: --token-env CAROB_WATCH_TOKEN."
        raise UsageError(message, fix=name_it, slug="watch-token")
    if options.token and len(options.token) < SHORTEST_TOKEN:
        fix = 'Make a longer one: python -c "import secrets; print(secrets.token_urlsafe(24))"'
        raise UsageError(f"the token has fewer than {SHORTEST_TOKEN} characters.", fix=fix, slug="watch-token")
