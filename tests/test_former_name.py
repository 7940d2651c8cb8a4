"""What a project that still has the former name gets: one line that says what to rename."""

from __future__ import annotations

from pathlib import Path

import pytest

import carob
from carob.errors import CarobError

CASES = "name: x\ncases:\n  - id: a\n    prompt: hi\n    expected: { must_say_any: [x] }\n"
FORMER = "karat"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "suite.yaml").write_text(f"carob: 1\n{CASES}")
    (tmp_path / ".git").mkdir()
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def message_of(path: str) -> str:
    with pytest.raises(CarobError) as caught:
        carob.load_suite(path)
    return str(caught.value)


@pytest.mark.parametrize("key", [FORMER, f'"{FORMER}"'])
def test_a_suite(project: Path, key: str) -> None:
    (project / "old.yaml").write_text(f"{key}: 1\n{CASES}")
    message = message_of("old.yaml")
    assert message.endswith("old.yaml:1:1 karat: Karat is called Carob now. Write 'carob: 1'. [former-name]")
    assert "\n" not in message


@pytest.mark.parametrize("folder", [".", "below"])
def test_a_configuration_below_or_here(project: Path, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / f"{FORMER}.toml").write_text('rules = ["policy.yaml"]\n')
    monkeypatch.chdir(project / folder)
    message = message_of(str(project / "suite.yaml"))
    assert message.startswith(f"{project}/karat.toml: Karat is called Carob now")
    assert "Rename it to carob.toml" in message


@pytest.mark.parametrize(("name", "text"), [("carob.toml", ""), ("pyproject.toml", "[tool.carob]\n")])
def test_a_file_of_another_tool_beside_a_configuration_of_ours(project: Path, name: str, text: str) -> None:
    (project / f"{FORMER}.toml").write_text("anything = at all")
    (project / name).write_text(text)
    assert carob.load_suite("suite.yaml").name == "x"
