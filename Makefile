# xlabench: `make help` lists the targets.
PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
HOME_DIR ?= xlabench-data
SMOKE := $(HOME_DIR)/runs/smoke
READY := $(VENV)/.ready
PYTEST_ARGS ?=
# The seed of an earlier call of the tests: their order is repeated.
SEED ?=
TOLD := $(abspath $(HOME_DIR))/faults.jsonl
# Hundreds of processes are started: each would compile our own modules again where the environment forbids to keep them.
export PYTHONDONTWRITEBYTECODE :=
# Compilers and browsers take all cores for themselves: more than two at once would only get in each other's way.
# Files run in the order that tests/conftest.py gives them, the long ones first.
TESTS = $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(if $(SEED),--randomly-seed=$(SEED)) $(PYTEST_ARGS)
# The tests that `make faults` runs in addition to its loops of kills, from all folders of tests.
FAULTS = $(addprefix tests/faults/test_,hostile_input.py damaged_store.py properties.py bombs.py leftovers.py clock.py clock_set.py \
	concurrent_ingest.py full_disk.py publication.py unruly.py outcomes.py kill.py) \
	$(addprefix tests/dashboard/test_,store_gone.py refused.py login.py markup.py \
	routes.py::test_where_a_login_is_configured_a_route_answers_only_who_signed_in \
	jobs_page.py::test_where_launching_is_off_every_button_says_so_and_nothing_is_planned) \
	tests/runner/notices/test_webhook.py tests/runner/jobs/test_bounded_work.py tests/runner/jobs/cluster/test_ray_api.py
TOLD_PYTEST = XLABENCH_FAULTS=$(TOLD) $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup run demo smoke report serve environments test test-all test-fast lint format bench docs screenshots faults faults-jobs faults-others trust clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | awk -F'|' '{printf "  make %-13s %s\n", $$1, $$2}'

setup: $(READY) ## make .venv with pinned dependencies (3 to 5 minutes; 4 GB to download, 8 GB on disk)

$(READY): pyproject.toml constraints/xla.txt tools/setup.sh
	@PYTHON=$(PYTHON) VENV=$(VENV) sh tools/setup.sh
	@touch $@

run: smoke serve ## measure the smoke plan (2 minutes on two idle cores), print the speedups, serve the dashboard until Ctrl-C

smoke: $(READY) ## measure the smoke plan; finished experiments are skipped
	@$(BIN)/xlabench run --smoke --home $(HOME_DIR) --output-dirname $(SMOKE) --label smoke

report: $(READY) ## print the speedups, and which backend is fastest
	@$(BIN)/xlabench report --home $(HOME_DIR)

serve: $(READY) ## serve the dashboard on http://127.0.0.1:8501
	@$(BIN)/xlabench serve --home $(HOME_DIR)

test: $(READY) ## run lint, types, import rules and all tests, in random order (SEED=… repeats one); install what is missing (chromium too)
	@VENV=$(VENV) sh tools/setup_tests.sh
	@$(MAKE) --no-print-directory --jobs=2 --output-sync environments lint
	@$(TESTS) -m 'not thorough'

test-all: test ## also run the long forms of tests (every process killed, every real model under every backend): half an hour more
	@$(TESTS) -m thorough

test-fast: $(READY) ## run only the tests that take seconds
	@$(TESTS) -m 'not slow'

environments: $(READY) ## make the two environments without torch_xla that only the tests need (7 GB on disk)
	@VENV=$(VENV) sh tools/setup_environments.sh

lint: $(READY) ## check with ruff, strict types and import rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(READY) ## format the sources
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

demo: $(READY) ## serve the dashboard with real runs that come with the sources, until Ctrl-C; nothing is measured
	@$(BIN)/python tools/demo.py show $(HOME_DIR)/demo

bench: $(READY) ## run the benchmarks with their references, and write docs/benchmarks.md and benchmarks-store.md: more than half an hour
	@$(BIN)/python tools/benchmarks.py --home $(HOME_DIR)
	@$(BIN)/python tools/benchmarks.py --document benchmarks-store --home $(HOME_DIR)

docs: $(READY) ## write docs/schema.md from the database and docs/definitions.md from the metric registry
	@$(BIN)/python tools/documents.py

screenshots: $(READY) ## write docs/images: every page over the runs of the demo
	@$(BIN)/python tests/browser/screenshots.py

faults: $(READY) ## run the fault tests (bad files, damaged stores, bombs, clocks, kills), and write docs/reliability.md: an hour
	@mkdir -p $(dir $(TOLD)) && rm -f $(TOLD)
	@$(MAKE) --no-print-directory --keep-going --jobs=2 --output-sync=line faults-jobs faults-others
	@$(BIN)/python tools/reliability.py $(TOLD)

faults-jobs: $(READY) ## run only those fault tests that kill jobs
	@XLABENCH_JOB_KILLS=50 XLABENCH_TRUE_WITHIN_S=10 $(TOLD_PYTEST) tests/faults/test_jobs.py $(PYTEST_ARGS)

faults-others: $(READY) ## run all other fault tests; `make faults` runs both at a time, on two cores
	@XLABENCH_KILLS=200 $(TOLD_PYTEST) tests/faults/test_ingest_kill.py $(PYTEST_ARGS)
	@XLABENCH_START_KILLS=50 $(TOLD_PYTEST) tests/faults/test_start_kills.py $(PYTEST_ARGS)
	@$(TOLD_PYTEST) $(FAULTS) $(PYTEST_ARGS)
	@$(TOLD_PYTEST) tests/runner/jobs/cluster/test_ray_many.py $(PYTEST_ARGS)

trust: $(READY) ## measure how often verdicts are wrong, and write docs/trust.md: two hours on an idle machine; measured parts are kept
	@$(BIN)/python tools/benchmarks.py --document trust --home $(HOME_DIR)

clean: ## remove the environment; measured data is kept
	@rm -rf .venv .venv-latest .venv-plain
