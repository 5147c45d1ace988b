"""The Harmony study: its target, and what a training before a test reads."""

from workflow_scripts.grid.requests import explain_training_request
from workflow_scripts.studies.harmony.separate_requests import separate_request


rule explain_training:
    """Show a training item and a test item in text and tokens (--config explain=task/number)."""
    input:
        model=explained_models,
        data=explained_task_data,
    output:
        text="results/explained_training.txt",
    log:
        "logs/explain_training.log",
    localrule: True
    conda:
        EVALUATION_ENVIRONMENT
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="explain_training 1",
        measurement="grid.explain",
        request=lambda wildcards: explain_training_request(SETTINGS).as_params(),
    script:
        "../workflow_scripts/steps/measure.py"


# Without an output: asked for by name it says what the scores are that there are now, and makes none.
use rule products as separate with:
    """Say whether one model is better than another (--config separate="A B"), and what would settle it."""
    input:
        scores=separated_scores,
    log:
        "logs/separate.log",
    localrule: True
    params:
        version="separate 1",
        function="studies.harmony.separate.write_separate",
        request=lambda wildcards: separate_request(SETTINGS).as_params(),


rule harmony:
    """Study: models ranked on tasks as they are and after training on each, and whether tasks agree."""
    input:
        made_of("harmony"),
