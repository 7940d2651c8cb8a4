"""Conversations judged one after the other, by this process or by several; in order, with little in memory."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Final

from carob.evidence.conversation_events import read_conversation
from carob.evidence.exports.record import RecordedConversation
from carob.features.check.model import Outcomes
from carob.journal.parallel import WorkerGoneError
from carob.judging.judges import ConversationJudge
from carob.rules.events import RuleOutcome, RuleVerdict
from carob.system.portable import start_method

CHUNK: Final = 128
"""So many conversations are sent to a process at once."""
STEP: Final = 16
"""So many are read, then put in order, then judged: each step is faster while its code is in the processor's cache."""
AHEAD: Final = 3
"""So many chunks wait for each process."""
_NOT_TRIGGERED: Final = RuleOutcome.NOT_TRIGGERED
_in_process: list[ConversationJudge] = []
"""The judge of a process that shares the work."""


def judge_in_steps(
    judge: ConversationJudge, conversations: Iterable[RecordedConversation]
) -> Iterator[tuple[RecordedConversation, Outcomes]]:
    """Each conversation, with the rules that something in it triggered, and how they came out."""
    source = iter(conversations)
    while some := list(islice(source, STEP)):
        events = [read_conversation(conversation.trace) for conversation in some]
        verdicts = [
            judge.judge_events(each, conversation.trace, conversation.tags, conversation.metadata)
            for each, conversation in zip(events, some, strict=True)
        ]
        yield from zip(some, map(_list_triggered, verdicts), strict=True)


def _list_triggered(verdicts: list[RuleVerdict]) -> Outcomes:
    return [pair for pair in enumerate(verdicts) if pair[1].outcome is not _NOT_TRIGGERED]


def judge_in_order(
    judge: ConversationJudge, conversations: Iterable[RecordedConversation], workers: int
) -> Iterator[tuple[RecordedConversation, Outcomes]]:
    """Each conversation with its outcomes. This process reads them; with workers, those judge."""
    if workers < 2:
        yield from judge_in_steps(judge, conversations)
        return
    context = multiprocessing.get_context(start_method())
    waiting: deque[tuple[list[RecordedConversation], Future[bytes]]] = deque()
    source = iter(conversations)
    # This process reads, which is about half of the work.
    pool = ProcessPoolExecutor(workers - 1, mp_context=context, initializer=_start_process, initargs=(judge,))
    try:
        while chunk := list(islice(source, CHUNK)):
            waiting.append((chunk, pool.submit(_judge_chunk, pickle.dumps(chunk, pickle.HIGHEST_PROTOCOL))))
            if len(waiting) > AHEAD * workers:
                yield from _take(waiting.popleft())
        while waiting:
            yield from _take(waiting.popleft())
    except BrokenProcessPool:
        fix = "Try again, or with --workers 1."
        raise WorkerGoneError("a scoring process ended unexpectedly.", fix=fix) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _take(
    chunk: tuple[Sequence[RecordedConversation], Future[bytes]],
) -> Iterator[tuple[RecordedConversation, Outcomes]]:
    conversations, future = chunk
    outcomes: list[Outcomes] = pickle.loads(future.result())
    yield from zip(conversations, outcomes, strict=True)


def _start_process(judge: ConversationJudge) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that reads says when it is over
    _in_process.append(judge)


def _judge_chunk(data: bytes) -> bytes:
    conversations: list[RecordedConversation] = pickle.loads(data)
    judged = judge_in_steps(_in_process[0], conversations)
    return pickle.dumps([outcomes for _, outcomes in judged], pickle.HIGHEST_PROTOCOL)
