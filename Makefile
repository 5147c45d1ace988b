# make demo: install, run the miniature world, say where to look.   make test: install, run the tests to run before a commit.
# make test-all: every test: kills, whole worlds again, a browser and a real Slurm too; what needs a program that is not
# installed is skipped. CI (.ci/run) installs them all first.
# make status: progress of the run in this folder, at any time; DIRECTORY=runs/paper for another folder.
# make test-slurm: the tests that start a real Slurm of four nodes.   make test-faults: 200 kills at random moments.
# make bench-chunks: how much faster chunked models run, and how much of that is leaner code.
# make bench-evaluation: how much faster evaluations are for reading shared prompts once.
# make bench-training: how much faster the trainer is than TRL's, on short samples and full blocks.
# make bench-together: how much faster trainings are when they share their steps than one after the other.
# make bench-gpu: speed and correctness on a GPU, in a report that planning reads; PARTS="evaluation training" for some.
# make bench-dag: how long Snakemake takes to plan the published grid.
# make bench-ranking: how long the tables and figures of the ranking study take with 600 models.
# Another Python:  make demo PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
BENCH := $(VENV)/bench

.PHONY: demo test test-all test-slurm test-faults install status bench-chunks bench-evaluation bench-training bench-together bench-gpu bench-dag bench-ranking clean
.DELETE_ON_ERROR:

demo: $(INSTALLED)
	$(BIN)/snakemake
	@echo 'Start with results/report/index.html; tables lie in results/tables, figures in results/figures, and results/README.md says what is where.'

# What needs a browser, Slurm or much time is left to test-all; each study is run from end to end.
test: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m 'not (slow or slurm or chromium)'

test-all: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 --dist loadfile

# As root, with Debian's packages slurm-wlm and munge; `make test-all` runs them too, and skips them without these. Four minutes.
test-slurm: $(INSTALLED)
	$(BIN)/python -m pytest tests/slurm

# Nine minutes; another draw:  make test-faults SEED=2
KILLS ?= 200
SEED ?= 1
test-faults: $(INSTALLED)
	$(BIN)/python -m tests.faults --kills $(KILLS) --seed $(SEED)

install: $(INSTALLED)

DIRECTORY ?= .
# Does not install: asking for the progress of a run should not download gigabytes.
status:
	@test -x $(BIN)/python || { echo 'Nothing is installed in $(VENV), so no run was started from there. `make install` installs; with an installation of your own, type: python -m workflow_scripts.planning.status --directory $(DIRECTORY)' >&2; exit 1; }
	@$(BIN)/python -m workflow_scripts.planning.status --directory $(DIRECTORY)

# Chunked models beside transformers' own, on two threads; about three minutes.
bench-chunks: $(INSTALLED)
	$(BIN)/python -m bench.chunks

# The prefix engine beside lm-eval's own batches, on two threads; about four minutes.
bench-evaluation: $(INSTALLED)
	$(BIN)/python -m bench.evaluation

# The trainer beside TRL's, on two threads; about four minutes. TRL lies apart: nothing else needs it.
bench-training: $(BENCH)/.installed
	PYTHONPATH=$(BENCH) $(BIN)/python -m bench.training

$(BENCH)/.installed: envs/bench.txt $(INSTALLED)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --progress-bar off --no-deps --upgrade --target $(BENCH) -r envs/bench.txt
	@touch $@

# Trainings that share their steps beside the same ones one after the other, and TRL's, on two threads.
bench-together: $(BENCH)/.installed
	PYTHONPATH=$(BENCH) $(BIN)/python -m bench.together

# On a machine with a GPU: correctness, evaluation, training, chunked models and rates, ten minutes each at most. TRL is
# measured where `make bench-training` has installed it.
PARTS ?=
bench-gpu: $(INSTALLED)
	PYTHONPATH=$(BENCH) $(BIN)/python -m bench.gpu $(PARTS)

# Planning the published grid beside a bare workflow with as many jobs; about two minutes.
bench-dag: $(INSTALLED)
	$(BIN)/python -m bench.dag

# The ranking study of 600 models on 24 tasks under both protocols, on two cores; about a minute.
bench-ranking: $(INSTALLED)
	$(BIN)/python -m bench.ranking

# The stamp is written last, so that an interrupted installation is done again.
$(INSTALLED): envs/requirements.txt envs/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Chorus needs Python 3.11 or later, this is " + sys.version.split()[0] + "; try: make demo PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --progress-bar off -r envs/requirements.txt -c envs/constraints.txt
	@touch $@

# Results and logs; the hub folder and the installation stay.
clean:
	rm -rf logs .snakemake
	find results -mindepth 1 ! -name README.md -delete
