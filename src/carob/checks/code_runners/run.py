"""Runs one piece of Python in a process of its own: a job as JSON on stdin, its result as JSON on stdout."""

import json
import os
import sys
import textwrap
import traceback
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

DEFAULT = "get_assert"


def main() -> None:
    job = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the code prints is not its result
    try:
        answer = {"result": judge(job)}
        text = json.dumps(answer, default=str)
    except BaseException as error:  # noqa: BLE001 - whatever the code raises is its answer
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = json.dumps({"error": f"{type(error).__name__}: {error} (line {where.lineno})"})
    answers.write(text)
    answers.close()


def judge(job: dict[str, Any]) -> object:
    output, context = job["output"], job["context"]
    if job["file"]:
        sys.path.insert(0, os.path.dirname(job["file"]))
        loader = SourceFileLoader("assertion", job["file"])
        module = ModuleType(loader.name)
        loader.exec_module(module)
        return getattr(module, job["function"] or DEFAULT)(output, context)
    code = job["code"].strip()
    names: dict[str, Any] = {"output": output, "context": context, "json": json}
    if "\n" not in code and not code.startswith(("return ", "import ", "from ")):
        return eval(code, names)
    exec("def assertion(output, context):\n" + textwrap.indent(code, "    "), names)
    return names["assertion"](output, context)


main()
