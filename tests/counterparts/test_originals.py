"""The sets and the agent of phaa/dyno-agent as they are published, in a clone that `--from` names."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from counterparts.environments import ROOT, python_with
from scripted_model import serve

GLUE = Path(__file__).parent / "originals"
GRAPH = ("langgraph==1.2.20", "langchain==1.4.7", "langchain-openai", "langchain-aws", "langchain-google-genai")
DATABASE = ("sqlalchemy[asyncio]", "aiosqlite", "asyncpg", "langgraph-checkpoint-postgres", "psycopg[binary]")
OTHERS = (
    "python-dotenv",
    "prometheus-client",
    "python-json-logger",
    "langsmith",
    "boto3",
    "fastapi",
    "pydantic[email]",
)
TARGET = """
[targets.dyno]
use = "langgraph:{glue}/dyno_glue.py:make_graph"
python_path = ["{app}"]
setup = "{glue}/dyno_glue.py:setup"

[targets.dyno.options]
input = {{ user_input = "{{prompt}}", user_name = "TestUser", conversation_id = "eval" }}
"""


@pytest.fixture
def dyno(pytestconfig: pytest.Config) -> Path:
    folder = pytestconfig.getoption("--from")
    clone = Path(folder).resolve() / "dyno-agent" if folder else None
    if clone is None or not clone.is_dir():
        pytest.skip("no clone: --from FOLDER, which holds phaa/dyno-agent as dyno-agent")
    return clone / "app"


@pytest.mark.parametrize(("right", "statuses"), [(True, {"PASS": 13}), (False, {"FAIL": 13})], ids=["right", "wrong"])
def test_questions_and_answers(dyno: Path, tmp_path: Path, right: bool, statuses: dict[str, int]) -> None:
    suite = dyno / "eval" / "golden_sets" / "agent_qa_v1.0.0.json"
    rules = [
        {"when": {"user": re.escape(case["input"])}, "say": "; ".join(case["expected"]) if right else "I guess so."}
        for case in json.loads(suite.read_text())
    ]
    python = python_with("dyno", "--editable", str(ROOT), *GRAPH, *DATABASE, *OTHERS)
    (tmp_path / "karat.toml").write_text(TARGET.format(glue=GLUE, app=dyno))
    with serve({"rules": rules}) as model:
        done = subprocess.run(
            [python.with_name("karat"), "run", str(suite), "--target", "dyno", "--results-dir", "runs"],
            cwd=tmp_path,
            env={**os.environ, "OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": "none"},
            capture_output=True,
            text=True,
        )
        assert model.unmatched == []
    journals = [*(tmp_path / "runs").glob("*Z.jsonl")]
    assert journals, done.stdout + done.stderr
    records = [json.loads(line) for line in journals[0].read_text().splitlines()]
    assert Counter(record["verdict"]["status"] for record in records if "verdict" in record) == statuses
