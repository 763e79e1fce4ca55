# Every target makes .venv by itself when there is none, or when the requirements changed.
PYTHON ?= $(firstword $(foreach version,3.13 3.12 3.11,$(shell python$(version) -c "print('python$(version)')" 2>/dev/null)))
BIN := .venv/bin
READY := .venv/ready
FILES := $(filter-out %/__init__.py %/__main__.py,$(wildcard src/bayesgan/*.py src/bayesgan/*/*.py))
# Two processes of one thread each: threads of two processes get in each other's way.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist loadfile

.PHONY: demo test check-long lint format bench bench-long docs clean

demo: $(READY)
	$(BIN)/bayesgan demo --out demo

test: $(READY) # COVERAGE=1 prints the share of the code that the tests run, which may not fall
	$(PYTEST) $(if $(COVERAGE),--cov=bayesgan --cov-report=term:skip-covered --cov-fail-under=96)

check-long: $(READY)
	$(PYTEST) -m slow

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
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed; PYTHON=… names one."; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf .venv dist demo site
