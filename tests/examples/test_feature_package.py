"""The example package, built, installed into a fresh environment and used from the command line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "feature_package"


def uv() -> str:
    found = shutil.which("uv") or shutil.which("uv", path=str(ROOT / ".tools" / "bin"))
    if found is None:
        pytest.skip("there is no uv to build with")
    return found


class Environment:
    """Carob and the package, both from wheels, with what Carob depends on and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "env"
        self._uv("sync", "--frozen", "--no-default-groups", "--no-install-project", "--project", str(ROOT))
        wheels = self._built(ROOT), self._built(shutil.copytree(PACKAGE, folder / "source"))
        self._uv("pip", "install", "--no-deps", "--python", str(self.home / "bin" / "python"), *map(str, wheels))

    def _built(self, project: Path) -> Path:
        out = self.folder / "wheels" / project.name
        self._uv("build", "--wheel", "--out-dir", str(out), str(project))
        (wheel,) = out.glob("*.whl")
        return wheel

    def _uv(self, *arguments: str) -> None:
        environ = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(self.home), "UV_PYTHON": sys.executable}
        command = [uv(), *arguments, "--offline", "--quiet"]
        ran = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=300, check=False)
        assert ran.returncode == 0, ran.stderr

    def carob(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environ = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        command = [str(self.home / "bin" / "carob"), *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=environ, capture_output=True, text=True, timeout=120, check=False
        )

    def python(self, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        environ = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        command = [str(self.home / "bin" / "python"), "-c", f"import re, sys\n{code}", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=environ, capture_output=True, text=True, timeout=120, check=False
        )


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("fresh"))


def test_the_package_plugs_in_and_a_report_that_fails_loses_nothing(environment: Environment) -> None:
    suite, target = str(PACKAGE / "manners.json"), ("--target", "parrot:Hello")
    proved = environment.carob("audit", "--self")
    assert proved.stdout.endswith("SELF-TEST PASS\n"), proved

    ran = environment.carob("run", suite, *target, "--report", "tsv=cases.tsv")
    assert ran.returncode == 1, ran
    assert "PASS     calm" in ran.stdout
    assert "FAIL     shrill" in ran.stdout
    assert "hard-fail group manners" in ran.stdout
    assert "max_exclamations (manners)" in ran.stdout
    lines = (environment.folder / "cases.tsv").read_text().splitlines()
    assert [line.split("\t")[:2] for line in lines] == [
        ["case", "status"],
        ["calm", "PASS"],
        ["shrill", "FAIL"],
        ["total", "2"],
    ]

    (module,) = environment.home.rglob("carob_manners/report.py")
    module.write_text(module.read_text().replace('self._out.write(f"total', 'raise KeyError(f"total'))
    broken = environment.carob("run", suite, *target, "--report", "tsv=broken.tsv", "--results-dir", "second")
    assert broken.returncode == 3, broken
    assert "1 passed, 1 failed" in broken.stdout
    (line,) = broken.stderr.splitlines()
    assert line.startswith("carob: broken.tsv: report 'tsv' failed: KeyError: ")
    left = sorted(path.suffix for path in (environment.folder / "second").iterdir())
    assert left == [".json", ".jsonl", ".md"]
    assert not (environment.folder / "broken.tsv").exists()


def test_every_command_takes_the_format_of_the_package(environment: Environment) -> None:
    suite, results = str(PACKAGE / "returns.yaml"), environment.folder / "playbooks"
    assert environment.carob("lint", "--errors-only", suite).stdout == f"{suite}: playbook, 2 cases, 7 checks\n"
    assert environment.carob("run", "--list", suite).stdout.splitlines() == [
        "kettle\tscene\tI would like to return this kettle.",
        "angry\tscene\tThis is the third broken kettle!!",
    ]
    ran = environment.carob("run", suite, "--results-dir", str(results))  # by the target that it names
    assert ran.returncode == 1, ran
    assert "PASS     kettle" in ran.stdout
    assert "FAIL     angry" in ran.stdout
    assert "failed    agent[0]" in ran.stdout
    assert environment.carob("lint", suite).stdout == f"{suite}: 2 cases, no smell\n"
    (journal,) = results.glob("*.jsonl")
    audit = environment.carob("audit", str(journal), "--min-kill", "0.1")
    assert "1 case audited" in audit.stdout, audit
    assert re.search(r"answer-emptied +1/1 ", audit.stdout)
    converted = environment.carob("convert", suite, "-o", "returns.carob.yaml")
    assert converted.returncode == 0, converted
    text = (environment.folder / "returns.carob.yaml").read_text()
    assert "# 4 expectations without an equivalent in Carob 1" in text
    assert '# No equivalent in Carob 1: not must_say_any {"phrases":["not our problem"]} (agent[1]).' in text
    again = environment.carob("run", "returns.carob.yaml", "--target", "parrot:Hello", "--results-dir", "converted")
    assert "PASS     kettle" in again.stdout, again
    assert "FAIL     angry" in again.stdout
    schema = json.loads(environment.carob("lint", "--schema", "playbook").stdout)
    assert schema["title"] == "Support playbook"
    assert list(schema["$defs"]) == ["Scene", "Rule"]


OPEN_PAGE = """
import threading, urllib.request, carob
viewer = carob.open_viewer(sys.argv[1])
threading.Thread(target=viewer.run, daemon=True).start()
first = urllib.request.urlopen(viewer.address).read().decode()
key = re.search(r'href="[./]*run/([^"/]+)"', first)[1]
print(urllib.request.urlopen(viewer.address + f"run/{key}/manners").read().decode())
viewer.stop()
"""


def test_its_command_table_page_and_public_name(environment: Environment) -> None:
    suite, results = str(PACKAGE / "manners.json"), environment.folder / "third"
    assert "\nManners:\n  manners " in environment.carob("--help").stdout
    environment.carob("run", suite, "--target", "parrot:Hello", "--results-dir", str(results))
    (journal,) = map(str, results.glob("*.jsonl"))
    loud = environment.carob("manners", journal)
    assert (loud.returncode, loud.stdout) == (1, "shrill: 3 of 1 '!': 'Hello, wow!!!'\n")
    settings = environment.folder / "carob.toml"
    settings.write_text("[manners]\nmost = 3\n")
    assert environment.carob("manners", journal).returncode == 0
    settings.write_text("[manners]\nmust = 3\n")
    wrong = environment.carob("manners", journal)
    assert wrong.returncode == 4
    assert "carob.toml:2: unknown key 'must'." in wrong.stderr
    settings.unlink()
    called = environment.python("import carob; print(carob.loud_answers(sys.argv[1])[0].marks)", journal)
    assert called.stdout == "3\n", called
    shown = environment.python(OPEN_PAGE, str(results))
    assert "<b>shrill</b>" in shown.stdout, shown
    assert 'aria-current="page">Manners</a>' in shown.stdout
