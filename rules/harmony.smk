"""Show the training and test items of train-before-test."""

from workflow_scripts.grid.requests import build_explain_request


rule explain_training:
    """Show a training item and a test item of a task as text and tokens (--config explain=task/number)."""
    input:
        model=list_explained_models,
        data=list_explained_data,
    output:
        text="results/explained_training.txt",
    log:
        "logs/explain_training.log",
    localrule: True
    conda:
        EVALUATION_ENVIRONMENT
    params:
        version="explain_training 1",
        request=lambda wildcards: build_explain_request(SETTINGS).to_params(),
    script:
        "../workflow_scripts/grid/explain.py"
