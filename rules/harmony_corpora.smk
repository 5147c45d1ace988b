"""Perplexity of texts of the user's own, before and after training on them."""

from workflow_scripts.settings.ranking import grid_request, grid_words


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
    priority: longest_first("measure_corpus")
    retries: retries(5)
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        **planned("measure_corpus", corpus_need),
    params:
        version="measure_corpus 2",
        compute_threads=SETTINGS.compute.threads,
        request=lambda wildcards: corpus_request(SETTINGS, wildcards.corpus).as_params(),
    script:
        "../workflow_scripts/steps/measure_corpus.py"


use rule table from tables as table_harmony_perplexity with:
    """Table: perplexity of texts of your own, before and after training."""
    input:
        scores="results/scores/corpora.parquet",
    output:
        **table_files("harmony_perplexity"),
    log:
        "logs/table_harmony_perplexity.log",
    localrule: True
    params:
        version=1,
        table="studies.harmony.perplexity",
        request={},


use rule figure from figures as figure_harmony_perplexity with:
    """Figure: perplexity of texts of your own, before and after training."""
    input:
        table="results/tables/harmony_perplexity.csv",
    output:
        **figure_files("harmony_perplexity", "Harmony"),
    log:
        "logs/figure_harmony_perplexity.log",
    localrule: True
    params:
        version=1,
        figure="studies.harmony.perplexity",
        request={},


use rule table from tables as table_harmony_text_agreement with:
    """Table: whether bits per byte of texts of your own rank models as tasks do."""
    input:
        corpora="results/scores/corpora.parquet",
        scores="results/scores/harmony.parquet",
        imported=SETTINGS.harmony.imported_scores,
    output:
        **table_files("harmony_text_agreement"),
    log:
        "logs/table_harmony_text_agreement.log",
    localrule: True
    params:
        version=1,
        table="studies.ranking.texts",
        request=grid_request(SETTINGS).as_params(),


use rule figure from figures as figure_harmony_text_agreement with:
    """Figure: whether bits per byte of texts of your own rank models as tasks do."""
    input:
        table="results/tables/harmony_text_agreement.csv",
    output:
        **figure_files("harmony_text_agreement", "Harmony"),
    log:
        "logs/figure_harmony_text_agreement.log",
    localrule: True
    params:
        version=1,
        figure="studies.ranking.texts",
        request=grid_words(SETTINGS).as_params(),
