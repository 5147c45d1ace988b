"""What is made of each grid in config/grids: every analysis that its file has what for; of a run's own, a part."""

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from workflow_scripts.settings.grids import GridFile, grid_inputs, read_grid_files
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.studies.product import Product, Sources, figure, products, table
from workflow_scripts.studies.ranking.requests import (
    grid_request,
    grid_words,
    pair_request,
    price_request,
    ranking_request,
)

# A table's name behind the grid's: what it is, its module, its request, and what the grid must have for it.
_TABLES: tuple[tuple[str, str, str, Callable[..., StepRequest], str], ...] = (
    (
        *("agreement", "Agreement of every two tasks about the models, under each protocol."),
        *("agreement", ranking_request, ""),
    ),
    (
        *(
            "agreement_by_size",
            "That agreement among models of like size, where size ranks nothing.",
        ),
        *("by_size", ranking_request, ""),
    ),
    ("categories", "That agreement by category.", "categories", grid_request, ""),
    (
        "ranks",
        "Two tasks side by side, ranks by significant differences.",
        "two_tasks",
        pair_request,
        "pair",
    ),
    (
        *("components", "Principal components of the scores, of all models and of families."),
        *("components", ranking_request, ""),
    ),
    (
        *("variance", "Where the variance of the scores lies, and how many tasks a ranking needs."),
        *("variance", grid_request, ""),
    ),
    (
        *("compute", "The first component of the scores beside parameters and compute."),
        *("sizes", grid_request, "attributes"),
    ),
    (
        *("newer", "How much better newer models are than older ones of the same compute."),
        *("newer", grid_request, "newer"),
    ),
    ("perplexity", "Bits per byte of texts beside the scores.", "texts", grid_request, "texts"),
    ("bits", "Bits per byte of each text, by model.", "bits", grid_request, "texts"),
    (
        "text_pairs",
        "Agreement of every two texts about the models.",
        "text_pairs",
        grid_request,
        "several_texts",
    ),
    (
        "releases",
        "How far two releases of the scores are apart.",
        "releases",
        grid_request,
        "release",
    ),
    (
        *(
            "price",
            "How well a part of the trainings ranks the models, chosen, cheapest and random.",
        ),
        *("price", price_request, "release"),
    ),
)
_VERSIONS = {
    "agreement": 3,
    "agreement_by_size": 3,
    "components": 4,
    "compute": 3,
    "newer": 1,
    "price": 3,
}
# A figure's name behind the grid's: its module, the table that it is drawn from, and its caption.
_FIGURES = (
    (
        *("agreement", "matrices", "agreement"),
        "{scores}: Kendall's tau-b between the rankings that two tasks give, for every pair of tasks,"
        " under each protocol. Tasks are in the order of their categories, which the lines divide; the"
        " mean is over the pairs of different tasks, its 95% interval had other families of models been"
        " taken. Blue is agreement, red is opposition.",
    ),
    (
        *("agreement_by_size", "by_size", "agreement_by_size"),
        "{scores}: mean tau-b of pairs of tasks over all models, over the pairs of models whose parameters"
        " are at most a factor of two apart, and over the models of each band of sizes that has six or more, with the"
        " 95% interval (over families, or over models where these are fewer than four). The tick"
        " of the same colour is the ceiling: what tasks could agree at most"
        " if they differed in nothing but items and trainings.",
    ),
    (
        *("ranks", "two_tasks", "ranks"),
        "{scores}: ranks of the models on two tasks, under each protocol. A model is above another where"
        " its score is higher by more than 1.96 standard errors of the difference; the thin lines beside a"
        " column span the ranks that are compatible with this order, and within them a model's two ranks"
        " are drawn as similar as possible. A strong line joins ranks whose spans do not meet.",
    ),
    (
        *("categories", "categories", "categories"),
        "{scores}: mean tau-b of pairs of different tasks, by the categories of the two; on the diagonal"
        " within a category.",
    ),
    (
        *("components", "components", "components"),
        "{scores}: share of the variance of the standardised scores that each of the first principal"
        " components has, and the loading of each task on the first. Scores after training are floored by"
        " the direct ones.",
    ),
    (
        *("variance", "variance", "variance"),
        "{scores}: shares of the variance of the scores, each task standardised, that lie with the model,"
        " with model and task together, with the items and, where that is known, with training,"
        " of all models and of each band"
        " of sizes. Behind a bar: how many tasks a mean needs to rank these models with a reliability of 0.9.",
    ),
    (
        *("compute", "sizes", "compute"),
        "{scores}: the first principal component of each model beside its number of parameters and, where"
        " the tokens of its pre-training are known, beside the compute of that, 6 × parameters × tokens."
        " PC1 is computed within each protocol, and its scale is that protocol's own. Hollow: instruct"
        " models.",
    ),
    (
        *("newer", "newer", "newer"),
        "{scores}: the score of each model beside the compute of its pre-training, 6 × parameters × tokens, on"
        " each task as the models are and after training. The lines are one fit of both kinds of models, parted"
        " by the step that is written above them, with its standard error.",
    ),
    (
        *("perplexity", "texts", "perplexity"),
        "{scores}: Kendall's tau-b between the rankings by bits per byte of texts, fewest first, and by"
        " scores on each task. Below, scores after training beside the bits per byte of untrained models"
        " of one kind.",
    ),
    (
        *("agreement_by_task", "agreement_by_task", "agreement"),
        "{scores}: the mean of each task's tau-b with all others, with its 95% interval (over families, or over"
        " models where these are fewer than four), under each protocol. The tick of the same"
        " colour is the task's ceiling, the dotted line the mean over"
        " all pairs of tasks.",
    ),
    (
        *("bits", "bits", "bits"),
        "{scores}: bits per byte of each text, as the models are and after training on the text; lower is"
        " better. Models by what they reach after training.",
    ),
    (
        *("text_pairs", "text_pairs", "text_pairs"),
        "{scores}: Kendall's tau-b between the rankings of the models by bits per byte of two texts, under"
        " each protocol.",
    ),
    (
        *("price", "price", "price"),
        "{scores}: agreement of the ranking by a few tasks, each model placed by the models of other families, with"
        " that of a second release, for which every model was trained on every task again. Across, what share of the"
        " tokens of all trainings these few take.",
    ),
    (
        *("agreement_pearson", "pearson", "agreement"),
        "{scores}: Pearson's correlation of the scores of two tasks in place of tau-b of their rankings.",
    ),
)
_OF_FIGURES = {
    "agreement_pearson": "The same agreement as Pearson's correlation.",
    "agreement_by_task": "That agreement by task.",
}


def _inputs(settings: Settings, *, name: str) -> Sources:
    return grid_inputs(settings.grids[name], Path(settings.workflow_folder))


def as_of_any_grid(
    start: str,
    scores: str,
    name: str,
    inputs: Sources | Callable[[Settings], Sources],
    chosen: Collection[str],
) -> tuple[Product, ...]:
    """These analyses of the grid of that name; `scores` is what captions call what it has."""
    sentences = {what: sentence for what, sentence, *_ in _TABLES}
    tables = [
        table(
            f"{start}_{what}",
            sentence,
            f"studies.ranking.{module}",
            inputs=inputs,
            request=partial(request, name=name),
            version=_VERSIONS.get(what, 2),
        )
        for what, sentence, module, request, _ in _TABLES
        if what in chosen
    ]
    figures = [
        figure(
            f"{start}_{what}",
            sentences.get(what) or _OF_FIGURES[what],
            f"studies.ranking.{module}",
            of=f"{start}_{of}",
            request=partial(grid_words, name=name),
            caption=caption.format(scores=scores),
        )
        for what, module, of, caption in _FIGURES
        if {what, of} <= {*chosen}
    ]
    return (*tables, *figures)


def of_grid(name: str, grid: GridFile) -> tuple[Product, ...]:
    start, inputs = grid.files or name, partial(_inputs, name=name)
    scores = f"{grid.title} of {grid.models} models" if grid.models else grid.title
    chosen = [what for what, *_, needs in _TABLES if not needs or getattr(grid, needs)]
    chosen += ["agreement_by_task", *(["agreement_pearson"] if "pearson" in grid.measures else [])]
    declared = as_of_any_grid(start, scores, name, inputs, chosen)
    return products(start, *declared, chapter=start if grid.in_report else "")


# Read again beside the settings, which have said by now what is wrong with any of the files.
PRODUCTS = tuple(
    product
    for name, grid in read_grid_files(Path(__file__).parents[3], None).items()
    if not grid.run
    for product in of_grid(name, grid)
)
