"""`carob.Guard`: the rules of a file, asked before each call of the conversations of this process."""

from __future__ import annotations

import logging
import secrets
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from carob.errors import ConfigError
from carob.features.guard.conversation import UNSEEN, Ask, GuardedConversation
from carob.features.guard.decision import Decision
from carob.features.guard.policy import GuardPolicy, Seam, load_policy
from carob.plugins.project import find_project
from carob.rules.events import Facts

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware

    from carob.features.guard.journal import GuardJournal
    from carob.features.guard.store import GuardStore

T = TypeVar("T")
KEPT_SECONDS: Final = 86_400.0
MOST_CONVERSATIONS: Final = 10_000
MOST_FORGOTTEN: Final = 100_000
SEAM: Final = "carob.features.guard.frameworks"
FORGETS: Final = "a restart forgets all conversations: a rule such as `at_most` counts from 0 again."
EXPIRED: Final = "the conversation expired"
TOO_MANY: Final = "the guard follows {:,} conversations (--max-conversations), and dropped this one for later ones"
NO_CONVERSATION: Final = (
    "the call belongs to no conversation that the guard knows. Make it within `with guard.conversation():`"
)


class Guard:
    """Holds the calls of conversations to the rules of a file, which is read once.

    It refuses to start with a file that has errors, or with rules that nothing here could ever decide.
    """

    def __init__(
        self,
        policy: str | Path | GuardPolicy,
        *,
        journal: str | Path | None = None,
        store: str | Path | None = None,
        ask: Ask | None = None,
        keep_seconds: float = KEPT_SECONDS,
        most_conversations: int = MOST_CONVERSATIONS,
        seam: Seam = "python",
    ) -> None:
        """`journal`: where decisions are written. `store`: where several processes keep what they all must know.

        `ask` is given each decision that needs a person, and says whether the call is approved.
        """
        self.policy = policy if isinstance(policy, GuardPolicy) else load_policy(policy)
        self.policy.refuse_seam(seam)
        if journal is not None or store is not None:
            find_project()  # what is written must lose the secrets that the project names
        self._journal = None if journal is None else _open_journal(journal, self.policy)
        self._store = None if store is None else _open_store(store, keep_seconds)
        if store is None and seam == "python":
            logging.getLogger("carob.guard").info("%s Keep them with `store`.", FORGETS)
        self._ask = ask
        self._keep_seconds = keep_seconds
        self._most = most_conversations
        self._lock = threading.Lock()
        self._conversations: OrderedDict[str, GuardedConversation] = OrderedDict()
        self._forgotten: dict[str, str] = {}
        """The ids of conversations that were dropped, and why: of one that goes on the beginning is not known."""
        self._current: ContextVar[GuardedConversation | None] = ContextVar("carob_guard", default=None)
        self._nowhere = GuardedConversation(self.policy, "", journal=self._journal)
        self._nowhere.end(NO_CONVERSATION)

    @contextmanager
    def conversation(
        self, id: str = "", *, user: str = "", tags: Sequence[str] = (), metadata: Mapping[str, Any] | None = None
    ) -> Iterator[GuardedConversation]:
        """What happens within it belongs to this conversation, which begins, or goes on if its id is known."""
        conversation = self.open(id or secrets.token_hex(12), is_new=True, tags=tags, metadata=metadata)
        if user:
            conversation.user(user)
        token = self._current.set(conversation)
        try:
            seam = sys.modules.get(SEAM)  # where it was not loaded, no framework is watched
            with seam.tools_of(conversation) if seam is not None and seam.watches(self) else nullcontext():
                yield conversation
        finally:
            with suppress(ValueError):  # it was begun in the context of another task
                self._current.reset(token)
            if not id:
                conversation.end()
                self._conversations.pop(conversation.id, None)

    def open(
        self, id: str, *, is_new: bool = False, tags: Sequence[str] = (), metadata: Mapping[str, Any] | None = None
    ) -> GuardedConversation:
        """The conversation with this id. If it is not known and `is_new` is not set, its beginning was not seen."""
        with self._lock:
            self._drop_expired()
            conversation = self._conversations.get(id)
            if conversation is None:
                facts = Facts(tuple(tags), dict(metadata or {}))
                is_new = is_new and id not in self._forgotten
                if self._store is not None:
                    known = self._store.find(id)
                    is_new = is_new if known is None else not known.is_expired
                    facts = facts if known is None else known.facts
                    self._store.begin(id, facts)
                conversation = self._conversations[id] = GuardedConversation(
                    self.policy,
                    id,
                    facts=facts,
                    log=self._store,
                    journal=self._journal,
                    ask=self._ask,
                    is_new=is_new,
                    unseen=self._forgotten.get(id, UNSEEN),
                )
            self._conversations.move_to_end(id)
            return conversation

    def knows(self, id: str) -> bool:
        """Whether a conversation with this id began, here or in the store."""
        if id in self._conversations or id in self._forgotten:
            return True
        return self._store is not None and self._store.find(id) is not None

    def user(self, text: str) -> None:
        """The user of the current conversation said this."""
        self.current.user(text)

    def allow(self, tool: str, arguments: Mapping[str, Any] | None = None, **about: Any) -> Decision:
        """Decide about a call of the current conversation."""
        return self.current.allow(tool, arguments, **about)

    @overload
    def tool(self, function: T, *, name: str = "", strict: bool = False) -> T: ...

    @overload
    def tool(self, *, name: str = "", strict: bool = False) -> Callable[[T], T]: ...

    def tool(self, function: Any = None, *, name: str = "", strict: bool = False) -> Any:
        """The function, or the tool of a framework, as one of whatever conversation is current when it is called.

        Raises UsageError where it has no name that a person wrote, and with `strict` where no rule names it.
        """
        from carob.features.guard.frameworks import guard_tool  # it loads the seam, which few need

        if function is None:
            return partial(self.tool, name=name, strict=strict)
        return guard_tool(function, name, lambda: self.current, self.policy, strict=strict)

    @contextmanager
    def frameworks(self) -> Iterator[None]:
        """Ask before calls of tools of LangChain, OpenAI Agents, pydantic-ai and the others of docs/faults.md."""
        from carob.features.guard.frameworks import guard_frameworks

        with guard_frameworks(self):
            yield

    def middleware(self) -> AgentMiddleware[Any, Any, Any]:
        """A middleware for one agent of LangChain's `create_agent`, in place of `frameworks()`.

        Raises ConfigError where LangChain is not installed.
        """
        try:
            from carob.features.guard.langchain import GuardMiddleware
        except ImportError as error:
            message = f"the middleware is for LangChain's create_agent: {error}."
            raise ConfigError(message, fix="Install langchain 1.0 or later.", slug="missing-extra") from None
        return GuardMiddleware(lambda: self.current)

    def needs_approval(self, tool: str) -> Callable[[Any, dict[str, Any], str], Awaitable[bool]]:
        """For `needs_approval=` of a tool of OpenAI's Agents SDK: whether a rule asks for a person."""

        async def ask(context: Any, arguments: dict[str, Any], call: str) -> bool:
            return self.current.needs_approval(tool, arguments, call)

        return ask

    @property
    def current(self) -> GuardedConversation:
        """The conversation of this task; outside of all, one in which every call that a rule names is refused."""
        return self._current.get() or self._nowhere

    @property
    def is_in_conversation(self) -> bool:
        """Whether this task is within a conversation."""
        return self._current.get() is not None

    def close(self) -> None:
        """Close its files."""
        if self._journal is not None:
            self._journal.close()
        if self._store is not None:
            self._store.close()

    def _drop_expired(self) -> None:
        """Forget conversations that nothing happened in for long, and the oldest of too many."""
        now = time.monotonic()
        while self._conversations:
            oldest = next(iter(self._conversations.values()))
            is_late = now - oldest.touched >= self._keep_seconds
            if len(self._conversations) < self._most and not is_late:
                return
            why = EXPIRED if is_late else TOO_MANY.format(self._most)
            oldest.end(why)
            del self._conversations[oldest.id]
            self._forgotten[oldest.id] = why
            if len(self._forgotten) > MOST_FORGOTTEN:
                del self._forgotten[next(iter(self._forgotten))]


def _open_journal(path: str | Path, policy: GuardPolicy) -> GuardJournal:
    from carob.features.guard.journal import GuardHeader, GuardJournal  # few guards write decisions down

    return GuardJournal(path, GuardHeader(1, policy.sha256, tuple(rule.id for rule in policy.contract.rules)))


def _open_store(path: str | Path, kept: float) -> GuardStore:
    from carob.features.guard.store import GuardStore  # few guards share what they know

    return GuardStore(path, kept=kept)
