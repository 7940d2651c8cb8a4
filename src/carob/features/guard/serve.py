"""`carob guard serve`: decisions for programs in any language, over HTTP on the loopback address."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec import Struct

from carob.features.guard.conversation import GuardedConversation
from carob.features.guard.decision import Decision
from carob.features.guard.guard import Guard
from carob.system.loopback import Connection, HttpRequest, LoopbackServer, format_reply
from carob.text.wording import error_text

JSON: Final = "application/json"
DECIDE: Final = "/decide"


class AskedCall(Struct, forbid_unknown_fields=True):
    """A call that is to be made."""

    tool: str
    arguments: dict[str, Any] = {}
    id: str = ""
    message: str = ""
    parallel: bool | None = None
    beside_words: bool | None = None
    approval: str = ""


class CallReport(Struct, forbid_unknown_fields=True):
    """What came of a call that was allowed: a result, an error, or that it was not made."""

    call: str
    result: Any = None
    error: str | None = None
    success: bool | None = None
    cancelled: bool = False


class DecideRequest(Struct, forbid_unknown_fields=True):
    """What happened in a conversation since the last request, and the call to decide about."""

    conversation: str
    begin: bool = False
    """The conversation begins with this request: without it, one that is not known has a past that was not seen."""
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    results: tuple[CallReport, ...] = ()
    says: str = ""
    handoff: str = ""
    user: str = ""
    call: AskedCall | None = None


class GuardServer(ABC):
    """What asks a guard on the loopback address."""

    path = ""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._server = LoopbackServer(self._serve, "the guard")

    def open(self, port: int = 0, token: str = "") -> None:
        self._server.open(port)
        self._server.token = token or self._server.token

    def close(self) -> None:
        self._server.close()

    @property
    def url(self) -> str:
        return self._server.url + self.path

    @abstractmethod
    def _serve(self, connection: Connection, request: HttpRequest) -> bool: ...


class DecisionServer(GuardServer):
    """Answers `POST /decide`. Anything but an answer with `"allowed": true` means that the call must not be made."""

    path = DECIDE

    def _serve(self, connection: Connection, request: HttpRequest) -> bool:
        status, body = self._answer(request)
        connection.send(format_reply(status, JSON, msgspec.json.encode(body)))
        return request.keeps_alive

    def _answer(self, request: HttpRequest) -> tuple[HTTPStatus, Mapping[str, Any]]:
        if request.path != DECIDE or request.method != "POST":
            return HTTPStatus.NOT_FOUND, _refusal(f"ask with POST {DECIDE}")
        try:
            asked = msgspec.json.decode(request.body, type=DecideRequest)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            return HTTPStatus.BAD_REQUEST, _refusal(f"the request cannot be read: {error_text(error)}")
        if not asked.conversation:
            return HTTPStatus.BAD_REQUEST, _refusal("`conversation` is empty")
        try:
            conversation = self._guard.open(
                asked.conversation, is_new=asked.begin, tags=asked.tags, metadata=asked.metadata
            )
            return HTTPStatus.OK, _decide(conversation, asked)
        except Exception as error:  # noqa: BLE001 - a program that asks must get a refusal
            return HTTPStatus.INTERNAL_SERVER_ERROR, _refusal(f"the guard failed: {error_text(error)}")


def _decide(conversation: GuardedConversation, asked: DecideRequest) -> Mapping[str, Any]:
    """Take what happened, in the order in which it does happen, then decide."""
    for report in asked.results:
        if report.cancelled:
            conversation.report_cancelled(report.call)
        elif report.error is not None:
            conversation.report_error(report.call, report.error)
        else:
            conversation.report(report.call, report.result, success=report.success)
    if asked.says:
        conversation.says(asked.says)
    if asked.handoff:
        conversation.handoff(asked.handoff)
    if asked.user:
        conversation.user(asked.user)
    if asked.call is None:
        return {"kept": not conversation.trouble, "message": conversation.trouble}
    call = asked.call
    about: dict[str, Any] = {"parallel": call.parallel, "beside_words": call.beside_words, "message": call.message}
    return _as_answer(conversation.allow(call.tool, call.arguments, call=call.id, approval=call.approval, **about))


def _as_answer(decision: Decision) -> Mapping[str, Any]:
    return {
        "allowed": bool(decision),
        "verdict": decision.verdict,
        "call": decision.call,
        "message": decision.message,
        "reasons": decision.reasons,
        "observed": decision.observed,
        "approval": decision.approval,
    }


def _refusal(why: str) -> Mapping[str, Any]:
    return {"allowed": False, "verdict": "block", "message": why}
