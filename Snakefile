"""Chorus: from checkpoint to paper. `snakemake` runs the miniature world; see README.md."""

from pathlib import Path

from snakemake.utils import min_version

from workflow_scripts.bridge.closing import closing_words, words_of_failure
from workflow_scripts.bridge.interruption import end_at_once_when_asked
from workflow_scripts.bridge.opening import before_parsing, before_the_first_job

min_version("9.27")
STARTED = before_parsing(workflow)


configfile: str(Path(workflow.basedir, "config", "config.yaml"))


include: "rules/common.smk"
include: "rules/hub.smk"
include: "rules/local_models.smk"
include: "rules/served.smk"
include: "rules/chunking.smk"
include: "rules/chunk_search.smk"
include: "rules/training.smk"
include: "rules/harmony_corpora.smk"
include: "rules/harmony.smk"
include: "rules/mmlu.smk"
include: "rules/prompts.smk"
include: "rules/suite.smk"
include: "rules/cells.smk"
include: "rules/planning.smk"
include: "rules/paper.smk"


rule all:
    """Everything that the config asks for."""
    default_target: True
    input:
        rules.published.input,
        rules.chunking.input,
        rules.training.input,
        rules.harmony.input,
        rules.mmlu.input,
        rules.ablation.input,
        rules.prompts.input,
        rules.suite.input,
        rules.leaderboard.input,
        rules.merge_scores.output,
        rules.paper.input,


# All its jobs are planned and none is run: what compares them ends the run before the first.
rule check_cluster:
    """Compare what jobs will ask Slurm for with what it has; with --profile slurm; runs nothing."""
    input:
        rules.all.input,
    localrule: True


onstart:
    before_the_first_job(workflow, config, SETTINGS.compute.threads)


onsuccess:
    end_at_once_when_asked()
    print(closing_words(since=STARTED))


onerror:
    end_at_once_when_asked()
    print(words_of_failure())
