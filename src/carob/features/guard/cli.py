"""`carob guard`"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carob.cli.options import PORTS
from carob.errors import ExitCode

if TYPE_CHECKING:
    from carob.features.guard.hook_events import Host
    from carob.features.guard.install import SettingsChange
    from carob.features.guard.serve import GuardServer

POLICY = click.argument("policy", type=click.Path(path_type=Path), metavar="POLICY")
JOURNAL = click.option("--journal", type=click.Path(path_type=Path), metavar="FILE", help="Write decisions here.")
STORE = click.option(
    "--store", type=click.Path(path_type=Path), metavar="FILE", help="Keep conversations here, for several processes."
)
KEEP_DAYS = click.option(
    "--keep-days",
    type=click.FloatRange(min=0, min_open=True),
    default=1,
    show_default=True,
    metavar="DAYS",
    help="Remove the events of a conversation after so many days in which nothing happened in it.",
)
PORT = click.option("--port", type=PORTS, default=0, metavar="PORT", help="Listen here (default: a free port).")
HOST = click.option(
    "--host", type=click.Choice(["claude", "codex"]), default="claude", help="The coding agent: Claude Code or Codex."
)
SETTINGS = click.option(
    "--settings",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The settings of the agent (default: those of this project, for this user alone).",
)
MOST = click.option(
    "--max-conversations",
    type=click.IntRange(min=1),
    default=10_000,
    metavar="N",
    help="Follow so many at once. Of more, those that are quiet for longest are dropped, and their calls refused.",
)
ELSEWHERE = "Install Carob outside of the project, and the guard by that one."
TOKEN = "CAROB_GUARD_TOKEN"
"""The variable with the token of an address, where a program must know it beforehand."""
SHORTEST_TOKEN = 24


@click.group()
def command() -> None:
    """Hold the calls of an agent to the rules of a contract, before they are made.

    \b
    Examples:
      carob guard check policy.carob.yaml --by mcp
      carob guard mcp policy.carob.yaml -- npx some-mcp-server
      carob guard install policy.carob.yaml --host claude
      carob guard serve policy.carob.yaml --journal decisions.jsonl
      carob guard log decisions.jsonl
    """


@command.command(short_help="Say which rules a guard can hold.")
@POLICY
@click.option(
    "--by",
    type=click.Choice(["python", "serve", "hook", "mcp"]),
    default="python",
    help="Where the guard is: what it cannot see there is an error.",
)
@click.option(
    "--tools",
    multiple=True,
    metavar="SOURCE",
    help="List the tools that no rule names, of: an answer to tools/list, a recording, tools.py:TOOLS. Repeatable.",
)
def check(policy: Path, by: str, tools: tuple[str, ...]) -> int:
    """Read a contract as a guard does, and list its rules: which stop calls, and which no guard can hold."""
    from carob.engine.tool_lists import read_tools
    from carob.features.guard.policy import load_policy
    from carob.features.guard.tool_lists import find_unnamed
    from carob.text.wording import pluralize, visible

    read = load_policy(policy)
    read.refuse_seam(by)  # type: ignore[arg-type]  # click checks it
    listed = dict.fromkeys(name for source in tools for name in read_tools(source, Path.cwd()))
    for rule in read.contract.rules:
        why = read.not_guarded.get(rule.id)
        words = f"not guarded: {why}" if why else {"block": "blocks", "ask": "asks", "observe": "observes"}[rule.mode]
        click.echo(visible(f"{rule.id}  {words}"))
    unnamed = list(find_unnamed(read, listed))
    for tool, question in unnamed:
        click.echo(visible(f"no rule names {tool}. {question}".rstrip()))
    if tools:
        click.echo(f"{pluralize(len(listed), 'tool')}, {len(unnamed)} that no rule names")
    return ExitCode.OK


@command.command(short_help="Guard an MCP server.", context_settings={"ignore_unknown_options": True})
@POLICY
@click.argument("server", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option("--url", metavar="URL", help="The address of a server that is already running.")
@PORT
@JOURNAL
@STORE
@MOST
def mcp(
    policy: Path,
    server: tuple[str, ...],
    url: str | None,
    port: int,
    journal: Path | None,
    store: Path | None,
    max_conversations: int,
) -> int:
    """Guard the way from an agent to an MCP server: calls that break a rule are answered with an error.

    The server is started on stdin and stdout, or reached at --url; then the address for the agent is printed.
    """
    from carob.features.guard.guard import Guard
    from carob.features.guard.mcp import HttpGuard, guard_stdio

    guard = Guard(policy, journal=journal, store=store, most_conversations=max_conversations, seam="mcp")
    if url is None:
        return guard_stdio(guard, server)
    front = HttpGuard(guard, url)
    return _serve_until_stopped(front, port, keeps=store is not None)


@command.command(short_help="Answer decisions over HTTP, for programs in any language.")
@POLICY
@PORT
@JOURNAL
@STORE
@KEEP_DAYS
@MOST
def serve(
    policy: Path, port: int, journal: Path | None, store: Path | None, keep_days: float, max_conversations: int
) -> int:
    """Answer POST /decide on the loopback address. The address has a token in it, and is printed.

    CAROB_GUARD_TOKEN sets the token, for a program that must know it beforehand.
    """
    from carob.system.gc_pause import gc_frozen

    with gc_frozen():
        from carob.features.guard.guard import Guard
        from carob.features.guard.serve import DecisionServer

        kept: dict[str, Any] = {"keep_seconds": keep_days * 86_400, "most_conversations": max_conversations}
        server = DecisionServer(Guard(policy, journal=journal, store=store, **kept, seam="serve"))
    return _serve_until_stopped(server, port, keeps=store is not None)


def _serve_until_stopped(server: GuardServer, port: int, *, keeps: bool) -> int:
    """Print the address, and serve until the program is asked to end."""
    from carob.errors import UsageError
    from carob.system.loopback_auth import new_token

    token = os.environ.get(TOKEN, "") or new_token()
    if len(token) < SHORTEST_TOKEN:
        raise UsageError(f"{TOKEN} has fewer than {SHORTEST_TOKEN} characters.", fix="Make it longer.")
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    server.open(port, token)
    if not keeps:
        from carob.features.guard.guard import FORGETS

        click.echo(f"carob: {FORGETS} Keep them with --store FILE.", err=True)
    try:
        click.echo(server.url)
        sys.stdout.flush()
        stopped.wait()
    finally:
        server.close()
    return ExitCode.OK


@command.command(short_help="Answer one event of a coding agent, on stdin.")
@click.argument("arguments", nargs=-1, metavar="FILE SHA256")
def hook(arguments: tuple[str, ...]) -> int:
    """Answer one event of a coding agent: exit code 2 blocks, with the reason on stderr.

    `carob guard install` writes such a command, with the file of the rules and its hash. Whatever is wrong blocks.
    """
    from carob.features.guard.hook import run_hook

    return run_hook(arguments)


@command.command(short_help="Write the hooks of a coding agent, and prove that they block.")
@POLICY
@HOST
@SETTINGS
@click.option("--user", is_flag=True, help="For all sessions of this user, in every folder.")
@click.option("--yes", is_flag=True, help="Write without a question.")
@click.option("--remove", is_flag=True, help="Take the hooks out again, and remove what the guard kept.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
def install(policy: Path, host: Host, settings: Path | None, user: bool, yes: bool, remove: bool, dry_run: bool) -> int:
    """Write hooks for prompts, calls and results into the settings of a coding agent, by default those of this project.

    What would be written is shown first, and nothing is written without a yes.

    The rules are copied to a folder outside of the project, and the copy is pinned by its hash. A self-test runs the
    very command that is written: it must block, also without its rules and without Python.
    """
    from carob.errors import UsageError
    from carob.features.guard.install import find_own_python, install_guard, plan_installation, plan_removal
    from carob.features.guard.install import remove as remove_guard
    from carob.text.wording import visible

    if user and settings is not None:
        raise UsageError("--user and --settings name different settings.", fix="Give one of them.", slug="bad-option")
    about: dict[str, Any] = {"environ": os.environ, "workspace": Path.cwd(), "settings": settings, "user": user}
    if remove:
        removal = plan_removal(policy, host, **about)
        click.echo(visible(f"hooks: {removal.settings.path}, for {removal.settings.scope}"))
        if dry_run:
            return _preview(removal.settings)
        click.echo("removed" if remove_guard(removal) else "no hooks for these rules are there")
        return ExitCode.OK
    installation = plan_installation(policy, host, **about)
    click.echo(visible(f"hooks: {installation.settings.path}, for {installation.settings.scope}"))
    click.echo(visible(f"rules, conversations and decisions: {installation.file.parent}"))
    _show(installation.settings)
    if dry_run or not _may_write(yes):
        click.echo("nothing was written")
        return ExitCode.OK
    install_guard(installation)
    click.echo("self-test: blocks")
    place = ("--user",) if user else () if settings is None else ("--settings", str(settings))
    line = shlex.join(("carob", "guard", "install", str(policy), "--host", host, *place, "--remove"))
    click.echo(visible(f"to take them out: {line}"))
    if python := find_own_python(Path.cwd()):
        click.echo(visible(f"carob: the agent can change the guard, since Carob is in {python}. {ELSEWHERE}"), err=True)
    for rule, why in installation.not_guarded.items():
        click.echo(visible(f"not guarded: {rule}: {why}"))
    if host == "codex":
        click.echo(
            "Codex runs these hooks only once you trusted them: type /hooks in Codex. Until then nothing is guarded."
        )
    return ExitCode.OK


def _may_write(yes: bool) -> bool:
    """Whether a person says yes. Raises UsageError where there is no one to ask."""
    from carob.errors import UsageError

    if not yes and not sys.stdin.isatty():
        message = "nothing was written: this is not a terminal."
        raise UsageError(message, fix="Add --yes to write these settings.", slug="usage")
    return yes or click.confirm("Write these settings?", default=False)


def _preview(change: SettingsChange) -> int:
    _show(change)
    click.echo("nothing was written")
    return ExitCode.OK


def _show(change: SettingsChange) -> None:
    """Print the lines that would change."""
    from carob.text.wording import visible

    for line in change.lines:
        click.echo(visible(line))


@command.command(short_help="Show what a guard decided.")
@click.argument("journal", type=click.Path(path_type=Path), metavar="JOURNAL")
@click.option("--all", "everything", is_flag=True, help="Also calls that were allowed.")
def log(journal: Path, everything: bool) -> int:
    """Print one line for each call that was refused, or that a rule watched, with the rule and the reason.

    A call that ran without a decision is an error: the guard was there, and was passed by. The exit code is then 1.
    """
    from carob.features.guard.journal import find_unasked, read_guard_journal
    from carob.text.wording import pluralize, visible

    decided = refused = unlooked = 0
    for line in read_guard_journal(journal):
        decision = line.decision
        if decision is None:
            continue
        decided += 1
        refused += not decision
        unlooked += decision.is_unnamed
        reasons = (*decision.reasons, *decision.observed)
        if reasons or everything:
            what = {"allow": "observed" if reasons else "allowed", "ask": "ask", "block": "blocked"}[decision.verdict]
            click.echo(
                visible(f"{line.conversation}  {what}  {decision.tool}  {reasons[0] if reasons else ''}".rstrip())
            )
    passed_by = False
    for conversation, tool in find_unasked(journal):
        passed_by = True
        what = f"a call of {tool} ran" if tool else "a call ended"
        click.echo(visible(f"{conversation}  NOT ASKED  {what} that no decision was about"), err=True)
    words = f", {unlooked} that no rule looked at" if unlooked else ""
    click.echo(f"{pluralize(decided, 'decision')}, {refused} refused{words}")
    return ExitCode.FAILED if passed_by else ExitCode.OK
