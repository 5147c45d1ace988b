"""Perplexity of texts of the user's own, before and after training on them."""


rule measure_corpus:
    """Bits per byte of a text of your own, before and after training a model on it."""
    input:
        model=checkpoint_manifest,
        text=lambda wildcards: SETTINGS.harmony.corpora[wildcards.corpus],
    output:
        before="results/records/corpora/direct/{checkpoint}/{corpus}.json",
        before_windows="results/records/corpora/direct/{checkpoint}/{corpus}.parquet",
        after="results/records/corpora/train_before_test/{checkpoint}/{corpus}.json",
        after_windows="results/records/corpora/train_before_test/{checkpoint}/{corpus}.parquet",
    log:
        "logs/measure_corpus/{checkpoint}/{corpus}.log",
    benchmark:
        "benchmarks/measure_corpus/{checkpoint}/{corpus}.tsv"
    wildcard_constraints:
        checkpoint=one_of(HARMONY_MODELS),
        corpus=one_of(SETTINGS.harmony.corpora),
    retries: retries(5)
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **planned("measure_corpus", corpus_need),
    params:
        version="measure_corpus 1",
        compute_threads=SETTINGS.compute.threads,
        request=lambda wildcards: corpus_request(SETTINGS, wildcards.corpus).as_params(),
    script:
        "../workflow_scripts/steps/measure_corpus.py"


rule table_harmony_perplexity:
    """Table: perplexity of texts of your own, before and after training."""
    input:
        scores="results/scores/corpora.parquet",
    output:
        csv="results/tables/harmony_perplexity.csv",
        md="results/tables/harmony_perplexity.md",
        tex="results/tables/harmony_perplexity.tex",
    log:
        "logs/table_harmony_perplexity.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="table_harmony_perplexity 1",
    script:
        "../workflow_scripts/steps/table_harmony_perplexity.py"


rule figure_harmony_perplexity:
    """Figure: perplexity of texts of your own, before and after training."""
    input:
        table=rules.table_harmony_perplexity.output.csv,
    output:
        pdf="results/figures/harmony_perplexity.pdf",
        png=report(
            "results/figures/harmony_perplexity.png",
            category="Harmony",
            caption="../docs/captions/harmony_perplexity.rst",
        ),
    log:
        "logs/figure_harmony_perplexity.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="figure_harmony_perplexity 1",
    script:
        "../workflow_scripts/steps/figure_harmony_perplexity.py"


HARMONY_PERPLEXITY = (
    [
        RECORDS["corpora"],
        rules.table_harmony_perplexity.output,
        rules.figure_harmony_perplexity.output,
    ]
    if SETTINGS.harmony.corpora
    else []
)
