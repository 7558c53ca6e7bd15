# `make demo` and `make test` need only Python 3.10 or newer, pip and git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
DEMO := $(VENV)/installed_demo
comma := ,
PEERS := $(VENV)-peers
REPORTS := build/test_results
COMPILER := $(shell command -v cc || command -v gcc || command -v clang)

# The environment is self-contained: a sourced ROS 2 stays out of it, and it talks to no other machine.
# Bytecode is kept, whatever the shell says: without it every node compiles all it imports.
unexport PYTHONDONTWRITEBYTECODE PYTHONPATH LD_LIBRARY_PATH AMENT_PREFIX_PATH RMW_IMPLEMENTATION _ROS_WHEELS_BOOTSTRAP_COMPLETE
export ROS_AUTOMATIC_DISCOVERY_RANGE ?= LOCALHOST
export ROS_LOG_DIR ?= $(CURDIR)/$(VENV)/log

.PHONY: help demo docs test test-peers test-long lint lint-ament format wheel release-check clean

ROUNDS ?= 20
WORKERS ?= 2
FLEETS ?= 3

help:
	@echo "make demo     run the demonstration in a browser; figures go to demo_output/"
	@echo "make docs     build the documentation site into build/site/"
	@echo "make test     lint, type check and all tests"
	@echo "make test-peers  tests beside other packages from PyPI: real arms, Pink, placo, TSID"
	@echo "make test-long  all tests with random examples, then those of the nodes $(ROUNDS) times"
	@echo "make lint     lint, type check and import contract only"
	@echo "make format   format the code, mend what ruff can mend"
	@echo "make wheel    the wheel of this architecture and the package of sources into dist/, and try them"
	@echo "make clean    remove the environment and everything built"
	@echo "Each makes $(VENV) first if it is missing. Another Python: make PYTHON=python3.12 ..."

demo: $(if $(wildcard $(INSTALLED)),$(INSTALLED),$(DEMO))
	@$(BIN)/projected-control demo --out demo_output

# Warnings are errors (`strict` in mkdocs.yml); nothing is fetched.
docs: $(INSTALLED)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "==> build/site/index.html; with search: $(BIN)/mkdocs serve"

test: lint
	@echo "==> kernels: the library, and the native loop"
	@$(BIN)/python test/prepare.py
	@echo "==> tests of the library, $(WORKERS) at a time"
	@$(BIN)/python -m pytest -m 'library and not long' -n $(WORKERS) --dist worksteal --junitxml $(REPORTS)/library.xml
	@echo "==> tests of the nodes, $(FLEETS) files at a time"
	@$(BIN)/python -m pytest -m 'nodes and not long' -n $(FLEETS) --dist loadfile --junitxml $(REPORTS)/nodes.xml
	@echo "==> tests of times and in a browser, one by one"
	@$(BIN)/python -m pytest -m 'not library and not nodes and not long' --whole-starts -n 1 --junitxml $(REPORTS)/alone.xml

# After `make test`, whose reports it reads: what is skipped in both needs ros2_control, Gazebo or launch.
test-peers: $(PEERS)/installed
	@echo "==> tests beside other packages, $(WORKERS) at a time"
	@$(PEERS)/bin/python -m pytest -m 'peers and not long' $$(grep -l mark.peers test/test_*.py) -n $(WORKERS) --dist worksteal --junitxml $(REPORTS)/peers.xml
	@echo "==> what is skipped, and why"
	@$(BIN)/python test/skips.py $(REPORTS)/library.xml $(REPORTS)/nodes.xml $(REPORTS)/alone.xml $(REPORTS)/peers.xml

# Nothing is tried again: a round that fails ends the run and says which it was.
test-long: lint
	@echo "==> tests, with random examples"
	@$(BIN)/python -m pytest --hypothesis-profile=random --whole-starts -n 1
	@for round in $$(seq $(ROUNDS)); do \
	  echo "==> tests of the nodes, round $$round of $(ROUNDS)"; \
	  $(BIN)/python -m pytest --hypothesis-profile=random --whole-starts -n 1 test/ros || \
	    { echo "==> failed in round $$round of $(ROUNDS)"; exit 1; }; \
	done

lint: $(INSTALLED)
	@echo "==> lint"
	@$(BIN)/ruff check
	@echo "==> format"
	@$(BIN)/ruff format --check
	@echo "==> types"
	@$(BIN)/mypy
	@echo "==> imports"
	@$(BIN)/lint-imports --no-cache

# ament's linters, where a sourced ROS 2 has them. The conventions are ours: docs/releasing.md.
CODE := projected_control launch examples test setup.py
lint-ament:
	@ament_flake8 --config test/ament_flake8.ini $(CODE)
	@ament_pep257 --convention google --add-ignore D100 D101 D102 D103 D104 D105 D106 D107 D300 D301 D403 D417 -- projected_control launch setup.py
	@ament_xmllint package.xml
	@ament_lint_cmake projected_control/native/cpp

format: $(INSTALLED)
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

# The native loop is for one Pinocchio (LOOP in setup.py); plugins are built where ros2_control is. TRY=--ros: with nodes.
TOOLS := build/wheel_tools
wheel:
	@rm -rf dist
	@"$(PYTHON)" -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip install --quiet build twine
	@PROJECTED_CONTROL_LOOP=1 PROJECTED_CONTROL_PLUGIN=0 $(TOOLS)/bin/python -m build
	@$(TOOLS)/bin/twine check --strict dist/*
	@$(TOOLS)/bin/python test/try_wheel.py dist $(TRY)

# What must be true before a release goes out; TAG=v1.2.3.
release-check:
	@"$(PYTHON)" test/release_check.py $(TAG)

clean:
	rm -rf $(VENV) $(PEERS) build dist demo_output projected_control/native/lib *.egg-info .hypothesis .import_linter_cache .mypy_cache \
	  .pytest_cache .ruff_cache

# The demonstration needs 1.1 GB of it; tools for tests and documentation come on top.
define ENVIRONMENT
	@command -v "$(PYTHON)" >/dev/null || \
	  { echo "$(PYTHON) not found: install Python 3.10 or newer, or say make PYTHON=..."; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "$$("$(PYTHON)" --version) is too old: say make PYTHON=... with 3.10 or newer"; exit 1; }
	@echo "==> environment in $(VENV) ($$("$(PYTHON)" --version))"
	@"$(PYTHON)" -m venv $(VENV) || \
	  { echo "Python's venv module is missing or broken (Debian, Ubuntu: apt install python3-venv)"; exit 1; }
	@echo "==> dependencies: $(1); some minutes the first time"
	@$(BIN)/python -m pip install --quiet --upgrade pip  # older ones fail to resolve on Python 3.10
	@$(if $(COMPILER),,$(BIN)/python -m pip install --quiet ziglang)  # a C compiler, to link the kernels with
	@$(if $(COMPILER),,CC="$(abspath $(BIN)/python) -m ziglang cc") $(BIN)/python -m pip install --editable '.[$(2)]'
	@$(BIN)/python -m projected_control.apps.launch.ament_links
	@mkdir -p "$$ROS_LOG_DIR"
	@touch $@
	@echo "==> installed"
endef

$(DEMO): setup.py setup.cfg pyproject.toml
	$(call ENVIRONMENT,ROS 2 and Pinocchio (1.1 GB),apps$(comma)ros$(comma)view)

$(INSTALLED): setup.py setup.cfg pyproject.toml
	$(call ENVIRONMENT,ROS 2$(comma) Pinocchio and tools,apps$(comma)docs$(comma)ros$(comma)sweep$(comma)test$(comma)view)

# On top of $(VENV): what it has is not installed again. placo and TSID need another Pinocchio, so each has an
# environment of its own (apps/bench/peer_environment.py), the one that `bench peers` asks.
$(PEERS)/installed: $(INSTALLED)
	@echo "==> environments for other packages: real arms and Pink in $(PEERS); placo; TSID"
	@$(BIN)/python -m venv --clear $(PEERS)
	@$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	  > "$$($(PEERS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/ours.pth"
	@$(PEERS)/bin/python -m pip install --quiet --only-binary :all: 'example-robot-data>=4.3' pin-pink daqp quadprog proxsuite
	@$(PEERS)/bin/python -m projected_control.apps.bench.peer_environment
	@touch $@
