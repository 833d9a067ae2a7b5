# Everything happens in .venv, made on first use.  `make` alone lists what there is.
PYTHON ?= python3
# Not `?=`: make itself sets CXX, to g++, where nobody else does.
ifeq ($(origin CXX),default)
CXX := c++
endif
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt README.md \
  $(shell find src -type f ! -name '*.so' ! -path '*/__pycache__/*')
# What builds the package, so that a rebuild after an edit compiles only what changed.
BUILD_TOOLS := "scikit-build-core>=1.0" "nanobind>=3.0" "cmake>=3.18" "ninja>=1.11"
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Tests and benchmarks speak of one core a process: keep NumPy's own threads out of the way.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: help run test test-fronts lint format stubs build bench verify clean

help:
	@echo "make run     build arborand and draw trees from a bundled example"
	@echo "make test    run the whole test suite"
	@echo "make test-fronts  run the tests of heavy clients, and other projects' own tests"
	@echo "make lint    check style and types (make format repairs what can be repaired)"
	@echo "make verify  run the long statistical suite with fresh seeds; report in build/verification"
	@echo "make bench   measure speed against floors and peers; results in benchmarks/results"
	@echo "make build   make a source distribution and a wheel in dist/"
	@echo "make clean   remove everything that was built"

run: $(VENV)/installed
	@$(BIN)/python examples/first_trees.py

test: $(VENV)/installed $(VENV)/tested
	# A page's examples build on each other: whole files go to one process.
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --ignore=tests/fronts $(TESTS)

# What is missing here is an error, not a skip.
test-fronts: $(VENV)/installed $(VENV)/tested $(VENV)/fronted
	$(BIN)/python -m pytest tests/fronts

lint: $(VENV)/installed $(VENV)/tested $(VENV)/linted
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror src/core/*/*.hpp src/core/*/*.cpp
	$(BIN)/mypy
	$(BIN)/python -m nanobind.stubgen --quiet --module arborand._core --output-file $(VENV)/_core.pyi
	diff src/arborand/_core.pyi $(VENV)/_core.pyi

format: $(VENV)/linted
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i src/core/*/*.hpp src/core/*/*.cpp

stubs: $(VENV)/installed
	$(BIN)/python -m nanobind.stubgen --quiet --module arborand._core --output-file src/arborand/_core.pyi

build: $(VENV)/built
	$(BIN)/python -m build --outdir dist

verify: $(VENV)/installed $(VENV)/tested
	$(BIN)/python -m verification $(VERIFY)

bench: $(VENV)/installed $(VENV)/benched
	$(BIN)/python -m benchmarks $(if $(SCORES),--scores $(SCORES)) $(BENCH)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# ---- what the commands above need

$(VENV)/created:
	@command -v $(CXX) >/dev/null 2>&1 || { \
	  echo "arborand needs a C++17 compiler to build its core: install g++ or clang (Debian, Ubuntu: apt-get install g++; macOS: xcode-select --install)." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "arborand needs Python 3.11 or newer: run make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "arborand builds in a virtual environment: install Python's venv module (Debian, Ubuntu: apt-get install python3-venv)." >&2; rm -rf $(VENV); exit 1; }
	$(PIP) install $(BUILD_TOOLS) "numpy>=2"
	@touch $@

$(VENV)/installed: $(VENV)/created $(SOURCES)
	$(PIP) install --no-build-isolation --no-deps --force-reinstall .
	@touch $@

# Dependency groups need pip 25.1; the interpreter's own may be older.
$(VENV)/pip: $(VENV)/created
	$(PIP) install --upgrade "pip>=25.1"
	@touch $@

$(VENV)/tested: $(VENV)/pip pyproject.toml
	$(PIP) install --group test
	@touch $@

$(VENV)/fronted: $(VENV)/pip pyproject.toml
	$(PIP) install --group fronts
	@touch $@

$(VENV)/linted: $(VENV)/pip pyproject.toml
	$(PIP) install --group lint
	@touch $@

$(VENV)/benched: $(VENV)/pip pyproject.toml
	$(PIP) install --group bench
	@touch $@

$(VENV)/built: $(VENV)/pip pyproject.toml
	$(PIP) install --group build
	@touch $@
