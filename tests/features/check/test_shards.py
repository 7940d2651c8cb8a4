"""Shards of a check: what comes of all of them is what one process finds, here and on a Ray cluster."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.engine.processes.messages import Refused, build_error
from carob.errors import CarobError
from carob.features.check.cluster import judge_remote
from carob.features.check.shards import ShardWork, judge_shard, split_sources
from carob.judging.judges import ConversationJudge
from cli.support import process
from engine.support import Started, until
from evidence.exports.sources import FILES
from features.check.conversations import conversation, write_lines, write_policy

NEEDS_RAY = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is an extra")


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    """A folder with files of messages, a file of Parquet, and two files of spans of the same conversations."""
    folder = tmp_path / "exports"
    folder.mkdir()
    for number in range(3):
        rows = [conversation(f"c-{number}-{n}", agreed=n % 3 > 0, user=f"u-{n % 4}") for n in range(20)]
        write_lines(folder / f"part-{number}.jsonl", rows)
    shutil.copy(FILES / "phoenix.parquet", folder / "spans.parquet")
    lines = (FILES / "openinference-otlp.jsonl").read_text().splitlines(keepends=True)
    for number, some in enumerate((lines[::2], lines[1::2])):
        (folder / f"a-{number}.jsonl").write_text("".join(some))
    write_policy(tmp_path)
    return folder


def work(tmp_path: Path, **about: Any) -> ShardWork:
    judge = carob.prepare_judge(tmp_path / "policy.carob.yaml")
    assert isinstance(judge, ConversationJudge)
    return ShardWork(judge, **about)


def rows(tmp_path: Path, exports: Path, **about: Any) -> Iterator[tuple[str, list[str]]]:
    for shard in split_sources([exports], ""):
        for part in judge_shard(work(tmp_path, **about), shard):
            for judged, outcomes in part.judged:
                yield judged.id, [verdict.outcome.value for _, verdict in outcomes]


def test_files_of_spans_are_one_shard_and_those_of_messages_are_one_each(exports: Path) -> None:
    shards = [[Path(file).name for file in shard.files] for shard in split_sources([exports], "")]
    assert shards == [["part-0.jsonl"], ["part-1.jsonl"], ["part-2.jsonl"], ["a-0.jsonl", "a-1.jsonl", "spans.parquet"]]


def test_shards_hold_each_conversation_once_as_it_is_judged_in_one_process(tmp_path: Path, exports: Path) -> None:
    judge = work(tmp_path).judge
    whole = [
        (one.id, [verdict.outcome.value for verdict in judge.judge(one.trace) if verdict.outcome != "not_triggered"])
        for one in carob.read_conversations(exports)
    ]
    assert [*rows(tmp_path, exports)] == whole
    assert len(whole) == 64


def test_a_shard_hands_over_traces_only_as_far_as_they_are_kept(tmp_path: Path, exports: Path) -> None:
    shard, *_ = split_sources([exports], "")
    for keep in (0, 2, 100):
        judged = [each for part in judge_shard(work(tmp_path, keep=keep), shard) for each, _ in part.judged]
        assert sum(bool(each.trace.tool_calls) for each in judged) == min(keep, 7)


def test_a_file_with_conversations_and_spans_is_no_shard(tmp_path: Path, exports: Path) -> None:
    file = exports / "mixed.jsonl"
    file.write_text((exports / "part-0.jsonl").read_text() + (exports / "a-0.jsonl").read_text())
    [shard] = split_sources([file], "")
    with pytest.raises(CarobError, match=r"mixed.jsonl: some rows are conversations, and others are parts"):
        [*judge_shard(work(tmp_path), shard)]


def test_an_address_is_read_like_the_folder_that_it_names(tmp_path: Path, exports: Path) -> None:
    policy = tmp_path / "policy.carob.yaml"
    by_path, by_address = (carob.check_conversations(source, policy) for source in (exports, exports.as_uri()))
    assert by_address.sources == (exports.as_uri(),)
    assert (by_address.judged, by_address.broken, by_address.formats) == (64, by_path.broken, by_path.formats)
    examples = [example.source for rule in by_address.rules for example in rule.first]
    assert examples
    assert all(source.startswith(f"{exports.as_uri()}/") for source in examples)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("file://{}/nothing", "it cannot be read: there is no such file or folder"),
        ("file://{}/torn.parquet", "not a whole Parquet file"),
        ("file://{}/mlflow.db", "a database of SQLite is read from a file of this machine alone"),
        ("nowhere://bucket/exports", "it cannot be read: Unrecognized filesystem type"),
    ],
)
def test_an_address_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path, address: str, words: str) -> None:
    (tmp_path / "torn.parquet").write_bytes((FILES / "phoenix.parquet").read_bytes()[:9_000])
    shutil.copy(FILES / "mlflow.db", tmp_path)
    named = address.format(tmp_path)
    with pytest.raises(CarobError) as raised:
        [*carob.read_conversations(named)]
    assert str(raised.value).startswith(f"{named}: {words}")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"executor": "cluster"}, "'cluster' is not an executor. Use processes or ray."),
        ({"executor": "ray", "sources": "-"}, "a Ray cluster cannot read standard input."),
    ],
)
def test_what_cannot_be_done_is_refused(tmp_path: Path, exports: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(CarobError) as raised:
        carob.check_conversations(**{"sources": exports, "rules": tmp_path / "policy.carob.yaml", **options})
    assert words in str(raised.value)


@NEEDS_RAY
@pytest.mark.thorough
def test_a_cluster_finds_what_one_process_finds(tmp_path: Path, exports: Path) -> None:
    """Figures, examples, verdicts and the journal, with one worker and with two."""
    outcomes: list[Any] = []
    for options in ((), ("--executor", "ray", "--workers", "1"), ("--executor", "ray", "--workers", "2")):
        outputs = [tmp_path / f"found-{len(outcomes)}{suffix}" for suffix in (".json", ".parquet", ".jsonl")]
        files = [part for path in outputs for part in ("-o", str(path))]
        ended = process("check", str(exports), "--rules", "policy.carob.yaml", *files, *options, cwd=tmp_path)
        assert ended.returncode == 1, ended.stderr
        figures = {**json.loads(outputs[0].read_text()), "seconds": 0}
        records = [json.loads(line) for line in outputs[2].read_text().splitlines()][1:-1]
        outcomes.append((figures, outputs[1].read_bytes(), records, ended.stdout))
    assert outcomes[0] == outcomes[1] == outcomes[2]


@NEEDS_RAY
@pytest.mark.thorough
def test_a_sample_is_the_same_on_a_cluster(tmp_path: Path, exports: Path) -> None:
    figures = []
    for number, options in enumerate([(), ("--executor", "ray")]):
        path = tmp_path / f"{number}.json"
        chosen = ("--sample", "9", "--since", "2020-01-01", "--rules", "policy.carob.yaml", "-o", str(path))
        process("check", str(exports), *chosen, *options, cwd=tmp_path)
        figures.append({**json.loads(path.read_text()), "seconds": 0})
    assert figures[0] == figures[1]
    assert figures[0]["selected"]["no_time"] == 60


def process_ids(*how: str) -> list[int]:
    return [int(line) for line in subprocess.run(["pgrep", *how], capture_output=True, check=False).stdout.split()]


@NEEDS_RAY
@pytest.mark.thorough
def test_a_cluster_that_is_lost_in_the_middle_is_an_error_and_leaves_no_report(tmp_path: Path) -> None:
    """Ray ends a process with exit code 1, and without a word, when it reads from a node that is gone."""
    write_policy(tmp_path)
    write_lines(tmp_path / "export.jsonl", [conversation(str(n)) for n in range(40_000)])
    options = ("--rules", "policy.carob.yaml", "--executor", "ray", "-o", "report.json")
    with Started("check", "export.jsonl", *options, cwd=tmp_path) as run:
        until(lambda: process_ids("-f", "ray::judge_remote") or run.process.poll() is not None)
        for pid in process_ids("-P", str(run.process.pid), "raylet"):
            os.kill(pid, signal.SIGKILL)
        code, _, err = run.ended()
    assert code == 3, err
    assert err.startswith("carob: the Ray cluster was lost: ")
    assert not (tmp_path / "report.json").exists()


def test_an_error_of_a_shard_is_a_part_of_what_a_node_sends(
    tmp_path: Path, exports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (exports / "part-2.jsonl").write_text('{"messages": [')
    *_, torn = split_sources([exports], "")
    monkeypatch.chdir(tmp_path)
    [refused] = judge_remote(work(tmp_path), torn, str(tmp_path), [])
    assert isinstance(refused, Refused)
    error = build_error(refused)
    assert (error.exit_code, error.slug) == (4, "bad-export")
    assert "part-2.jsonl: neither JSON nor lines of JSON" in str(error)
