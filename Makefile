# Two commands do all the set-up: `make demo` and `make test`. Both create .venv with pinned packages.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
DEMO := runs/demo

.PHONY: demo test lint bench pictures clean

$(VENV)/.user: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[dev]'
	touch $@ $(VENV)/.user

# A tree in the terminal, as a picture, in another format, and scored against another analysis.
demo: $(VENV)/.user
	$(BIN)/genrst render examples/ferry.rs3 - --to txt
	$(BIN)/genrst render examples/ferry.rs3 $(DEMO)/ferry.html
	$(BIN)/genrst render examples/ferry.rs3 $(DEMO)/difference.html --against examples/predicted/ferry.json
	$(BIN)/genrst convert examples/ferry.rs3 $(DEMO)/ferry.json
	$(BIN)/genrst evaluate examples/ferry.rs3 examples/predicted/ferry.json
	@echo
	@echo "Open $(DEMO)/ferry.html in a browser: the tree beside its text. $(DEMO)/difference.html: two analyses compared."

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest -n 2

bench: $(VENV)/.dev
	mkdir -p runs
	$(BIN)/python -m benchmarks.train --documents 16 --epochs 2 | tee runs/bench-train.json
	$(BIN)/python -m benchmarks.search --edus 50 100 --beams 1 10 --literal 6 --literal-beam 5 | tee runs/bench-search.jsonl

# The pictures of the README and the docs.
pictures: $(VENV)/.dev
	$(BIN)/python docs/make_pictures.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache
