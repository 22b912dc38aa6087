# Everything sets itself up: Python >= 3.11, git and make are enough.
PYTHON ?= python3
BIN := .venv/bin

# Packages are not compiled when they are installed, which would take half a minute: Python keeps what it compiles as it runs.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test check long pages slow storm nightly browser proof bench docs site figures studies studies-quick clean

demo: .venv/demo
	@$(BIN)/python examples/demo.py

# Two processes fill two cores: no threads beside them.
test: .venv/test
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not long and not slow and not browser and not pages"

check: .venv/check .venv/test .venv/studies
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports --no-logo --no-cache

# Tests above a second that catch no planted fault alone: too long for every change, quick enough for .ci/run.
long: .venv/test
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal -m "long and not slow and not browser" tests

# The Python of all pages and notebooks, run from top to bottom.
pages: .venv/test
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal -m pages tests/walks

slow: .venv/test .venv/postgres .venv/spark .venv/studies
	@$(BIN)/python -m pytest -q -m slow tests src studies
	@MORE=25 $(BIN)/python -m pytest -q tests/trusted/test_certify.py

# Five minutes of kills, cut connections and stopped servers, on this machine alone; prints what it met.
storm: .venv/test .venv/postgres
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/storms/storm.py $(STORM)

# Small faults all over the package for an hour, each against the tests of its room; survivors are in nightly.md.
nightly: .venv/test .venv/postgres
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/faults/nightly.py $(NIGHTLY)

# Pages, and the checker in JavaScript, in a real Chromium (/usr/bin/chromium).
browser: .venv/test
	@$(BIN)/python -m pytest -q -m "browser and not slow" tests/studio tests/check tests/curator

# The machine-checked proof, the checker extracted from it, and Python's checkers against that one. Needs Coq 8.16.
proof: .venv/test
	@$(MAKE) --no-print-directory -C coq proof
	@$(BIN)/python -m pytest -q tests/proof

bench: .venv/bench .venv/studies .venv-opendp .venv-mbi
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/run.py $(ONLY)

# The site, with everything checked: pictures and screenshots drawn anew, words and spelling, links, the Python of all pages.
docs: figures .venv/docs pages site
	@$(BIN)/python docs/words.py
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/walks/test_docs.py

site: .venv/docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "docs: site/index.html"

# The papers' tables and figures, from a package of their own in studies/.
studies: .venv/studies
	@$(BIN)/inbounds studies run all --out figures --overwrite && $(BIN)/python docs/studies/shrink.py figures && $(BIN)/python docs/studies/pages.py figures

studies-quick: .venv/test .venv/studies
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow" studies
	@$(BIN)/inbounds studies run all --quick --out "$$(mktemp -d)"

figures: .venv/figures .venv/test
	@MPLBACKEND=agg $(BIN)/python docs/notebooks.py && $(BIN)/python docs/commands.py && $(BIN)/python docs/figures.py && $(BIN)/python docs/screenshots.py

# One stamp per extra: .venv/<extra> exists when that extra is installed as pyproject.toml and constraints.txt say.
.venv/%: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "setting up .venv ($*) …"
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '.[$*]'
	@touch $@

.venv/studies: pyproject.toml studies/pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "setting up .venv (studies) …"
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e . -e ./studies
	@touch $@

# Peers of the benchmark that need other versions than ours. Where one cannot be installed the page says that it was skipped.
.venv-opendp: bench/opendp-polars.txt
.venv-mbi: bench/mbi.txt
.venv-opendp .venv-mbi:
	@$(PYTHON) -m venv $@ && $@/bin/python -m pip install --quiet --disable-pip-version-check -r $< || rm -rf $@

clean:
	rm -rf .venv .venv-opendp .venv-mbi site dist build .pytest_cache .mypy_cache .ruff_cache
	$(MAKE) -C coq clean
