"""What a service answered, whole, and how it is sent to an agent."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from msgspec import Struct, field

from karat.evidence.otlp.loopback import Wire
from karat.proxy.tape.file import Answer, StreamEvent

JSON = {"content-type": "application/json"}


class ServiceReply(Struct, frozen=True):
    """A body, or the events of a stream; `headers` are those that clients act on."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    events: tuple[StreamEvent, ...] = ()

    @classmethod
    def of_json(cls, status: int, value: object, headers: Mapping[str, str] | None = None) -> ServiceReply:
        return cls(status, {**JSON, **(headers or {})}, msgspec.json.encode(value))

    @classmethod
    def of_answer(cls, answer: Answer) -> ServiceReply:
        """A recorded one."""
        return cls(answer.status, answer.headers, b"" if answer.events else answer.body, answer.events)

    @property
    def answer(self) -> Answer:
        """It, as a tape keeps it."""
        if self.events:
            return Answer(self.status, dict(self.headers), events=self.events)
        return Answer.of_body(self.status, self.headers, self.body)

    def send(self, wire: Wire, own: str, *, cut: int | None = None) -> bool:
        """Send it, a stream without its pauses; whether the connection can go on. `own` is our address of the service.

        `cut`: break off after so many events or bytes.
        """
        headers = dict(self.headers)
        if "location" in headers:
            headers["location"] = own + headers["location"]
        if self.events and cut is None:
            wire.send(head(self.status, {**headers, "connection": "close"}))
            for event in self.events:
                wire.send(event.data.encode())
            return False
        if self.events:  # in chunks, of which the last is missing: so a client knows that it is not the end
            wire.send(head(self.status, {**headers, "transfer-encoding": "chunked"}))
            for event in self.events[:cut]:
                data = event.data.encode()
                wire.send(b"%x\r\n%s\r\n" % (len(data), data))
            return False
        wire.send(head(self.status, {**headers, "content-length": str(len(self.body))}) + self.body[:cut])
        return cut is None


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """The first lines of an answer."""
    reason = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Recorded"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if not {"\r", "\n"} & {*value})
    return f"HTTP/1.1 {status} {reason}\r\n{lines}\r\n".encode("latin-1", "replace")
