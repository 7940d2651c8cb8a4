"""Agents of a Node project that Carob can ask without a server, through a file that stays for all cases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from carob.features.setup.survey.findings import Bridge, FoundAgent
from carob.features.setup.survey.ranking import AgentCandidate, sort_candidates

TYPED = (".ts", ".mts", ".tsx")
BRIDGE = "carob_bridge"
MOST_SHOWN = 1500
_MADE = r"(?m)^(?P<export>export\s+)?(?:const|let|var)\s+(?P<name>\w+)[^=\n]*=\s*(?:await\s+)?"
_FUNCTION = re.compile(
    r"(?m)^export\s+(?P<default>default\s+)?(?:async\s+function\s+|function\s+|const\s+)(?P<name>\w+)\s*"
    r"(?:=\s*(?:async\s*)?)?\((?P<parameters>[^)]*)\)(?P<body>.*?)^\}",
    re.DOTALL,
)
_ASKS_MODEL = re.compile(r"\b(?:generateText|streamText)\s*\(")
_ROUTE = re.compile(r"(?:^|/)(?:api/.*|route|server)\.[jt]sx?$")
_REGISTERED = re.compile(r"\bexport\s+const\s+(?P<name>\w+)\s*=\s*new\s+Mastra\b")
_PARTS = re.compile(r"\b(?:handoffs|agents|subagents)\s*[:=]\s*[\[{](?P<names>[^\]}]*)[\]}]|(?P<tool>\w+)\.asTool\(")
_HISTORY = 'state.history ??= [];\nstate.history.push({ role: "user", content: prompt });\n'


class Library(NamedTuple):
    """A library of agents: how one is made in a file, and how a prompt is sent to it and its result read."""

    name: str
    imported: re.Pattern[str]
    makes: re.Pattern[str]
    recorder: str
    ask: str
    imports: str = ""


LIBRARIES = (
    Library(
        "Mastra",
        re.compile(r"""from\s+["']@mastra/core(?:/agent)?["']"""),
        re.compile(_MADE + r"new\s+Agent\b"),
        "fromMastra",
        _HISTORY + "const result = await AGENT.generate(state.history);\n"
        'state.history.push({ role: "assistant", content: result.text });\nreturn fromMastra(result);',
    ),
    Library(
        "OpenAI Agents SDK",
        re.compile(r"""from\s+["']@openai/agents["']"""),
        re.compile(_MADE + r"(?:new\s+Agent\b|Agent\.create\()"),
        "fromAgents",
        _HISTORY + "const result = await run(state.agent ?? AGENT, state.history);\n"
        "[state.history, state.agent] = [result.history, result.lastAgent];\nreturn fromAgents(result);",
        'import { run } from "@openai/agents";\n',
    ),
    Library(
        "LangGraph.js",
        re.compile(r"""from\s+["'](?:@langchain/langgraph[\w/]*|langchain)["']"""),
        re.compile(_MADE + r"(?:[^;]{0,4000}?\.compile\(|create(?:React)?Agent\()", re.DOTALL),
        "fromLangChain",
        _HISTORY + "const result = await AGENT.invoke({ messages: state.history });\n"
        "state.history = result.messages;\nreturn fromLangChain(result);",
    ),
    Library(
        "AI SDK",
        re.compile(r"""from\s+["']ai["']"""),
        re.compile(_MADE + r"new\s+(?:ToolLoop|Experimental_)?Agent\b"),
        "fromAiSdk",
        _HISTORY + "const result = await AGENT.generate({ messages: state.history });\n"
        "state.history.push(...(await result.response).messages);\nreturn fromAiSdk(result);",
    ),
)
FUNCTION = (
    'const result = await AGENT;\nreturn typeof result === "string" ? { final_message: result } : fromAiSdk(result);'
)
ADDS = "state.history.push(...((await result.response)?.messages ?? []));"
_TEMPLATE = """\
// @ts-nocheck: Carob asks the agent through this file and keeps it running; a line of JSON in, one out.
import {{ createInterface }} from "node:readline";

const lines = createInterface({{ input: process.stdin }})[Symbol.asyncIterator](); // before the agent may read it
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr); // what the agent prints is a log
{imports}const {{ {recorder} }} = await import(process.env.CAROB_RECORDERS ?? "carob");

async function ask(prompt, state) {{
{ask}
}}

let [conversation, state] = ["", {{}}];
for await (const line of lines) {{
  const {{ id, conversation: name, prompt }} = JSON.parse(line);
  if (name !== conversation) [conversation, state] = [name, {{}}];
  const trace = await ask(prompt, state).catch((error) => ({{ error: `${{error?.stack ?? error}}` }}));
  write(`${{JSON.stringify({{ id, ...trace }})}}\\n`);
}}
process.exit(0);
"""
_VITEST = """\
// npm i -D carob vitest, then: npx vitest
import {{ {recorder}, suite }} from "carob/vitest";
{imports}
async function ask(prompt, state) {{
{ask}
}}

suite({suite}, (prompt, turn) => ask(prompt, turn.state));
"""


class NodeAgent(NamedTuple):
    """An agent that a file makes, and the lines that send it a prompt."""

    candidate: AgentCandidate
    library: Library
    is_exported: bool
    source: str
    imports: str
    ask: str
    gaps: tuple[str, ...] = ()


def find_bridged(
    folder: str, packages: frozenset[str], code: Mapping[str, str], files: Sequence[str]
) -> Iterator[FoundAgent]:
    """The agents below the folder of a package.json, the one that answers users first."""
    found = [agent for path, text in code.items() if not _ROUTE.search(path) for agent in _agents_in(path, text, code)]
    places = {agent.candidate.place: agent for agent in found}
    for candidate, why in sort_candidates([agent.candidate for agent in found]):
        agent = places[candidate.place]
        is_typed = candidate.path.endswith(TYPED)
        path = f"{folder}/{BRIDGE}".lstrip("/") + (".mts" if is_typed else ".mjs")
        imports = agent.imports.replace("PLACE", _relative(agent.source, folder))
        unexported = () if agent.is_exported else (f"write `export` before {candidate.name} in {candidate.place}",)
        gaps = (*agent.gaps, *unexported)
        bridge = Bridge(path, _fill(_TEMPLATE, agent, _load_later(imports)), gaps, _fill_test(agent, imports))
        command = _runner(folder, packages, files, is_typed=is_typed)
        yield FoundAgent(
            f"command:{command} {path}",
            f"agent of the {agent.library.name} {candidate.name}{why}",
            candidate.place,
            candidate.name,
            options={"lines": True},
            bridge=bridge,
        )


def _runner(folder: str, packages: frozenset[str], files: Sequence[str], *, is_typed: bool) -> str:
    """What runs the bridge, with the variables of `.env` where there is one."""
    before = f"{folder}/" * bool(folder)
    given = f" --env-file={before}.env" if f"{before}.env" in files else ""
    if any(f"{before}{lock}" in files for lock in ("bun.lock", "bun.lockb")):
        return "bun"
    if not is_typed:
        return f"node{given}"
    prefix = f" --prefix {folder}" if folder else ""
    return f"npx{prefix}{'' if 'tsx' in packages else ' --yes'} tsx{given}"


def _fill(template: str, agent: NodeAgent, imports: str) -> str:
    ask = "\n".join(f"  {line}" for line in agent.ask.splitlines())
    return template.format(imports=imports, recorder=agent.library.recorder, ask=ask)


def _load_later(imports: str) -> str:
    """The imports as calls, which do not come before the lines above them."""
    named = re.sub(r'import \{ (\w+) \} from (".*");', r"const { \1 } = await import(\2);", imports)
    return re.sub(r'import (\w+) from (".*");', r"const { default: \1 } = await import(\2);", named)


def _fill_test(agent: NodeAgent, imports: str) -> str:
    """The test file for vitest, with SUITE where its suite is named."""
    ask = "\n".join(f"  {line}" for line in agent.ask.splitlines())
    text = _VITEST.format(imports=imports, recorder=agent.library.recorder, ask=ask, suite="SUITE")
    return text.replace("(prompt, state) {", "(prompt: string, state: any) {")


def _agents_in(path: str, text: str, code: Mapping[str, str]) -> Iterator[NodeAgent]:
    named = [match["names"] or match["tool"] or "" for match in _PARTS.finditer(text)]
    parts = {name.strip().partition(":")[0] for names in named for name in names.split(",")}
    for library in (library for library in LIBRARIES if library.imported.search(text)):
        for match in library.makes.finditer(text):
            name, line = match["name"], text.count("\n", 0, match.start()) + 1
            called = re.search(rf"\brun\(\s*{name}\b|\b{name}\.(?:stream|generate|invoke)", text) is not None
            made = text[match.start() : match.start() + MOST_SHOWN]
            candidate = AgentCandidate(path, line, name, made, is_part=name in parts, gets_history=called)
            source, imported, subject = path, name, name
            is_exported = bool(match["export"]) or re.search(rf"export\s*\{{[^}}]*\b{name}\b", text) is not None
            if library.name == "Mastra" and (registry := _registry(name, code)):
                (source, imported), is_exported = registry, True
                subject = f'{imported}.getAgent("{name}")'
            imports = f'{library.imports}import {{ {imported} }} from "PLACE";\n'
            yield NodeAgent(candidate, library, is_exported, source, imports, library.ask.replace("AGENT", subject))
        if library.name == "AI SDK":
            yield from _functions(path, text, library)


def _registry(name: str, code: Mapping[str, str]) -> tuple[str, str] | None:
    """The file and the instance of Mastra that has an agent, with its storage and what else it needs."""
    for path, text in code.items():
        if (match := _REGISTERED.search(text)) and re.search(rf"\b{name}\b", text[match.start() :]):
            return path, match["name"]
    return None


def _functions(path: str, text: str, library: Library) -> Iterator[NodeAgent]:
    """Exported functions that ask a model."""
    for match in _FUNCTION.finditer(text):
        if not _ASKS_MODEL.search(match["body"]):
            continue
        name, line = match["name"], text.count("\n", 0, match.start()) + 1
        arguments, gaps = _arguments(match["parameters"])
        ask = FUNCTION.replace("AGENT", f"{name}({arguments})")
        if "state.history" in arguments:
            ask = _HISTORY + ask.replace("\n", f"\n{ADDS}\n", 1)
        candidate = AgentCandidate(path, line, name, match[0], gets_history="state.history" in arguments)
        what = f"{{ {name} }}" if not match["default"] else name
        found = [f"write what {candidate.name} takes as {gap} in {BRIDGE}" for gap in gaps]
        yield NodeAgent(candidate, library, True, path, f'import {what} from "PLACE";\n', ask, tuple(found))


def _arguments(parameters: str) -> tuple[str, list[str]]:
    """What a function is called with, and the parameters that are to be filled in."""
    named = re.match(r"\s*\{([^{}]*)\}", parameters)
    names = [
        part.strip() for part in (named[1] if named else re.sub(r"<[^<>]*>|\{[^{}]*\}", "", parameters)).split(",")
    ]
    first, *others = names
    value = "state.history" if re.match(r"(?:messages|history)\b", first) else "prompt"
    gaps = [part.partition(":")[0] for part in others if part and "?" not in part and "=" not in part]
    return (f"{{ {first}: {value} }}" if named else value), gaps


def _relative(path: str, folder: str) -> str:
    return "./" + (path.removeprefix(f"{folder}/") if folder else path)
