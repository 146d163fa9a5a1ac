# make lab    opens the course in JupyterLab          make notebooks  runs the notebooks and saves what they print
# make test   runs all tests                          make data       makes data/ again
# make bench  times explorers and attention           make publish    writes the repository's address where it is needed
#
# Variables, to be given after the target:
#   PYTHON=…       the Python to make the environment with
#   PIP_ARGS=…     more arguments for pip
#   LAB_ARGS=…     more arguments for JupyterLab
#   PYTEST_ARGS=…  more arguments for pytest
#   CONSTRAINTS=   (empty) the newest versions of all libraries, in an environment of their own

CONSTRAINTS ?= constraints.txt
VENV = $(if $(CONSTRAINTS),.venv,.venv-newest)
BIN = $(VENV)/bin

# The first Python in reach that fits. It is run, not only looked up: it may be too old, or lack venv as on a bare Debian.
FITS = import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	if "$$python" -c "$(FITS)" 2>/dev/null; then echo "$$python"; break; fi; done)

# JupyterLab refuses to start as root, as one is in a container, unless told to
ROOT = $(if $(filter 0,$(shell id -u)),--allow-root)

INSTALL = $(BIN)/python -m pip install --no-input --disable-pip-version-check \
	$(if $(CONSTRAINTS),-c $(CONSTRAINTS),--upgrade) $(PIP_ARGS)

# some tests make environments of their own
export PIP_ARGS

.PHONY: lab test notebooks data bench publish
.DELETE_ON_ERROR:

lab: $(VENV)/.lab
	$(BIN)/python tools/start.py --notebook-dir=notebooks $(ROOT) $(LAB_ARGS)

# one thread of linear algebra for each of the two workers: more would only get into each other's way
test: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

notebooks: $(VENV)/.test
	$(BIN)/python tools/notebooks.py

data: $(VENV)/.lab
	$(BIN)/python tools/data.py

bench: $(VENV)/.test
	$(BIN)/python tools/bench.py

publish:
	"$(PYTHON)" tools/publish.py $(REPO)

# Each of the two files says when its extra was installed. They are older than what they depend on once a range or a
# version changes, and only then is anything installed again.
$(VENV)/.lab: pyproject.toml $(CONSTRAINTS) $(BIN)/python
	$(INSTALL) -e ".[lab]"
	@touch $@

$(VENV)/.test: pyproject.toml $(CONSTRAINTS) $(BIN)/python
	$(INSTALL) -e ".[lab,test]"
	@touch $(VENV)/.lab $@

$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then echo "No Python from 3.11 to 3.14 with venv was found. Install one" \
		"(Debian, Ubuntu: apt install python3-venv), or name yours: make lab PYTHON=/path/to/python3.12"; exit 1; fi
	@rm -rf $(VENV)
	"$(PYTHON)" -m venv $(VENV)
