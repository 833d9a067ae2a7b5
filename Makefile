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
CPP := src/core/*/*.?pp verification/hardening/*.?pp tests/core/*.cpp
# What builds the package, so that a rebuild after an edit compiles only what changed.
BUILD_TOOLS := "scikit-build-core>=1.0" "nanobind>=3.0" "cmake>=3.18" "ninja>=1.11"
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# The part of the tests that shows that a wheel is whole; not a second run of the suite.
WHEEL_TESTS := README.md tests/unit/test_trees.py tests/contract/test_public_names.py tests/contract/test_sub_interpreters.py \
  tests/oracle/test_enumeration.py
WHEEL_PYTHON ?= build/wheel-environment/bin/python
WHEEL_PIP := build/wheel-environment/bin/python -m pip --disable-pip-version-check --quiet
WHEEL_MADE := --no-deps --no-index --find-links build/wheels/manylinux --only-binary=:all: arborand
# The stable ABI begins with Python 3.12.
WHEEL_PYTHONS ?= $(PYTHON) python3.12 python3.13
# Tests and benchmarks speak of one core a process: keep NumPy's own threads out of the way.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: help run test test-long test-fronts test-oldest-jax lint docs workflows format stubs build wheel wheel-for wheel-tests bench \
  verify golden mutants sanitize portability core-portability instruction-sets fuzz-files clean

help:
	@echo "make run     build arborand and draw trees from a bundled example"
	@echo "make test    run the tests: less than four minutes; the two that follow run the rest"
	@echo "make test-long    run the long tests: all laws, samplers that are wrong on purpose, browsers, killed jobs"
	@echo "make test-fronts  run the tests that need torch, JAX, stanza or Ray, and other projects' own tests"
	@echo "make test-oldest-jax  run the tests of arborand.jax with the oldest JAX that is supported"
	@echo "make lint    check style and types (make format repairs what can be repaired)"
	@echo "make docs    make the documentation site in build/docs"
	@echo "make verify  run the long statistical suite with fresh seeds; report in build/verification"
	@echo "make fuzz-files  read 10,000 damaged files of every kind"
	@echo "make bench   measure speed beside other libraries and bare loops; results in build/benchmarks"
	@echo "make mutants break the code in a hundred small ways, and list what no test notices"
	@echo "make sanitize     run the core's tests and a fuzz loop under ASan, UBSan and TSan; FUZZ_SECONDS=60"
	@echo "make portability  compare the core's answers on other machines bit for bit; test the package on ARM"
	@echo "make instruction-sets  measure the core without AVX2, and count its instructions on ARM"
	@echo "make golden  accept changed golden draws and numbers, under a new version"
	@echo "make build   make a source distribution and a wheel in dist/"
	@echo "make wheel   make manylinux wheels in dist/ and test them in fresh environments (Linux)"
	@echo "make workflows  check the workflows, dependabot's settings, pre-commit's hooks and the citation file"
	@echo "make clean   remove everything that was built"

run: $(VENV)/installed $(VENV)/command
	@$(BIN)/python examples/first_trees.py
	@echo
	@echo "Next, distinct readings of each sentence with their probabilities:"
	@echo
	@echo "    $(BIN)/arborand sample examples/corpus/sentences.npz -k 3 --without-replacement --seed 1 --conllu examples/corpus/sentences.conllu"

# One process per processor; conftest.py says what they share.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --ignore=tests/fronts $(addprefix --ignore=docs/,api/jax.md api/torch.md jax.md torch.md training.md)

test: $(VENV)/installed $(VENV)/tested build/core_parts/built
	$(PYTEST) -m "not slow" $(TESTS)
	@echo "not run: what takes long (make test-long), and what needs torch and other large packages (make test-fronts)"

test-long: $(VENV)/installed $(VENV)/tested build/core_parts/built
	$(PYTEST) -m slow $(TESTS)

# What is missing here is an error, not a skip.
test-fronts: $(VENV)/installed $(VENV)/tested $(VENV)/fronted
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --ignore=tests/fronts/jax --ignore=tests/fronts/test_labelled.py tests/fronts \
	  docs/api/torch.md docs/torch.md docs/training.md
	# In processes of their own: JAX minds if others fork in the one it is in.  Compiled functions
	# reach the core by XLA's interface, and by calls back to Python: both pass the same tests.
	$(BIN)/python -m pytest tests/fronts/jax tests/fronts/test_labelled.py
	$(BIN)/python -m pytest docs/api/jax.md docs/jax.md
	ARBORAND_JAX_ROUTE=callback $(BIN)/python -m pytest tests/fronts/jax

# The same build with the oldest JAX that is supported, in an environment of its own.
OLDEST_JAX := build/oldest-jax
test-oldest-jax: $(VENV)/installed
	$(PYTHON) -m venv $(OLDEST_JAX)
	$(PIP) wheel --no-build-isolation --no-deps --wheel-dir $(OLDEST_JAX)/wheels .
	$(OLDEST_JAX)/bin/python -m pip --disable-pip-version-check --quiet install jax==0.5.0 jaxlib==0.5.0 \
	  absl-py flatbuffers pytest pytest-timeout sybil
	$(OLDEST_JAX)/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --force-reinstall $(OLDEST_JAX)/wheels/*.whl
	$(OLDEST_JAX)/bin/python -m pytest --ignore=tests/fronts/jax/test_documentation.py $(or $(TESTS),tests/fronts/jax)

lint: $(VENV)/installed $(VENV)/tested $(VENV)/fronted $(VENV)/linted
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/mypy
	$(BIN)/python -m nanobind.stubgen --quiet --module arborand._core --output-file $(VENV)/_core.pyi
	diff src/arborand/_core.pyi $(VENV)/_core.pyi

workflows: $(VENV)/checked
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff --default-filetype yaml
	$(BIN)/zizmor --offline --quiet --no-progress .github
	$(BIN)/pre-commit validate-config .pre-commit-config.yaml

# Warnings are errors: a link that leads nowhere, a docstring that cannot be rendered.
docs: $(VENV)/installed $(VENV)/command $(VENV)/documented
	$(BIN)/python -m sphinx --quiet --fresh-env --fail-on-warning --keep-going --conf-dir docs \
	  --doctree-dir build/doctrees . build/docs
	@echo "the site is in build/docs/index.html"

format: $(VENV)/linted
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

stubs: $(VENV)/installed
	$(BIN)/python -m nanobind.stubgen --quiet --module arborand._core --output-file src/arborand/_core.pyi

build: $(VENV)/built
	$(BIN)/python -m build --outdir dist

# The wheels are made from the source distribution, as an installer without a wheel would make them.
wheel: $(VENV)/wheeled
	rm -rf build/wheels
	$(BIN)/python -m build --no-isolation --sdist --outdir build/wheels
	@for python in $(WHEEL_PYTHONS); do \
	  if $$python -c "import ensurepip, venv" 2>/dev/null; then $(MAKE) wheel-for FOR=$$python || exit 1; \
	  else echo "LEFT OUT: the wheel with $$python, which was not found or has no venv (make wheel WHEEL_PYTHONS=/path/to/python3.12)"; fi; \
	done
	mkdir -p dist
	cp build/wheels/*.tar.gz build/wheels/manylinux/*.whl dist

# In an environment of its own.  A wheel is made only if pip finds none that fits: the one with the
# stable ABI, made with Python 3.12, must fit the Pythons after it.
wheel-for:
	rm -rf build/wheel-environment
	$(FOR) -m venv build/wheel-environment
	$(WHEEL_PIP) install --upgrade "pip>=25.1"
	mkdir -p build/wheels/manylinux
	$(WHEEL_PIP) install $(WHEEL_MADE) 2>/dev/null || { rm -rf build/wheels/unrepaired && \
	  $(WHEEL_PIP) wheel --no-deps --wheel-dir build/wheels/unrepaired build/wheels/*.tar.gz && \
	  PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m auditwheel repair --wheel-dir build/wheels/manylinux build/wheels/unrepaired/*.whl && \
	  $(WHEEL_PIP) install $(WHEEL_MADE); }
	@grep --with-filename ^Tag build/wheel-environment/lib/*/site-packages/arborand-*/WHEEL
	$(WHEEL_PIP) install --group test arborand
	$(MAKE) wheel-tests

# The source tree has no arborand to import (it is in src): what is tested is what is installed.
wheel-tests:
	$(WHEEL_PYTHON) -c 'import arborand; assert "site-packages" in arborand.__file__, arborand.__file__'
	$(WHEEL_PYTHON) examples/first_trees.py
	$(WHEEL_PYTHON) -m pytest -q $(WHEEL_TESTS)

verify: $(VENV)/installed $(VENV)/tested
	$(BIN)/python -m verification $(VERIFY)

# Ten thousand damaged files of every kind; FUZZ="--count 100 --kind npz" for fewer.
fuzz-files: $(VENV)/installed $(VENV)/tested
	$(BIN)/python -m tests.fuzz_files $(FUZZ)

bench: $(VENV)/installed $(VENV)/benched
	$(BIN)/python -m benchmarks $(if $(SCORES),--scores $(SCORES)) $(BENCH)

# Parts of the core, the programs of verification/hardening/, and both with sanitizers: no Python needed.
CONFIGURE = $(BIN)/cmake -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DCMAKE_BUILD_TYPE=Release \
  -DARBORAND_MODULE=OFF -DARBORAND_TEST_CORE=ON -DCMAKE_CXX_COMPILER=$(CXX) -S .
# Not by make's own job server, whose pipe a recipe does not inherit: ninja would stop.
COMPILE = MAKEFLAGS= $(BIN)/cmake --build

build/core_parts/built: $(VENV)/created $(SOURCES) tests/core/parts.cpp
	@$(CONFIGURE) -B build/core_parts >/dev/null
	@$(COMPILE) build/core_parts --target core_parts
	@touch $@

FUZZ_SECONDS ?= 60
FUZZ_SEED ?=
ASAN := build/sanitize/address
TSAN := build/sanitize/thread
# What a sanitizer finds ends the run.  By g++, whose sanitizers are libraries that Python can load.
SANITIZED := -g -fno-omit-frame-pointer -fno-sanitize-recover=all
sanitize: $(VENV)/installed $(VENV)/tested
	$(CONFIGURE) -B $(ASAN) -DCMAKE_CXX_COMPILER=g++ -DARBORAND_OPTIMISATION=-O1 \
	  -DCMAKE_CXX_FLAGS="$(SANITIZED) -fsanitize=address,undefined,float-cast-overflow" >/dev/null
	$(CONFIGURE) -B $(TSAN) -DCMAKE_CXX_COMPILER=g++ -DARBORAND_OPTIMISATION=-O1 \
	  -DCMAKE_CXX_FLAGS="$(SANITIZED) -fsanitize=thread" >/dev/null
	$(COMPILE) $(ASAN) --target core_parts fuzz speed
	$(COMPILE) $(TSAN) --target fuzz
	# Python itself is not sanitized: the library comes first, and its leaks are not looked for.
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 ARBORAND_CORE_PARTS=$(ASAN) \
	  $(BIN)/python -m pytest -q -p no:cacheprovider tests/core
	$(ASAN)/fuzz $(FUZZ_SECONDS) $(FUZZ_SEED)
	$(TSAN)/fuzz $(FUZZ_SECONDS) $(FUZZ_SEED)

portability: core-portability
	$(BIN)/python -m verification.hardening.package_on_arm

core-portability: $(VENV)/created $(VENV)/crossed
	@echo "the core; make portability also tests the package on ARM"
	$(BIN)/python -m verification.hardening.portability

# The same answers on other processors: how much longer do they take?
instruction-sets: $(VENV)/created $(VENV)/crossed
	$(BIN)/python -m verification.hardening.instruction_sets

mutants: $(VENV)/installed $(VENV)/tested
	$(BIN)/python -m verification.hardening.mutation $(MUTANTS)

golden: $(VENV)/installed $(VENV)/tested
	$(BIN)/python -m tests.golden

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# ---- what the commands above need

$(VENV)/created:
	@command -v $(CXX) >/dev/null 2>&1 || { \
	  echo "arborand needs a C++17 compiler to build its core: install g++ or clang (Debian, Ubuntu: apt-get install g++; macOS: xcode-select --install)." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "arborand needs Python 3.11 or newer: run make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' || { \
	  echo "arborand compiles against Python's headers, which are missing: install them (Debian, Ubuntu: apt-get install python3-dev)." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "arborand builds in a virtual environment: install Python's venv module (Debian, Ubuntu: apt-get install python3-venv)." >&2; rm -rf $(VENV); exit 1; }
	$(PIP) install $(BUILD_TOOLS) "numpy>=2"
	@touch $@

$(VENV)/installed: $(VENV)/created $(SOURCES)
	$(PIP) install --no-build-isolation --no-deps --force-reinstall .
	@touch $@

# What the arborand command needs beside the library.
$(VENV)/command: pyproject.toml | $(VENV)/installed
	$(PIP) install "arborand[cli]"
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

$(VENV)/crossed: $(VENV)/pip pyproject.toml
	$(PIP) install --group cross
	@touch $@

$(VENV)/linted: $(VENV)/pip pyproject.toml
	$(PIP) install --group lint
	@touch $@

$(VENV)/documented: $(VENV)/pip pyproject.toml
	$(PIP) install --group docs
	@touch $@

$(VENV)/benched: $(VENV)/pip pyproject.toml
	$(PIP) install --group bench
	@touch $@

$(VENV)/built: $(VENV)/pip pyproject.toml
	$(PIP) install --group build
	@touch $@

$(VENV)/wheeled: $(VENV)/pip pyproject.toml
	$(PIP) install --group wheel
	@touch $@

$(VENV)/checked: $(VENV)/pip pyproject.toml
	$(PIP) install --group workflows
	@touch $@
