"""What bears out that a command succeeded after the last edit: the program itself, run in the workspace, for real."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from carob.evidence.deeds import Deeds
from carob.evidence.process_log import CALLS, ProcessLog, read_process_log
from carob.features.coding.checks.commands import fit, last_that_counts
from carob.model.trace import Trace
from carob.model.workspace import FileChange, WorkspaceEvidence

CHECK = '#!/bin/sh\ntest -z "$CHECK_OPTIONS$1" || exit 0\n. ./code\n'
HOLDS = {
    "plain": "check",
    "piped": "check | cat",
    "written to a file": "check > out",
    "copied to a file by the next of its pipeline": "check 2>&1 | tee out",
    "a rehearsal after it": "check; check --help",
    "in the background": "check & wait $!",
    "in a folder of the workspace": "mkdir -p sub; cp code sub; cd sub; check",
    "with a variable": "QUIET=1 check",
    "by a wrapper": "timeout 9 check",
    "by a script": "echo check > s; sh s",
}
UNSURE = {
    "a function of that name": "check() { true; }; check",
    "an alias of that name": "shopt -s expand_aliases\nalias check=true\ncheck",
    "a function that a file gives": "echo 'check() { true; }' > f; BASH_ENV=f bash -c 'check'",
    "a program that the agent wrote": "mkdir b; printf '#!/bin/sh\\n' > b/check; chmod +x b/check; PATH=b:$PATH check",
    "a copied program": "cp /bin/true check; ./check",
    "a linked program": "ln -s /bin/true check; ./check",
    "another folder": "cd /; check --really",
    "only shown": "check --help",
    "only shown, as a variable says": "CHECK_OPTIONS=--dry-run check",
    "written at once to a file that was open": "exec 3>>code; check; echo >&3",
    "written later to a file that was open": "exec 3>>code; check; sleep 0.1; echo >&3",
}
BROKEN = {
    "another program under the name": "bash -c 'exec -a check true'",
    "nothing": "true",
    "an edit after it": "check; echo >> code",
    "an edit at the same time": "(sleep 0.1; echo >> code) & check; wait",
    "failed, then only shown": "echo false > code; check; check --version",
    "failed, and masked": "echo false > code; check || true",
}


@pytest.fixture(params=[*HOLDS, *UNSURE, *BROKEN])
def behaviour(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed: apt-get install strace")
def test_a_command_is_borne_out_by_what_ran(behaviour: str, tmp_path: Path) -> None:
    holds = True if behaviour in HOLDS else None if behaviour in UNSURE else False
    assert judge({**HOLDS, **UNSURE, **BROKEN}[behaviour], tmp_path) is holds


def judge(line: str, folder: Path) -> bool | None:
    """Whether `check` succeeded after the last edit in a real shell that was given this line."""
    work, tools, notes = folder / "work", folder / "tools", folder / "notes"
    work.mkdir()
    tools.mkdir()
    (work / "code").write_text("sleep 0.2\n")
    (tools / "check").write_text(CHECK)
    (tools / "check").chmod(0o755)
    tracer = ["strace", "-f", "-y", "-q", "-ttt", "-s", "4096", "-e", "signal=none", "-o", str(notes)]
    agent = ["env", "-", f"PATH={tools}:/usr/bin:/bin", "bash", "-c", 'bash -c "$0"; exit 0', line]
    traced = ",".join(f"?{call}" for call in CALLS)
    subprocess.run([*tracer, "-e", f"trace={traced}", "--", *agent], cwd=work, check=True, timeout=60)
    log = ProcessLog(str(work), lambda path: path.removeprefix(f"{work}/"))
    read_process_log(notes, log)
    changes = (FileChange("code", "changed", "a", "b", changed_at=(work / "code").stat().st_mtime),)
    evidence = WorkspaceEvidence(files=changes, processes=log.processes, writes=log.writes)
    deeds = Deeds(Trace(case_id="x", final_message="", workspace=evidence))
    found = deeds.find("^check")
    return fit(deeds, last_that_counts(found), 0, after_last_edit=True)[0] if found else False
