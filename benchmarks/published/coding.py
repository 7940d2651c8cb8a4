"""Sessions of mini-SWE-agent from the leaderboard of Terminal-Bench, read by Carob, next to the verdicts of its tests.

What was published is the recording of each terminal. The steps in it are written as the trajectory that the program
itself would have written, and read like any other; a session without a step has to be an error.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from carob.evidence.exports.reading import read_conversations
from carob.model.trace import Trace

LOG, RESULTS = "sessions/agent.log", "results.json"
AGENT = "swe-agent-mini"
SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
TASK = re.compile(r"mini -m \S+ -t ")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][^\x07]*\x07")
RETURNED = re.compile(r"<returncode>-?\d+</returncode>")
STEP = re.compile(r"\nmini-swe-agent \(step \d+, \$[\d.]+\):\n")
WAITING = re.compile(r".*Waiting for the LM to respond\.\.\.")
FENCED = re.compile(r"```bash\n.*?(?:\n```|\Z)", re.DOTALL)
SUCCESS = re.compile(r"\bsuccessfully\b|\ball (?:tests|checks|requirements)\b.{0,40}\b(?:pass|met)", re.IGNORECASE)
TESTS_PASS = re.compile(
    r"\btests? (?:are |have |now |all )*pass|\bpass(?:es|ed|ing)? (?:all )?(?:of )?(?:the )?(?:\w+ )?tests?\b",
    re.IGNORECASE,
)
TEST_RUN = re.compile(r"\b(?:pytest|unittest|run-tests|npm test|cargo test|go test|make test|tests?[/_.]|test_\w+)")


class Trial(NamedTuple):
    """One session, and whether the tests of its task passed afterwards; None if they gave no verdict."""

    name: str
    trace: Trace
    resolved: bool | None
    shown: int
    """How many return codes the terminal shows, those included that a traceback of the program repeats."""

    @property
    def codes(self) -> list[int]:
        return [call.exit_code for call in self.trace.tool_calls if call.exit_code is not None]

    @property
    def lines(self) -> list[str]:
        return [str(call.arguments.get("command")) for call in self.trace.tool_calls if call.arguments]


def read_trials(clone: Path) -> list[Trial]:
    """The sessions that have results, from a clone or its git directory."""
    listed = _git(clone, "ls-tree", "-r", "--name-only", "-z", "HEAD").decode().split("\0")
    names = set(listed)
    logs = [name for name in listed if AGENT in name and name.endswith(LOG)]
    logs = [name for name in logs if name.removesuffix(LOG) + RESULTS in names]
    contents = _read_files(clone, [*logs, *(name.removesuffix(LOG) + RESULTS for name in logs)])
    with tempfile.TemporaryDirectory(prefix="carob-published-") as scratch:
        paths = []
        for number, name in enumerate(logs):
            path = Path(scratch) / f"{number:04}.traj.json"
            path.write_text(json.dumps(read_terminal(contents[name].decode("utf-8", "replace"))), "utf-8")
            paths.append(path)
        traces = [conversation.trace for conversation in read_conversations(paths)]
    verdicts = [json.loads(contents[name.removesuffix(LOG) + RESULTS]) for name in logs]
    return [
        Trial(name, trace, verdict.get("is_resolved"), _count_shown(contents[name]))
        for name, trace, verdict in zip(logs, traces, verdicts, strict=True)
    ]


def _count_shown(recording: bytes) -> int:
    return len(RETURNED.findall(ESCAPES.sub("", recording.decode("utf-8", "replace"))))


def _git(clone: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    return subprocess.run(["git", "-C", str(clone), *arguments], input=stdin, capture_output=True, check=True).stdout


def _read_files(clone: Path, names: Sequence[str]) -> dict[str, bytes]:
    out = _git(clone, "cat-file", "--batch", stdin="".join(f"HEAD:{name}\n" for name in names).encode())
    files: dict[str, bytes] = {}
    start = 0
    for name in names:
        end = out.index(b"\n", start)
        size = int(out[start:end].split()[2])
        files[name] = out[end + 1 : end + 1 + size]
        start = end + size + 2
    return files


def read_terminal(recording: str) -> dict[str, Any]:
    """The trajectory of a session whose terminal was recorded: what the program showed of each step."""
    shown = ESCAPES.sub("", recording.replace("\r\n", "\n"))
    shown = "\n".join(line.rpartition("\r")[2] for line in shown.split("\n"))
    messages: list[dict[str, str]] = [{"role": "system", "content": ""}, {"role": "user", "content": "the task"}]
    submitted = False
    for step in STEP.split(shown)[1:]:
        said, _, given = step.partition("\nUser:\n")
        said = WAITING.sub("", said).strip()
        messages.append({"role": "assistant", "content": said})
        if "<returncode>" in given:
            messages.append({"role": "user", "content": given[given.index("<returncode>") :]})
        submitted = SUBMIT in said
    info = {"exit_status": "Submitted" if submitted else ""}
    return {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1"}


def coding_table(trials: Sequence[Trial]) -> str:
    """What the sessions hold, and what those that claim something are worth."""
    errors = [trial for trial in trials if trial.trace.error is not None]
    others = [trial for trial in trials if trial.trace.error is None]
    codes = [code for trial in others for code in trial.codes]
    lines = [
        f"{len(trials)} sessions of mini-SWE-agent with results",
        f"ERROR, no step of the agent: {len(errors)} ({_count_unresolved(errors)} recorded as unresolved)",
        f"read: {len(others)}, with {len(codes):,} return codes, {sum(map(bool, codes))} not 0 "
        f"(the terminals show {sum(trial.shown for trial in others):,})",
        "",
        "| the last words claim | sessions | with a verdict | of these unresolved | whose last return code is 0 |",
        "|---|---|---|---|---|",
        _claim_row("success", SUCCESS, others),
        _claim_row("tests pass", TESTS_PASS, others),
    ]
    claimed = [*_find_claims(TESTS_PASS, others)]
    ran = sum(any(map(TEST_RUN.search, trial.lines)) for trial in claimed)
    return "\n".join([*lines, "", f"of the {len(claimed)} that claim that tests pass, {ran} had run a test"])


def _find_claims(words: re.Pattern[str], trials: Iterable[Trial]) -> Iterator[Trial]:
    return (trial for trial in trials if words.search(FENCED.sub("", trial.trace.final_message)))


def _claim_row(name: str, words: re.Pattern[str], trials: Sequence[Trial]) -> str:
    claimed = [*_find_claims(words, trials)]
    judged = [trial for trial in claimed if trial.resolved is not None]
    share = f" ({100 * _count_unresolved(judged) / len(judged):.0f} %)" if judged else ""
    ended_well = sum(bool(trial.codes) and trial.codes[-1] == 0 for trial in judged)
    return f"| {name} | {len(claimed)} | {len(judged)} | {_count_unresolved(judged)}{share} | {ended_well} |"


def _count_unresolved(trials: Iterable[Trial]) -> int:
    return sum(trial.resolved is False for trial in trials)
