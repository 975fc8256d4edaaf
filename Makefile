# Every target sets itself up on a machine that has python3 and pip alone. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

PROCESSORS := sse4 avx2 native
.PHONY: help demo docs paper results test test-all test-processors $(addprefix test-on-,$(PROCESSORS)) lint check fuzz bench format clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

# A Python without ensurepip (Debian without python3-venv) still has a pip that can install into the new environment.
$(BIN)/python:
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { rm -rf $(VENV) && $(PYTHON) -m venv --without-pip $(VENV) && \
		$(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }

$(VENV)/.runtime: pyproject.toml | $(BIN)/python
	@echo "installing ehfl into $(VENV) (once, a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[learn,fast]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "installing ehfl and its development tools into $(VENV) (once, a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.runtime

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	@echo "installing ehfl and what builds its documentation into $(VENV) (once, a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@ $(VENV)/.runtime

demo: $(VENV)/.runtime  ## an equal and an unequal fleet on digits, five arms, five seeds: table, figures, page
	$(BIN)/ehfl compare

test: $(VENV)/.dev  ## the tests, doctests and document examples included, but for those marked slow
	$(BIN)/pytest -q -n 2 --dist worksteal -m "not slow"

test-all: $(VENV)/.dev  ## all tests, the slow ones too, deployments on Flower among them (some 15 minutes)
	$(BIN)/pytest -q -n 2 --dist worksteal

# Another processor is emulated by forbidding the instructions that it lacks, to BLAS, ATen, oneDNN, MKL and NumPy.
sse4 := OPENBLAS_CORETYPE=Prescott ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 MKL_CBWR=COMPATIBLE EHFL_MOST_SIMD=sse4
avx2 := OPENBLAS_CORETYPE=Haswell ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_CBWR=AVX2 EHFL_MOST_SIMD=avx2
native :=
FLOATS := tests/learning tests/theory tests/energy tests/scheduling tests/analysis tests/report tests/planning \
	tests/test_paper.py tests/test_unequal.py

test-processors: $(addprefix test-on-,$(PROCESSORS))  ## the tests that compute with floats, as on three processors (4 minutes)

$(addprefix test-on-,$(PROCESSORS)): test-on-%: $(VENV)/.dev
	@echo "tests as on a processor with $*"
	$($*) $(BIN)/python -m tests.processor $(BIN)/pytest -q -n 2 --dist worksteal -m "not slow" $(FLOATS)

lint: $(VENV)/.dev  ## ruff and mypy
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check: lint test-all  ## ruff, mypy and all tests

docs: $(VENV)/.docs  ## the documentation site, every gallery example executed, into docs/_build/html (1 to 2 minutes)
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

SEED ?= 1
CASES ?= 10000
fuzz: $(VENV)/.dev  ## random commands, specs, folders and user code; SEED=1 CASES=10000 (ten to twenty minutes)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --seed $(SEED) --cases $(CASES)

paper: $(VENV)/.runtime  ## the paper's experiment on CIFAR-10, into results/paper; DATA=folder of the data (hours; resumes)
	$(BIN)/ehfl compare experiments/paper.toml $(if $(DATA),--data $(DATA))
	@mkdir -p results
	$(BIN)/ehfl report runs/paper --out results/paper

results: $(VENV)/.runtime  ## tables and figures in results/ again, from the published rounds (seconds)
	$(BIN)/python results/redraw.py

bench: $(VENV)/.dev  ## ratios against plain NumPy and plain torch, each measured in one run; SLOW=1: a round on Flower, too
	$(BIN)/python -m benchmarks.fleet
	$(BIN)/python -m benchmarks.joules
	$(BIN)/python -m benchmarks.sun
	$(BIN)/python -m benchmarks.clairvoyant $(if $(SLOW),--clients 100 1000)
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.earlier
	$(if $(SLOW),$(BIN)/python -m benchmarks.flower)

format: $(VENV)/.dev  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove the environment and everything built
	rm -rf $(VENV) docs/_build docs/gallery docs/notebooks docs/reference build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
