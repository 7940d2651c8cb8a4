"""A small model as the judge of public answers that people labelled: HaluEval's general part, what it earns here."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from carob.cli.main import run
from carob.criteria.decide import LabelReader
from carob.features.labels.items import read_items
from carob.features.labels.session import LabelSession
from carob.journal.reader import Journal
from carob.plugins.project import find_project

SAYS = "states only what is true, and makes nothing up"
OF_EACH = 30
"""So many answers that people found good, and so many that they found made up."""
SHORT = range(20, 260)
CONFIG = """\
[targets.chat]
use = "replay:traces.jsonl"
agent = "chatgpt"
[judge]
model = {model}
base_url = {address}
max_asks = {asks}
concurrency = 1
timeout = 600
"""


def read_answers(clone: Path) -> Iterator[Mapping[str, str]]:
    """Short answers of ChatGPT, the first of each kind."""
    lines = (clone / "data" / "general_data.json").read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if len(row["chatgpt_response"]) in SHORT]
    for label in ("yes", "no"):
        of_kind = (row for row in rows if row["hallucination"] == label)
        yield from sorted(of_kind, key=lambda row: int(row["ID"]))[:OF_EACH]


def judge_answers(clone: Path, folder: Path, address: str, model: str) -> None:
    """Label the answers as HaluEval's people did, ask the model about each, and print what it has earned."""
    answers = list(read_answers(clone))
    cases: list[dict[str, Any]] = [
        {"id": row["ID"], "prompt": row["user_query"], "expected": {"meets": [SAYS]}} for row in answers
    ]
    traces = [
        {"case_id": row["ID"], "input": row["user_query"], "final_message": row["chatgpt_response"]} for row in answers
    ]
    config = CONFIG.format(model=json.dumps(model), address=json.dumps(address), asks=len(answers))
    (folder / "carob.toml").write_text(config)
    (folder / "suite.json").write_text(json.dumps({"carob": 1, "cases": cases}))
    (folder / "traces.jsonl").write_text("".join(f"{json.dumps(trace)}\n" for trace in traces))
    os.chdir(folder)
    run(["run", "suite.json", "--target", "chat", "-q"])
    [journal] = (folder / "carob-results").glob("*.jsonl")
    truth = {row["ID"]: row["hallucination"] for row in answers}
    session = LabelSession(read_items([Journal(journal)]), LabelReader(find_project(folder)), "halueval")
    while (item := session.next()) is not None:
        session.label(item, "met" if truth[item.case] == "no" else "not met")
    run(["rescore", str(journal), "--judge", "-q"])
    run(["label", "--status"])
