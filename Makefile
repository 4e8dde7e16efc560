# Two commands matter: `make demo` shows the product at work, `make test` proves it. `make` lists the rest.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Spark's part of demo and tests needs a JDK; without one they say so and do the rest.
EXTRAS ?= dev,spark,demo

.DEFAULT_GOAL := help
.PHONY: help demo test quick lint types format docs crash sim bench serve clean

help: ## list the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(VENV)/.installed: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[$(EXTRAS)]'
	@touch $@

demo: $(VENV)/.installed ## submit three jobs, kill the control plane, start it again, prove that each ran once
	$(BIN)/python examples/demo/run.py

test: $(VENV)/.installed ## the whole check
	$(MAKE) --no-print-directory lint types
	$(BIN)/python -m pytest

quick: $(VENV)/.installed ## the check without real engines and crashes
	$(MAKE) --no-print-directory lint types
	$(BIN)/python -m pytest -m 'not spark and not crash' --ignore=tests/e2e

lint: $(VENV)/.installed ## style, formatting, and the direction of imports
	$(BIN)/ruff check --quiet src tests examples bench
	$(BIN)/ruff format --check --quiet src tests examples bench
	$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

types: $(VENV)/.installed ## strict types
	$(BIN)/mypy

format: $(VENV)/.installed ## rewrite to the house style
	$(BIN)/ruff check --fix --quiet src tests examples bench
	$(BIN)/ruff format --quiet src tests examples bench

docs: $(VENV)/.installed ## regenerate the generated pages of the reference
	$(BIN)/python docs/generate.py

crash: $(VENV)/.installed ## the long crash sweep over real engines: every point, 200 random instants
	STANDFAST_CRASH=full $(BIN)/python -m pytest -m crash tests/crash -s

sim: $(VENV)/.installed ## more seeds of the simulation
	SIMULATION_SEEDS=2000 $(BIN)/python -m pytest tests/simulation -s

bench: $(VENV)/.installed ## side by side with DBOS and huey; not part of the tests
	$(BIN)/python -m pip install --quiet -e '.[bench]'
	$(BIN)/python bench/run.py

serve: $(VENV)/.installed ## a control plane for trying things out
	$(BIN)/standfast serve --state-dir .demo/serve

clean: ## remove what was built, never a state folder outside
	rm -rf $(VENV) .demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
