# Two commands do all the set-up: `make demo` and `make test`. Both create .venv with pinned packages.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
DEMO := runs/demo

.PHONY: demo check test lint bench pictures clean

$(VENV)/.user: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[model,text]'
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[dev]'
	touch $@ $(VENV)/.user

# From raw text to a tree, in the terminal and as a picture.
demo: $(VENV)/.user
	$(BIN)/genrst parse examples/library.txt
	$(BIN)/genrst parse examples/library.txt --format html --output $(DEMO)/library.html
	$(BIN)/genrst parse examples/library.txt --summary 20%
	@echo
	@echo "Open $(DEMO)/library.html in a browser: the tree beside its text."

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# For the minute after a change: no slow tests, fewer random examples.
check: lint
	GENRST_QUICK=1 $(BIN)/pytest -n 2 -m "not slow"

test: lint
	$(BIN)/pytest -n 2

bench: $(VENV)/.dev
	mkdir -p runs
	$(BIN)/python -m benchmarks.train --documents 16 --epochs 2 | tee runs/bench-train.json
	$(BIN)/python -m benchmarks.search --edus 50 100 --beams 1 10 --literal 6 --literal-beam 5 | tee runs/bench-search.jsonl

# The pictures of the README and the docs.
pictures: $(VENV)/.dev
	$(BIN)/python -m docs.make_pictures

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache
