"""What the study of published scores has made; of any config, since it needs no model."""

from workflow_scripts.settings.published import published_asked
from workflow_scripts.settings.ranking import tasks_asked
from workflow_scripts.studies.product import figure, products, published, table

# All scores under both protocols, and the earlier release after training alone.
CELLS = published("harmony_cells.csv")

PRODUCTS = products(
    "published",
    table(
        "published_agreement",
        "Agreement of every two tasks about the published models, under both protocols.",
        "studies.published.agreement",
        inputs={"harmony_cells": CELLS},
        request=published_asked,
    ),
    table(
        "published_categories",
        "Agreement of tasks about the published models, by category.",
        "studies.published.categories",
        inputs={"harmony_cells": CELLS},
        request=published_asked,
    ),
    table(
        "published_ranks",
        "NQ-Open beside ARC-Challenge, ranks by significant differences.",
        "studies.published.ranks",
        inputs={"harmony_cells": CELLS},
        request=published_asked,
    ),
    table(
        "published_components",
        "Principal components of the published scores, of all models and of the Qwen models.",
        "studies.published.components",
        inputs={
            "harmony_cells": CELLS,
            "leaderboard": published("harmony_leaderboard.csv"),
        },
        request=published_asked,
    ),
    table(
        "published_compute",
        "The first component of the published scores beside parameters and compute.",
        "studies.published.compute",
        inputs={
            "harmony_cells": CELLS,
            "pretraining": published("pretraining.tsv"),
        },
        request=published_asked,
    ),
    table(
        "published_perplexity",
        "Bits per byte of new texts beside the published scores.",
        "studies.published.perplexity",
        inputs={"harmony_cells": CELLS},
        request=published_asked,
    ),
    table(
        "published_releases",
        "How far two releases of the published scores are apart.",
        "studies.published.releases",
        inputs={
            "harmony_cells": CELLS,
            "leaderboard": published("harmony_leaderboard.csv"),
        },
        request=published_asked,
    ),
    figure(
        "published_agreement",
        "Agreement of every two tasks about the published models.",
        "studies.published.agreement",
        request=tasks_asked,
        caption=(
            "Published scores of 61 models: Kendall's tau-b between the rankings that two tasks"
            " give, for every pair of 24 tasks, evaluated directly (left) and after training on"
            " each task (right). Tasks are in the order of their categories, which the lines"
            " divide; the mean is over the pairs of different tasks. Blue is agreement, red is"
            " opposition."
        ),
    ),
    figure(
        "published_ranks",
        "NQ-Open beside ARC-Challenge, ranks by significant differences.",
        "studies.published.ranks",
        request=tasks_asked,
        caption=(
            "Ranks of the 61 published models on NQ-Open and ARC-Challenge, evaluated directly"
            " (left) and after training on each (right). A model is above another where its score"
            " is higher by more than 1.96 standard errors of the difference; the thin lines beside"
            " a column span the ranks that are compatible with this order, and within them a"
            " model's two ranks are drawn as similar as possible. A strong line joins ranks whose"
            " spans do not meet."
        ),
    ),
    figure(
        "published_categories",
        "Agreement of the published scores by category.",
        "studies.published.categories",
        caption=(
            "Mean tau-b of pairs of different tasks in the published scores, by the categories of"
            " the two; on the diagonal within a category."
        ),
    ),
    figure(
        "published_components",
        "Shares of the principal components of the published scores.",
        "studies.published.components",
        caption=(
            "Share of the variance of the standardised published scores that each of the first"
            " principal components has: of all models, and of the Qwen models alone. Scores after"
            " training are floored by the direct ones."
        ),
    ),
    figure(
        "published_compute",
        "The first component of the published scores beside parameters and compute.",
        "studies.published.compute",
        caption=(
            "The first principal component of each published model beside its number of"
            " parameters and, where the tokens of its pre-training are known, beside the compute"
            " of that, 6 × parameters × tokens. PC1 is computed within each protocol over all 61"
            " models, and its scale is that protocol's own. Hollow: instruct models."
        ),
    ),
    figure(
        "published_perplexity",
        "Bits per byte of new texts beside the published scores.",
        "studies.published.perplexity",
        request=tasks_asked,
        caption=(
            "Kendall's tau-b between the rankings by bits per byte of texts of 2025, fewest"
            " first, and by published scores on each task. Below, scores after training beside the"
            " bits per byte of untrained base models, and of untrained instruct models. Of no"
            " Gemma model bits per byte were published."
        ),
    ),
    figure(
        "published_agreement_pearson",
        "Pearson's correlation of every two tasks over the published models.",
        "studies.published.pearson",
        of="published_agreement",
        request=tasks_asked,
        caption=(
            "The same published scores: Pearson's correlation of the scores of two tasks in place"
            " of tau-b of their rankings."
        ),
    ),
)
