"""The same plan on a Ray cluster: the same verdicts, each case once, also if a node is lost in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import pytest

import carob
from carob.engine.processes.messages import Start
from carob.engine.work import Settings
from carob.errors import ConfigError, UsageError
from carob.features.ray import executor
from carob.redaction.redactor import Redactor
from carob.system.installing import install_extra
from carob.targets.config import TargetConfig

from .support import (
    HERE,
    MARK,
    Started,
    carried_out,
    finished_lines,
    journals,
    marked,
    records,
    statuses,
    suite_of,
    target,
    until,
    verdicts,
)

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is an extra")

PROMPTS = (
    ["wait sync", "wrong async", "raise sync", "none async", "wait async"] * 30 + ["exit sync"] + ["wait sync"] * 9
)


class TwoNodes:
    """The cluster of `two_nodes.py`."""

    def __init__(self, process: subprocess.Popen[str], mark: str) -> None:
        self._process = process
        self._mark = mark
        self.address = self._line()

    def kill_a_worker(self) -> None:
        """Kill a process of Ray's that is carrying out a shard."""
        os.kill(until(self._at_work)[0], signal.SIGKILL)

    def _at_work(self) -> list[int]:
        found = []
        for pid in marked(self._mark):
            try:
                title = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if title.startswith(b"ray::shard"):
                found.append(pid)
        return found

    def kill_a_node(self) -> None:
        self._tell()
        assert self._line() == "killed"

    def close(self) -> None:
        self._tell()
        self._process.communicate(timeout=60)

    def _tell(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@pytest.fixture
def cluster() -> Iterator[TwoNodes]:
    mark = uuid4().hex
    command = [sys.executable, "-W", "ignore", str(HERE / "two_nodes.py")]
    with subprocess.Popen(
        command,
        env={**os.environ, MARK: mark},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            nodes = TwoNodes(process, mark)
            yield nodes
            nodes.close()
        finally:
            process.kill()


@pytest.mark.thorough
def test_a_cluster_that_loses_a_worker_and_a_node_gives_the_same_verdicts(tmp_path: Path, cluster: TwoNodes) -> None:
    """Each agent's death costs its own case, the death of Ray's worker and of the node cost none."""
    suite = suite_of(tmp_path, PROMPTS)
    with Started(
        "run", suite, "--target", target("agent"), "--workers", 1, "--results-dir", "here", cwd=tmp_path
    ) as run:
        run.process.wait()
    options = ("--executor", "ray", "--ray-address", cluster.address, "--concurrency", 2, "--results-dir", "ray")
    with Started("run", suite, "--target", target("agent"), *options, cwd=tmp_path) as run:
        until(lambda: finished_lines(tmp_path / "ray") >= 10)
        cluster.kill_a_worker()
        until(lambda: finished_lines(tmp_path / "ray") >= 60)
        cluster.kill_a_node()
        before = finished_lines(tmp_path / "ray")
        code, out, err = run.ended()
    assert before < len(PROMPTS), "the node was lost in the middle"
    assert code == 1, err
    assert err == ""
    (journal,) = journals(tmp_path / "ray")
    assert len(records(journal)) == len(PROMPTS)
    assert "61 errors" in out
    assert verdicts(tmp_path / "ray") == verdicts(tmp_path / "here")


def children(pid: int, name: str) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid), name], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


@pytest.mark.thorough
def test_a_cluster_that_is_started_here_and_then_lost(tmp_path: Path) -> None:
    """Ray ends what talks to it at once; the run is interrupted, and says how to resume it."""
    suite = suite_of(tmp_path, ["answer sync"] * 9 + ["sleep sync"])
    options = ("--target", target("agent"), "--executor", "ray", "--results-dir", "out")
    with Started("run", suite, *options, cwd=tmp_path) as run:
        until(lambda: finished_lines(tmp_path / "out") == 9 or run.process.poll() is not None)
        [helper] = children(run.process.pid, "python")
        raylets = children(helper, "raylet")
        assert raylets
        for pid in raylets:
            os.kill(pid, signal.SIGKILL)
        code, out, err = run.ended()
        assert run.left_behind() == []
    assert code == 2, out + err
    assert "the Ray cluster was lost" in out + err
    assert "carob run --resume" in out + err
    assert "Traceback" not in err
    assert len([*(tmp_path / "out").glob("*-results-*.json")]) == 1
    (journal,) = journals(tmp_path / "out")
    assert set(statuses(journal).values()) == {"PASS"}


@pytest.mark.parametrize(
    ("address", "said"),
    [
        pytest.param("127.0.0.1:1", "Connection refused", id="nobody-there"),
        pytest.param("ray://localhost:10001", "Ray Client does not stream results", id="ray-client"),
        pytest.param("localhost:port", "invalid literal", id="no-port"),
    ],
)
async def test_a_cluster_that_cannot_be_reached(tmp_path: Path, address: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        await carried_out(tmp_path, ["answer sync"], executor="ray", ray_address=address)
    assert "Give --ray-address HOST:PORT" in str(caught.value)
    assert not (tmp_path / "out").exists()


async def test_a_target_that_does_not_open_on_the_cluster_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One process of the cluster tries it first: the refusal must not be taken for a target that is ready."""
    refused = json.dumps(
        {"type": "refused", "message": "no such model.", "where": "", "fix": "Install it.", "slug": "x"}
    )
    shards: list[object] = []

    class Cluster:
        """A cluster whose probe is refused."""

        def __init__(self) -> None:
            self.util = self

        def is_initialized(self) -> bool:
            return True

        def cluster_resources(self) -> dict[str, float]:
            return {"CPU": 2}

        def remote(self, **options: object) -> Callable[[object], object]:
            if "num_returns" in options:
                shards.append(options)
            return lambda function: SimpleNamespace(remote=lambda *arguments: refused)

        def get(self, answer: str) -> bytes:
            return answer.encode()

        def shutdown(self) -> None: ...

    monkeypatch.setattr(executor.cluster, "import_ray", Cluster)
    monkeypatch.setattr(executor.cluster, "needed_addresses", lambda ray: {})
    start = Start(TargetConfig(kind="python", spec="agent.py:ask"), Settings(), (), [])
    ray = executor.RayExecutor(start, Redactor(()), address=None, total=1, exact=False)
    with pytest.raises(ConfigError, match="no such model"):
        await ray.open()
    await ray.close()
    assert shards == []


async def test_a_target_that_is_an_object_has_no_name_to_find_it_by(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="an object cannot run on a Ray cluster"):
        await carob.arun(suite_of(tmp_path, ["answer"]), lambda prompt: "fine", executor="ray")


def test_without_ray_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "ray.py").write_text("raise ImportError('no ray here')\n")
    suite = suite_of(tmp_path, ["answer sync"])
    options = ("--target", target("agent"), "--executor", "ray")
    with Started("run", suite, *options, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}) as run:
        code, _, err = run.ended()
    assert code == 4
    assert err == f"carob: Ray is not installed. {install_extra('ray')} [no-ray]\n"
