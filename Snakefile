"""Chorus: from checkpoint to paper. `snakemake` runs the miniature world; see README.md."""

import sys
import time
from pathlib import Path

from snakemake.utils import min_version

from workflow_scripts.core.broken import clear_broken_cells
from workflow_scripts.bridge.journal import note_run
from workflow_scripts.bridge.orphaned_slurm_jobs import cancel_left_behind
from workflow_scripts.bridge.run_lock import hold_run_lock, is_run_alive, sweep_stale_lock
from workflow_scripts.bridge.write_protection import ask_the_disk_what_is_protected

min_version("9.27")
STARTED = time.time()
ask_the_disk_what_is_protected()

# A dry run changes nothing; workflow.dryrun is not known yet while this is parsed.
if workflow.is_main_process and not workflow.output_settings.dryrun:
    sweep_stale_lock(Path(".snakemake"))
    if not is_run_alive(Path(".snakemake")):  # whose tables need them
        clear_broken_cells()


configfile: str(Path(workflow.basedir, "config", "config.yaml"))


include: "rules/common.smk"


if SETTINGS.source == "miniature":

    include: "rules/miniature.smk"


include: "rules/hub.smk"
include: "rules/chunking_inputs.smk"
include: "rules/chunking.smk"
include: "rules/training_inputs.smk"
include: "rules/training.smk"
include: "rules/harmony_inputs.smk"
include: "rules/harmony_tables.smk"
include: "rules/harmony_corpora.smk"
include: "rules/harmony.smk"
include: "rules/mmlu.smk"
include: "rules/prompts_inputs.smk"
include: "rules/prompts.smk"
include: "rules/suite_inputs.smk"
include: "rules/suite.smk"
include: "rules/leaderboard.smk"
include: "rules/verify.smk"
include: "rules/planning.smk"
include: "rules/paper_inputs.smk"
include: "rules/paper.smk"


rule all:
    """Everything that the config asks for."""
    default_target: True
    input:
        rules.chunking.input,
        rules.training.input,
        rules.harmony.input,
        rules.mmlu.input,
        rules.prompts.input,
        rules.suite.input,
        rules.leaderboard.input,
        rules.merge_scores.output,
        rules.paper.input,
        rules.table_cost.output,


onstart:
    targets = sorted(workflow.dag_settings.targets)
    if targets != ["plan"]:  # which reads and computes, beside a run too
        alone = hold_run_lock(Path(".snakemake"))
        if workflow.execution_settings.lock:  # without it another run may be alive
            if not alone:
                sys.exit(
                    "Another run is at work in this folder; `make status` says how far it is. Nothing was done."
                )
            cancel_left_behind(Path.cwd())
        note_run(str(workflow.main_snakefile), config, targets)


onsuccess:
    from workflow_scripts.bridge.closing import closing_words

    print(closing_words(since=STARTED))


onerror:
    from workflow_scripts.bridge.closing import words_of_failure

    print(words_of_failure(since=STARTED))
