"""The checker of BFCL itself, in the Python that has `bfcl_eval`: a line of JSON per answer in, a verdict per line out.

Run by `bfcl.py`, never imported. `bfcl_eval` is entered without its table of models, which loads the clients of all
services: of it, the checker wants to know whether dots of names were written as underscores.
"""

from __future__ import annotations

import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any


class _Models(dict[str, Any]):
    dotless = False

    def __missing__(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(underscore_to_dot=self.dotless)


MODELS = _Models()
_table = ModuleType("bfcl_eval.constants.model_config")
_table.MODEL_CONFIG_MAPPING = MODELS  # type: ignore[attr-defined]  # a module made here has what is given to it
sys.modules["bfcl_eval.constants.model_config"] = _table


def main() -> None:
    check = _check_turns if sys.argv[1:] == ["turns"] else _check_calls
    for line in sys.stdin:
        row = json.loads(line)
        try:
            found = check(row)
        except Exception as error:  # noqa: BLE001 - the checker raises for what it did not expect
            found = {"valid": False, "error_type": "checker:raised", "error": [f"{type(error).__name__}: {error}"]}
        why = str(found.get("error", found.get("error_message", "")))[:500]
        print("\nVERDICT " + json.dumps([found["valid"], found.get("error_type", ""), why]), flush=True)


def _check_calls(row: dict[str, Any]) -> dict[str, Any]:
    from bfcl_eval.constants.enums import Language  # type: ignore[import-not-found]  # in another environment
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # type: ignore[import-not-found]

    MODELS.dotless = row["dotless"]
    languages = {"java": Language.JAVA, "javascript": Language.JAVASCRIPT}
    language = languages.get(row["category"].rpartition("_")[2], Language.PYTHON)
    found: dict[str, Any] = ast_checker(row["functions"], row["calls"], row["gold"], language, row["category"], "any")
    return found


def _check_turns(row: dict[str, Any]) -> dict[str, Any]:
    from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import (  # type: ignore[import-not-found]
        multi_turn_checker,
    )

    # The environment is kept by the name of the model: each answer is one of its own.
    turns = [[step] if step else [] for step in row["turns"]]
    found: dict[str, Any] = multi_turn_checker(turns, row["gold"], row["question"], "multi_turn_base", row["name"])
    return found


if __name__ == "__main__":
    main()
