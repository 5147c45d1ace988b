"""The figures of the ranking study: drawn from little and from much, the same bytes each time."""

import io
from functools import cache

import pandas as pd
import pytest
from matplotlib.text import Text

from tests.unit.studies.harmony.harmony_study import (
    BOTH,
    LEADERBOARD,
    METRICS,
    MODELS,
    TASK_ROWS,
    TASKS,
    settings,
    study,
    without,
)
from workflow_scripts.render.figures import save_both
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.scores.published_leaderboard import read_panel
from workflow_scripts.studies.harmony import agreement_by_task as by_task
from workflow_scripts.studies.harmony import bump as harmony_bump
from workflow_scripts.studies.harmony import components
from workflow_scripts.studies.harmony import heatmaps as harmony_heatmaps
from workflow_scripts.studies.harmony import panel as panel_of
from workflow_scripts.studies.harmony import pc1_by_size as harmony_pc1_by_size
from workflow_scripts.studies.harmony.agreement import harmony_agreement
from workflow_scripts.studies.harmony.grid import FLOORED, harmony_grids
from workflow_scripts.studies.harmony.leaderboard import harmony_leaderboard

DRAWS = {"draws": 20, "seed": 0}
CASES = {
    "no scores": (study().iloc[:0], ("direct",)),
    "two models": (study(("direct",), MODELS[:2], TASKS[:2]), ("direct",)),
    "a missing cell": (without(study(), MODELS[2], "rte", "direct"), BOTH),
    "three protocols": (study((*BOTH, "few_shot")), (*BOTH, "few_shot")),
}
PUBLISHED = pd.read_csv(LEADERBOARD)
FIGURES = {
    "matrices": (
        "agreement",
        harmony_heatmaps,
        lambda t, *out: harmony_heatmaps.write_harmony_matrices(t, TASK_ROWS, *out),
    ),
    "categories": ("agreement", harmony_heatmaps, harmony_heatmaps.write_harmony_categories),
    "by task": (
        "agreement",
        by_task,
        lambda t, *out: by_task.write_harmony_agreement_by_task(t, TASK_ROWS, *out),
    ),
    "components": (
        "components",
        components,
        lambda t, *out: components.write_harmony_components_figure(t, TASK_ROWS, *out),
    ),
    "size": ("leaderboard", harmony_pc1_by_size, harmony_pc1_by_size.write_harmony_pc1_by_size),
    "bump": ("leaderboard", harmony_bump, harmony_bump.write_harmony_bump),
    "panel": (
        "panel",
        panel_of,
        lambda t, *out: panel_of.write_harmony_panel_figure(t, PUBLISHED, *out),
    ),
}
NOBODY = "No two tasks have scores of the same models."
FEW = "Fewer than two models have all tasks of a protocol."
WORDS = {
    "no scores": {
        "matrices": NOBODY,
        "categories": NOBODY,
        "by task": NOBODY,
        "components": FEW,
        "size": "No model of known size",
        "bump": FEW,
        "panel": "No model shares a task with the panel.",
    },
    "two models": {
        "matrices": "MNLI",
        "categories": "Understanding",
        "by task": "CoLA",
        "components": "direct, 2 models",
        "size": "Qwen",
        "bump": "Qwen2-1M ",
        "panel": "Qwen2-1M",
    },
    "three protocols": {
        "matrices": "few-shot\nmean agreement",
        "categories": "train-before-test (raw scores)\nmean agreement",
        "by task": "few-shot",
        "components": "few-shot, 6 models",
        "size": "cross: chunked",
        "bump": "few-shot",
        "panel": "few-shot",
    },
}


@cache
def made(case: str) -> dict[str, pd.DataFrame]:
    """The tables of a case as they are read back from CSV, as the figures' steps do."""
    scores, protocols = CASES[case]
    grids = harmony_grids(scores, [], settings(protocols))
    found = {
        "agreement": harmony_agreement(grids, TASK_ROWS, **DRAWS),
        "components": components.harmony_components(grids, **DRAWS),
        "leaderboard": harmony_leaderboard(grids, **DRAWS),
        "panel": panel_of.harmony_panel(grids, read_panel(LEADERBOARD)),
    }
    return {name: pd.read_csv(io.StringIO(t.to_csv(index=False))) for name, t in found.items()}


def draw(tables, name, folder) -> list[str]:
    """Draw a figure, and tell what is written in it."""
    texts = []

    def listen(fig, *paths):
        texts.extend(text.get_text() for text in fig.findobj(Text) if text.get_visible())
        save_both(fig, *paths)

    table, module, write = FIGURES[name]
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "save_both", listen)
        write(tables[table], folder / "f.pdf", folder / "f.png")
    assert (folder / "f.pdf").read_bytes().startswith(b"%PDF")
    assert (folder / "f.png").read_bytes().startswith(b"\x89PNG")
    return texts


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize(("case", "words"), WORDS.items(), ids=str)
def test_a_figure_is_drawn_from_little_and_from_much_and_says_so(case, words, name, tmp_path):
    texts = draw(made(case), name, tmp_path / "a")
    expected = words[name]
    assert any(expected in text for text in texts), texts


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_the_same_bytes_each_time(name, tmp_path):
    for folder in ("a", "b"):
        draw(made("a missing cell"), name, tmp_path / folder)
    for file in ("f.pdf", "f.png"):
        one, other = ((tmp_path / folder / file).read_bytes() for folder in ("a", "b"))
        assert one == other


def test_the_numbers_in_the_matrices_are_those_of_the_table(tmp_path):
    tables = made("a missing cell")
    texts = draw(tables, "matrices", tmp_path / "a")
    pairs = tables["agreement"]
    pairs = pairs[(pairs["statistic"] == "pair") & (pairs["protocol"] != FLOORED)]
    for value in pairs["value"]:
        shown = f"{value:z.2f}".replace("0.", ".", 1).replace("-", "−")
        assert texts.count(shown) >= 2, "each pair stands on both sides of the diagonal"


def test_the_ranking_names_every_ranked_model_at_both_ends_and_marks_imported_ones(tmp_path):
    panel = read_imported(LEADERBOARD, METRICS)
    grids = harmony_grids(study().iloc[:0], [panel], settings(()))
    table = harmony_leaderboard(grids, **DRAWS)
    texts = " ".join(draw({"leaderboard": table}, "bump", tmp_path / "a"))
    assert "* imported scores" in texts
    assert "train-before-test (imported scores)" in texts, "not to be taken for raw ones"
    for row in table.itertuples():
        assert f"{row.model.split('/')[-1]}* {row.rank:.0f}" in texts
