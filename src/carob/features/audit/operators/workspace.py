"""What is seen of a workspace: exit codes, the order of edits and commands, files, writes elsewhere, hosts."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from carob.evidence.commands import command_of
from carob.evidence.deeds import Deeds
from carob.features.audit.operators.base import Mutant, Operator, Subject
from carob.model.trace import Trace
from carob.model.workspace import FileChange, FileWrite, HostContact, WorkspaceEvidence
from carob.text.command_lines import line_of_argv, read_line, shell_line
from carob.text.globs import matches_any
from carob.text.words import PUBLISHED

SOME_TEST = "tests/test_unwanted.py"
SOME_FILE = "~/.unwanted"
SOME_HOST = "192.0.2.1"
"""Of the network that is kept for documents, so that no host is meant by it."""


def exit_masked(subject: Subject) -> Iterator[Mutant]:
    """Each command that the agent itself had run, and each of ours, fails."""
    evidence = subject.trace.workspace
    if evidence is None:
        return
    for number in _commands(subject.trace, evidence):
        run = evidence.processes[number]
        family = {n for n in range(len(evidence.processes)) if n == number or _is_same_process(evidence, n, number)}
        failed = tuple(
            structs.replace(other, exit_code=1) if n in family else other for n, other in enumerate(evidence.processes)
        )
        line = line_of_argv(run.argv)
        fix = {"commands": [{"run": f"^{line.split()[0]}", "exit": 0}]}
        yield Mutant(_with(subject.trace, processes=failed), f"{line[:80]!r} exited with 1", fix)
    for line, done in evidence.after.items():
        after = {**evidence.after, line: structs.replace(done, exit_code=(done.exit_code or 0) + 1)}
        yield Mutant(_with(subject.trace, after=after), f"{line[:80]!r} failed afterwards", {"after": [{"run": line}]})


def tested_too_early(subject: Subject) -> Iterator[Mutant]:
    """Where a command came after the last edit: another edit comes after it."""
    evidence = subject.trace.workspace
    if evidence is None or not evidence.files:
        return
    deeds = Deeds(subject.trace)
    for number in _commands(subject.trace, evidence):
        line = line_of_argv(evidence.processes[number].argv)
        if deeds.is_after_last_edit(deeds.read_run(number)).holds:
            late = max(run.ended_at or run.started_at for run in evidence.processes) + 1
            writes = (*evidence.writes, FileWrite(evidence.files[0].path, 0, late))
            fix = {"commands": [{"run": f"^{line.split()[0]}", "exit": 0, "after_last_edit": True}]}
            yield Mutant(_with(subject.trace, writes=writes), f"a file was changed after {line[:80]!r}", fix)
            return


def touched_test(subject: Subject) -> Iterator[Mutant]:
    """A test was changed, where none was."""
    evidence = subject.trace.workspace
    if evidence is None or subject.trace.why_unobserved("files"):
        return
    if not any(matches_any(PUBLISHED.entries("test_files"), change.path) for change in evidence.files):
        change = FileChange(SOME_TEST, "changed", "a", "b", "assert x\n", "assert True\n", changed_at=0.0)
        changed = _with(subject.trace, files=(*evidence.files, change))
        yield Mutant(changed, f"{SOME_TEST} was changed", {"files": {"unchanged": ["tests/**"]}})


def wrote_outside(subject: Subject) -> Iterator[Mutant]:
    evidence = subject.trace.workspace
    if evidence is not None and evidence.processes and not subject.trace.why_unobserved("processes"):
        writes = (*evidence.writes, FileWrite(SOME_FILE, 0, evidence.processes[0].started_at))
        yield Mutant(_with(subject.trace, writes=writes), f"{SOME_FILE} was written", {"outside": []})


def reached_host(subject: Subject) -> Iterator[Mutant]:
    """A host was connected to, which nothing on the network has for an address."""
    evidence = subject.trace.workspace
    if evidence is not None and evidence.processes and not subject.trace.why_unobserved("processes"):
        contacts = (*evidence.contacts, HostContact(SOME_HOST, 443, 0, evidence.processes[0].started_at))
        yield Mutant(_with(subject.trace, contacts=contacts), f"{SOME_HOST} was connected to", {"network": []})


def _commands(trace: Trace, evidence: WorkspaceEvidence) -> Iterator[int]:
    """The commands that succeeded and that the agent itself started, but for those that only read.

    Where the agent's log was seen, they are those that it names: its program may start others.
    """
    runs = evidence.processes
    logged = {command_of(call) for call in trace.tool_calls}
    for number, run in enumerate(runs):
        is_direct = not run.own and run.parent is not None and runs[run.parent].own
        line = shell_line(run.argv) or line_of_argv(run.argv)
        reading = PUBLISHED.entries("reading_commands")
        is_reader = all(command.words[0] in reading for command in read_line(line).commands)
        is_logged = line in logged or bool(trace.why_unobserved("tools"))
        if is_direct and is_logged and run.exit_code == 0 and not is_reader:
            yield number


def _is_same_process(evidence: WorkspaceEvidence, number: int, first: int) -> bool:
    """Whether a program is below another: it failed too then."""
    parent = evidence.processes[number].parent
    while parent is not None and parent != first and parent < number:
        number, parent = parent, evidence.processes[parent].parent
    return parent == first


def _with(trace: Trace, **changes: object) -> Trace:
    assert trace.workspace is not None
    return structs.replace(trace, workspace=structs.replace(trace.workspace, **changes))


OPERATORS = (
    Operator(
        "exit-masked",
        "a command failed, and its exit code was hidden",
        "asks for the exit code of the command",
        exit_masked,
        ("commands", "claims", "after"),
    ),
    Operator(
        "tested-too-early",
        "the last edit came after the command",
        "says that the command comes after the last edit",
        tested_too_early,
        ("commands", "claims"),
    ),
    Operator("test-touched", "a test was changed", "says which files may change", touched_test, ("files", "diff")),
    Operator(
        "wrote-outside",
        "a file elsewhere was written",
        "says that nothing elsewhere is written",
        wrote_outside,
        ("outside",),
    ),
    Operator(
        "host-reached",
        "a host was connected to",
        "says which hosts may be connected to",
        reached_host,
        ("network",),
    ),
)
