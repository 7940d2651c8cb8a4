"""`carob guard install`: hooks in the settings of a coding agent, and the proof that they block."""

from __future__ import annotations

import difflib
import hashlib
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from carob.errors import ConfigError
from carob.features.guard.hook_events import OPEN_PROBE, PROBE, STORE, Host, Installation
from carob.features.guard.hook_protocol import BLOCK, DEADLINE, OK
from carob.features.guard.policy import load_policy
from carob.features.guard.removal import INSTALLATION, MODULE, UNDO, remove_guard, restore, without_hooks
from carob.features.guard.removal import __file__ as removal_file
from carob.system.unfinished_files import create_unfinished

COMMAND: Final = "carob guard install"
REMOVAL: Final = "remove.py"
TIMEOUT: Final = DEADLINE + 4
"""Seconds that the host waits."""
SETTINGS: Final[Mapping[Host, str]] = {"claude": ".claude/settings.json", "codex": ".codex/hooks.json"}
"""In the home of the user."""
OF_PROJECT: Final[Mapping[Host, str]] = {"claude": ".claude/settings.local.json", "codex": ".codex/hooks.json"}
FOLDERS: Final[Mapping[Host, str]] = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}
"""The variable by which a user keeps these settings elsewhere."""
NAMES: Final[Mapping[Host, str]] = {"claude": "Claude Code", "codex": "Codex"}
EVENTS: Final[Mapping[Host, tuple[str, ...]]] = {
    "claude": ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
    "codex": ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"),
}
OF_TOOLS: Final = frozenset(("PreToolUse", "PostToolUse", "PostToolUseFailure"))
FAILED: Final = "guard-self-test"


class SettingsChange(NamedTuple):
    """What becomes of the settings of a coding agent."""

    path: Path
    scope: str
    """The sessions that they are for."""
    before: dict[str, Any]
    after: dict[str, Any]

    @property
    def is_any(self) -> bool:
        return self.before != self.after

    @property
    def lines(self) -> Iterator[str]:
        """The lines that are taken out and added."""
        old = self.path.read_text("utf-8").splitlines() if self.path.exists() else []
        new = _format(self.after).decode().splitlines() if self.is_any else old
        changes = difflib.unified_diff(old, new, n=0, lineterm="")
        return (line for line in changes if not line.startswith(("--- ", "+++ ", "@@ ")))


class GuardInstallation(NamedTuple):
    """What an installation writes, and what it does not guard."""

    settings: SettingsChange
    file: Path
    """The rules, next to which conversations and decisions are kept."""
    data: bytes
    command: str
    """That of the hook before a call."""
    undo: bytes
    """What the settings were, and the folders that are made."""
    not_guarded: Mapping[str, str]


class Removal(NamedTuple):
    """What is taken out of settings, and the folder that goes."""

    settings: SettingsChange
    folder: Path


def plan_installation(
    policy_file: Path,
    host: Host,
    *,
    environ: Mapping[str, str],
    workspace: Path,
    settings: Path | None = None,
    user: bool = False,
) -> GuardInstallation:
    """What is to be written. Raises ConfigError."""
    policy = load_policy(policy_file)
    policy.refuse_seam("hook")
    change, folder = plan_removal(policy_file, host, environ=environ, workspace=workspace, settings=settings, user=user)
    if folder.resolve().is_relative_to(workspace.resolve()):
        message = f"the guard would keep its rules in {folder}, where the agent works."
        raise ConfigError(message, fix="Set XDG_STATE_HOME to a folder outside of it.", slug="guard-place")
    names = (SETTINGS[host], OF_PROJECT[host], MODULE, COMMAND)
    protected = (str(folder), str(change.path), *names, *(file.path for file in policy.files))
    data = msgspec.json.encode(Installation(host, policy.with_conditions(), protected))
    file = folder / INSTALLATION
    pin = hashlib.sha256(data).hexdigest()
    undo = _plan_undo(change, folder)
    change = change._replace(after=with_hooks(change.after, host, file, pin))
    return GuardInstallation(change, file, data, hook_command(file, pin), undo, policy.not_guarded)


def _plan_undo(change: SettingsChange, folder: Path) -> bytes:
    """What the settings were before any guard, and the folders that are made; by the latest guard that knows it."""
    known = [msgspec.json.decode(file.read_bytes()) for file in sorted(folder.parent.glob(f"*/{UNDO}"))]
    known = [undo for undo in known if undo["settings"] == str(change.path)]
    fresh = change.path.read_bytes().decode() if change.path.exists() else None
    is_guarded = MODULE in (fresh or "")
    original = known[-1]["original"] if known and is_guarded else restore(change.after, fresh)
    made = [str(path) for undo in known for path in undo["folders"]]
    for lowest in (folder.parent, change.path.parent):
        made += [str(path) for path in reversed((lowest, *lowest.parents)) if not path.exists()]
    undo = {"settings": str(change.path), "original": original, "folders": list(dict.fromkeys(made))}
    return msgspec.json.encode(undo)


def plan_removal(
    policy_file: Path,
    host: Host,
    *,
    environ: Mapping[str, str],
    workspace: Path,
    settings: Path | None = None,
    user: bool = False,
) -> Removal:
    """The settings without the hooks for these rules: by default those of the project. Raises ConfigError."""
    if user:
        variable, (usual, name) = FOLDERS[host], SETTINGS[host].split("/")
        path = Path(environ.get(variable, "") or _find_home(environ) / usual).absolute() / name
        scope = f"all sessions of {NAMES[host]} of this user, in every folder"
    else:
        path = (settings or workspace / OF_PROJECT[host]).absolute()
        scope = f"the sessions of {NAMES[host]} that read these settings"
        if path.resolve().is_relative_to(workspace.resolve()):
            scope += ", which are where the agent works: those of the user (--user) are safer"
    folder = _state_folder(environ, policy_file, host, path)
    before = _read_settings(path)
    return Removal(SettingsChange(path, scope, before, without_hooks(before, folder / INSTALLATION)), folder)


def remove(removal: Removal) -> bool:
    """Take the hooks out and remove the folder; whether there were any hooks."""
    if (removal.folder / UNDO).exists():
        return remove_guard(removal.folder)
    _change_settings(removal.settings)
    return removal.settings.is_any


def find_own_python(workspace: Path) -> str:
    """The folder of this Python, if it is where the agent works, who could change the guard in it."""
    prefix = os.path.abspath(sys.prefix)
    return prefix if Path(prefix).is_relative_to(workspace.resolve()) else ""


def install_guard(installation: GuardInstallation) -> None:
    """Write the hooks and prove that they block. Raises ConfigError, and then the settings are as they were."""
    folder = installation.file.parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    _replace(installation.file, installation.data)
    prove_blocking(installation.command, installation.file)
    _replace(folder / UNDO, installation.undo)
    _replace(folder / REMOVAL, Path(removal_file).read_bytes())
    _change_settings(installation.settings)


def _change_settings(change: SettingsChange) -> None:
    """Write the settings, if anything in them changes. Raises ConfigError."""
    if not change.is_any:
        return
    change.path.parent.mkdir(parents=True, exist_ok=True)
    mode = change.path.stat().st_mode & 0o777 if change.path.exists() else 0o600
    _replace(change.path, _format(change.after), mode)


def hook_command(file: Path, pin: str, event: str = "PreToolUse") -> str:
    """The command of a hook: isolated from the folder that it is run in.

    Where the guard cannot run, a call is refused, whatever went wrong, with the line that takes the guard out. Other
    events go on, so that a person can still speak; what was kept is removed, since events are missing from then on.
    """
    # realpath would leave a virtual environment
    words = shlex.join((os.path.abspath(sys.executable), "-I", "-m", MODULE, str(file), pin))
    line = shlex.join(("python3", "-I", str(file.with_name(REMOVAL))))
    say = f"echo {shlex.quote(f'carob guard: it cannot run. To take it out: {line}')} >&2"
    if event == "PreToolUse":
        return f"{words} || {{ [ $? -eq {BLOCK} ] || {say}; exit {BLOCK}; }}"
    forget = shlex.join(("rm", "-f", str(file.with_name(STORE))))
    return f"{words} || {{ [ $? -eq {BLOCK} ] && exit {BLOCK}; {forget}; {say}; exit 1; }}"


def prove_blocking(command: str, file: Path) -> None:
    """Raise ConfigError unless the command blocks a probe, whatever is broken, and lets another call through."""
    broken_pin = command.replace(" || ", "0 || ", 1)
    no_python = command.replace(shlex.join([os.path.abspath(sys.executable)]), "/nonexistent/python", 1)
    proofs = (
        ("a call that is to be blocked", command, PROBE, BLOCK),
        ("a call with other rules than those installed", broken_pin, PROBE, BLOCK),
        ("a call where Python is missing", no_python, PROBE, BLOCK),
        ("a call that no rule is about", command, OPEN_PROBE, OK),
    )
    for what, tried, tool, expected in proofs:
        event = {"hook_event_name": "PreToolUse", "session_id": "self-test", "tool_name": tool, "tool_input": {}}
        done = subprocess.run(
            ["/bin/sh", "-c", tried], input=msgspec.json.encode(event), capture_output=True, timeout=TIMEOUT, cwd="/"
        )
        if done.returncode != expected:
            words = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
            message = f"the self-test failed: for {what} the hook exits with {done.returncode}, not {expected}"
            raise ConfigError(
                f"{message}{f' ({words})' if words else ''}; nothing was installed.",
                where=str(file),
                fix="Install Carob where `python -I` finds it.",
                slug=FAILED,
            )


def with_hooks(tree: dict[str, Any], host: Host, file: Path, pin: str) -> dict[str, Any]:
    """The settings with the hooks of the guard after those that are there."""
    hooks: dict[str, Any] = dict(tree.get("hooks", {}))
    for event in EVENTS[host]:
        hook = {"type": "command", "command": hook_command(file, pin, event), "timeout": TIMEOUT}
        group: dict[str, Any] = {"hooks": [hook]}
        if event in OF_TOOLS:
            group = {"matcher": "*" if host == "claude" else ".*", **group}
        hooks[event] = [*hooks.get(event, ()), group]
    return {**tree, "hooks": hooks}


def _state_folder(environ: Mapping[str, str], policy_file: Path, host: Host, settings: Path) -> Path:
    state = Path(environ.get("XDG_STATE_HOME", "") or _find_home(environ) / ".local" / "state")
    named = f"{os.path.realpath(policy_file)}\0{os.path.realpath(settings)}"
    digest = hashlib.sha256(named.encode()).hexdigest()[:12]
    return state.absolute() / "carob" / "guard" / f"{host}-{digest}"


def _find_home(environ: Mapping[str, str]) -> Path:
    if not (home := environ.get("HOME", "")):
        raise ConfigError("HOME is not set.", fix="Set it to the folder of the user.", slug="guard-place")
    return Path(home)


def _read_settings(path: Path) -> dict[str, Any]:
    """The settings, empty if there is no file. Raises ConfigError for what hooks cannot be added to."""
    try:
        tree = msgspec.json.decode(path.read_bytes()) if path.exists() else {}
        sound = isinstance(tree, dict) and all(
            isinstance(group, dict) and isinstance(group.get("hooks"), list) and all(map(_is_hook, group["hooks"]))
            for groups in tree.get("hooks", {}).values()
            for group in groups
        )
    except (msgspec.DecodeError, UnicodeError, OSError, AttributeError, TypeError) as error:
        message = f"the settings cannot be read: {error}."
        raise ConfigError(message, where=str(path), fix="Fix the file, or name another one.", slug="config") from None
    if not sound:
        message = "`hooks` is not as the host documents it."
        raise ConfigError(message, where=str(path), fix="Fix the file, or name another one.", slug="config")
    return dict(tree)


def _is_hook(hook: object) -> bool:
    return isinstance(hook, dict) and isinstance(hook.get("command", ""), str)


def _format(tree: Mapping[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(tree), indent=2) + b"\n"


def _replace(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file that appears whole or not at all."""
    try:
        target = os.path.realpath(path)
        descriptor, temporary = create_unfinished(target)
        with open(descriptor, "wb") as file:
            file.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except OSError as error:
        raise ConfigError(f"it cannot be written: {error.strerror}.", where=str(path), slug="config") from None
