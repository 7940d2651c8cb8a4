"""The steps of the GitHub Action (action.yml): run, compare, comment, decide.

Everything comes in by environment variables and goes out by the files that GitHub names, so each step can be run by
hand. It needs nothing but Carob, in the Python that runs it. The token of the job is used for the comment alone.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import carob

WORK = Path(".carob-action")
BASE, NEW, PAGES, COMMENT, STATE = (WORK / name for name in ("base", "new", "report", "comment.md", "state.json"))
LONGEST_COMMENT = 60_000
"""GitHub takes 65,536 characters."""
SECONDS = 30
COMMENTS_A_PAGE = 100
MOST_PAGES = 30


def given(name: str, default: str = "") -> str:
    """An input of the action."""
    return os.environ.get(f"CAROB_{name}", "").strip() or default


def suites() -> list[str]:
    """The suite files that the input names, patterns resolved."""
    return [path for word in shlex.split(given("SUITE")) for path in sorted(glob.glob(word)) or [word]]


def slug() -> str:
    """What distinguishes two uses of the action in one workflow."""
    parts = "\n".join((given("SUITE"), given("TARGET"), given("ARGS"), given("DIRECTORY")))
    return hashlib.sha256(parts.encode()).hexdigest()[:12]


def set_outputs(**values: object) -> None:
    lines = "".join(f"{name.replace('_', '-')}={value}\n" for name, value in values.items())
    with open(os.environ.get("GITHUB_OUTPUT", os.devnull), "a", encoding="utf-8") as file:
        file.write(lines)


def run_carob(*arguments: str, stdout: Any = None) -> subprocess.CompletedProcess[str]:
    """The command of the Python that runs this, else the one that the shell would find."""
    own = Path(sys.executable).with_name("carob")
    command = str(own) if own.is_file() else "carob"
    return subprocess.run([command, *arguments], stdout=stdout, text=True, encoding="utf-8", check=False)


def save_state(**values: object) -> None:
    known = json.loads(STATE.read_text()) if STATE.is_file() else {}
    STATE.write_text(json.dumps({**known, **values}))


def plan() -> None:
    """Say which run to compare with: that of the branch that a pull request goes to, else of this branch."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    branch = os.environ.get("GITHUB_BASE_REF") or os.environ.get("GITHUB_REF_NAME", "")
    safe = hashlib.sha256(branch.encode()).hexdigest()[:12]
    set_outputs(prefix=f"carob-{slug()}-{safe}-", slug=slug())


def run() -> None:
    """Run the suites. The exit code is kept for `decide`: what follows is wanted for a red run too."""
    target = ["--target", given("TARGET")] if given("TARGET") else []
    done = run_carob("run", *suites(), *target, "--results-dir", str(NEW), *shlex.split(given("ARGS")))
    save_state(run=done.returncode)
    journals = sorted(NEW.glob("*.jsonl"))
    counts = dict.fromkeys(("passed", "failed", "unknown", "error"), 0)
    for journal in journals:
        summary = carob.Journal(journal).summary
        figures = (summary.passed, summary.failed, summary.partial, summary.error)
        counts = {name: counts[name] + figure for name, figure in zip(counts, figures, strict=True)}
    if journals:
        run_carob("report", *map(str, journals), "--format", "html", "--output", f"{PAGES}/", stdout=subprocess.DEVNULL)
    set_outputs(**counts, report=PAGES if PAGES.is_dir() else "", journals=" ".join(map(str, journals)))


def compare() -> None:
    """Write the comment: each run against the one of the base branch, if that is there, and what did not pass."""
    journals = sorted(NEW.glob("*.jsonl"))
    parts = [f"<!-- carob:{slug()} -->", f"### Carob: `{given('SUITE').replace('`', '')}`"]
    gates: list[int] = []
    without_base = False
    for journal in journals:
        has_base = any(_is_base_of(base, journal) for base in BASE.glob("*.jsonl"))
        without_base = without_base or not has_base
        if has_base:
            table = WORK / "comparison.md"
            options = ["--format", "markdown", "--output", str(table), *shlex.split(given("GATE"))]
            gates.append(run_carob("compare", str(BASE), str(journal), *options).returncode)
            parts += [table.read_text("utf-8")] if table.is_file() else []
        summary = run_carob("report", str(journal), "--format", "github-summary", "-o", "-", stdout=subprocess.PIPE)
        folded = "<details><summary>The run</summary>\n\n", "\n\n</details>"
        parts += [f"{folded[0]}{summary.stdout}{folded[1]}" if has_base else summary.stdout]
    if not journals:
        parts += ["The run did not start: see the log of the job."]
    if link := _job_link():
        parts += [f"[Log of the job]({link})"]
    COMMENT.write_text("\n\n".join(parts)[:LONGEST_COMMENT], "utf-8")
    save_state(gates=gates, without_base=without_base)


def keep() -> None:
    """Keep the run of a branch: later runs and pull requests are compared with it."""
    shutil.rmtree(BASE, ignore_errors=True)
    BASE.mkdir(parents=True)
    for journal in NEW.glob("*.jsonl"):
        shutil.copy(journal, BASE)


def comment() -> None:
    """Put the comment on the pull request, in place of the last one. A token that may not do so fails nothing."""
    number = _pull_request()
    token = given("TOKEN")
    if not number or not COMMENT.is_file():
        return
    if not token:
        _notice("no token was given, so the pull request has no comment. The summary of the job has the figures.")
        return
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    issues = f"{api}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    body = COMMENT.read_text("utf-8")
    mark = body.partition("\n")[0]
    try:
        mine = (one["url"] for one in _comments(f"{issues}/{number}/comments", token) if one["body"].startswith(mark))
        if earlier := next(mine, ""):
            _request("PATCH", earlier, token, {"body": body})
        else:
            _request("POST", f"{issues}/{number}/comments", token, {"body": body})
    except urllib.error.HTTPError as error:
        # A pull request of a fork has a token that may only read.
        _notice(f"GitHub refused the comment ({error.code}): the token needs 'pull-requests: write'.")
    except (OSError, ValueError, KeyError) as error:
        _notice(f"the comment could not be written: {type(error).__name__}.")


def decide() -> int:
    """The exit code of the job: the gates of a comparison where there are some, else the run."""
    state = json.loads(STATE.read_text())
    ran = int(state["run"])
    if given("GATE") and state.get("gates") and ran in (0, 1):
        # A suite without a base has no gate: what it came to itself counts.
        return max(*state["gates"], ran) if state.get("without_base") else int(max(state["gates"]))
    return ran


def _is_base_of(base: Path, new: Path) -> bool:
    """Whether two journals are runs of one suite against one target."""
    before, after = carob.Journal(base).header, carob.Journal(new).header
    return (before.suite, before.target) == (after.suite, after.target)


def _pull_request() -> int:
    """The number of the pull request of this job; 0 for pushes and schedules."""
    try:
        event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
        return int(event["pull_request"]["number"])
    except (KeyError, OSError, ValueError, TypeError):
        return 0


def _comments(address: str, token: str) -> Iterable[dict[str, Any]]:
    for page in range(1, MOST_PAGES + 1):
        found = _request("GET", f"{address}?per_page={COMMENTS_A_PAGE}&page={page}", token)
        yield from found
        if len(found) < COMMENTS_A_PAGE:
            return


def _request(method: str, address: str, token: str, content: object = None) -> Any:
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json", "User-Agent": "carob"}
    data = None if content is None else json.dumps(content).encode()
    asked = urllib.request.Request(address, data=data, headers=headers, method=method)
    with urllib.request.urlopen(asked, timeout=SECONDS) as answer:
        return json.load(answer)


def _job_link() -> str:
    parts = [os.environ.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")]
    return f"{parts[0]}/{parts[1]}/actions/runs/{parts[2]}" if all(parts) else ""


def _notice(text: str) -> None:
    print(f"::notice title=Carob::{text}")


STEPS = {step.__name__: step for step in (plan, run, compare, keep, comment, decide)}

if __name__ == "__main__":
    sys.exit(STEPS[sys.argv[1]]())
