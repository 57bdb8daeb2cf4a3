# `make demo` and `make test` need Python >= 3.11 with venv, and nothing else that is installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check lint docs gallery matrix bench clean
.DELETE_ON_ERROR:

# One stamp per set of extras: reinstalled when pyproject.toml changes, otherwise free.
$(VENV)/.installed-%: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "leadax needs Python 3.11 or newer, $(PYTHON) is " + sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

demo: $(VENV)/.installed-data,plot
	$(BIN)/leadax demo

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

test: lint
	$(BIN)/python -m pytest

# After every edit, in under a minute: lint, types, house rules, and the rooms whose tests compile little.
check: lint
	$(BIN)/python -m pytest tests/test_house.py tests/test_defaults.py tests/data/test_units.py tests/data/test_batch.py \
	  tests/data/test_holdouts.py tests/rollout/test_steps.py tests/choose tests/evaluate tests/train/test_loss.py

# The site, in build/pages/site. A broken link or a missing name is an error.
docs: $(VENV)/.installed-data,docs,plot
	$(BIN)/python -m tools.site

# Every script of the gallery, with the pictures and numbers of its page. THEOPH=FILE has your copy of those data.
gallery: $(VENV)/.installed-data,plot,sindy
	$(BIN)/python -m tools.gallery $(if $(THEOPH),--data $(THEOPH))

# By hand, before a release: wheel and sdist in empty environments, with each extra, and with the oldest versions allowed.
matrix:
	$(PYTHON) -m tools.matrix

# Alone on the machine: it measures time. PyTorch is for comparison only.
bench: $(VENV)/.installed-data,plot,bench
	$(BIN)/python benchmarks/step.py --out benchmarks/results.json
	$(BIN)/python benchmarks/scaling.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis
