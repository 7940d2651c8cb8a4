#!/bin/sh
# Runs an eval set against the live app: a thin front to `carob`.
set -eu

usage() {
    cat <<'TEXT'
Usage: scripts/run-min-evals.sh [options]

  --eval-file F    the eval set (default: .claude/evals/minimum-eval-set.v0.1.json)
  --list           list the cases: id, category and prompt, separated by tabs
  --cases A,B      run only these cases
  --self-test      prove the scoring primitives and print SELF-TEST PASS
  --app-url U      where the app is (default: the target starts it)
  --space-url U    the space to open in it
  --wait-ms N      how long to wait for an answer
  --session S      the session to use

TELEMETRY_LOG_PATH names the app's telemetry log, CAROB_TARGET the target of carob.toml (default: canvas).
TEXT
}

root=$(cd "$(dirname "$0")/.." && pwd)
if [ -x "$root/.venv/bin/carob" ]; then carob="$root/.venv/bin/carob"; else carob=carob; fi

eval_file=.claude/evals/minimum-eval-set.v0.1.json
action=run
cases=""
options=""

value() { # the value of an option that needs one
    [ $# -ge 2 ] && [ -n "$2" ] || { echo "run-min-evals.sh: $1 needs a value" >&2; exit 4; }
    printf '%s' "$2"
}
# Options for the target are kept one per line, so that values may hold spaces.
option() {
    options="$options$1
"
}

while [ $# -gt 0 ]; do
    case $1 in
        --eval-file) eval_file=$(value "$@"); shift ;;
        --cases) cases=$(value "$@"); shift ;;
        --app-url) given=$(value "$@"); option "app_url=$given"; shift ;;
        --space-url) given=$(value "$@"); option "space_url=$given"; shift ;;
        --wait-ms) given=$(value "$@"); option "wait_ms=$given"; shift ;;
        --session) given=$(value "$@"); option "session=$given"; shift ;;
        --list) action=list ;;
        --self-test) action=self-test ;;
        -h | --help) usage; exit 0 ;;
        *) echo "run-min-evals.sh: unknown option $1 (see --help)" >&2; exit 4 ;;
    esac
    shift
done

case $action in
    self-test) exec "$carob" audit --self ;;
    list) exec "$carob" run --list "$eval_file" ;;
esac

set -- run "$eval_file" --target "${CAROB_TARGET:-canvas}"
[ -z "$cases" ] || set -- "$@" --cases "$cases"
# The target takes relative paths from the folder of carob.toml, the caller means this one.
case ${TELEMETRY_LOG_PATH:-} in
    "") ;;
    /*) option "telemetry_log=$TELEMETRY_LOG_PATH" ;;
    *) option "telemetry_log=$PWD/$TELEMETRY_LOG_PATH" ;;
esac
rest=$options
while [ -n "$rest" ]; do
    set -- "$@" --option "${rest%%"
"*}"
    rest=${rest#*"
"}
done
exec "$carob" "$@"
