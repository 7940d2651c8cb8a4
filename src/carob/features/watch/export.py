"""Verdicts as events `gen_ai.evaluation.result` of OpenTelemetry: log records, sent over OTLP/HTTP.

They wait in the store until the service has taken them, so that one that is not there for a while misses none.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

from carob.errors import UsageError
from carob.evidence.spans.otlp import NANO, request_type
from carob.rules.events import RuleOutcome
from carob.version import __version__

if TYPE_CHECKING:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import KeyValue

EVENT: Final = "gen_ai.evaluation.result"
LOGS: Final = "/v1/logs"
HEADERS: Final = ("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
"""The variables with the headers of requests, as exporters of OpenTelemetry read them."""
BATCH: Final = 256
TIMEOUT: Final = 10.0
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
"""Seconds before what could not be sent is sent again."""
TRY_AGAIN: Final = frozenset((408, 429, 500, 502, 503, 504))
LONGEST_WHY: Final = 1_000
SCORES: Final = {RuleOutcome.HELD: 1.0, RuleOutcome.BROKEN: 0.0}
"""An unknown verdict has a label and no score; so has `not_triggered`, which takes an earlier verdict back."""
INFO, WARN = 9, 13
"""Severities of log records."""


class SentVerdict(Struct, frozen=True, omit_defaults=True):
    """How one rule came out."""

    rule: str
    outcome: RuleOutcome
    why: str = ""


class JudgementReport(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How a conversation came out, as it is sent."""

    at: float
    conversation: str
    id: str
    """The same for each judgement of this conversation; with the revision, it names the judgement."""
    revision: int
    trace: str
    span: str = ""
    rules: tuple[SentVerdict, ...] = ()


encode_report = msgspec.json.Encoder().encode
decode_report = msgspec.json.Decoder(JudgementReport).decode
Unsent = Callable[[int], list[tuple[int, bytes]]]


class ReportExporter:
    """Sends reports in the order in which they were written down, from `open` to `close`."""

    def __init__(
        self,
        url: str,
        environ: Mapping[str, str],
        unsent: Unsent,
        note_sent: Callable[[int], None],
        say: Callable[[str], None],
    ) -> None:
        """Raises UsageError for an address that is none, and ConfigError without the library of OTLP."""
        request_type()
        self._address = _read_address(url)
        self._headers = read_headers(next(filter(None, map(environ.get, HEADERS)), ""))
        self._unsent = unsent
        self._note_sent = note_sent
        self._say = say
        self._stopped, self._woken = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="exporter of verdicts", daemon=True)
        self.sent = self.refused = self.failures = 0
        """Events that were sent, events that the service will not take, and requests that failed."""

    def open(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """There are new reports."""
        self._woken.set()

    def close(self) -> None:
        """Send what is left, unless the service does not answer."""
        self._stopped.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join()
        while self._send_batch() is True:
            pass

    def _run(self) -> None:
        wait = FIRST_WAIT
        while not self._stopped.is_set():
            self._woken.clear()
            try:
                went = self._send_batch()
            except Exception as error:  # noqa: BLE001 - the folder may be without space: verdicts wait in it
                self._note_failure(f"{type(error).__name__}: {error}")
                went = False
            if went is None:
                self._woken.wait()
            elif not went:
                self._stopped.wait(wait)
            wait = min(wait * 2, LONGEST_WAIT) if went is False else FIRST_WAIT

    def _send_batch(self) -> bool | None:
        """Whether the next reports were sent; None if there are none."""
        rows = self._unsent(BATCH)
        if not rows:
            return None
        reports = [decode_report(data) for _, data in rows]
        count = sum(len(report.rules) for report in reports)
        try:
            status = self._post(build_request(reports).SerializeToString())
        except (OSError, http.client.HTTPException) as error:
            self._note_failure(str(error) or type(error).__name__)
            return False
        if status in TRY_AGAIN:
            self._note_failure(f"it answers {status}")
            return False
        if status // 100 == 2:
            self.sent += count
        else:
            self.refused += count
            self._note_failure(f"it answers {status}, so these verdicts are not sent again")
        self._note_sent(rows[-1][0])
        return True

    def _post(self, body: bytes) -> int:
        scheme, place, path = self._address
        kind = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
        connection = kind(place, timeout=TIMEOUT)
        try:
            connection.request("POST", path, body, {**self._headers, "Content-Type": "application/x-protobuf"})
            reply = connection.getresponse()
            reply.read(1 << 16)
            return reply.status
        finally:
            connection.close()

    def _note_failure(self, why: str) -> None:
        self.failures += 1
        self._say(f"verdicts could not be sent to {self._address[1]}: {why}")


def _read_address(url: str) -> tuple[str, str, str]:
    """Scheme, host with port, and path of an address."""
    fix = "Write it as http://localhost:4318."
    try:
        to = urlsplit(url)
        port = to.port
    except ValueError:
        raise UsageError(f"--export: {url!r} is not an address.", fix=fix, slug="bad-option") from None
    if to.scheme not in ("http", "https") or not to.hostname or to.username or to.query:
        raise UsageError(f"--export: {url!r} is not an address.", fix=fix, slug="bad-option")
    path = to.path.rstrip("/")
    host = f"[{to.hostname}]" if ":" in to.hostname else to.hostname
    return to.scheme, f"{host}:{port}" if port else host, path if path.endswith(LOGS) else f"{path}{LOGS}"


def read_headers(text: str) -> dict[str, str]:
    """The headers of `a=1,b=2`, whose values may be escaped as in addresses."""
    pairs = (pair.partition("=") for pair in text.split(",") if "=" in pair)
    return {unquote(name).strip(): unquote(value).strip() for name, _, value in pairs}


def build_request(reports: Iterable[JudgementReport]) -> ExportLogsServiceRequest:
    """The reports as one request of OTLP: a log record for each rule of each conversation."""
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    request = ExportLogsServiceRequest()
    group = request.resource_logs.add()
    _set_attributes(group.resource.attributes, {"service.name": "carob-watch"})
    scope = group.scope_logs.add()
    scope.scope.name, scope.scope.version = "carob.watch", __version__
    for report in reports:
        for rule in report.rules:
            record = scope.log_records.add()
            record.time_unix_nano = record.observed_time_unix_nano = int(report.at * NANO)
            record.event_name = EVENT
            record.severity_number = WARN if rule.outcome is RuleOutcome.BROKEN else INFO
            record.trace_id, record.span_id = bytes.fromhex(report.trace), bytes.fromhex(report.span)
            _set_attributes(record.attributes, _attributes(report, rule))
    return request


def _attributes(report: JudgementReport, rule: SentVerdict) -> dict[str, str | float | int]:
    attributes: dict[str, str | float | int] = {
        "event.name": EVENT,
        "gen_ai.evaluation.name": rule.rule,
        "gen_ai.evaluation.score.label": rule.outcome.value,
        "gen_ai.conversation.id": report.conversation,
        "carob.judgement": f"{report.id}:{report.revision}",
        "carob.revision": report.revision,
    }
    if rule.outcome in SCORES:
        attributes["gen_ai.evaluation.score.value"] = SCORES[rule.outcome]
    if rule.why:
        attributes["gen_ai.evaluation.explanation"] = rule.why[:LONGEST_WHY]
    return attributes


def _set_attributes(pairs: object, values: Mapping[str, str | float | int]) -> None:
    for key, value in values.items():
        pair: KeyValue = pairs.add(key=key)  # type: ignore[attr-defined]
        if isinstance(value, str):
            pair.value.string_value = value
        elif isinstance(value, int):
            pair.value.int_value = value
        else:
            pair.value.double_value = value
