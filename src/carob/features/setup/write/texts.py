"""The texts of the files that `carob init` writes: configuration, first suite, workflow, lines of .gitignore."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from carob.features.setup.inspect.inspection import inline, target_table
from carob.features.setup.survey.findings import INSTRUCTIONS, FoundAgent, FoundServer
from carob.reports.artifacts import EVAL_SETS
from carob.system.installing import read_origin, requirement, without_user
from carob.text.wording import visible
from carob.version import __version__

IGNORED = "carob-results/"
SCHEMA = "carob-1.schema.json"
WORKFLOW = ".github/workflows/carob.yml"
CONFIG = "carob.toml"


def configuration(
    agent: FoundAgent | None,
    table: Mapping[str, object],
    problem: str,
    servers: Sequence[FoundServer],
    keys: Sequence[str],
    instructions: Sequence[str] = (),
) -> str:
    """carob.toml: with the target where it is known, else with the lines that find it."""
    lines = ["# Written by `carob init`. `carob help targets` has every key."]
    name = agent.name if agent is not None else "agent"
    if table:
        lines.append(f"target = {inline(name)}")
    lines += [f"secrets = {inline(list(keys))} # variables whose values are never written"] if keys else []
    lines.append("")
    if table:
        lines += [_comment(f"Not tried: {problem}")] if problem else []
        lines.append(target_table(name, table))
        lines += _start_lines(agent) if agent is not None and agent.start and agent.address else []
    elif agent is not None:
        lines += _unfinished_target(agent, problem)
    else:
        lines += ["# The agent under test: a Python function, a program, a graph, a service (`carob help targets`).",
                  '# target = "agent"', "#", "# [targets.agent]", '# use = "python:agent.py:answer"']  # fmt: skip
    for name in instructions[:1]:
        lines += ["", f"# Does a coding agent obey {name}? It works in a copy (`carob help coding-agents`):",
                  "# [targets.coder]", f"# use = {inline(INSTRUCTIONS[name])}", '# workspace = "."']  # fmt: skip
    for server in servers:
        lines += ["", *_server_lines(server)]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    """A comment of one line, whatever is in the text."""
    return f"# {visible(' '.join(text.split()) if not text.startswith('  ') else text)}"


def _unfinished_target(agent: FoundAgent, problem: str) -> list[str]:
    """What is left to do for an agent that could not be asked."""
    lines = [_comment(f"{agent.what}: {problem}")]
    lines += ["# Start it, for instance with", _comment(f"  {agent.start}")] if agent.start else ["# Start it,"]
    where = agent.address if agent.kind in ("http", "https") else agent.use
    lines += [
        "# and add the target with",
        _comment(f"  carob init --inspect {shlex.quote(where)} --name {agent.name} --write"),
    ]
    return [
        *lines,
        f"# Then add this line at the top, to make it the default of `carob run`: target = {inline(agent.name)}",
    ]


def _start_lines(agent: FoundAgent) -> list[str]:
    """How Carob starts a service itself: at a free port, by its command line or by the variable PORT."""
    port = urlsplit(agent.address).port
    use = agent.use.replace(f":{port}", ":{port}")
    start = agent.start.replace(f"--port {port}", "--port {port}")
    lines = [f"use = {inline(use)}", f"start = {inline(start)}"]
    lines += ['start_env = { PORT = "{port}" }'] if start == agent.start else []
    return [
        "",
        "# To see its tool calls, and to replay its models in CI without keys (`carob help ci-without-keys`),",
        "# let Carob start it: put these lines in place of `use` above.",
        *(f"# {line}" for line in (*lines, 'evidence = ["models"]')),
    ]


def _server_lines(server: FoundServer) -> list[str]:
    """How to see what the agent calls on an MCP server. Its command may hold keys, and is not shown."""
    if server.url:
        url = without_user(server.url.partition("?")[0])
        return [
            f"# The MCP server {server.name!r} of {server.where}. In the table of the target, this line records what",
            "# the agent calls on it, if the agent takes the address from CAROB_MCP_URL (`carob help spans`):",
            f"# mcp_record = {inline(url)}",
        ]
    return [
        f"# The MCP server {server.name!r} of {server.where} is started by a command. To put it on a tape, start it as",
        f"#   carob tape stdio {server.name} -- COMMAND    (`carob help tape`)",
    ]


def first_suite(name: str, prompts: Sequence[str]) -> str:
    """A suite to fill in: what it asks is true of any agent that answers, the rest is commented."""
    cases = "\n".join(_case(number, prompt) for number, prompt in enumerate(prompts, 1))
    return f"""\
# A case is something that people ask, and what must be true of every good answer. `carob help suites` has every key.
carob: 1
name: {json.dumps(f"First cases of {name}", ensure_ascii=False)}
# effects: {{ issue_refund: [refunded, paid back] }} # tools that change the world, and the words that claim it
cases:
{cases}
"""


def _case(number: int, prompt: str) -> str:
    return f"""\
  - id: case-{number}
    prompt: {json.dumps(prompt, ensure_ascii=False)}
    expected:
      outcome: completed # or tool_success, needs_input, graceful_block, graceful_error, response_only
      # tool_calls: [{{ tool: lookup_order, arguments: {{ order: A-17 }} }}] # such a call was made
      # tool_calls_none: [issue_refund] # never called, not even requested
      # must_say_any: [order number] # one of these is in the answer
      # no_false_success: true # a tool did what the answer claims was done (needs `effects`)"""


def with_schema(suite: str, path: str) -> str:
    """A suite with the line that lets editors complete and check it."""
    up = "../" * (len(PurePosixPath(path).parts) - 1)
    return f"# yaml-language-server: $schema={up}{SCHEMA}\n{suite}"


def add_to_gitignore(before: str) -> str | None:
    """.gitignore with the results of runs; None if it has them."""
    if any(line.strip().strip("/") == IGNORED.strip("/") for line in before.splitlines()):
        return None
    gap = "" if not before or before.endswith("\n") else "\n"
    return f"{before}{gap}{IGNORED}\n"


def workflow(suites: Sequence[str], agent: FoundAgent | None, requirements: str, keys: Sequence[str]) -> str:
    """A GitHub workflow of plain steps: install, start what has to run, run the suites, keep the report."""
    install = {"requirements.txt": "pip install -r requirements.txt", "pyproject.toml": "pip install ."}
    steps = [f"      - run: {install[requirements]}"] if requirements else []
    steps += _install_carob(agent.extra if agent is not None else "")
    if agent is not None and agent.kind == "browser":
        steps += [_step("playwright install --with-deps chromium-headless-shell")]
        steps += _install_node(shlex.split(str(agent.options.get("start", ""))))
    environment = ["        env:", *(f"          {key}: ${{{{ secrets.{key} }}}}" for key in keys)] if keys else []
    if agent is not None and (agent.start or (agent.address and agent.is_local)):
        steps += [*_start_steps(agent), *(environment if agent.start else [])]
    steps.append(_step(f"carob run {shlex.join(suites)} --report html"))
    steps += environment
    body = "\n".join(steps)
    results = json.dumps("\n".join(dict.fromkeys(_results_of(suite) for suite in suites)))
    return f"""\
# Written by `carob init`: runs the suites on every push and pull request, and keeps the report.
name: carob
on: [push, pull_request]
permissions:
  contents: read
jobs:
  carob:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2
      - uses: actions/setup-python@a26af69be951a213d495a4c3e4e4022e16d87065 # v5.6.0
        with: {{ python-version: "{sys.version_info.major}.{sys.version_info.minor}" }}
{body}
      - uses: actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02 # v4.6.2
        if: always()
        with: {{ name: carob, path: {results}, include-hidden-files: true }}
"""


def _start_steps(agent: FoundAgent) -> list[str]:
    """The steps that start a service and wait for it; one that fails, and says so, where its command is not known."""
    if not agent.start:
        missing = shlex.quote(f"Replace this step with one that starts what answers at {agent.address}")
        return [_step(f"echo {missing}; exit 1")]
    wait = shlex.quote(f"until curl -s -o /dev/null {shlex.quote(agent.address)}; do sleep 1; done")
    return [*_install_node(shlex.split(agent.start)), _step(f"{agent.start} & timeout 60 bash -c {wait}")]


def _results_of(suite: str) -> str:
    return f"{EVAL_SETS}/results/" if suite.startswith(f"{EVAL_SETS}/") else IGNORED


def _install_node(start: Sequence[str]) -> list[str]:
    """The steps that install what a Node service needs, if this line starts one."""
    if start[:1] not in (["npm"], ["node"]):
        return []
    npm = ["npm", *start[1 : 3 if "--prefix" in start else 1]]
    return ["      - uses: actions/setup-node@v4", _step(shlex.join([*npm, "ci"]))]


def _step(command: str) -> str:
    """A step of a workflow, its command quoted where YAML would read it otherwise."""
    is_plain = command[:1].isalnum() and not any(sign in command for sign in (": ", " #", "\n"))
    return f"      - run: {command if is_plain else json.dumps(command, ensure_ascii=False)}"


def _install_carob(extra: str) -> list[str]:
    """The step that installs Carob from where it was installed here; a folder of this machine is not in a workflow."""
    name = f"carob[{extra}]" if extra else "carob"
    origin = read_origin()
    if not origin:
        return [f'      - run: pip install "{name}=={__version__}"']
    if "vcs_info" in origin:
        return [f'      - run: pip install "{requirement(extra)}"']
    return [
        "      # Carob was installed from a folder here. Set the repository variable CAROB_PACKAGE to what pip",
        f'      # installs it from, such as "{name} @ git+https://..." or the address of a wheel.',
        '      - run: pip install "${CAROB_PACKAGE:?set this repository variable}"',
        '        env: { CAROB_PACKAGE: "${{ vars.CAROB_PACKAGE }}" }',
    ]


def vitest_file(recorder: str, suite: str) -> str:
    """A test file for vitest that runs a suite; until its function is filled in, every case is an ERROR."""
    return f"""\
// npm i -D carob vitest, then: npx vitest
import {{ {recorder}, suite }} from "carob/vitest";

async function askAgent(prompt: string): Promise<unknown> {{
  throw new Error(`call your agent with ${{JSON.stringify(prompt)}} in carob.test.ts, and return what it gives`);
}}

suite({json.dumps(suite)}, async (prompt) => {recorder}(await askAgent(prompt)));
"""
