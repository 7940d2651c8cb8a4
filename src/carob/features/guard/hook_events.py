"""What a coding agent says before and after each call of a tool, and what it is answered.

Rules are read as they were compiled when they were installed. Whatever is wrong blocks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import jiter
import msgspec
from msgspec import Struct

from carob.errors import CarobError, ConfigError
from carob.features.guard.conversation import GuardedConversation
from carob.features.guard.decision import Decision
from carob.features.guard.hook_protocol import BLOCK, OK
from carob.features.guard.journal import GuardHeader, GuardJournal
from carob.features.guard.policy import GuardPolicy, read_plain_file
from carob.features.guard.store import GuardStore
from carob.rules.events import Facts
from carob.text.tool_names import full_name, read_host_name
from carob.text.wording import error_text, visible

Host: TypeAlias = Literal["claude", "codex"]
PROBE: Final = "carob_guard_probe"
"""A tool that is always refused: by it an installation proves that it blocks."""
OPEN_PROBE: Final = "carob_guard_open_probe"
"""A tool that is always let through, once all that a decision needs was opened."""
STORE, JOURNAL = "store.sqlite", "decisions.jsonl"
BEGINNINGS: Final = ("startup", "clear")
"""How a session starts of which all is seen."""
OF_CALLS: Final = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
READERS: Final = frozenset(("Read", "Grep", "Glob", "LS", "NotebookRead", "WebSearch"))
"""Tools of the hosts that change nothing."""
PINNED: Final = "guard-changed"


class Installation(Struct, frozen=True):
    """What was installed: the rules as they were read, and the files that an agent has no business with."""

    host: Host
    policy: GuardPolicy
    protected: tuple[str, ...] = ()


class HookEvent(Struct):
    """What a host says on stdin; hosts say more."""

    hook_event_name: str
    session_id: str
    source: str = ""
    prompt: str = ""
    tool_name: str = ""
    tool_input: Any = None
    tool_response: Any = None
    tool_use_id: str = ""
    error: Any = None


class HookAnswer(NamedTuple):
    """How the hook ends."""

    code: int = OK
    error: str = ""
    output: str = ""


def answer_event(data: bytes, path: Path, pin: str) -> HookAnswer:
    """What to answer to an event. Whatever is wrong blocks."""
    try:
        installation = read_installation(path, pin)
        event = msgspec.convert(jiter.from_json(data, allow_inf_nan=False, catch_duplicate_keys=True), HookEvent)
        if not event.session_id:
            return HookAnswer(BLOCK, "the event has no session_id")
        if event.hook_event_name in OF_CALLS and not event.tool_name.strip():
            return HookAnswer(BLOCK, "the event has no tool_name")
        return _Hook(installation, path.parent).answer(event)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return HookAnswer(BLOCK, f"the event cannot be read: {error_text(error)}")
    except CarobError as error:
        return HookAnswer(BLOCK, str(error))
    except Exception as error:  # noqa: BLE001 - a traceback exits with 1, which hosts take for leave to go on
        return HookAnswer(BLOCK, f"the guard failed: {type(error).__name__}: {error_text(error)}")


def read_installation(path: Path, pin: str) -> Installation:
    """What was installed. Raises ConfigError if it is not what was pinned."""
    try:
        data = read_plain_file(path)
    except OSError as error:
        message = f"the guard's rules cannot be read: {error.strerror}."
        raise ConfigError(message, where=str(path), fix=INSTALL_AGAIN, slug=PINNED) from None
    if hashlib.sha256(data).hexdigest() != pin:
        message = "the guard's rules are not those that were installed."
        raise ConfigError(message, where=str(path), fix=INSTALL_AGAIN, slug=PINNED)
    return msgspec.json.decode(data, type=Installation)


INSTALL_AGAIN: Final = "Run `carob guard install` again, or with --remove."


class _Hook:
    """Answers one event with what is known of its session."""

    def __init__(self, installation: Installation, folder: Path) -> None:
        self._installation = installation
        self._policy = installation.policy
        self._folder = folder

    def answer(self, event: HookEvent) -> HookAnswer:
        name = event.hook_event_name
        if name == "PreToolUse":
            return self._before_call(event)
        if name in OF_CALLS:
            return self._after_call(event)
        conversation = self._open(event, begins=name == "SessionStart" and event.source in BEGINNINGS)
        if name == "UserPromptSubmit":
            conversation.user(event.prompt)
        elif name != "SessionStart":
            return HookAnswer(BLOCK, f"{visible(name)!r} is not an event that the guard is for")
        return _trouble_of(conversation)

    def _before_call(self, event: HookEvent) -> HookAnswer:
        if event.tool_name == PROBE:
            return HookAnswer(BLOCK, "the guard blocks: this call was a probe")
        if event.tool_name == OPEN_PROBE:
            return HookAnswer(BLOCK if self._open(event, begins=True).trouble else OK)
        if event.tool_name not in READERS and (file := self._find_protected(event.tool_input)):
            return HookAnswer(BLOCK, f"the call names {file}, which belongs to the guard. Leave it alone")
        tool = full_name(*read_host_name(event.tool_name))
        if not self._policy.concerns(tool):
            return HookAnswer()
        self._policy.refuse_changed()
        conversation = self._open(event)
        decision = conversation.allow(tool, _arguments(event), call=_call_id(event))
        return self._answer_with(decision) if not decision or not conversation.trouble else _trouble_of(conversation)

    def _after_call(self, event: HookEvent) -> HookAnswer:
        tool = full_name(*read_host_name(event.tool_name))
        if not self._policy.concerns(tool):
            return HookAnswer()
        conversation, call = self._open(event), (tool, _arguments(event))
        if event.hook_event_name == "PostToolUse":
            conversation.report(_call_id(event), event.tool_response, call=call)
        else:
            conversation.report_error(_call_id(event), event.error, call=call)
        return _trouble_of(conversation)

    def _answer_with(self, decision: Decision) -> HookAnswer:
        if decision.verdict == "ask" and self._installation.host == "claude":
            asked = {
                "hookEventName": "PreToolUse",
                "permissionDecision": "ask",
                "permissionDecisionReason": decision.message,
            }
            return HookAnswer(OK, output=msgspec.json.encode({"hookSpecificOutput": asked}).decode())
        return HookAnswer() if decision else HookAnswer(BLOCK, decision.message)

    def _open(self, event: HookEvent, *, begins: bool = False) -> GuardedConversation:
        store = GuardStore(self._folder / STORE)
        known = store.find(event.session_id)
        if known is None or known.is_expired:
            store.begin(event.session_id, Facts())
        header = GuardHeader(1, self._policy.sha256, tuple(rule.id for rule in self._policy.contract.rules))
        return GuardedConversation(
            self._policy,
            event.session_id,
            log=store,
            journal=GuardJournal(self._folder / JOURNAL, header),
            asks_host=self._installation.host == "claude",
            is_new=begins if known is None else not known.is_expired,
        )

    def _find_protected(self, tool_input: object) -> str:
        """A file of the guard that a call names."""
        text = msgspec.json.encode(tool_input).decode()
        return next((file for file in self._installation.protected if file in text), "")


def _trouble_of(conversation: GuardedConversation) -> HookAnswer:
    return HookAnswer(BLOCK, conversation.trouble) if conversation.trouble else HookAnswer()


def _arguments(event: HookEvent) -> Mapping[str, Any]:
    return event.tool_input if isinstance(event.tool_input, Mapping) else {"": event.tool_input}


def _call_id(event: HookEvent) -> str:
    """By what the result of a call is known; older hosts give calls no id."""
    made = msgspec.json.encode([event.tool_name, event.tool_input], order="deterministic")
    return event.tool_use_id or hashlib.sha256(made).hexdigest()
