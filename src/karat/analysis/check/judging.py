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

from karat.analysis.check.judges import ConversationJudge
from karat.analysis.check.model import Outcomes
from karat.evidence.exports.record import RecordedConversation
from karat.journal.parallel import WorkerGoneError

CHUNK: Final = 128
"""So many conversations are sent to a process at once."""
AHEAD: Final = 3
"""So many chunks wait for each process."""
_in_process: list[ConversationJudge] = []
"""The judge of a process that shares the work."""


def judge_one(judge: ConversationJudge, conversation: RecordedConversation) -> Outcomes:
    """The rules that something in a conversation triggered, and how they came out."""
    verdicts = judge.judge(conversation.trace, conversation.tags, conversation.metadata)
    return [(number, verdict) for number, verdict in enumerate(verdicts) if verdict.outcome != "not_triggered"]


def judge_in_order(
    judge: ConversationJudge, conversations: Iterable[RecordedConversation], workers: int
) -> Iterator[tuple[RecordedConversation, Outcomes]]:
    """Each conversation with its outcomes. This process reads them; with workers, those judge."""
    if workers < 2:
        for conversation in conversations:
            yield conversation, judge_one(judge, conversation)
        return
    context = multiprocessing.get_context("fork")
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
    judge = _in_process[0]
    return pickle.dumps([judge_one(judge, conversation) for conversation in conversations], pickle.HIGHEST_PROTOCOL)
