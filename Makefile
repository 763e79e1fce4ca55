# Every target makes .venv by itself when there is none, or when the requirements changed.
PYTHON ?= python3.11
BIN := .venv/bin
READY := .venv/ready
FILES := $(filter-out %/__init__.py %/__main__.py,$(wildcard src/bayesgan/*.py src/bayesgan/*/*.py))

.PHONY: demo test lint format bench bench-long docs clean

demo: $(READY)
	$(BIN)/bayesgan demo --out demo

test: $(READY)
	$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(BIN)/python -m benchmarks.bench

bench-long: $(READY)
	$(BIN)/python -m benchmarks.time_to_dcgan10

docs: $(READY)
	$(BIN)/pdoc --docformat google --math --output-directory site $(subst /,.,$(FILES:src/%.py=%))
	@echo "The reference is site/index.html."

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf .venv dist demo site
