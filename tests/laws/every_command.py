"""A project with a secret and hostile texts wherever one can be, and every command run in it, as the shell would."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import sys
import time
import traceback
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from carob.criteria.identity import criterion_id
from carob.proxy.tape.file import Answer, Exchange, Tape
from carob.proxy.tape.requests import ServiceRequest
from features.check.conversations import write_lines
from journal.test_planted_secrets import ENCODINGS, SECRET, everywhere
from reports.hostile import HOSTILE

ROWS = yaml.safe_load(Path(__file__).with_name("commands.yaml").read_text())
SECONDS = 240.0
ALL = " ".join(ENCODINGS.values())
AGENT = f"""
import os
def ask(prompt):
    told = {ALL!r}
    call = {{"name": "pay", "arguments": {{"key": told, told: 1}}, "result": {{"key": told}}, "success": True}}
    echo = {{"name": prompt, "id": prompt, "arguments": {{prompt: prompt}}, "error": prompt, "result": [prompt]}}
    said = {{"final_message": f"Paid with {{told}}. {{prompt}}", "metadata": {{"model": told, prompt: prompt}}}}
    return {{**said, "tool_calls": [call, echo], "messages": [{{"role": prompt, "content": prompt}}]}}
"""
TEXTS = {**HOSTILE, "too-long": "long " * 12_001, "empty": ""}
FEW = ("script-break", "ansi-title", "xml-close", "csv-quotes", "markdown-image", "surrogates", "github-mask")
"""Those that the gate plants in every place; all are in what `check` reads."""
POLICY = f"""carob: 1
tools: {{ writes: [pay] }}
rules:
  - id: asked
    why: Never with {SECRET!r}.
    each: {{ call: pay }}
    needs: {{ last_user: ["@yes"] }}
  - id: told
    each: {{ call: pay, arguments: {{ key: {{ $as: key }} }} }}
    at_most: 1
"""
SUITE: dict[str, Any] = {
    "carob": 1,
    "name": f"Shop {SECRET}",
    "cases": [
        {
            "id": "pay",
            "category": f"of {SECRET}",
            "prompt": f"pay with {SECRET}",
            "metadata": {SECRET: [SECRET]},
            "expected": {"must_say_any": [SECRET, "x"], "must_not_say": [f"not {SECRET}"], "tool_calls_any": ["pay"]},
        },
        {"id": "refuse", "prompt": "p", "expected": {"must_say_any": [f"no {SECRET}"]}},
    ],
}


class OneLine(yaml.SafeDumper):
    """Writes a text on one line, so that no line of what an author wrote begins as a text of others does."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", data, style='"' if "\n" in data else None)


OneLine.add_representer(str, OneLine.represent_str)


class Ran(NamedTuple):
    """What one command line came to."""

    line: str
    code: int
    screen: str
    served: str


def talk(number: int, text: str, *, agreed: bool, **about: Any) -> dict[str, Any]:
    """A conversation as the API of OpenAI has it, with a text in each of its places."""
    call = {"id": f"{number} {text}", "function": {"name": "pay", "arguments": json.dumps({"key": text, text: [text]})}}
    messages = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": "Shall I?"},
        {"role": "user", "content": "Yes, please." if agreed else f"no: {text}"},
        {"role": "assistant", "content": text, "tool_calls": [call, call]},
        {"role": "tool", "tool_call_id": call["id"], "content": json.dumps({"ok": True, text: text})},
        {"role": "assistant", "content": f"Done: {text}"},
    ]
    return {"id": f"{number} {text}", "user": text, "model": text, "version": text, "messages": messages, **about}


def name_of(text: str) -> str:
    """A text as an author may write it in a name: on one line, and without what UTF-8 cannot say."""
    return "".join(char if char.isprintable() else " " for char in text.encode(errors="replace").decode())[:200]


def hostile_cases(texts: Sequence[str]) -> list[dict[str, Any]]:
    """A case for each text, with it in each of its places."""
    return [
        {
            "id": f"{number}{name_of(text)}",
            "category": name_of(text) or "none",
            "prompt": (said := text.encode(errors="replace").decode()) or "p",
            "metadata": {said: [said]},
            "tags": [name_of(text) or "none"],
            "expected": {"must_not_say": [said or "x"], "tool_calls_any": ["ship"], "meets": [f"is {name_of(text)}"]},
        }
        for number, text in enumerate(texts)
    ]


def hostile_files(folder: Path, texts: Sequence[str]) -> None:
    """Labels of two people who differ, and conversations in files of such names."""
    labels = []
    for number, given in enumerate(texts):
        text = given.encode(errors="replace").decode()
        criterion, evidence = f"is {name_of(text)}", hashlib.sha256(b"%d" % number).hexdigest()
        about = {"criterion": criterion_id(criterion), "text": criterion, "evidence": evidence, "queue": "own"}
        for by, verdict in (("ann", "met"), ("bo", "not met")):
            said = {"by": by, "verdict": verdict, "at": "2026-11-18T00:00:00Z", "blind": True, "case": text}
            labels.append({**about, **said, "note": text, "quote": text, "target": text})
        name = re.sub(r"[/\0]", "_", text)[:60]
        write_lines(folder / "given" / f"{name}{number}.jsonl", [talk(1_000 + number, given, agreed=True)])
    (folder / "labels").mkdir()
    write_lines(folder / "labels" / "labels.jsonl", labels)


def lay_out(folder: Path, hostile: Sequence[str]) -> None:
    """The files of the project; each that ends in `.given` or is older than the commands was not written by one."""
    (folder / "agent.py").write_text(AGENT)
    (folder / "grader.py").write_text("def accepts(trace):\n    return bool(trace.tool_calls)\n")
    (folder / "policy.carob.yaml").write_text(POLICY)
    cases = hostile_cases(hostile)
    suite = {**SUITE, "cases": [*SUITE["cases"], *cases]}
    (folder / "suite.carob.yaml").write_text(yaml.dump(suite, Dumper=OneLine, width=1 << 30))
    (folder / "broken.yaml").write_text(f"carob: 1\ncases:\n  - {{id: a, prompt: p, expected: {{{SECRET!r}: 1}}}}\n")
    (folder / "prompts.txt").write_text(f"say {SECRET}\n")
    (folder / "carob.toml").write_text(
        'target = "shop"\nsecrets = ["SHOP_KEYS"]\nrules = ["policy.carob.yaml"]\n'
        '[targets.shop]\nuse = "python:agent.py:ask"\n'
    )
    texts = [SECRET, *ENCODINGS.values(), *(f"{text} {SECRET}" for text in HOSTILE.values())]
    for name in ("given", "good", "bad", "fresh", "example"):
        (folder / name).mkdir()
    about = {"tags": [SECRET], "metadata": {SECRET: {"plan": SECRET}}}
    write_lines(folder / "given" / "talks.jsonl", (talk(n, t, agreed=n % 2 > 0, **about) for n, t in enumerate(texts)))
    told = {**everywhere(), "tool_calls": [{"name": "pay", "arguments": {"key": ALL}, "result": ALL, "success": True}]}
    traces = [{"trace": {**told, "case_id": "pay", "input": SUITE["cases"][0]["prompt"]}}]
    traces += [{"trace": {"case_id": "refuse", "input": "p", "final_message": ALL, "tool_calls": []}}]
    for case, text in zip(cases, hostile, strict=True):
        call = {"name": text or "x", "id": text, "arguments": {text: text}, "result": {text: text}, "error": text}
        said = {"final_message": text, "tool_calls": [call], "messages": [{"role": text, "content": text}]}
        traces.append({"trace": {**said, "case_id": case["id"], "input": case["prompt"], "metadata": {text: text}}})
    (folder / "recording.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in traces))
    hostile_files(folder, hostile)
    for name, calls in (("good", [{"name": "look"}, {"name": "pay", "arguments": {"key": SECRET}}]), ("bad", [])):
        said = {"input": SECRET, "final_message": f"{name} {ALL}", "tool_calls": calls}
        write_lines(
            folder / name / "sessions.jsonl", ({"trace": {**said, "case_id": f"{n} {SECRET}"}} for n in range(9))
        )

    request = ServiceRequest("openai", "POST", f"/v1/chat?note={ALL}", json={"messages": [{"content": ALL}]})
    exchange = Exchange(case="pay", request=request, answer=Answer(200, json={"choices": [ALL]}), recorded="2026-11-18")
    Tape(path=folder / "suite.tape.yaml", runs={("pay", 0): [exchange]}).write()
    (folder / "calls.carob.yaml").write_text(
        "carob: 1\nrules:\n  - { id: once, each: { call: pay, arguments: { key: { $as: k } } }, at_most: 1 }\n"
    )


def run_all(folder: Path) -> list[Ran]:
    """Every row of the table, one after the other."""
    return [run_row(row, folder) for row in ROWS]


def run_row(row: dict[str, Any], folder: Path) -> Ran:
    results = sorted((folder / "carob-results").glob("suite.carob-*Z.jsonl"))
    names = {"{secret}": SECRET, "{python}": sys.executable, "{results}": "carob-results"}
    names |= {"{journal}": str(results[0].relative_to(folder))} if results else {}
    arguments = [names.get(text, text) for text in row["run"]]
    said = row.get("in", "").replace("{secret}", json.dumps(SECRET)[1:-1])
    screen = folder.parent / "screen"
    screen.unlink(missing_ok=True)
    (folder.parent / "in").write_text(f"{said}\n" if said else "")
    child = os.fork()
    if not child:
        _be_command(arguments, folder / row.get("folder", "."), screen, folder.parent / "in")
    served = ""
    try:
        if "requests" in row:
            served = _ask(row["requests"], screen)
            os.kill(child, signal.SIGINT if row["requests"] != "decide" else signal.SIGTERM)
        code = _wait(child)
    finally:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return Ran(" ".join(row["run"]), code, screen.read_bytes().decode("utf-8", "surrogateescape"), served)


def _be_command(arguments: list[str], folder: Path, screen: Path, given: Path) -> None:
    """Be the command, in this child process."""
    code = 99
    try:
        os.chdir(folder)
        out = os.open(screen, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number, file in ((0, os.open(given, os.O_RDONLY)), (1, out), (2, out)):
            os.dup2(file, number)
        os.environ |= {"SHOP_KEYS": SECRET, "HOME": str(folder.parent), "COLUMNS": "200", "BROWSER": "true"}
        sys.path[:0] = [str(folder)]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        from carob.cli import main, streams

        streams._learn_names.cache_clear()
        sys.stdin = open(0)  # noqa: SIM115 - of this process
        printed = streams.patient_streams()
        code = streams.final_exit_code(printed, main.run(arguments))
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - nothing of the test may go on here
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def _wait(child: int) -> int:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    raise AssertionError("the command did not end")


def _ask(what: str, screen: Path) -> str:
    """Send what a service is asked, once its address is on the screen; its answers."""
    until = time.monotonic() + SECONDS
    while not (found := re.search(r"http://\S+", screen.read_text(errors="replace") if screen.exists() else "")):
        assert time.monotonic() < until, screen.read_text()
        time.sleep(0.02)
    address = found[0].rstrip(".,:")
    return "".join({"decide": _decide, "spans": _send_spans, "pages": _read_pages}[what](address))


def _post(address: str, body: object) -> str:
    request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return str(answer.read().decode())


def _decide(address: str) -> list[str]:
    body = {"conversation": "one", "begin": True, "user": f"yes {SECRET}", "metadata": {SECRET: ALL}}
    call = {"tool": "pay", "id": "1", "arguments": {"key": ALL, SECRET: 1}}
    decide = address if address.endswith("/decide") else f"{address.rstrip('/')}/decide"
    later = {"conversation": "one", "results": [{"call": "1", "result": {"key": ALL}}], "says": SECRET, "call": call}
    return [_post(decide, {**body, "call": call}), _post(decide, later)]


def _send_spans(address: str) -> list[str]:
    values = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "pay",
        "gen_ai.conversation.id": SECRET,
        "gen_ai.tool.call.arguments": json.dumps({"key": ALL}),
        SECRET: ALL,
    }
    span = {
        "traceId": "ab" * 16,
        "spanId": "cd" * 8,
        "name": f"execute_tool {SECRET}",
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000001000000000",
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in values.items()],
    }
    root = re.sub(r"/v1/traces$|/$", "", address)
    said = [_post(f"{root}/v1/traces", {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})]
    time.sleep(1.5)
    with urllib.request.urlopen(f"{root}/metrics", timeout=20) as answer:
        return [*said, answer.read().decode()]


def _read_pages(address: str) -> list[str]:
    """The first page, and each that it links to."""
    pages, seen = list[str](), set[str]()
    root = address.partition("?")[0].rstrip("/")
    todo = [address]
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    while todo and len(pages) < 12:
        with opener.open(todo.pop(0), timeout=20) as answer:
            pages.append(answer.read().decode("utf-8", "replace"))
        links = re.findall(r'href="(/[^"#]+)"', pages[-1])
        todo += [f"{root}{link}".replace("&amp;", "&") for link in links if link not in seen]
        seen.update(links)
    return pages
