"""What became of the files, processes and hosts around a coding agent: its deeds, whatever it says of them."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

Change = Literal["created", "changed", "deleted"]

TMPDIR: Final = "$TMPDIR"
IN_HOME: Final = "~/"
"""What paths below the agent's own HOME begin with; those of the workspace are relative to it."""


class FileChange(Struct, frozen=True, omit_defaults=True):
    """A file that is not what it was before. `before` and `after` are digests; of a link, where it leads."""

    path: str
    change: Change
    before: str = ""
    after: str = ""
    before_text: str | None = None
    after_text: str | None = None
    why_no_text: str = ""
    """Why the lines of it cannot be compared: it is not text, or too large."""
    changed_at: float | None = None
    """When the system last noted a change of it; None of what is no longer there."""


class ProcessRun(Struct, frozen=True, omit_defaults=True):
    """One program from its start to its end. A process that becomes another program is two runs with one end."""

    argv: tuple[str, ...]
    pid: int
    parent: int | None = None
    """The index of the run that started it, or that it replaced."""
    started_at: float = 0.0
    ended_at: float | None = None
    exit_code: int | None = None
    """Below 0: the signal that killed it. None: its end was not seen."""
    replaced: bool = False
    """Another program took its place, whose end is its own."""
    own: bool = False
    """It is the agent itself."""
    program: str = ""
    """Where its program is, named like writes, if that is among what the agent may change; TMPDIR for all of that."""
    folder: str = ""
    """Where it began, if that is not the workspace."""


class FileWrite(Struct, frozen=True, omit_defaults=True):
    """The latest write of a run to a path: relative in the workspace, with ~/ in HOME, else absolute."""

    path: str
    run: int
    at: float


class HostContact(Struct, frozen=True, omit_defaults=True):
    """A host that a run connected to, or tried to."""

    address: str
    port: int
    run: int
    at: float


class AfterRun(Struct, frozen=True, omit_defaults=True):
    """How a command of the suite came out that was run in the workspace when the agent was done."""

    exit_code: int | None = None
    output: str = ""
    why: str = ""
    """Why it has no exit code."""


class FoundFile(Struct, frozen=True, omit_defaults=True):
    """A file at the end that a check asked for. `text` of None: `why` says why there is none."""

    path: str
    text: str | None = None
    why: str = ""


class WorkspaceEvidence(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What was seen in the workspace of a case. What was not, and why, says `unobserved` of the trace."""

    files: tuple[FileChange, ...] = ()
    home_files: tuple[FileChange, ...] = ()
    found: dict[str, tuple[FoundFile, ...]] = {}
    """By each pattern that a check asks for, the files that there are at the end."""
    processes: tuple[ProcessRun, ...] = ()
    writes: tuple[FileWrite, ...] = ()
    contacts: tuple[HostContact, ...] = ()
    names: dict[str, tuple[str, ...]] = {}
    """The addresses of the hosts that a check names."""
    resolvers: tuple[str, ...] | None = None
    """The addresses by which this machine looks up names; None: they were not noted."""
    own_files: tuple[str, ...] = ()
    """What the agent's program writes below HOME by itself, as the configuration says."""
    after: dict[str, AfterRun] = {}


def clear_evidence(evidence: WorkspaceEvidence) -> WorkspaceEvidence:
    """The workspace of an agent that did nothing at all in it."""
    return WorkspaceEvidence(
        found=dict.fromkeys(evidence.found, ()),
        processes=tuple(run for run in evidence.processes if run.own)[:1],
        names=evidence.names,
        resolvers=evidence.resolvers,
        own_files=evidence.own_files,
        after={line: AfterRun(NOT_THERE) for line in evidence.after},
    )


NOT_THERE: Final = 127
"""The exit code of a shell that finds no such command."""
