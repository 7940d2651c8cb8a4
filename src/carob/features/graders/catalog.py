"""The kinds of graders, each with the module of its adapter and the packages that it needs."""

from __future__ import annotations

import importlib
from typing import Any, Final, NamedTuple

from carob.errors import ConfigError, UsageError
from carob.text.wording import did_you_mean, join_words

HOW_TO_WRITE: Final = "Write it as python:module:function, or see `carob audit --help`."


class GraderKind(NamedTuple):
    """A kind: what it names, its adapter, and the package without which it cannot be used."""

    name: str
    about: str
    adapter: str = ""
    package: str = ""


KINDS: Final = (
    GraderKind("python", "python:module:function or python:file.py:function", "python"),
    GraderKind("command", "command:PROGRAM with JSON on its standard input and output"),
    GraderKind("carob", "carob:SUITE, its checks by the ids of cases"),
    GraderKind("deepeval", "deepeval:module:metric", "deepeval", "deepeval"),
    GraderKind("inspect", "inspect:module:scorer", "inspect_ai", "inspect-ai"),
    GraderKind("pydantic-evals", "pydantic-evals:module:evaluator", "pydantic_evals", "pydantic-evals"),
    GraderKind("agentevals", "agentevals:module:evaluator", "agentevals", "agentevals"),
    GraderKind("pytest", "pytest:file.py::test", "pytest_node", "pytest"),
)
BY_NAME: Final = {kind.name: kind for kind in KINDS}


def parse_spec(spec: str) -> tuple[GraderKind, str]:
    """The kind of a grader and what it names. Raises UsageError for a spec that names none."""
    head, colon, name = spec.partition(":")
    kind = BY_NAME.get(head)
    if kind is None or not colon or not name.strip():
        if kind is not None:
            raise UsageError(f"{spec!r} names no grader.", fix=f"Write {kind.about}.", slug="bad-grader")
        known = join_words([*BY_NAME], "and")
        is_code = colon and (head.endswith(".py") or "." in head or "/" in head or head.isidentifier())
        near = did_you_mean(head, BY_NAME) or (f"Write python:{spec}." if is_code else HOW_TO_WRITE)
        raise UsageError(f"there is no kind of grader {head!r} (known: {known}).", fix=near, slug="bad-grader")
    return kind, name


def import_adapter(kind_name: str) -> Any:
    """The module of an adapter. Raises ConfigError with the install line where its package is missing."""
    kind = BY_NAME[kind_name]
    if kind.package:
        module = kind.package.replace("-", "_")
        try:
            importlib.import_module(module)
        except ImportError as error:
            missing = isinstance(error, ModuleNotFoundError) and error.name == module
            problem = "is not installed" if missing else f"cannot be imported: {error}"
            fix = f"Install it next to Carob: pip install {kind.package}"
            raise ConfigError(f"{kind.package} {problem}.", fix=fix, slug="grader-package") from None
    return importlib.import_module(f"carob.features.graders.adapters.{kind.adapter}")
