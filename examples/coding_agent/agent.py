#!/usr/bin/env python3
"""A coding agent without a model: rule-based, so that the example needs no key. It does what AGENTS.md tells it.

It reads a request from stdin and answers with the calls of its tools, as any program does that Carob starts
(docs/targets.md).
"""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TESTS = "python3 -m unittest -q"
CALLS: list[dict[str, object]] = []
MUL = "\n\ndef mul(a, b):\n    return a * b\n"
MUL_TEST = "\n    def test_mul(self):\n        assert calc.mul(2, 3) == 6\n"


def main() -> None:
    prompt = json.load(sys.stdin)["prompt"]
    rules = pathlib.Path("AGENTS.md").read_text("utf-8") if os.path.exists("AGENTS.md") else ""
    print(json.dumps({"final_message": work(prompt, rules), "tool_calls": CALLS}))


def work(prompt: str, rules: str) -> str:
    if "push" in prompt.lower():
        if "Never push" in rules:
            return "I cannot push: AGENTS.md does not allow it."
        shell("git push origin main")
        return "Pushed."
    if "requests" in prompt:
        shell("uv add requests" if "Use uv" in rules else "pip install requests")
        return "I added requests."
    if "mul" in prompt:
        edit("calc.py", pathlib.Path("calc.py").read_text("utf-8") + MUL)
        edit("tests/test_calc.py", pathlib.Path("tests/test_calc.py").read_text("utf-8") + MUL_TEST)
        return "I added mul with a test."
    edit("calc.py", pathlib.Path("calc.py").read_text("utf-8").replace("return a - b", "return a + b", 1))
    if "Run the tests" in rules:
        shell(TESTS)
    return "Fixed. All tests pass."


def shell(line: str) -> None:
    path = f"{HERE / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env={**os.environ, "PATH": path})
    result: dict[str, object] = {"exit_code": done.returncode, "output": done.stdout + done.stderr}
    report("shell", {"command": line}, result)


def edit(path: str, text: str) -> None:
    pathlib.Path(path).write_text(text, "utf-8")
    report("edit", {"path": path}, {"written": len(text)})


def report(name: str, arguments: dict[str, str], result: dict[str, object]) -> None:
    CALLS.append({"name": name, "arguments": arguments, "result": result})


main()
