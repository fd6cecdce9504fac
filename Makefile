# make run: the page.  make test: all tests, a real browser included.  make lint: style and types.
# Needs Python 3.11 or newer; everything else goes into .venv.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test lint bench clean

run: $(VENV)/run.stamp
	$(BIN)/streamlit run app.py

test: $(VENV)/dev.stamp
	.ci/system-packages
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/dev.stamp
	$(BIN)/python -m qlab bench
	PYTHONPATH=. $(BIN)/python tests/bench_matrix.py

clean:
	rm -rf $(VENV)

$(VENV)/run.stamp: requirements.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "qlab needs Python 3.11 or newer: make run PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@
