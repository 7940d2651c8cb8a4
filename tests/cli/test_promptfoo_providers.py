"""Providers of promptfoo that are code: run when the user trusts them, as promptfoo runs them, and not otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.support import Carob, write

PROVIDER = """\
import asyncio
from pathlib import Path


def call_api(prompt, options, context):
    Path("ran.txt").write_text("yes")
    if "fail" in prompt:
        return {"error": "the model is down"}
    if "none" in prompt:
        return None
    used = {"total": 5, "prompt": 3, "completion": 2}
    said = f"{options['config'].get('greeting', 'Hi')} {context['vars'].get('name')}: {prompt}"
    return {"output": {"said": said} if "object" in prompt else said, "tokenUsage": used}


async def later(prompt, options, context):
    await asyncio.sleep(0)
    return {"output": f"later {prompt}"}
"""
SCRIPT = """\
import json, sys
prompt, options, context = sys.argv[-3:]
if "fail" in prompt:
    sys.exit("no model")
print("script", prompt, json.loads(context)["vars"]["name"], json.loads(options)["id"][:5])
"""


def config(provider: object, *prompts: str, says: str = "Ann") -> str:
    write("own/provider.py", PROVIDER)
    write("own/script.py", SCRIPT)
    tests = [{"vars": {"name": "Ann"}, "assert": [{"type": "contains", "value": says}]}]
    document = {"prompts": list(prompts or ["Hello"]), "providers": [provider], "tests": tests}
    return write("own/promptfooconfig.yaml", json.dumps(document))


@pytest.mark.parametrize(
    ("provider", "prompt", "says"),
    [
        ("file://provider.py", "Hello", "Hi Ann: Hello"),
        ({"id": "python:provider.py", "config": {"greeting": "Ahoy"}}, "Hello", "Ahoy Ann: Hello"),
        ("python:provider.py:later", "Hello", "later Hello"),
        ("file://provider.py", "an object", '"said": "Hi Ann: an object"'),
        ("file://provider.py", '[{"role": "system", "content": "x"}]', '"role": "system"'),
        ("exec:python3 script.py -q", "Hello", "script Hello Ann exec:"),
    ],
)
def test_code_that_is_trusted_answers(carob: Carob, provider: object, prompt: str, says: str) -> None:
    ran = carob("run", config(provider, prompt, says=says), "--trust-code")
    assert list(ran.statuses.values()) == ["PASS"], ran
    assert list(carob("run", config(provider, prompt, says="kettle"), "--trust-code").statuses.values()) == ["FAIL"]


@pytest.mark.parametrize(
    ("provider", "prompt", "message"),
    [
        ("file://provider.py", "fail", "the model is down"),
        ("file://provider.py", "none", "neither `output` nor `error`"),
        ("exec:python3 script.py", "fail", "ended with status 1"),
    ],
)
def test_a_provider_that_breaks_is_an_error(carob: Carob, provider: str, prompt: str, message: str) -> None:
    ran = carob("run", config(provider, prompt), "--trust-code")
    assert list(ran.statuses.values()) == ["ERROR"], ran
    assert message in ran.out


@pytest.mark.parametrize("provider", ["file://provider.py", "exec:python3 script.py"])
def test_code_is_not_run_unasked(carob: Carob, provider: str) -> None:
    document = config(provider)
    ran = carob("run", document)
    assert ran.code == 4
    assert (
        "the suite's own target is code, which runs only if you trust it. If you trust it, use `carob run --trust-code`"
        in ran.err
    ), ran
    assert not Path("ran.txt").exists()
    assert carob("run", document, "-t", "python:agent.py:greet").code == 1


@pytest.mark.parametrize("provider", ["file://gone.py", "python:provider.py:gone", "exec:", "exec:'"])
def test_a_provider_that_is_not_there_is_one_line(carob: Carob, provider: str) -> None:
    ran = carob("run", config(provider), "--trust-code")
    assert ran.code in (2, 4), ran
    assert "Traceback" not in ran.err
    assert ran.err.count("\n") <= 2
