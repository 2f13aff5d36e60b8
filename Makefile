# Two commands do everything on a new machine: `make demo` and `make test`. Each sets up what it needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DATA   ?= ../shared/data
MINUTES ?= 30
SEED   ?= 0
KILLS  ?= 100
RAY_KILLS ?= 10

.PHONY: help setup dev demo test lint types unit fuzz kills bench paper site kernels wheel wheels clean

help:           ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/'

setup:          ## a virtual environment with the package and the extras that README uses
	@$(PYTHON) tools/bootstrap.py

dev:            ## the same with every extra and the development tools
	@$(PYTHON) tools/bootstrap.py --dev

demo: setup     ## bank, play and 사과 in their sentences, by the bundled models
	@$(BIN)/python tools/demo.py

test: lint types unit  ## lint, type-check, run every test

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: dev
	$(BIN)/mypy

unit: dev
	$(BIN)/python -m pytest -n 2

fuzz: dev       ## time texts; damage files at random and read them: up to 1 M inputs of SEED=0, MINUTES=30 at a time
	$(BIN)/python -m tests.fuzz.times --minutes 2 --seed $(SEED)
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --seed $(SEED)

kills: dev      ## kill each command that writes at random moments, KILLS=100 times each (on Ray RAY_KILLS=10), and resume it
	ELMORE_KILLS=$(KILLS) ELMORE_RAY_KILLS=$(RAY_KILLS) $(BIN)/python -m pytest -n 2 tests/test_kills.py tests/scale/test_ray_kills.py

bench: dev      ## measure speed; results in build/embed.json and .png, build/pretrain.json and .png, build/serve.json
	$(BIN)/python benchmarks/embed.py --out build/embed
	$(BIN)/python benchmarks/pretrain.py --out build/pretrain
	$(BIN)/python benchmarks/serve.py --out build/serve --page docs/results.md

paper: dev      ## measure what the paper measured, with the data in DATA; tables go to docs/results.md
	$(BIN)/python -m paper --data $(DATA) --out build/paper --page docs/results.md

site: dev       ## build the documentation site; it begins at build/docs/site/index.html
	$(BIN)/python tools/site.py build/docs

kernels:        ## compile the C kernels in the source tree
	@$(PYTHON) tools/compile_kernels.py

wheel: dev      ## build dist/*.whl for this machine
	$(BIN)/python -m build --wheel

TARGETS := x86_64-linux-gnu.2.17 aarch64-linux-gnu.2.17 aarch64-macos.11.0 x86_64-macos.11.0 x86_64-windows-gnu
wheels: dev     ## build dist/*.whl for Linux, macOS and Windows, by zig's cross-compiler
	for target in $(TARGETS); do ELMORE_TARGET=$$target $(BIN)/python -m build --wheel || exit 1; done

clean:          ## remove the environment and every cache
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
