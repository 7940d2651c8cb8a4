"""`python -m canvas_app`: serve the app."""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from canvas_app.serving import serve
from canvas_app.settings import settings_from

USAGE_ERROR = 2
COULD_NOT_LISTEN = 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("canvas_app", description="A workspace app with an assistant.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free port (default: 8000)")
    parser.add_argument("--db", help="a file to keep the state in (default: CANVAS_DB, else memory)")
    chosen = parser.parse_args(arguments)
    try:
        settings = settings_from(os.environ)
    except ValueError as problem:
        print(f"canvas_app: {problem}", file=sys.stderr)
        return USAGE_ERROR
    try:
        serve(replace(settings, database=chosen.db) if chosen.db else settings, chosen.host, chosen.port)
    except OSError as problem:
        print(f"canvas_app: cannot listen on {chosen.host}:{chosen.port}: {problem.strerror}", file=sys.stderr)
        return COULD_NOT_LISTEN
    return 0


if __name__ == "__main__":
    sys.exit(main())
