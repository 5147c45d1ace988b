PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# With HASHES=yes each package is held against its checksums before it is installed.
HASHES ?=
INSTALLED := $(VENV)/.installed$(if $(HASHES),-by-hashes)
PINS := envs/$(if $(HASHES),hashes,constraints).txt
# With FLASH=yes flash-attn is installed too.
FLASH ?=
BENCH := $(VENV)/bench

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo clean test test-all test-slurm test-faults test-real golden generate \
	bench-chunks bench-evaluation bench-training bench-gpu bench-dag bench-ranking

# A line that begins with ##@ heads a group, what follows ## behind a target is its sentence.
help: ## this list
	@echo 'What Snakemake makes is asked for with `snakemake <target>`; `snakemake --list` lists the targets. The rest:'
	@awk 'BEGIN {FS = ":.*## "} /^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

##@ Run

install: $(INSTALLED) $(if $(FLASH),$(INSTALLED)-flash) ## install into .venv; PYTHON=python3.12 takes another Python; HASHES=yes, by checksums; FLASH=yes, flash-attn too

demo: $(INSTALLED) ## install, run the miniature world, say where to look; four to eight minutes on 2 cores
	$(BIN)/snakemake
	@echo 'Start with results/report/index.html; tables lie in results/tables, figures in results/figures, and results/README.md says what is where.'

clean: ## remove results and logs; the hub folder and the installation stay
	rm -rf logs .snakemake
	find results -mindepth 1 ! -name README.md -delete

##@ Test

test: $(INSTALLED) ## install, run what one runs before a commit; two and a half minutes on 2 cores
	$(BIN)/python -m pytest -n 2 --dist loadfile -m 'not (slow or slurm or chromium)'

test-all: $(INSTALLED) ## every test, fifteen minutes: kills, whole worlds again, a browser, Slurm; skips what cannot run
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

test-slurm: $(INSTALLED) ## a real Slurm of four nodes, as root, with Debian's slurm-wlm and munge; four minutes
	$(BIN)/python -m pytest tests/slurm

KILLS ?= 20
SEED ?= 1
test-faults: $(INSTALLED) ## KILLS=20 kills at random moments, drawn with SEED=1; five minutes
	KILLS=$(KILLS) SEED=$(SEED) $(BIN)/python -m pytest tests/faults

HUB ?= resources/hub-first
test-real: $(INSTALLED) ## with the real weights that config/first.yaml has fetched; HUB=runs/first/resources/hub-first
	$(BIN)/python -m pytest tests/real --real-hub $(HUB)

BASE ?=
KEEP ?=
golden: $(INSTALLED) ## every number that moved since BASE=<commit>; five minutes; KEEP=yes keeps the new ones
	$(BIN)/python -m tests.golden $(if $(BASE),--base $(BASE)) $(if $(KEEP),--keep)

generate: $(INSTALLED) ## write config/schema.json again from workflow_scripts/settings
	$(BIN)/python -m workflow_scripts.settings.schema

##@ Measure

bench-chunks: $(INSTALLED) ## chunked models beside transformers' own, and leaner code alone; three minutes
	$(BIN)/python -m bench.chunks

bench-evaluation: $(INSTALLED) ## reading shared prompts once, beside lm-eval's own batches; four minutes
	$(BIN)/python -m bench.evaluation

# TRL lies apart: nothing else needs it.
bench-training: $(BENCH)/.installed ## the trainer beside TRL's, on short samples and full blocks; eight minutes
	PYTHONPATH=$(BENCH) $(BIN)/python -m bench.training

$(BENCH)/.installed: envs/bench.txt $(INSTALLED)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --progress-bar off --no-deps --upgrade --target $(BENCH) -r envs/bench.txt
	@touch $@

# TRL is measured where `make bench-training` has installed it.
bench-gpu: $(INSTALLED) ## a GPU: exactness and speed of evaluation, generation, chunks and training
	PYTHONPATH=$(BENCH) $(BIN)/python -m bench.gpu

bench-dag: $(INSTALLED) ## Snakemake's planning of the published grid, beside a bare workflow; two minutes
	$(BIN)/python -m bench.dag

MODELS ?= 600
bench-ranking: $(INSTALLED) ## the ranking study of 600 models, a tenth of the cells missing; a minute; MODELS=10000, three
	$(BIN)/python -m bench.ranking --models $(MODELS)

BRINGS = Some 220 packages come into $(VENV), PyTorch among them (on Linux with CUDA, unless another build of it is there\
 already). 50 are for lighteval alone: with conda, `snakemake --sdm conda` puts it into an environment of its own.
# The stamp is written last, so that an interrupted installation is done again.
$(INSTALLED): envs/requirements.txt $(PINS)
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Chorus needs Python 3.11 or later, this is " + sys.version.split()[0] + "; try: make demo PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	@echo '$(BRINGS)'
	$(if $(HASHES),$(BIN)/python -m pip install --disable-pip-version-check --quiet --require-hashes -r envs/pip.txt)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --progress-bar off -r envs/requirements.txt -c $(PINS)
	@touch $@

# It is compiled against the torch that is there, so anew where that has changed, and finds ninja by the path.
FLASH_PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet --progress-bar off --no-deps
$(INSTALLED)-flash: envs/requirements-flash.txt envs/requirements-flash-build.txt $(INSTALLED)
	$(FLASH_PIP) -r envs/requirements-flash-build.txt
	PATH="$(CURDIR)/$(BIN):$$PATH" $(if $(HASHES),FLASH_ATTENTION_FORCE_BUILD=TRUE )$(FLASH_PIP) --no-build-isolation --no-cache-dir --force-reinstall -r envs/requirements-flash.txt
	@touch $@
