"""One run of a case as the proxy serves it: its recordings, its traffic with models, its stubs and faults."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from karat.evidence.models.traffic import ModelTraffic
from karat.proxy.faults.injection import ToolFault
from karat.proxy.faults.world import CaseWorld
from karat.proxy.tape.player import CaseOnTape


class CaseSession:
    """Requests of it come from any thread, also while the case is being judged."""

    def __init__(
        self,
        on_tape: CaseOnTape | None = None,
        traffic: ModelTraffic | None = None,
        world: CaseWorld | None = None,
    ) -> None:
        self.on_tape = on_tape
        self.traffic = traffic
        self.world = world
        self.over = threading.Event()
        """Set once the case is over: what still waits for it need not."""
        self.requests = 0
        self.waiting: dict[tuple[str, str], ToolFault] = {}
        """What is to be done to calls that servers over stdio are being asked for."""
        self._open = 0
        self._lock = threading.Lock()

    @contextmanager
    def serving(self) -> Iterator[None]:
        """While a request is being served."""
        with self._lock:
            self.requests += 1
            self._open += 1
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1

    @property
    def is_busy(self) -> bool:
        return self._open > 0
