"""Reading a suite: Carob 1 beside an eval set of the same content, the YAML parser, and a promptfoo configuration."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import yaml

from benchmarks.compare import Files, Plan
from benchmarks.measure import REPOSITORY, environment, turn_about
from benchmarks.ours import CAROB, suite
from benchmarks.tables import Commands, Goal
from benchmarks.workload import write_carob_1

EVAL_SET, JSON, YAML, PARSER = "eval set in JSON", "Carob 1 in JSON", "Carob 1 in YAML", "the YAML parser alone"
MOST_TIMES_EVAL_SET = 1.2
MOST_TIMES_PARSER_AND_JSON = 1.5
MOST_TIMES_CONVERTED = 2.0
PROMPTFOO, CONVERTED = "promptfoo in JSON", "converted to Carob 1, in JSON"
PARSE = "import sys, yaml; [None for _ in yaml.parse(open(sys.argv[1]), Loader=getattr(yaml, 'CLoader', yaml.Loader))]"


def section(plan: Plan) -> Commands:
    """`carob lint --errors-only` of the largest suite in each spelling."""
    files = Files(plan.scratch, max(plan.sizes))
    in_json = files.file("carob-1.json", lambda path: write_carob_1(path, files.cases))
    in_yaml = files.file("carob-1.yaml", lambda path: _converted(in_json, path))
    promptfoo = files.file("promptfooconfig.json", lambda path: _write_promptfoo(path, files.cases))
    converted = files.file("converted.json", lambda path: _write_converted(promptfoo, path))
    commands = {
        EVAL_SET: (CAROB, "lint", "--errors-only", str(suite(files))),
        JSON: (CAROB, "lint", "--errors-only", str(in_json)),
        YAML: (CAROB, "lint", "--errors-only", str(in_yaml)),
        PARSER: (sys.executable, "-c", PARSE, str(in_yaml)),
        PROMPTFOO: (CAROB, "lint", "--errors-only", str(promptfoo)),
        CONVERTED: (CAROB, "lint", "--errors-only", str(converted)),
    }
    rows = turn_about(commands, plan.scratch / "read", plan.repeat)
    goals = [
        Goal("CPU of Carob 1 in JSON, times the eval set's", rows[JSON].cpu_times(rows[EVAL_SET]), MOST_TIMES_EVAL_SET),
        Goal(
            "CPU of Carob 1 in YAML, times the parser's and JSON's",
            rows[YAML].cpu_times(rows[PARSER], rows[JSON]),
            MOST_TIMES_PARSER_AND_JSON,
        ),
        Goal(
            "CPU of a promptfoo configuration, times that of its conversion",
            rows[PROMPTFOO].cpu_times(rows[CONVERTED]),
            MOST_TIMES_CONVERTED,
        ),
    ]
    return Commands(f"Reading {files.cases:,} cases", rows, goals)


def _converted(suite: Path, place: Path) -> None:
    command = [CAROB, "convert", str(suite), "-o", str(place)]
    subprocess.run(command, cwd=REPOSITORY, env=environment(place.parent, {}), check=True)


def _write_promptfoo(place: Path, cases: int) -> None:
    """Each test with variables of its own, and three assertions: fixed, filled in and negated."""
    tests = [
        {
            "description": f"order {number}",
            "vars": {"order": f"A-{number}", "name": f"Customer {number % 97}"},
            "assert": [
                {"type": "contains", "value": f"A-{number}"},
                {"type": "icontains", "value": "{{name}}"},
                {"type": "not-contains", "value": "As an AI"},
            ],
        }
        for number in range(cases)
    ]
    place.write_text(json.dumps({"prompts": ["Where is order {{order}} of {{name}}?"], "tests": tests}))


def _write_converted(promptfoo: Path, place: Path) -> None:
    in_yaml = place.with_suffix(".yaml")
    _converted(promptfoo, in_yaml)
    place.write_text(json.dumps(yaml.safe_load(in_yaml.read_text())))
