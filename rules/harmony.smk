"""Show the items of train-before-test, and measure bits per byte of the user's own texts before and after training."""

from workflow_scripts.grid.requests import build_corpus_request, build_explain_request


rule explain_training:
    """Show a training item and a test item of a task as text and tokens (--config explain=task/number)."""
    input:
        unpack(INPUTS.list_explained_training),
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


rule measure_corpus:
    """Measure bits per byte of your own text, before and after training a model on it."""
    input:
        model=INPUTS.get_checkpoint_manifest,
        text=lambda wildcards: SETTINGS.harmony.corpora[wildcards.corpus],
    output:
        get_record_files("corpora/direct/{checkpoint}/{corpus}", "before"),
        get_record_files("corpora/train_before_test/{checkpoint}/{corpus}", "after"),
    log:
        "logs/measure_corpus/{checkpoint}/{corpus}.log",
    retries: RETRIES
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **estimate_resources("measure_corpus", ESTIMATOR.estimate_corpus),
    params:
        version="measure_corpus 2",
        compute_threads=SETTINGS.compute.threads,
        request=lambda wildcards: build_corpus_request(SETTINGS, wildcards.corpus).to_params(),
    script:
        "../workflow_scripts/steps/measure_corpus.py"
