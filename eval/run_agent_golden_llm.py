#!/usr/bin/env python3
"""Run golden cases with a real language model in the dyno agent: `python run_agent_golden_llm.py [CASES]`.

They are ten, or as many as CASES says, taken evenly from both sets. The model is a file served in this process:
SmolLM2-135M unless DYNO_GGUF names another. It will fail many cases: what counts is that they were run and judged. Exit
code 0 if all were, 1 if one ended in an error.
"""

from __future__ import annotations

import sys

from run_agent_golden import SETS, enter_environment

CASES = 10

if __name__ == "__main__":
    given = sys.argv[1:] or [str(CASES)]
    if len(given) != 1 or not given[0].isdecimal() or int(given[0]) < 1:
        sys.exit(f"usage: {sys.argv[0]} [CASES], a number of cases from 1")
    enter_environment()
    from golden_llm import main

    sys.exit(main(SETS, int(given[0])))
