"""What others published, from their numbers alone: no model, no network, no GPU; `snakemake published`."""

from workflow_scripts.settings.grids import PUBLISHED_GRID, grid_inputs
from workflow_scripts.settings.ranking import (
    grid_request,
    grid_words,
    pair_request,
    ranking_request,
)

# What every analysis of config/grids/published.yaml is made from.
PUBLISHED_SCORES = grid_inputs(SETTINGS.grids[PUBLISHED_GRID], Path(workflow.basedir))


use rule table from tables as table_published_agreement with:
    """Table: agreement of every two tasks about the published models, under both protocols."""
    input:
        **PUBLISHED_SCORES,
    output:
        **table_files("published_agreement"),
    log:
        "logs/table_published_agreement.log",
    localrule: True
    params:
        version=1,
        table="studies.ranking.agreement",
        request=ranking_request(SETTINGS, PUBLISHED_GRID).as_params(),


use rule table from tables as table_published_categories with:
    """Table: that agreement by category."""
    input:
        **PUBLISHED_SCORES,
    output:
        **table_files("published_categories"),
    log:
        "logs/table_published_categories.log",
    localrule: True
    params:
        version=1,
        table="studies.ranking.categories",
        request=grid_request(SETTINGS, PUBLISHED_GRID).as_params(),


use rule table from tables as table_published_components with:
    """Table: principal components of the published scores, of all models and of the Qwen models."""
    input:
        **PUBLISHED_SCORES,
    output:
        **table_files("published_components"),
    log:
        "logs/table_published_components.log",
    localrule: True
    params:
        version=1,
        table="studies.ranking.components",
        request=ranking_request(SETTINGS, PUBLISHED_GRID).as_params(),


use rule table from tables as table_published_compute with:
    """Table: the first component of the published scores beside parameters and compute."""
    input:
        **PUBLISHED_SCORES,
    output:
        **table_files("published_compute"),
    log:
        "logs/table_published_compute.log",
    localrule: True
    params:
        version=1,
        table="studies.ranking.sizes",
        request=grid_request(SETTINGS, PUBLISHED_GRID).as_params(),


use rule table from tables as table_published_perplexity with:
    """Table: bits per byte of new texts beside the published scores."""
    input:
        **PUBLISHED_SCORES,
    output:
        **table_files("published_perplexity"),
    log:
        "logs/table_published_perplexity.log",
    localrule: True
    params:
        version=1,
        table="studies.ranking.texts",
        request=grid_request(SETTINGS, PUBLISHED_GRID).as_params(),


use rule table from tables as table_published_ranks with:
    """Table: NQ-Open beside ARC-Challenge, ranks by significant differences."""
    input:
        **PUBLISHED_SCORES,
    output:
        **table_files("published_ranks"),
    log:
        "logs/table_published_ranks.log",
    localrule: True
    params:
        version=1,
        table="studies.ranking.two_tasks",
        request=pair_request(SETTINGS, PUBLISHED_GRID).as_params(),


use rule table from tables as table_published_releases with:
    """Table: how far two releases of the published scores are apart."""
    input:
        **PUBLISHED_SCORES,
    output:
        **table_files("published_releases"),
    log:
        "logs/table_published_releases.log",
    localrule: True
    params:
        version=1,
        table="studies.ranking.releases",
        request=grid_request(SETTINGS, PUBLISHED_GRID).as_params(),


use rule figure from figures as figure_published_agreement with:
    """Figure: agreement of every two tasks about the published models."""
    input:
        table="results/tables/published_agreement.csv",
    output:
        **figure_files("published_agreement", "Published"),
    log:
        "logs/figure_published_agreement.log",
    localrule: True
    params:
        version=1,
        figure="studies.ranking.matrices",
        request=grid_words(SETTINGS, PUBLISHED_GRID).as_params(),


use rule figure from figures as figure_published_agreement_pearson with:
    """Figure: the same as Pearson's correlation."""
    input:
        table="results/tables/published_agreement.csv",
    output:
        **figure_files("published_agreement_pearson", "Published"),
    log:
        "logs/figure_published_agreement_pearson.log",
    localrule: True
    params:
        version=1,
        figure="studies.ranking.pearson",
        request=grid_words(SETTINGS, PUBLISHED_GRID).as_params(),


use rule figure from figures as figure_published_categories with:
    """Figure: agreement of the published scores by category."""
    input:
        table="results/tables/published_categories.csv",
    output:
        **figure_files("published_categories", "Published"),
    log:
        "logs/figure_published_categories.log",
    localrule: True
    params:
        version=1,
        figure="studies.ranking.categories",
        request=grid_words(SETTINGS, PUBLISHED_GRID).as_params(),


use rule figure from figures as figure_published_components with:
    """Figure: shares of the principal components of the published scores."""
    input:
        table="results/tables/published_components.csv",
    output:
        **figure_files("published_components", "Published"),
    log:
        "logs/figure_published_components.log",
    localrule: True
    params:
        version=1,
        figure="studies.ranking.components",
        request=grid_words(SETTINGS, PUBLISHED_GRID).as_params(),


use rule figure from figures as figure_published_compute with:
    """Figure: the first component of the published scores beside parameters and compute."""
    input:
        table="results/tables/published_compute.csv",
    output:
        **figure_files("published_compute", "Published"),
    log:
        "logs/figure_published_compute.log",
    localrule: True
    params:
        version=1,
        figure="studies.ranking.sizes",
        request=grid_words(SETTINGS, PUBLISHED_GRID).as_params(),


use rule figure from figures as figure_published_perplexity with:
    """Figure: bits per byte of new texts beside the published scores."""
    input:
        table="results/tables/published_perplexity.csv",
    output:
        **figure_files("published_perplexity", "Published"),
    log:
        "logs/figure_published_perplexity.log",
    localrule: True
    params:
        version=1,
        figure="studies.ranking.texts",
        request=grid_words(SETTINGS, PUBLISHED_GRID).as_params(),


use rule figure from figures as figure_published_ranks with:
    """Figure: NQ-Open beside ARC-Challenge, ranks by significant differences."""
    input:
        table="results/tables/published_ranks.csv",
    output:
        **figure_files("published_ranks", "Published"),
    log:
        "logs/figure_published_ranks.log",
    localrule: True
    params:
        version=1,
        figure="studies.ranking.two_tasks",
        request=grid_words(SETTINGS, PUBLISHED_GRID).as_params(),


rule published:
    """Study: the published scores of 61 models on 24 tasks; needs no model, no network and no GPU."""
    input:
        made_of("published"),
