# Podium: every command a developer or a new user needs. `make` alone prints them.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP) ## Virtual environment from hashed locks, control plane built once and cached
	@$(BIN)/python -m tests.controlplane build

$(STAMP): requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Podium needs Python 3.11 or newer; this is $$($(PYTHON) --version 2>&1). Name another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Python's venv module is missing. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Installing locked dependencies into $(VENV) (about a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.PHONY: demo
demo: setup ## The main job on a real control plane, told as a story (KEEP=1 leaves it running)
	@$(BIN)/python -m tests.demo $(if $(KEEP),--keep)

.PHONY: test
test: setup ## All tests, unit to integration
	@$(BIN)/pytest tests

.PHONY: unit
unit: $(STAMP) ## Unit tests: no I/O, seconds
	@$(BIN)/pytest tests/unit

.PHONY: integration
integration: setup ## Tests on a real API server
	@$(BIN)/pytest tests/integration

.PHONY: conformance
conformance: $(STAMP) ## Answers compared with kube-scheduler's goldens
	@$(BIN)/pytest tests/conformance

.PHONY: differential
differential: setup ## Fresh random clusters, decided by kube-scheduler and Podium (CASES, SEED, PROFILES, OUT)
	@$(BIN)/python -m tests.differential --cases "$(or $(CASES),500)" --seed "$(or $(SEED),1)" \
	  --profiles "$(PROFILES)" --out "$(or $(OUT),.bench/differential)"

.PHONY: soak
soak: setup ## Long versions of the tests
	@$(BIN)/pytest tests --soak -m soak

.PHONY: bench
bench: setup ## Podium and kube-scheduler in alternation (WORKLOAD, NODES, PODS, PAIRS, POD_KB, VICTIMS_EACH)
	@$(BIN)/python -m tests.bench

.PHONY: docs
docs: $(STAMP) ## Write the references in docs/ that are made from the code
	@$(BIN)/python -m tests.documents

.PHONY: lint
lint: $(STAMP) ## Style, import layers and the image's recipe
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/hadolint Dockerfile

.PHONY: typecheck
typecheck: $(STAMP) ## mypy, strict
	@$(BIN)/mypy

.PHONY: presubmit
presubmit: lint typecheck test ## All that must be green before a change is handed in

.PHONY: manifests
manifests: $(STAMP) ## Render deploy/ anew from the chart
	@$(BIN)/python -m tests.chart

.PHONY: lock
lock: $(STAMP) ## Lock the dependencies anew, with hashes (needs uv)
	@uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url --quiet pyproject.toml -o requirements.txt
	@uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url --quiet pyproject.toml --extra dev -o requirements-dev.txt
	@echo hatchling | uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url --quiet --constraint requirements-dev.txt - -o requirements-build.txt
