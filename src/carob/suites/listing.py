"""The rows of `carob run --list`, with nothing but the standard library: it must start as fast as click alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from carob.plugins.packages import may_have_formats
from carob.text.wording import visible

if TYPE_CHECKING:
    from pathlib import Path

    from carob.model.suite import Suite

Row = tuple[str, str, str]


def rows(path: str | Path) -> list[Row] | None:
    """Id, category and prompt of every case, or None if the file needs another format or has a problem."""
    if may_have_formats():
        return None
    try:
        with open(path, encoding="utf-8-sig") as file:
            tree = json.load(file, parse_constant=_refuse)
    except (OSError, ValueError, RecursionError):
        return None
    cases, prompt = (tree["cases"], "prompt") if is_eval_set(tree) else (tree, "input")
    if not isinstance(cases, list) or not cases:
        return None
    parsed_rows = [row for case in cases if (row := _row(case, prompt))]
    return parsed_rows if len({row[0] for row in parsed_rows}) == len(cases) else None


def is_eval_set(tree: object) -> bool:
    return isinstance(tree, dict) and "cases" in tree and "carob" not in tree


def is_golden_set(tree: object) -> bool:
    return isinstance(tree, Sequence) and not isinstance(tree, str)


def suite_rows(suite: Suite) -> list[Row]:
    """The same rows of a suite that was loaded."""
    return [(visible(case.id), visible(case.category), visible(case.prompt)) for case in suite.cases]


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _row(case: object, prompt: str) -> Row | None:
    if not isinstance(case, dict):
        return None
    name, category, text = case.get("id"), case.get("category", ""), case.get(prompt)
    if not (isinstance(name, str) and isinstance(category, str) and isinstance(text, str)):
        return None
    if not name.strip() or not text.strip() or name != visible(name) or category != visible(category):
        return None
    return name, category, visible(text)
