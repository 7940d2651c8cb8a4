"""Commands of ours in a workspace: those that set it up, and those that look at what the agent left."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Timer

from carob.features.coding.workspaces.case_workspace import CaseWorkspace
from carob.model.workspace import AfterRun
from carob.targets.child_process import Child

OUTPUT = 1 << 14
"""So much of the end of an output is kept."""


def run_command(workspace: CaseWorkspace, line: str, environment: Mapping[str, str], seconds: float) -> AfterRun:
    """Run a line by the shell in the workspace, with a deadline; nothing of it is left running."""
    lines: list[bytes] = []
    size = 0

    def take(data: bytes) -> None:
        nonlocal size
        lines.append(data)
        size += len(data) + 1
        while size - len(lines[0]) - 1 > OUTPUT and len(lines) > 1:
            size -= len(lines.pop(0)) + 1

    argv = workspace.argv(["/bin/sh", "-c", f"{{ {line}\n}} 2>&1"], watched=False)
    child = Child(argv, workspace.folder, dict(environment))
    overran: list[bool] = []

    def stop() -> None:
        overran.append(True)
        child.stop()

    timer = Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        ended = child.run(take)
    except OSError as error:
        return AfterRun(why=f"it could not be started: {error}")
    finally:
        timer.cancel()
        workspace.end_processes()
    output = b"\n".join(lines)[-OUTPUT:].decode("utf-8", "replace") or ended.stderr
    if overran:
        return AfterRun(output=output, why=f"it took longer than {seconds:g} s")
    if stopped := workspace.why_stopped():
        return AfterRun(output=output, why=stopped)
    return AfterRun(ended.returncode, output)
