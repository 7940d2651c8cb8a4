"""`python -m scripted_model SCRIPT.yaml --port 0`: serves a script until it is interrupted."""

import argparse
import sys
import time
from pathlib import Path

from scripted_model.script import ScriptError
from scripted_model.server import serve


def main() -> int:
    """Serves the script; the first line that is printed ends with the address."""
    parser = argparse.ArgumentParser(prog="scripted_model", description=__doc__)
    parser.add_argument("script", type=Path)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    options = parser.parse_args()
    try:
        with serve(options.script, port=options.port) as model:
            print(f"scripted model (no language model: the answers are in {options.script}) at {model.url}", flush=True)
            while True:
                time.sleep(3600)
    except ScriptError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
