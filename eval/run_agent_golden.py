#!/usr/bin/env python3
"""Run the golden sets against the real dyno agent: `cd eval && python run_agent_golden.py`.

Exit code 0 if every case passed, 1 otherwise. Journals and reports go to carob-results/ in the project's folder.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETS = ROOT / "eval" / "golden_sets"


def enter_environment() -> None:
    """Go on in the project's own environment if this interpreter does not have Carob."""
    try:
        import carob  # noqa: F401 - is it there?
    except ModuleNotFoundError:
        python = ROOT / ".venv" / "bin" / "python"
        if not python.exists() or Path(sys.prefix).resolve() == (ROOT / ".venv").resolve():
            sys.exit("carob is not installed: run `make setup` in the project's folder first")
        os.execv(python, [str(python), *sys.argv])
    os.chdir(ROOT)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(f"usage: {sys.argv[0]}, without arguments")
    enter_environment()
    from golden_report import main

    sys.exit(main(SETS))
