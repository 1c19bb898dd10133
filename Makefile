# Two commands do all the set-up: `make demo` and `make test`. Both create .venv with packages checked by their hashes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check
DEMO := runs/demo
# Each process takes one half of the files, so that what a file prepares is prepared once; who is done first helps.
PYTEST := $(BIN)/pytest -n 2 --dist worksteal

.PHONY: demo check test suite lint lock bench fuzz pictures docs lowest clean

# All packages must have the hashes of their list but PyTorch: which build fits, and what it brings, depends on the machine.
define install
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --require-hashes -r requirements/$(1).txt
	$(2)
	$(INSTALL) --no-deps --no-build-isolation -e .
endef

$(VENV)/.user: pyproject.toml constraints.txt requirements/demo.txt
	$(call install,demo)
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt requirements/test.txt
	$(call install,test,$(INSTALL) -c constraints.txt torch)
	touch $@ $(VENV)/.user

# From raw text to a tree, in the terminal and as a picture.
demo: $(VENV)/.user
	mkdir -p $(DEMO)
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
	GENRST_QUICK=1 $(PYTEST) -m "not slow"

# Types are checked beside the tests: alone, they would leave a core idle.
test: $(VENV)/.dev
	$(MAKE) --jobs 2 lint suite

suite: $(VENV)/.dev
	$(PYTEST)

bench: $(VENV)/.dev
	mkdir -p runs
	$(BIN)/python -m benchmarks.train --documents 16 --epochs 2 | tee runs/bench-train.json
	$(BIN)/python -m benchmarks.search --edus 50 100 --beams 1 10 --literal 6 --literal-beam 5 | tee runs/bench-search.jsonl

# The lower ends of the ranges in pyproject.toml, but for PyTorch, spaCy and Ray, in an environment of their own. Not in CI.
LOWEST := runs/lowest
lowest:
	test -x $(LOWEST)/bin/uv || ($(PYTHON) -m venv $(LOWEST) && $(LOWEST)/bin/pip install --quiet uv)
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
		--editable '.[files,parquet,plot,serve]' 'fsspec>=2024.2' 'hypothesis>=6.100' 'jsonschema>=4.20' 'pytest>=8'
	$(LOWEST)/bin/genrst parse examples/library.txt --output $(LOWEST)/library.png --force
	$(LOWEST)/bin/genrst bulk examples/library.txt $(LOWEST)/trees-$$(date +%s) --workers 1
	$(LOWEST)/bin/python -m pytest -W default::DeprecationWarning tests/trees tests/formats tests/corpora tests/evaluation tests/outputs tests/test_io.py

# Damaged input of every kind, for some time or so many cases; crashes are kept in tests/data/fuzz, figures are printed.
SECONDS := 60
FUZZ := --seconds $(SECONDS) $(EXECUTIONS:%=--executions %)
fuzz: $(VENV)/.dev
	mkdir -p runs
	OMP_NUM_THREADS=1 $(BIN)/python -m fuzz.run $(FUZZ) > runs/fuzz.json; status=$$?; cat runs/fuzz.json; exit $$status

# The pictures of the README and the docs, and what the notebooks print.
pictures: $(VENV)/.dev
	$(BIN)/python -m docs.make_pictures
	$(BIN)/python -m docs.notebook

# The site of the docs, into runs/site. A link that leads nowhere is an error.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "Open runs/site/index.html in a browser; for its search, $(BIN)/python -m http.server --directory runs/site"

# The lists of hashes again, for all systems, after a change of constraints.txt or pyproject.toml; needs uv.
CUDA := cuda-bindings cuda-toolkit nvidia-cudnn-cu13 nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvshmem-cu13 triton
LOCK := printf '%s\n' $(CUDA) | uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--no-header --excludes /dev/stdin --no-emit-package torch -c constraints.txt --group build pyproject.toml

lock:
	$(LOCK) --output-file requirements/demo.txt
	$(LOCK) --extra dev --output-file requirements/test.txt

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache
