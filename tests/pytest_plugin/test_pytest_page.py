"""docs/pytest.md: what it shows is what happens."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import carob_pytest
from carob.options import HOW_TO_RUN
from pytest_plugin.test_example import EXAMPLE

if TYPE_CHECKING:
    from pytest_plugin.conftest import Desk

PAGE = (Path(__file__).parents[2] / "docs" / "pytest.md").read_text()
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [command for block in BLOCKS for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
STAMP = re.compile(r"\d{8}T\d{6}Z(-\d+)?")


def lines_of(text: str) -> list[str]:
    """Lines without what differs from run to run, and from terminal to terminal."""
    return [re.sub(r"_{4,}", "____", STAMP.sub("STAMP", line)) for line in text.splitlines()]


@pytest.mark.parametrize("shown", COMMANDS, ids=[command.splitlines()[0] for command in COMMANDS])
def test_commands_of_the_page(desk: Desk, shown: str) -> None:
    shutil.copytree(EXAMPLE, desk.path, dirs_exist_ok=True)
    desk.write("stub_agent.py", "def reply(prompt): return {'final_message': 'I have refunded it.', 'tool_calls': []}")
    desk.plugins = ()
    command, *expected = lines_of(shown)
    program, *args = shlex.split(command)
    result = desk.run(*args)
    assert program == "pytest"
    assert result.ret == ("stub_agent" in command)
    found = iter(lines_of(str(result.stdout)))
    missing = [line for line in expected if line != "..." and line not in found]
    assert missing == []


def test_page_has_commands_and_every_option() -> None:
    assert len(COMMANDS) > 5
    assert re.findall(r"^\| `--carob-(\w+)", PAGE, re.MULTILINE) == [
        "target",
        "repeat",
        "timeout",
        "retries",
        "judge",
        "gate",
        "record",
    ]
    assert set(carob_pytest.OPTIONS) == set(re.findall(r"`carob_(\w+)` \|", PAGE))


@pytest.mark.parametrize("name", ["repeat", "timeout", "retries"])
def test_options_say_what_those_of_a_run_say(name: str) -> None:
    """The entry of the plugin loads nothing of Carob, so that it cannot take the words from where they are declared."""
    assert (
        carob_pytest.OPTIONS[name][1]
        == HOW_TO_RUN[name].help.rstrip(".")[0].lower() + HOW_TO_RUN[name].help.rstrip(".")[1:]
    )
