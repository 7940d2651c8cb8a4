"""Loading modules and suites without the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Make many things that stay, as for `gc_frozen`, and let the collector look at them later."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def gc_frozen() -> Iterator[None]:
    """What is loaded stays to the end and leaves no garbage: the collector would look through it again and again."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
