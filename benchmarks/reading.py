"""Reading a suite: Karat 1 in JSON and in YAML beside an eval set of the same content, and beside the YAML parser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.compare import Files, Plan
from benchmarks.measure import REPOSITORY, environment, turn_about
from benchmarks.ours import KARAT, suite
from benchmarks.tables import Commands, Goal
from benchmarks.workload import write_karat_1

EVAL_SET, JSON, YAML, PARSER = "eval set in JSON", "Karat 1 in JSON", "Karat 1 in YAML", "the YAML parser alone"
MOST_TIMES_EVAL_SET = 1.2
MOST_TIMES_PARSER_AND_JSON = 1.5
PARSE = "import sys, yaml; [None for _ in yaml.parse(open(sys.argv[1]), Loader=getattr(yaml, 'CLoader', yaml.Loader))]"


def section(plan: Plan) -> Commands:
    """`karat validate` of the largest suite in each spelling."""
    files = Files(plan.scratch, max(plan.sizes))
    in_json = files.file("karat-1.json", lambda path: write_karat_1(path, files.cases))
    in_yaml = files.file("karat-1.yaml", lambda path: _converted(in_json, path))
    commands = {
        EVAL_SET: (KARAT, "validate", str(suite(files))),
        JSON: (KARAT, "validate", str(in_json)),
        YAML: (KARAT, "validate", str(in_yaml)),
        PARSER: (sys.executable, "-c", PARSE, str(in_yaml)),
    }
    rows = turn_about(commands, plan.scratch / "read", plan.repeat)
    goals = [
        Goal("CPU of Karat 1 in JSON, times the eval set's", rows[JSON].cpu_times(rows[EVAL_SET]), MOST_TIMES_EVAL_SET),
        Goal(
            "CPU of Karat 1 in YAML, times the parser's and JSON's",
            rows[YAML].cpu_times(rows[PARSER], rows[JSON]),
            MOST_TIMES_PARSER_AND_JSON,
        ),
    ]
    return Commands(f"Reading {files.cases:,} cases", rows, goals)


def _converted(suite: Path, place: Path) -> None:
    command = [KARAT, "convert", str(suite), "-o", str(place)]
    subprocess.run(command, cwd=REPOSITORY, env=environment(place.parent, {}), check=True)
