"""Projects that bring their own sets, shaped as people have them: from `carob init` to the first right verdict."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from carob.features.setup.survey.survey import survey_folder
from cli.support import Carob, write

HERE = Path(__file__).parent
PLAIN = ("--option", "screenshots=false", "--workers", "0")
EVAL_SET = {"version": "0.1", "cases": [{"id": "A", "prompt": "p", "expected": {"telemetry": ["tool.a start"]}}]}


@pytest.fixture(autouse=True)
def no_other_agent(here: None) -> None:
    Path("agent.py").unlink()


def lay_out(project: str) -> None:
    shutil.copytree(HERE / project, ".", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


def edit(path: str, before: str, after: str) -> None:
    text = Path(path).read_text()
    assert text.count(before) == 1
    Path(path).write_text(text.replace(before, after))


def test_eval_sets_of_a_live_app_are_judged_at_once(carob: Carob) -> None:
    lay_out("board")
    ran = carob("init", "--yes")
    assert ran.statuses == {"G1": "PASS", "G2": "FAIL", "G3": "PARTIAL"}  # the app never removes a card
    assert "expected  0 heading 'GitHub'" in ran.out
    assert "The board shows one card." in ran.out
    target = tomllib.loads(Path("carob.toml").read_text())["targets"]["app"]
    assert target["use"] == "browser:app"
    assert target["options"] == {
        "start": "{python} server.py --port {port}",
        "start_env": {"TELEMETRY_LOG_PATH": "{log}"},
        "chat_box": {"role": "textbox", "name": "Ask the assistant"},
        "complete": {"spinner": ".typing"},
        "answer": {"selector": ".said-assistant"},
        "telemetry": {"end_source": "turn", "end_event": "end"},
    }
    runs = [
        step.get("run", "")
        for step in yaml.safe_load(Path(".github/workflows/carob.yml").read_text())["jobs"]["carob"]["steps"]
    ]
    (line,) = [run for run in runs if run.startswith("carob run")]
    assert re.findall(r"[\w-]+\.v0\.\d\.json", line) == sorted(
        path.name for path in Path(".claude/evals").glob("*.json")
    )
    sentence = '"The board shows one card." = '
    edit(
        "carob.toml",
        f'# {sentence}[{{ role = "...", name = "..." }}] # G3',
        f'{sentence}[{{ role = "region", min = 1, max = 1 }}]',
    )
    sets = sorted(map(str, Path(".claude/evals").glob("*.json")))
    right = {"G1": "PASS", "G2": "FAIL", "G3": "PASS", "SYN1": "PASS", "MB1": "PASS"}
    assert carob("run", *sets, *PLAIN).statuses == right


def test_the_answer_is_in_the_chat_though_the_page_changes_more(carob: Carob) -> None:
    """Neither has a role: the chat is what scrolls around the prompt."""
    lay_out("board")
    options = ("-o", "start={python} server.py --port {port}", "--prompt", "Add GitHub")
    ran = carob("init", "--inspect", "browser:app", *options)
    assert tomllib.loads(ran.out)["targets"]["app"]["options"]["answer"] == {"selector": ".said-assistant"}


def test_golden_sets_of_a_graph_with_a_context_need_one_edit(carob: Carob) -> None:
    lay_out("fleet")
    sets = sorted(map(str, Path("eval/golden_sets").glob("*.json")))
    alone = carob("run", *sets, "--target", "langgraph:graph.py:graph", *PLAIN[2:])
    assert (alone.code, alone.out, alone.err.count("\n")) == (4, "", 1)
    assert "needs a context, and the target gives it none. Name a `setup` hook that returns user_id, fleet" in alone.err
    assert carob("init", "--yes").statuses == {"reserve_ok": "FAIL", "reserve_unknown": "PASS"}
    edit("carob_hooks.py", '"fleet": {}', '"fleet": {"42": "AWD"}')
    ran = carob("run", *sets, "--workers", "1")  # a process of its own: the hook was loaded here
    assert ran.statuses == {"reserve_ok": "PASS", "reserve_unknown": "PASS", "basis": "PASS"}


@pytest.mark.parametrize(
    ("files", "use", "options"),
    [
        pytest.param(
            {
                "package.json": '{"scripts": {"dev": "next dev"}}',
                "lib/log.ts": "process.env.TELEMETRY_LOG_PATH ?? 'a.jsonl'",
            },
            "browser:app",
            {"start": "npm run dev", "start_env": {"PORT": "{port}", "TELEMETRY_LOG_PATH": "{log}"}},
            id="a-node-app-that-takes-the-variable",
        ),
        pytest.param(
            {
                "package.json": '{"scripts": {"dev": "vite"}, "devDependencies": {"vite": "6"}}',
                "scripts/run-min-evals.sh": 'LOG="${TELEMETRY_LOG_PATH:-.data/telemetry.jsonl}"',
            },
            "browser:app",
            {"start": "npm run dev -- --port {port}", "telemetry": {"log": ".data/telemetry.jsonl"}},
            id="the-default-of-the-runner",
        ),
        pytest.param(
            {"Procfile": "web: gunicorn web:app --bind 0.0.0.0:$PORT\n", ".env": "TELEMETRY_LOG_PATH=var/log.jsonl\n"},
            "browser:app",
            {"start": "{python} -m gunicorn web:app --bind 0.0.0.0:{port}", "telemetry": {"log": "var/log.jsonl"}},
            id="a-procfile-and-env",
        ),
        pytest.param(
            {".claude/evals/results/minimum-eval-results-1.json": '{"telemetry_log": "/var/log/app.jsonl"}'},
            "browser:http://127.0.0.1:8000/",
            {"telemetry": {"log": "/var/log/app.jsonl"}},
            id="only-earlier-results",
        ),
    ],
)
def test_a_live_app_is_found(files: dict[str, str], use: str, options: dict[str, Any]) -> None:
    write(".claude/evals/minimum-eval-set.v0.1.json", json.dumps(EVAL_SET))
    for path, text in files.items():
        write(path, text)
    agent = survey_folder(Path(), {}).agents[0]
    assert (agent.use, agent.options) == (use, options)


@pytest.mark.parametrize(
    ("path", "text", "log"),
    [
        ("scripts/evals.sh", 'log="${TELEMETRY_LOG_PATH:-$ROOT/.data/t.jsonl}"', ".data/t.jsonl"),
        ("scripts/evals.sh", "export TELEMETRY_LOG_PATH=t.log\n", "t.log"),
        (".env.example", "TELEMETRY_LOG_PATH=./var/t.jsonl\n", "./var/t.jsonl"),
        ("log.py", 'open(os.environ.get("TELEMETRY_LOG_PATH", "logs/t.jsonl"))', "logs/t.jsonl"),
        ("log.py", 'os.environ["TELEMETRY_LOG_PATH"]', ""),
        ("log.ts", "process.env.TELEMETRY_LOG_PATH || path.join(process.cwd(), 'logs', 't.jsonl')", "logs/t.jsonl"),
        ("log.ts", "const to = process.env.TELEMETRY_LOG_PATH ?? fallback(options.name)", ""),
    ],
)
def test_the_log_is_where_the_project_says(path: str, text: str, log: str) -> None:
    write(".claude/evals/minimum-eval-set.v0.1.json", json.dumps(EVAL_SET))
    write(path, text)
    options = survey_folder(Path(), {}).agents[0].options
    assert options == ({"telemetry": {"log": log}} if log else {})


def test_sets_that_look_at_no_app_are_asked_of_no_browser() -> None:
    expected = {"tool_calls_any": ["a"]}
    write("evals/set.json", json.dumps({"version": "0.1", "cases": [{"id": "A", "prompt": "p", "expected": expected}]}))
    assert survey_folder(Path(), {}).agents == ()
