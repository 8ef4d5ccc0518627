# xlabench: `make help` lists the targets.
PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
HOME_DIR ?= xlabench-data
SMOKE := $(HOME_DIR)/runs/smoke
READY := $(VENV)/.ready
PYTEST_ARGS ?=
# Of an earlier call of the tests, whose order is repeated.
SEED ?=
TOLD := $(abspath $(HOME_DIR))/faults.jsonl
# Hundreds of processes are started: each would compile our own modules again where the environment forbids to keep them.
export PYTHONDONTWRITEBYTECODE :=
# Compilers and browsers take all cores for themselves: more than two at once would only get in each other's way.
# Files run in the order that tests/conftest.py gives them, the long ones first.
TESTS = $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(if $(SEED),--randomly-seed=$(SEED)) $(PYTEST_ARGS)
# Of what `make faults` runs: what takes no loop of kills, and beside it what is tried in places of its own.
FAULTS = $(addprefix tests/faults/test_,hostile_input.py damaged_store.py bombs.py leftovers.py clock.py concurrent_ingest.py unruly.py kill.py) \
	tests/dashboard/test_store_gone.py tests/dashboard/test_refused.py tests/runner/notices/test_webhook.py tests/runner/jobs/test_bounded_work.py \
	tests/runner/jobs/cluster/test_ray_api.py

.DEFAULT_GOAL := help
.PHONY: help setup run smoke report serve test test-all test-fast lint format bench docs screenshots faults trust clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | awk -F'|' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(READY) ## make .venv with pinned dependencies (about 4 GB to download, 8 GB on disk)

$(READY): pyproject.toml constraints/xla.txt tools/setup.sh
	@PYTHON=$(PYTHON) VENV=$(VENV) sh tools/setup.sh
	@touch $@

run: smoke serve ## measure the smoke plan, print the speedups, serve the dashboard until Ctrl-C

smoke: $(READY) ## measure the smoke plan; finished experiments are skipped
	@$(BIN)/xlabench run --smoke --home $(HOME_DIR) --output-dirname $(SMOKE) --label smoke

report: $(READY) ## print the speedups, and who is fastest
	@$(BIN)/xlabench report --home $(HOME_DIR)

serve: $(READY) ## serve the dashboard on http://127.0.0.1:8501
	@$(BIN)/xlabench serve --home $(HOME_DIR)

test: $(READY) ## lint, types, import rules and all tests, in random order (SEED=… repeats one); sets up what is missing (chromium too)
	@VENV=$(VENV) sh tools/setup_tests.sh
	@$(MAKE) --no-print-directory lint
	@$(TESTS) -m 'not thorough'

test-all: test ## and the long forms: every process killed, every real model under every backend: half an hour more
	@$(TESTS) -m thorough

test-fast: $(READY) ## the tests that take seconds
	@$(TESTS) -m 'not slow'

lint: $(READY) ## ruff, strict types, import rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(READY) ## put the sources into their form
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(READY) ## the benchmarks under tests/performance: minutes
	@for each in tests/performance/overhead.py tests/performance/start.py tests/performance/jobs.py tests/performance/ingest.py; do $(BIN)/python $$each || exit 1; done
	@$(BIN)/python tests/performance/queries.py --home $(HOME_DIR)/bench
	@$(BIN)/python tests/performance/pages.py --home $(HOME_DIR)/pages

docs: $(READY) ## docs/schema.md from the database, docs/definitions.md from the metric registry
	@$(BIN)/python tools/documents.py

screenshots: $(READY) ## docs/images: every page over the runs in tests/data/review and operators
	@$(BIN)/python tests/browser/screenshots.py

faults: $(READY) ## bad files, damaged stores, bombs, clocks, and kills of everything that runs; writes docs/reliability.md: two hours
	@mkdir -p $(dir $(TOLD)) && rm -f $(TOLD)
	@XLABENCH_FAULTS=$(TOLD) $(BIN)/python -m pytest $(FAULTS) $(PYTEST_ARGS)
	@XLABENCH_FAULTS=$(TOLD) XLABENCH_KILLS=200 $(BIN)/python -m pytest tests/faults/test_ingest_kill.py $(PYTEST_ARGS)
	@XLABENCH_FAULTS=$(TOLD) XLABENCH_START_KILLS=50 $(BIN)/python -m pytest tests/faults/test_start_kills.py $(PYTEST_ARGS)
	@XLABENCH_FAULTS=$(TOLD) XLABENCH_JOB_KILLS=50 XLABENCH_TRUE_WITHIN_S=10 $(BIN)/python -m pytest tests/faults/test_jobs.py tests/runner/jobs/cluster/test_ray_many.py $(PYTEST_ARGS)
	@$(BIN)/python tools/reliability.py $(TOLD)

trust: $(READY) ## how often verdicts are wrong: an hour and a half on an idle machine; measured parts are kept
	@$(BIN)/python tests/performance/trust.py --home $(HOME_DIR)/trust

clean: ## remove the environment; measured data stays
	@rm -rf .venv .venv-latest .venv-plain
