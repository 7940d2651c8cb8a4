"""The hook of coding agents by its real command: events on stdin, exit code 2 blocks."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carob.errors import CarobError, ConfigError
from carob.features.guard.hook_events import HookAnswer, answer_event
from carob.features.guard.hook_protocol import BLOCK, OK
from carob.features.guard.install import (
    MODULE,
    GuardInstallation,
    find_own_python,
    install_guard,
    plan_installation,
    plan_removal,
    prove_blocking,
    remove,
)
from carob.features.guard.journal import find_unasked
from carob.features.guard.policy import load_policy
from cli.support import Ran
from features.guard.policies import BIG, CALLS, DESK, write_policy

SESSION = {"session_id": "s", "transcript_path": "/t.jsonl", "cwd": "/", "permission_mode": "default"}


class Desk:
    """An installed guard, asked in this process."""

    def __init__(self, folder: Path, policy: str = DESK, host: Any = "claude") -> None:
        self.folder = folder
        (folder / "project").mkdir(exist_ok=True)
        self.policy = write_policy(folder, policy)
        self.environ = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
        self.host = host
        self.installed = self.install()
        *_, file, self.pin = shlex.split(self.installed.command.partition(" || ")[0])
        self.file = Path(file)

    def install(self, workspace: str = "project", settings: Path | None = None) -> GuardInstallation:
        about: dict[str, Any] = {"environ": self.environ, "workspace": self.folder / workspace, "settings": settings}
        installation = plan_installation(self.policy, self.host, **about)
        install_guard(installation)
        return installation

    def tell(self, name: str, **about: Any) -> HookAnswer:
        return answer_event(json.dumps({"hook_event_name": name, **SESSION, **about}).encode(), self.file, self.pin)

    def call(self, tool: str, call_id: str = "t1", **arguments: Any) -> HookAnswer:
        return self.tell("PreToolUse", tool_name=tool, tool_input=arguments, tool_use_id=call_id)

    def end(self, tool: str, response: Any, call_id: str = "t1", **arguments: Any) -> HookAnswer:
        about = {"tool_name": tool, "tool_input": arguments, "tool_use_id": call_id}
        return self.tell("PostToolUse", tool_response=response, **about)

    def shell(self, event: dict[str, Any], command: str = "") -> subprocess.CompletedProcess[bytes]:
        data = json.dumps({**SESSION, **event}).encode()
        return subprocess.run(["/bin/sh", "-c", command or self.installed.command], input=data, capture_output=True)


@pytest.fixture(scope="module")
def module_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hook")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    # Its own test proves the self-test, which starts four processes.
    monkeypatch.setattr("carob.features.guard.install.prove_blocking", lambda command, file: None)
    return Desk(tmp_path)


def test_a_session_is_guarded_by_the_installed_command(module_folder: Path) -> None:
    desk = Desk(module_folder)
    settings = json.loads(desk.installed.settings.path.read_text())["hooks"]
    [hook] = settings["PreToolUse"][0]["hooks"]
    assert hook["command"].startswith(os.path.abspath(sys.executable))
    assert hook["command"].endswith("exit 2; }")
    call = {"hook_event_name": "PreToolUse", "tool_name": "pay_invoice", "tool_input": {"id": "A"}, "tool_use_id": "t"}
    blocked = desk.shell(call, hook["command"])
    assert blocked.returncode == BLOCK
    assert b"Ask before you pay, and wait for a yes." in blocked.stderr
    assert not blocked.stdout


def test_a_call_that_ran_unasked_counts_and_is_reported(desk: Desk) -> None:
    journal = desk.file.parent / "decisions.jsonl"
    desk.tell("SessionStart", source="startup")
    desk.tell("UserPromptSubmit", prompt="Yes, pay it.")
    desk.call("get_invoice", "t1", id="A")
    desk.end("get_invoice", {"total": 80}, "t1", id="A")
    assert desk.end("Bash", "ok", "t2", command="ls") == HookAnswer()
    assert not [*find_unasked(journal)], "a tool that no rule is about is none of the guard's business"
    desk.end("pay_invoice", "paid", "t3", id="A")
    assert [*find_unasked(journal)] == [("s", "pay_invoice")]
    assert "paid-once" in desk.call("pay_invoice", "t4", id="A").error, "it was paid, although nobody asked"


def test_calls_prompts_and_results_are_put_together(desk: Desk) -> None:
    assert desk.tell("SessionStart", source="startup") == HookAnswer()
    assert desk.tell("UserPromptSubmit", prompt="Yes, pay it.") == HookAnswer()
    assert "look-first" in desk.call("pay_invoice", id="A").error
    assert desk.call("get_invoice", "t2", id="A") == HookAnswer()
    assert desk.end("get_invoice", {"total": 80}, "t2", id="A") == HookAnswer()
    assert desk.call("pay_invoice", "t3", id="A") == HookAnswer()
    assert desk.end("pay_invoice", "paid", "t3", id="A") == HookAnswer()
    assert "paid-once" in desk.call("pay_invoice", "t4", id="A").error


def test_tools_of_mcp_servers_are_known_by_their_own_names(desk: Desk) -> None:
    desk.tell("SessionStart", source="startup")
    desk.tell("UserPromptSubmit", prompt="Yes.")
    for tool in ("mcp__desk__pay_invoice", "mcp__my__desk__pay_invoice", "mcp__desk__Pay_Invoice"):
        assert "look-first" in desk.call(tool, id="A").error
    desk.call("mcp__desk__get_invoice", "t2", id="A")
    desk.end("mcp__desk__get_invoice", [{"type": "text", "text": '{"total": 80}'}], "t2", id="A")
    assert desk.call("mcp__desk__pay_invoice", "t3", id="A").code == OK


def test_a_lookup_that_failed_is_none(desk: Desk) -> None:
    desk.tell("SessionStart", source="startup")
    desk.tell("UserPromptSubmit", prompt="yes")
    desk.call("get_invoice", "t2", id="A")
    about = {"tool_name": "get_invoice", "tool_input": {"id": "A"}, "tool_use_id": "t2"}
    assert desk.tell("PostToolUseFailure", error="no connection", **about) == HookAnswer()
    assert "look-first" in desk.call("pay_invoice", id="A").error


@pytest.mark.parametrize("source", ["resume", "compact", ""])
def test_a_session_whose_beginning_was_not_seen_is_not_trusted(desk: Desk, source: str) -> None:
    desk.tell("SessionStart", source=source)
    desk.tell("UserPromptSubmit", prompt="yes")
    desk.call("get_invoice", "t2", id="A")
    desk.end("get_invoice", {"total": 80}, "t2", id="A")
    assert "the beginning of the conversation was not seen" in desk.call("pay_invoice", id="A").error


def test_the_host_asks_where_a_rule_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carob.features.guard.install.prove_blocking", lambda command, file: None)
    desk = Desk(tmp_path, BIG + "  - {id: once, each: {call: pay_invoice, success: true}, at_most: 1}\n")
    desk.tell("SessionStart", source="startup")
    asked = desk.call("pay_invoice", "t1", amount=500)
    assert asked.code == OK
    answer = json.loads(asked.output)["hookSpecificOutput"]
    assert answer["permissionDecision"] == "ask"
    assert "A person looks at large sums." in answer["permissionDecisionReason"]
    desk.end("pay_invoice", "paid", "t1", amount=500)
    assert "once" in desk.call("pay_invoice", "t2", amount=5).error, "an approved call counts like any other"


def test_where_the_host_cannot_ask_the_call_is_blocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carob.features.guard.install.prove_blocking", lambda command, file: None)
    desk = Desk(tmp_path, BIG, "codex")
    desk.tell("SessionStart", source="startup")
    assert desk.call("pay_invoice", amount=500).code == BLOCK


def test_other_settings_stay_and_the_hooks_can_be_removed(desk: Desk) -> None:
    settings = desk.installed.settings.path
    own = {"type": "command", "command": "echo mine"}
    tree = {"model": "m", "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [own]}], "Stop": [{"hooks": [own]}]}}
    settings.write_text(json.dumps(tree))
    for _ in range(2):  # a second installation replaces the first
        desk.install()
    hooks = json.loads(settings.read_text())["hooks"]
    assert len(hooks["PreToolUse"]) == 2
    assert hooks["PreToolUse"][0]["hooks"] == [own]
    assert oct(settings.stat().st_mode & 0o777) == "0o600"
    remove(plan_removal(desk.policy, "claude", environ=desk.environ, workspace=desk.folder / "project"))
    assert json.loads(settings.read_text()) == tree


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": {"PreToolUse": [{"hooks": "x"}]}}', '{"hooks": []}'])
def test_settings_that_cannot_be_read_are_left_alone(desk: Desk, text: str) -> None:
    desk.installed.settings.path.write_text(text)
    with pytest.raises(ConfigError):
        desk.install()
    assert desk.installed.settings.path.read_text() == text


def test_the_state_may_not_be_where_the_agent_works(desk: Desk) -> None:
    with pytest.raises(ConfigError, match="where the agent works"):
        desk.install(".")


def test_a_guard_that_does_not_block_is_not_installed(desk: Desk) -> None:
    for command in ("exit 0", "exit 1", desk.installed.command.replace("exit 2", "true")):
        with pytest.raises(ConfigError, match="nothing was installed"):
            prove_blocking(command, desk.file)


def test_install_and_check_by_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carob: Callable[..., Ran]
) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    policy = write_policy(tmp_path)
    run = carob("guard", "install", str(policy), "--yes")
    assert run.code == 0, run.err
    assert "self-test: blocks" in run.out
    settings = tmp_path / "project" / ".claude" / "settings.local.json"
    assert MODULE in settings.read_text()
    assert carob("guard", "install", str(policy), "--remove").out.endswith("removed\n")
    assert not settings.exists()
    assert carob("guard", "hook", "only a file").code == BLOCK, "hosts go on after any other code"
    assert "explicit-yes  blocks" in carob("guard", "check", str(policy), "--by", "hook").out


def test_a_decision_loads_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a process of its own for each event: what readers of suites and rare conditions need stays out."""
    pytest.importorskip("cel_expr_python", reason="conditions in CEL need the extra cel")
    monkeypatch.setattr("carob.features.guard.install.prove_blocking", lambda command, file: None)
    desk = Desk(tmp_path, CALLS + "  - { id: small, each: { call: pay_invoice }, where: each.arguments.id != 'B' }\n")
    code = "import sys; from carob.features.guard.hook import run_hook; run_hook(sys.argv[1:]); print(*sys.modules)"
    event = {"hook_event_name": "PreToolUse", **SESSION, "tool_name": "pay_invoice", "tool_input": {"id": "A"}}
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, desk.file, desk.pin], input=json.dumps(event).encode(), capture_output=True
    )
    assert b"look-first" in done.stderr
    assert b"small" not in done.stderr
    loaded = set(done.stdout.decode().split())
    assert "carob.features.guard.conversation" in loaded
    assert not loaded & {"cel_expr_python", "regex", "importlib.metadata", "yaml", "click", "asyncio", "html"}


def test_in_a_terminal_it_says_what_to_type(desk: Desk) -> None:
    master, terminal = pty.openpty()
    command = [sys.executable, "-I", "-m", MODULE, desk.file, desk.pin]
    done = subprocess.run(command, stdin=terminal, capture_output=True, text=True, timeout=30)
    os.close(terminal)
    os.close(master)
    assert done.returncode == BLOCK
    [line] = done.stderr.splitlines()
    assert "Type instead: carob guard install POLICY" in line


@pytest.mark.parametrize(
    ("host", "options", "variable", "settings", "scope"),
    [
        (
            "claude",
            ("--user",),
            "",
            "home/.claude/settings.json",
            "all sessions of Claude Code of this user, in every folder",
        ),
        ("codex", ("--user",), "", "home/.codex/hooks.json", "all sessions of Codex of this user, in every folder"),
        ("claude", ("--user",), "CLAUDE_CONFIG_DIR", "else/settings.json", "all sessions of Claude Code of this user"),
        ("codex", ("--user",), "CODEX_HOME", "else/hooks.json", "all sessions of Codex of this user"),
        (
            "claude",
            ("--settings", ".claude/settings.json"),
            "",
            "project/.claude/settings.json",
            "where the agent works",
        ),
    ],
)
def test_it_shows_what_it_would_write_and_for_which_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carob: Callable[..., Ran],
    host: str, options: tuple[str, ...], variable: str, settings: str, scope: str,
) -> None:  # fmt: skip
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "else"))
    policy, path = write_policy(tmp_path), tmp_path / settings
    if host == "claude" and "--user" in options:
        path.parent.mkdir(parents=True)
        path.write_text('{\n  "model": "m"\n}\n')
    before = sorted(tmp_path.rglob("*"))
    command = ("guard", "install", str(policy), "--host", host, *options)
    shown = carob(*command, "--dry-run")
    assert shown.code == 0, shown.err
    assert f"hooks: {path}, for " in shown.out
    assert scope in shown.out
    assert shown.out.endswith("nothing was written\n")
    assert sorted(tmp_path.rglob("*")) == before
    assert carob(*command, "--yes").code == 0
    added = [line for line in path.read_text().splitlines() if line.strip() not in ("{", "}", '"model": "m"')]
    assert added
    assert all(f"+{line}" in shown.out.splitlines() for line in added)
    assert not [line for line in shown.out.splitlines() if line.startswith("-") and "model" not in line]
    removal = carob(*command, "--remove", "--dry-run")
    assert all(f"-{line}" in removal.out.splitlines() for line in added)
    assert MODULE in path.read_text()


def test_where_no_guard_is_nothing_is_taken_out(tmp_path: Path) -> None:
    settings, policy, environ = tmp_path / "settings.json", tmp_path / "p.yaml", {"HOME": str(tmp_path)}
    for text in ("", '{"hooks":{"Stop":[{"hooks":[]}]}}'):
        if text:
            settings.write_text(text)
        remove(plan_removal(policy, "claude", environ=environ, workspace=tmp_path, settings=settings))
        assert (settings.read_text() if settings.exists() else "") == text


def test_hooks_of_others_and_for_other_rules_stay(desk: Desk) -> None:
    """Also where a person put their own next to one of the guard."""
    settings, first = desk.installed.settings.path, desk.installed.command
    own = {"type": "command", "command": "echo mine"}
    tree = json.loads(settings.read_text())
    tree["hooks"]["PreToolUse"][0]["hooks"].append(own)
    settings.write_text(json.dumps(tree))
    desk.policy = write_policy(desk.folder, CALLS, "other.carob.yaml")
    second = desk.install().command
    about: dict[str, Any] = {"environ": desk.environ, "workspace": desk.folder / "project"}
    assert second in settings.read_text()
    assert first in settings.read_text()
    remove(plan_removal(desk.policy, "claude", **about))
    assert json.loads(settings.read_text()) == tree
    remove(plan_removal(desk.folder / "policy.carob.yaml", "claude", **about))
    assert json.loads(settings.read_text()) == {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [own]}]}}


def test_a_large_call_that_no_rule_is_about_is_made(desk: Desk) -> None:
    assert desk.call("Write", file_path="notes.txt", content="x" * 2_000_000) == HookAnswer()
    refused = desk.call("Write", content="x" * 2_000_000, file_path=str(desk.policy))
    assert "belongs to the guard" in refused.error


def test_the_agent_does_not_install_other_rules(desk: Desk) -> None:
    assert "belongs to the guard" in desk.call("Bash", command="cd project && carob guard install mine.yaml").error


def test_it_says_where_the_agent_can_change_carob_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_own_python(tmp_path) == ""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert find_own_python(tmp_path) == str(tmp_path / ".venv")


def test_rules_that_are_a_link_to_themselves_are_refused(tmp_path: Path) -> None:
    loop = tmp_path / "loop.carob.yaml"
    loop.symlink_to(loop)
    with pytest.raises(CarobError, match=r"loop\.carob\.yaml"):
        load_policy(loop)


def test_without_an_input_it_blocks(desk: Desk) -> None:
    done = desk.shell({}, f"exec <&-; {desk.installed.command}")
    assert done.returncode == BLOCK
    assert b"Type instead" in done.stderr


def test_without_a_home_nothing_is_installed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="HOME is not set"):
        plan_installation(write_policy(tmp_path), "claude", environ={}, workspace=tmp_path)


def test_an_event_of_no_session_blocks(desk: Desk) -> None:
    assert desk.tell("PreToolUse", session_id="", tool_name="send_postcard").code == BLOCK
    assert desk.call("send_postcard").code == OK


@pytest.mark.parametrize("name", ["PreToolUse", "PostToolUse", "PostToolUseFailure"])
def test_an_event_of_a_call_says_its_tool_once(desk: Desk, name: str) -> None:
    for tool in ("", " "):
        assert "no tool_name" in desk.tell(name, tool_name=tool, tool_input={}).error
    desk.tell("SessionStart", source="startup")
    said = json.dumps({"hook_event_name": name, **SESSION, "tool_name": "send_postcard", "tool_input": {"to": "B"}})
    assert answer_event(said.encode(), desk.file, desk.pin).code == OK
    for twice in (said[:-1] + ', "tool_name": "pay_invoice"}', said.replace('"to": "B"', '"to": "B", "to": "C"')):
        answer = answer_event(twice.encode(), desk.file, desk.pin)
        assert (answer.code, "cannot be read" in answer.error) == (BLOCK, True)
