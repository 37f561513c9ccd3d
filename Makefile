# Two commands are enough: `make demo` shows Growth at work, `make test` proves it. Both set up what they need.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Compiled once, whatever the shell says: tests start hundreds of processes, and each would compile everything anew.
export PYTHONDONTWRITEBYTECODE :=
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --no-emit-find-links --no-strip-extras --no-header pyproject.toml

.PHONY: help setup demo check test stories skew upgrade crash chaos fidelity stress bench pictures lock clean

help: ## list what can be done here
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/ready ## make .venv with the pinned, hashed dependencies of Growth and its lab

.venv/ready: requirements/lab.lock pyproject.toml lab/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Growth needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null \
	  || { echo "$(PYTHON) cannot make virtual environments. On Debian: apt-get install python3-venv"; exit 2; }
	@echo "setting up .venv (half a minute the first time)"
	@$(PYTHON) -m venv --clear .venv
	@$(INSTALL) --require-hashes --requirement requirements/lab.lock
	@$(INSTALL) --no-deps --no-build-isolation --editable . --editable ./lab
	@touch $@

.venv/dev: .venv/ready requirements/dev.lock
	@echo "adding what developers need to .venv (half a minute the first time)"
	@$(INSTALL) --require-hashes --requirement requirements/dev.lock
	@touch $@

demo: setup ## watch Growth through a sale, down to the bill: half a minute in this terminal, no real cluster needed
	@$(BIN)/growth demo

check: .venv/dev ## lint, types, import rules and unit tests: a little more than a minute
	@{ $(BIN)/ruff check . && $(BIN)/ruff format --check --quiet . && $(BIN)/pyright --warnings && \
	  $(BIN)/lint-imports --no-logo | tail -n 4; } & rules=$$!; tests=0; \
	  $(BIN)/pytest -n 2 -m 'not cluster and not long' || tests=$$?; wait $$rules && exit $$tests

test: check ## everything: check, long tests, four times as many examples, then all on a real control plane (built once, about 6 minutes, then cached)
	@$(BIN)/pytest -n 2 -m '(long or hypothesis) and not cluster' --hypothesis-profile=thorough
	@$(BIN)/growth cluster build
	@$(BIN)/pytest -n 2 --dist loadscope -m cluster

stories: .venv/dev ## every scenario on the virtual cluster and on real ones, compared: a quarter of an hour
	@$(BIN)/growth cluster build
	@$(BIN)/python -m tests.stories

skew: .venv/dev ## a scenario of each capability on every pinned release of Kubernetes, and a table: ten minutes (the first time an hour of builds)
	@$(BIN)/python -m tests.skew

upgrade: .venv/dev ## this version of Growth and an older one take over from each other in the middle of a failover: eight minutes
	@$(BIN)/growth cluster build
	@$(BIN)/python -m tests.takeover

crash: .venv/dev ## stop Growth before and after every side effect of every story, then on a real control plane: three quarters of an hour
	@$(BIN)/python -m tests.trust.crash
	@$(BIN)/growth cluster build
	@$(BIN)/python -m tests.trust.crash --real

chaos: .venv/dev ## draw 10,000 worlds in which everything fails, then defects on purpose, then 15 minutes on a real one: two hours
	@$(BIN)/python -m tests.trust.chaos --runs 10000
	@$(BIN)/python -m tests.trust.mutants
	@$(BIN)/growth cluster build
	@$(BIN)/python -m tests.trust.chaos --real --minutes 15

fidelity: .venv/dev ## the long comparisons with a real control plane: 3,000 pods, 300 plans, 500 histories; up to an hour
	@$(BIN)/growth cluster build
	@$(BIN)/python -m tests.fidelity.fit --cases 3000
	@$(BIN)/python -m tests.fidelity.plans --plans 300
	@$(BIN)/python -m tests.fidelity.histories --histories 500

stress: .venv/dev ## 50 of 1,000 machines lose their power on a real control plane: fails if an aim is missed; leave the machine to it
	@$(BIN)/growth cluster build
	@$(BIN)/python -m bench.failover --nodes 1000 --dead 50 --check

bench: .venv/dev ## measure: what seeing a large cluster costs, judging it, fitting, planning, starting a control plane, reacting, churn, failover, memory, queue
	@$(BIN)/python -m bench.ingest --nodes 5000 --pods 150000 --peer lightkube --peer kubernetes
	@$(BIN)/python -m bench.fit
	@$(BIN)/python -m bench.registry --nodes 5000 --requests 500
	@for load in mixed hetzner many small trickle shapes; do $(BIN)/python -m bench.pack --load $$load; done
	@$(BIN)/python -m bench.sim --nodes 1000 --pods 30000 --hours 24
	@$(BIN)/python -m bench.hetzner --servers 300 --steady 500
	@$(BIN)/python -m bench.cluster_start
	@$(BIN)/python -m bench.reaction --pods 1000
	@$(BIN)/python -m bench.churn --nodes 200 --minutes 2
	@$(BIN)/python -m bench.failover --nodes 50 --dead 5
	@$(BIN)/python -m bench.failover_cost --nodes 20 --pods 10
	@$(BIN)/python -m bench.memory --nodes 5000 --replicas 3 --kill-one
	@$(BIN)/python -m bench.memory_availability
	@$(BIN)/python -m bench.queue --workloads 15000
	@$(BIN)/python -m bench.queue --workloads 50000 --cycle-only
	@$(BIN)/python -m bench.queue_defaults --hours 24 --seeds 1

pictures: .venv/dev ## draw the pictures in docs/images anew
	@$(BIN)/python -m bench.pictures

lock: ## renew requirements/*.lock: run (the product), lab (what make demo installs), dev; needs uv
	$(COMPILE) --output-file requirements/run.lock
	$(COMPILE) --group editable --output-file requirements/lab.lock
	$(COMPILE) --group dev --group peers --output-file requirements/dev.lock

clean: ## remove everything that setup, tests and benchmarks left in this folder
	rm -rf .venv .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
