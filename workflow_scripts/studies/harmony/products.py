"""What the Harmony study measures and has made: tables, and figures that are each drawn from one of them."""

from typing import Any

from workflow_scripts.core.ids import in_paths
from workflow_scripts.settings.grids import OWN_GRID
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.packs import harmony_records
from workflow_scripts.studies.harmony import text_products
from workflow_scripts.studies.harmony.grid_files import GRID
from workflow_scripts.studies.product import (
    MeasuredStudy,
    figure,
    products,
    table,
)
from workflow_scripts.studies.ranking.products import as_of_any_grid
from workflow_scripts.studies.ranking.requests import (
    grid_request,
    grid_words,
    models_request,
    pair_request,
    ranking_request,
    scores_request,
)


def _ranks(settings: Settings) -> Any:
    return settings.harmony.models or settings.harmony.imported_scores or settings.imports


def _corpus_records(settings: Settings) -> list[str]:
    return [
        f"results/records/corpora/{protocol}/{model}/{corpus}.json"
        for protocol in ("direct", "train_before_test")
        for model in in_paths(settings.harmony.models)
        for corpus in settings.harmony.corpora
    ]


def _panel_file(settings: Settings) -> str:
    return settings.harmony.panel or settings.resource("published/harmony_leaderboard.csv")


MEASURED = (
    MeasuredStudy("corpora", _corpus_records, text_products.has_texts, "harmony"),
    MeasuredStudy(
        "harmony",
        lambda settings: harmony_records(settings, in_paths(settings.harmony.models)),
        _ranks,
        "harmony",
    ),
)
_OF_THE_GRID = products(
    "harmony",
    table(
        "harmony_leaderboard",
        "Models ranked by the first principal component, with ranges of ranks.",
        "studies.ranking.leaderboard",
        inputs=GRID,
        request=ranking_request,
        version=4,
    ),
    table(
        "harmony_agreement",
        "Agreement of tasks about models, with intervals and ceilings.",
        "studies.ranking.agreement",
        inputs=GRID,
        request=ranking_request,
        version=3,
    ),
    table(
        "harmony_components",
        "Principal components of the scores.",
        "studies.ranking.components",
        inputs=GRID,
        request=ranking_request,
        version=3,
    ),
    table(
        "harmony_significance",
        "Which models differ, on the mean of the tasks and on each.",
        "studies.ranking.significance",
        inputs=GRID,
        request=grid_request,
        version=5,
    ),
    table(
        "harmony_panel",
        "The place of each model on the published leaderboard, or another panel, with an interval.",
        "studies.ranking.panel",
        inputs={**GRID, "panel": _panel_file},
        request=grid_request,
        version=5,
    ),
    table(
        "harmony_scores",
        "Scores of the Harmony grid as the models are, beside their floors.",
        "studies.harmony.scores",
        inputs=GRID,
        request=scores_request,
        version=5,
    ),
    table(
        "harmony_task_pair",
        "Two tasks of the config side by side, by what differs significantly.",
        "studies.ranking.two_tasks",
        inputs=GRID,
        request=pair_request,
    ),
    figure(
        "harmony_matrices",
        "Agreement of every pair of tasks about the models.",
        "studies.ranking.matrices",
        of="harmony_agreement",
        version=2,
        request=grid_words,
        caption=(
            "Kendall's tau-b between the rankings of models that two tasks give, for every pair"
            " of tasks, under each protocol; tasks in the order of their categories, which the"
            " lines divide; the mean's 95% interval is had other families been taken. Blue is"
            " agreement, red is opposition; a dash is a pair without two"
            " models in common that both tasks tell apart. Own scores after training are raw;"
            " imported scores are in it where there are any, as their source has them."
        ),
    ),
    figure(
        "harmony_bump",
        "Ranks of the models under each protocol.",
        "studies.ranking.bump",
        of="harmony_leaderboard",
        version=3,
        request=grid_words,
        caption=(
            "Ranks by the first principal component under each protocol, the best on top. Beside"
            " each model, and between the protocols shaded where models are few, the range of its"
            " rank when all models are asked other items (95%); a strong line"
            " joins ranks whose ranges do not meet. A star marks imported scores. Models that lack too"
            " many tasks of a protocol have no rank there. Of more than seventy models some are"
            " named, and of more than twice as many the ranges are left out; of more than three hundred the"
            " lines are of those named on the left, before a haze of all."
        ),
    ),
    figure(
        "harmony_agreement_by_task",
        "Agreement of each task with all others, and its ceiling.",
        "studies.ranking.agreement_by_task",
        of="harmony_agreement",
        request=grid_words,
        caption=(
            "The mean of each task's tau-b with all others, with its 95% interval (over families of"
            " models, or over models where these are fewer than four). The tick of the same"
            " colour is the task's ceiling: what it could agree with"
            " the others at most if they differed in nothing but items and trainings. The dotted line is the"
            " mean over all pairs of tasks."
        ),
    ),
    *as_of_any_grid(
        "harmony", "Own scores", OWN_GRID, GRID, chosen=("agreement_by_size", "variance")
    ),
    figure(
        "harmony_categories",
        "Agreement of tasks by their categories.",
        "studies.ranking.categories",
        of="harmony_agreement",
        version=2,
        request=grid_words,
        caption=(
            "Mean tau-b of pairs of different tasks, by the categories of the two; on the"
            " diagonal within a category, a dash where it has a single task; the mean of all pairs"
            " has its 95% interval had other families been taken. Own scores after training are raw."
        ),
    ),
    figure(
        "harmony_components",
        "Principal components of the scores, and the loadings of the tasks.",
        "studies.ranking.components",
        request=grid_words,
        caption=(
            "Left: the share of the variance of the standardised scores that each of the first"
            " components has, with its 95% interval (over families of models, or over models where these are fewer"
            " than four). Right: the loading of each task"
            " on the first component. Over the models that the leaderboard ranks; own scores after"
            " training are raw."
        ),
    ),
    figure(
        "harmony_pc1_by_size",
        "The first principal component of each model beside its size.",
        "studies.ranking.pc1_by_size",
        of="harmony_leaderboard",
        version=2,
        request=grid_words,
        caption=(
            "The first principal component of each model beside its number of parameters: models"
            " of one size and different families are above one another. PC1 is computed within"
            " each protocol, and its scale is that protocol's own. Hollow: instruct models."
            " Crosses: chunked variants, at the size of their base. Small: imported scores."
        ),
    ),
    figure(
        "harmony_pc1_by_compute",
        "The first principal component of each model beside the compute of its pre-training.",
        "studies.ranking.pc1_by_compute",
        of="harmony_leaderboard",
        request=grid_words,
        caption=(
            "The first principal component of each model beside the compute of its pre-training,"
            " 6 × parameters × tokens, for the models whose tokens are known, by the models table or"
            " who shared their scores. PC1 is"
            " computed within each protocol, and its scale is that protocol's own. Hollow:"
            " instruct models. Crosses: chunked variants, at the compute of their base."
        ),
    ),
    figure(
        "harmony_task_pair",
        "Ranks of the models on two tasks of the config.",
        "studies.ranking.two_tasks",
        request=grid_words,
        caption=(
            "Ranks of the models on the two tasks of harmony.task_pair, under each protocol. A"
            " model is above another where its score is higher by more than 1.96 standard errors"
            " of the difference; the thin lines beside a column span the ranks that are compatible"
            " with this order, and within them a model's two ranks are drawn as similar as"
            " possible. A strong line joins ranks whose spans do not meet. A star marks imported"
            " scores. Of more than three hundred models the lines are of those named on the left, before"
            " a haze of all."
        ),
    ),
    figure(
        "harmony_panel",
        "The place of each model on the published leaderboard, or another panel.",
        "studies.ranking.panel",
        inputs={"table": "results/tables/harmony_panel.csv", "panel": _panel_file},
        request=grid_words,
        version=3,
        caption=(
            "Where the models of this study would stand on the panel, the published one of 61 models or another,"
            " predicted from the tasks they were measured on, whose number is written behind the"
            " 95% interval. The panel is trained before the test: a direct score puts a model too"
            " low. Generated models answer generated questions, so their place only shows that the"
            " method works. More than seventy models are drawn by their place, and some of them"
            " are named."
        ),
    ),
    figure(
        "harmony_scores",
        "Scores of the Harmony grid as the models are, beside their floors.",
        "studies.harmony.scores",
        request=models_request,
        version=3,
        caption=(
            "Each model's score on each task of the Harmony grid, evaluated directly, with its"
            " 95% interval (a star: imported scores). The grey tick is the floor: the"
            " better of answering at random and the best fixed answer. More than sixteen models"
            " are shown by their families, and more than a hundred without their intervals."
        ),
    ),
    wanted=_ranks,
)

PRODUCTS = _OF_THE_GRID + text_products.PRODUCTS
