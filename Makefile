# calibrant: `make demo` shows it, `make test` proves it, `make help` lists the rest.
VENV   ?= .venv
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11 python,$(if $(shell $(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo yes),$(p))))
BIN    := $(VENV)/bin
# Bytecode and compiled kernels are kept in __pycache__, for all workers and the next run, whatever the environment says.
PYTEST := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n logical --dist worksteal
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help demo test coverage slow peers engines check format names docs howto release-check changelog scoreboard bench bench-quick bench-parts clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.run ## diagnose, repair and compare the embedded example; writes report.html
	$(BIN)/calibrant demo --output report.html

test: $(VENV)/.test ## all tests but the slow ones
	$(PYTEST) $(ARGS)

coverage: $(VENV)/.test ## the same, and which lines they run
	$(PYTEST) --cov --cov-report=term $(ARGS)

slow: $(VENV)/.test ## simulations with a known truth, properties on 40 examples, and the longest pages
	$(PYTEST) --slow -m "slow or hypothesis" tests docs $(ARGS)

peers: $(VENV)/.peers ## agreement with other packages; torch tensors, torch modules and ONNX models; reports and the page in Chromium
	$(PYTEST) tests/peers tests/adapt src/calibrant/adapt tests/estimate/test_compat.py tests/kernels/test_device_pairs.py tests/kernels/test_device_rates.py tests/test_inputs.py tests/report/test_browser.py tests/serve/test_browser.py docs/from docs/howto/pytorch.md $(ARGS)
	$(PYTEST) --slow -m slow tests/adapt/test_meter.py $(ARGS)

engines: $(VENV)/.engines ## Spark (needs Java) and Dask: real clusters, of which a worker is killed
	PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/engines docs/howto/spark.md $(ARGS)

check: $(VENV)/.dev ## format, lint, types, import direction
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev ## mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.test ## speed, memory, agreement and accuracy beside other packages, each installed on its own; writes benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.field $(ARGS)

bench-quick: $(VENV)/.test ## the same with a few packages and sizes, in three minutes once they are installed
	$(BIN)/python -m benchmarks.field --quick $(ARGS)

bench-parts: $(VENV)/.test ## sorting, scores, exact tests and audits in units of their floors; ARGS=scores for one of them
	$(BIN)/python -m benchmarks $(ARGS)

bench-engines: $(VENV)/.engines ## Spark and Dask with one and two workers beside the plain reader
	$(BIN)/python -m benchmarks.engines $(ARGS)

names: $(VENV)/.test ## the lists of public names, from the register
	$(BIN)/python tools/make_names.py

docs: $(VENV)/.docs ## the site, in build/site, without a network
	$(BIN)/python tools/make_docs.py --site build/docs
	$(BIN)/zensical build --clean --strict
	@echo "build/site/index.html"

howto: $(VENV)/.howto ## the pages on other libraries: their examples run, with those libraries
	PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/test_docs.py docs/howto $(ARGS)

release-check: $(VENV)/.release ## wheel and sdist, installed and tried on every Python from 3.11 to 3.14 that is found
	$(BIN)/python tools/release_check.py $(ARGS)

changelog: ## gather the notes of changelog.d into CHANGELOG.md, under the version of the package
	$(PYTHON) tools/make_changelog.py

scoreboard: $(VENV)/.test ## every estimator on every world with a known truth; writes studies/results/scoreboard.*
	$(BIN)/calibrant study scoreboard $(ARGS)

clean: ## remove the virtual environment, caches and what was built
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "calibrant needs Python 3.11 or later on the PATH"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[test]'
	@touch $@ $(VENV)/.run

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.run $(VENV)/.test

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[docs]'
	@touch $@ $(VENV)/.run

$(VENV)/.release: | $(BIN)/python
	$(PIP) build
	@touch $@

$(VENV)/.engines: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[test,spark,dask]'
	@touch $@ $(VENV)/.run $(VENV)/.test

# torch comes first and by version: a plain requirement would pull a build with GPU libraries of several gigabytes
$(VENV)/.peers: pyproject.toml | $(BIN)/python
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[test,peers]'
	@touch $@ $(VENV)/.run $(VENV)/.test

$(VENV)/.howto: pyproject.toml | $(BIN)/python
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[test,howto]'
	@touch $@ $(VENV)/.run $(VENV)/.test
