#!/bin/sh
# The main job on the embedded agents: golden sets on a real database, eval sets in a real browser, each with a Carob 1 suite.
set -eu
cd "$(dirname "$0")/.."
carob=.venv/bin/carob

echo "== Golden sets: a LangGraph agent on SQLite, rule-based model"
(cd eval && ../.venv/bin/python run_agent_golden.py)

echo
echo "== The same agent's suite in Carob 1"
"$carob" run examples/dyno_agent/suite.yaml --target dyno

echo
echo "== A coding agent in a workspace, rule-based: its deeds against its claims"
(cd examples/coding_agent && ../../"$carob" run suite.carob.yaml --results-dir ../../carob-results)

if ls .claude/evals/*.json >/dev/null 2>&1; then
    scripts/install-system-packages.sh browser
    echo
    echo "== Eval sets: a live app in a headless browser, rule-based assistant"
    "$carob" run .claude/evals/*.json examples/canvas_app/suite.yaml --target canvas --concurrency 4
fi
