"""Screenshots and the like: a trace names them relative to the folder of its journal."""

from __future__ import annotations

import posixpath
from os import path

from msgspec import structs

from karat.model.trace import Trace


def way(old: str, new: str) -> str:
    """How the folder of one file is reached from that of another; empty if it is the same."""
    relative = path.relpath(path.dirname(old) or ".", path.dirname(new) or ".")
    return "" if relative == "." else relative.replace(path.sep, "/")


def move_attachments(trace: Trace, along: str) -> Trace:
    """The trace with attachment paths relative to a journal in another folder. `along`: the path from there."""
    if not along or not (trace.attachments or trace.turns):
        return trace
    reached = {name: posixpath.normpath(posixpath.join(along, file)) for name, file in trace.attachments.items()}
    return structs.replace(
        trace, attachments=reached, turns=tuple([move_attachments(turn, along) for turn in trace.turns])
    )
