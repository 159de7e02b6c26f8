# Two commands for a fresh machine: `make serve` and `make test`. Python 3.11 or newer, and node
# with npm for the JavaScript acceptance test, must be there; everything else is set up here.

# The system's Python comes first: one compiled by hand is seldom optimised, and the same server
# then takes a quarter more processor time (docs/explanation/cost.md).
FIT := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(firstword $(foreach python,/usr/bin/python3 python3,\
	$(shell $(python) -c '$(FIT)' 2>/dev/null && echo $(python))) python3)
ARGS ?=
EXTRAS ?=
BIN := .venv/bin
JS := tests/acceptance/js

BASE_STAMP := .venv/.installed-base
TEST_STAMP := .venv/.installed-test
JS_STAMP := $(JS)/node_modules/.installed

# The generator of the site has an environment of its own (tools/site/requirements.txt says why).
SPHINX := .cache/site
SPHINX_STAMP := $(SPHINX)/.installed
SITE ?= build/site

PYTEST := $(BIN)/python -m pytest
PROCESS_TESTS := tests/acceptance tests/clusters tests/console tests/faults tests/pipeline

# Variables, so that what builds the package is pinned too; relative, since pip splits them at
# white space.
PINNED := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt
INSTALL := $(PINNED) $(BIN)/pip install --quiet --disable-pip-version-check \
	--use-pep517 --editable

.PHONY: setup programs jars serve test test-full check suite coverage bench peers \
	kubernetes docs site dist clean

# Without EXTRAS: everything that the tests need. With EXTRAS=models (or trace, spark): the command
# with these optional packages, and nothing for the tests.
ifeq ($(EXTRAS),)
setup: programs $(TEST_STAMP) $(JS_STAMP) $(SPHINX_STAMP) jars
else
setup: | $(BIN)/python
	$(INSTALL) '.[$(EXTRAS)]'
	@touch $(BASE_STAMP)
endif

# Java, Maven, Redis, PostgreSQL, HAProxy, Mosquitto, tmux, Chromium, shells and more. Only root can
# install them; others are told, and tests that need them skip. No service is started.
programs:
	@$(PYTHON) tools/programs.py

# Fetched here, so that no test waits for them.
jars: programs $(TEST_STAMP)
	@$(BIN)/python -m tools.jars

serve: $(BASE_STAMP)
	@exec $(BIN)/dovemq serve $(ARGS)

test: check suite

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Tests of one process first, which often wait for a database, so that two cores serve three workers;
# then those that start servers, kept in file order on each worker.
# Files as they come: those with few tests take longest, and must not be left for the end.
suite: setup
	$(PYTEST) -n 3 --dist worksteal $(addprefix --ignore=,$(PROCESS_TESTS))
	$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder $(PROCESS_TESTS)

test-full: export DOVETEST_MACHINE_RUNS := 2000
test-full: export DOVETEST_KILL_ROUNDS := 30
test-full: export DOVETEST_FUZZ := 100000
test-full: export DOVETEST_BACKLOG := 1000000
test-full: export DOVETEST_POWER_ROUNDS := 60
test-full: export DOVETEST_SCHEDULES := 500
test-full: export DOVETEST_TRACE := 1000000
test-full: export DOVETEST_DECAYS := 1000
test-full: export DOVETEST_NETS := 2000
test-full: export DOVETEST_METRICS := 60
test-full: export DOVETEST_SWEEP := 3
test-full: export DOVETEST_STREAM := 100000
test-full: export DOVETEST_STORAGE := 1
test-full: export DOVETEST_CONTRACT := 1
test-full: export DOVETEST_ACCEPTANCE := 1
test-full: export DOVETEST_TAKEOVERS := 200
test-full: export DOVETEST_OPENAPI := 300
test-full: export DOVETEST_KUBERNETES := 1
test-full: export DOVETEST_EXTRAS := 1
test-full: export DOVETEST_JOBS := 1000
test-full: export DOVETEST_JOB_SCHEDULES := 60
test-full: export DOVETEST_SOAK := 300
test-full: PYTEST += --timeout 3600 -o faulthandler_timeout=0
test-full: check kubernetes suite
	$(BIN)/python -m bench.flat
	$(BIN)/python -m bench.flat --fifo
	$(BIN)/python -m bench.polls
	$(BIN)/python -m bench.trace
	$(BIN)/python -m bench.quotas
	$(BIN)/python -m bench.faults --quick
	$(BIN)/python -m bench.cluster

# Twenty minutes the first time; the programs are kept outside the tree.
kubernetes: setup
	@$(BIN)/python -m tools.kubernetes

coverage: setup
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(addprefix --ignore=,$(PROCESS_TESTS))
	$(BIN)/coverage combine
	$(BIN)/coverage report

bench: setup
	$(BIN)/python -m bench.path $(ARGS)

peers: setup
	$(BIN)/python -m bench.peers --install $(ARGS)

docs: setup
	$(BIN)/python -m tools.reference

# A warning, such as that of a broken link, is an error.
site: $(SPHINX_STAMP)
	$(SPHINX)/bin/python -m sphinx --quiet --fail-on-warning --keep-going --builder html \
		--conf-dir tools/site --doctree-dir $(SITE)-doctrees . $(SITE)
	@echo "$(SITE)/index.html"

dist: $(TEST_STAMP)
	@$(BIN)/python -m tools.dist

clean:
	rm -rf .cache .venv build dist .coverage .coverage.* $(JS)/node_modules
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "DoveMQ needs Python 3.11 or newer; name one with: make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv .venv

$(BASE_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) .
	@touch $@

$(TEST_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) '.[test]'
	@touch $(BASE_STAMP) $@

$(SPHINX_STAMP): tools/site/requirements.txt
	$(PYTHON) -m venv $(SPHINX)
	$(SPHINX)/bin/pip install --quiet --disable-pip-version-check --no-deps --requirement $<
	@touch $@

$(JS_STAMP): $(JS)/package.json
	@if command -v npm >/dev/null; then \
		cd $(JS) && npm install --no-package-lock --no-audit --no-fund --loglevel=error && \
		touch node_modules/.installed; \
	else \
		echo "npm not found: the JavaScript acceptance test will be skipped (and fails in CI)"; \
	fi
