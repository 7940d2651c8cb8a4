# On a fresh Debian machine with python3, pip (or uv), make and git:
#   make try    shows in half a minute what a contract notices, with the core alone
#   make demo   sets everything up and runs the suites against the embedded agents
#   make test   sets everything up and passes the tests
.DEFAULT_GOAL := help
.PHONY: help try setup system app docs demo golden golden-llm test check quick lint unit examples thorough counterparts bench clean

export UV_PYTHON_DOWNLOADS := never
# Debian's own interpreter is built for speed, which those of version managers often are not.
NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null
export UV_PYTHON ?= $(shell /usr/bin/python3 $(NEW_ENOUGH) && echo /usr/bin/python3 || echo python3)
# The tests start thousands of processes: none should have to compile Carob again.
export PYTHONDONTWRITEBYTECODE :=
UV := .tools/bin/uv
BIN := .venv/bin
READY := .venv/.ready
# What type checkers know of `carob.check`: written by the build, and again when a check has changed.
KEYWORDS := src/carob/checks/_keywords.pyi
# Many tests wait for processes, pages and deadlines: two to a processor keep it busy.
WORKERS := $(shell expr 2 \* $$(nproc))

# What differs between systems is what these modules of Python have. Ours that use them are checked for the other systems,
# each by itself: 5 seconds of a processor, not the 35 of everything, which `make thorough` checks.
USES_SYSTEM = $(shell grep -lrE '^ *(import|from) (asyncio|ctypes|mmap|multiprocessing|os|resource|select|selectors|signal|socket|subprocess|time)\b' src --include=*.py)
FOR_ANOTHER := --config-file= --python-version 3.11 --check-untyped-defs --warn-unreachable --explicit-package-bases \
	--follow-imports=skip --ignore-missing-imports --cache-dir=.mypy_cache/others
MISSING := '/Module has no attribute|\[unreachable\]/ { bad = 1; print } /[Cc]hecked [0-9]|in [0-9]+ source/ { done = 1 } END { exit bad || !done }'

help: ## Show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# The core alone, in an environment of its own; with the uv that is there, if there is one.
TRY := $(or $(shell command -v uv),$(UV))
try: $(TRY) ## See in half a minute what a contract notices, with the core alone
	@UV_PROJECT_ENVIRONMENT=.tools/try $(TRY) run --frozen --quiet --no-default-groups carob demo

setup: $(READY) $(KEYWORDS) ## Install Carob and everything it can use into .venv

$(UV):
	python3 -m pip install --quiet --disable-pip-version-check --target .tools uv

$(READY): $(UV) pyproject.toml uv.lock
	$(UV) sync --frozen --quiet --all-extras --all-groups
	@touch $@

$(KEYWORDS): $(READY) scripts/keywords.py $(shell find src/carob/checks -name '*.py')
	@$(BIN)/python scripts/keywords.py
	@touch $@

system: ## Install the Debian packages that the tests use (a browser, PostgreSQL)
	@scripts/install-system-packages.sh

test: ## Lint, type-check, check the layers and run every test
	@$(MAKE) --no-print-directory -j2 lint unit

check: setup ## Lint, type-check, and run the tests that need no process, browser or database: about a minute
	@$(MAKE) --no-print-directory -j2 lint quick

quick: setup
	$(BIN)/pytest -m 'quick and not thorough and not counterpart' -n $$(nproc) --dist worksteal -q

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff check --preview --select PLW1514 src examples scripts
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@for system in darwin win32; do \
		MYPYPATH=src $(BIN)/mypy $(FOR_ANOTHER) --platform $$system $(USES_SYSTEM) | awk $(MISSING) || exit 1; done
	$(BIN)/lint-imports

# Read once before four processes do: on a fresh checkout the first reading of the tests compiles them.
unit: setup system
	@$(BIN)/pytest --collect-only -qq > /dev/null || true
	$(BIN)/pytest -n $(WORKERS) --dist worksteal --cpu-times

examples: setup system ## Test the example applications themselves
	$(BIN)/pytest examples/tests -n $(WORKERS) --dist worksteal

thorough: examples ## Run what `make test` takes a few of: every case with every planted bug, more kills, more examples
	for system in darwin win32; do $(BIN)/mypy --platform $$system || exit 1; done
	$(BIN)/pytest -m "thorough or hypothesis" --hypothesis-profile=thorough -n $(WORKERS) --dist worksteal

counterparts: setup system ## Hold the adapters against other people's software, each in an environment of its own
	UV=$(abspath $(UV)) $(BIN)/pytest -m counterpart tests/counterparts

docs: setup ## Build the documentation as a site: open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

demo: setup ## Run the main job on the embedded default agent
	@scripts/demo.sh

app: setup ## Serve the canvas app on port 8000
	PYTHONPATH=examples $(BIN)/python -m canvas_app --port 8000

golden: setup ## Run the golden sets against the dyno agent, rule-based
	@cd eval && ../$(BIN)/python run_agent_golden.py

golden-llm: CASES ?= 10
golden-llm: setup ## Run golden cases with a small language model in the dyno agent (CASES=10)
	@cd eval && ../$(BIN)/python run_agent_golden_llm.py $(CASES)

bench: setup ## Measure judging and overhead beside a bare loop and the peers that are installed
	$(BIN)/python -m benchmarks

clean: ## Remove what the other targets made
	rm -rf .venv .tools .counterparts site carob-results .claude/evals/results .pytest_cache .mypy_cache .ruff_cache .hypothesis
