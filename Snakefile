"""Chorus: train and evaluate language models, and build the paper. `snakemake` runs the demo; see README.md."""

import gc
import time
from pathlib import Path

from snakemake.utils import min_version

from workflow_scripts.bridge.run_summary import describe_failure, describe_success
from workflow_scripts.bridge.startup import prepare_jobs

min_version("9.27")
STARTED = time.time()
gc.disable()  # planning creates no garbage, and collecting takes a fifth of its time


configfile: str(Path(workflow.basedir, "config", "config.yaml"))


include: "rules/common.smk"
include: "rules/hub.smk"
include: "rules/chunking.smk"
include: "rules/training.smk"
include: "rules/harmony.smk"
include: "rules/ranking.smk"
include: "rules/mmlu.smk"
include: "rules/prompts.smk"
include: "rules/suite.smk"
include: "rules/cells.smk"
include: "rules/planning.smk"
include: "rules/paper.smk"


rule all:
    """Run every study that the config enables, and write the leaderboard page, merged scores and paper."""
    default_target: True
    input:
        rules.published.input,
        rules.chunking.input,
        rules.training.input,
        rules.harmony.input,
        rules.mmlu.input,
        rules.prompts.input,
        rules.suite.input,
        rules.leaderboard.output if LEADERBOARD_TABLES else [],
        rules.merge_scores.output,
        rules.paper.output,


onstart:
    gc.enable()
    prepare_jobs(workflow, SETTINGS.compute.threads)


onsuccess:
    print(describe_success(since=STARTED))


onerror:
    print(describe_failure([log] if isinstance(log, str) else log))
