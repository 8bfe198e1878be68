# Everything happens in .venv, which is made on first use and kept up to date with pyproject.toml and constraints.txt.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo paper test test-kernels lint bench docs site dist format clean

# The paper's four problems in four ways, in about a minute.
demo: .venv/ready
	$(BIN)/elmonet demo --out results

# All tables and figures of the paper, each number beside the printed one: five minutes.
paper: .venv/ready
	$(BIN)/elmonet reproduce --out results

# One process for each core, with one BLAS thread each: the tests are small, and threads would wait for each other.
# The tests of a file share a process, and so the models that they fit once: tests/conftest.py groups them.
test: .venv/ready
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n logical --dist loadfile

# The numerical tests with the BLAS kernels that other machines have, on one thread and on two.
test-kernels: .venv/ready
	$(BIN)/python tests/kernels.py

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready
	$(BIN)/python benchmarks/solve_speed.py

docs: .venv/ready
	$(BIN)/python docs/generate.py

# The site, in site/: open site/index.html. Without network; a warning is an error.
site: .venv/ready
	$(BIN)/python -m sphinx -W --keep-going --quiet -d build/doctrees docs site

# A wheel and an sdist, in dist/. The sdist holds what lies in the folders that pyproject.toml names: make it from a clean clone.
dist: .venv/ready
	$(BIN)/python -m hatchling build -d dist

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv results dist site build docs/gallery docs/notebooks docs/command-line.md docs/sg_execution_times.rst

# Modules are compiled when they are first imported: most of those of torch and the documentation never are.
.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "elmonet needs Python 3.11 or newer; name one with make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	PIP_CONSTRAINT="$(CURDIR)/constraints.txt" $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable ".[dev]"
	touch $@
