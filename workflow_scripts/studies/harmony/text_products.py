"""What is made of texts of one's own, where the config has any."""

from typing import Any

from workflow_scripts.settings.load import Settings
from workflow_scripts.studies.harmony.grid_files import GRID
from workflow_scripts.studies.product import figure, products, table
from workflow_scripts.studies.ranking.requests import grid_request, grid_words


def has_texts(settings: Settings) -> Any:
    return settings.harmony.models and settings.harmony.corpora


PRODUCTS = products(
    "harmony",
    table(
        "harmony_perplexity",
        "Bits per byte of texts of your own, before and after training.",
        "studies.ranking.bits",
        inputs={"corpora": "results/scores/corpora.parquet"},
        request=grid_request,
        version=2,
    ),
    table(
        "harmony_text_agreement",
        "Whether bits per byte of texts of your own rank models as tasks do.",
        "studies.ranking.texts",
        inputs={"corpora": "results/scores/corpora.parquet", **GRID},
        request=grid_request,
    ),
    figure(
        "harmony_perplexity",
        "Bits per byte of texts of your own, before and after training.",
        "studies.ranking.bits",
        request=grid_words,
        version=2,
        caption=(
            "Bits per byte of the last tenth of each text, before training and after training on"
            " its first eight tenths; lower is better. Models by what they reach after training."
        ),
    ),
    figure(
        "harmony_text_agreement",
        "Whether bits per byte of texts of your own rank models as tasks do.",
        "studies.ranking.texts",
        request=grid_words,
        caption=(
            "Kendall's tau-b between the rankings of the models by bits per byte of each text of"
            " your own, fewest first, and by their scores on each task: before training, and after"
            " training on the text and on the task."
        ),
    ),
    table(
        "harmony_text_pairs",
        "Agreement of every two texts of your own about the models.",
        "studies.ranking.text_pairs",
        inputs={"corpora": "results/scores/corpora.parquet"},
        request=grid_request,
    ),
    figure(
        "harmony_text_pairs",
        "Agreement of every two texts of your own about the models.",
        "studies.ranking.text_pairs",
        request=grid_words,
        caption=(
            "Kendall's tau-b between the rankings by bits per byte of two texts of your own, by protocol."
        ),
    ),
    wanted=has_texts,
)
