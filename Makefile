# Everything happens in .venv, which is made on first use and kept up to date with pyproject.toml and constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
# Without bytecode, each process compiles NumPy, SciPy and scikit-learn again: 4 seconds for `import elmonet`.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: core demo paper test test-kernels lint bench docs site dist format clean

# What `elmonet fit` needs, and nothing else: no PyTorch, no matplotlib.
core: .venv/core

# The paper's four problems in four ways, in about a minute. Ends with a page to draw on.
demo: .venv/demo
	$(BIN)/elmonet demo --out results

# All tables and figures of the paper, each number beside the printed one: five minutes.
paper: .venv/demo
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

# Each command installs what it needs, and no more: what others need later is added to the same .venv.
# Modules are compiled when they are first imported: most of those of torch and the documentation never are.
install = PIP_CONSTRAINT="$(CURDIR)/constraints.txt" $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable ".$(1)"

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "elmonet needs Python 3.11 or newer; name one with make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv

.venv/core: pyproject.toml constraints.txt | .venv/bin/python
	$(call install,)
	touch $@

.venv/demo: pyproject.toml constraints.txt | .venv/bin/python
	$(call install,[plot$(,)baselines])
	touch .venv/core $@

.venv/ready: pyproject.toml constraints.txt | .venv/bin/python
	$(call install,[dev])
	touch .venv/core .venv/demo $@

, := ,
