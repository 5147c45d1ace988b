"""The figures of the ranking study: drawn from little and from much, the same bytes each time."""

import io

import pandas as pd
import pytest

from tests.unit.reporting.harmony_study import (
    BOTH,
    LEADERBOARD,
    MODELS,
    TASK_ROWS,
    TASKS,
    settings,
    study,
    without,
)
from workflow_scripts.reporting.harmony_agreement import harmony_agreement
from workflow_scripts.reporting.harmony_agreement_by_task import write_harmony_agreement_by_task
from workflow_scripts.reporting.harmony_bump import write_harmony_bump
from workflow_scripts.reporting.harmony_components import (
    harmony_components,
    write_harmony_components_figure,
)
from workflow_scripts.reporting.harmony_grid import harmony_grids
from workflow_scripts.reporting.harmony_heatmaps import (
    write_harmony_categories,
    write_harmony_matrices,
)
from workflow_scripts.reporting.harmony_leaderboard import harmony_leaderboard
from workflow_scripts.reporting.harmony_panel import harmony_panel, write_harmony_panel_figure
from workflow_scripts.reporting.harmony_pc1_by_size import write_harmony_pc1_by_size
from workflow_scripts.reporting.published_harmony import read_panel

DRAWS = {"draws": 20, "seed": 0}
CASES = {
    "no scores": (study().iloc[:0], ("direct",)),
    "two models, direct": (study(("direct",), MODELS[:2], TASKS[:2]), ("direct",)),
    "a missing cell, both": (without(study(), MODELS[2], "rte", "direct"), BOTH),
    "three protocols": (study((*BOTH, "few_shot")), (*BOTH, "few_shot")),
}
PUBLISHED = pd.read_csv(LEADERBOARD)
FIGURES = {
    "matrices": ("agreement", lambda t, *out: write_harmony_matrices(t, TASK_ROWS, *out)),
    "categories": ("agreement", write_harmony_categories),
    "by task": ("agreement", lambda t, *out: write_harmony_agreement_by_task(t, TASK_ROWS, *out)),
    "components": (
        "components",
        lambda t, *out: write_harmony_components_figure(t, TASK_ROWS, *out),
    ),
    "size": ("leaderboard", write_harmony_pc1_by_size),
    "bump": ("leaderboard", write_harmony_bump),
    "panel": ("panel", lambda t, *out: write_harmony_panel_figure(t, PUBLISHED, *out)),
}


@pytest.fixture(scope="module", params=CASES)
def tables(request):
    """As they are read back from CSV, as the figures' steps do."""
    scores, protocols = CASES[request.param]
    grids = harmony_grids(scores, [], settings(protocols))
    made = {
        "agreement": harmony_agreement(grids, TASK_ROWS, **DRAWS),
        "components": harmony_components(grids, **DRAWS),
        "leaderboard": harmony_leaderboard(grids, **DRAWS),
        "panel": harmony_panel(grids, read_panel(LEADERBOARD)),
    }
    return {name: pd.read_csv(io.StringIO(t.to_csv(index=False))) for name, t in made.items()}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_the_same_bytes_each_time(tables, name, tmp_path):
    table, write = FIGURES[name]
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write(tables[table], tmp_path / folder / "f.pdf", tmp_path / folder / "f.png")
    for file in ("f.pdf", "f.png"):
        one, other = ((tmp_path / folder / file).read_bytes() for folder in ("a", "b"))
        assert one == other
    assert (tmp_path / "a/f.png").read_bytes().startswith(b"\x89PNG")
