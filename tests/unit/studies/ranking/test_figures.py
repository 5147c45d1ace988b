"""The figures of the ranking study: drawn from little and from much, the same bytes each time."""

import re
import struct
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from tests.made_once import temporary_folder
from tests.unit.studies.harmony.harmony_study import (
    BOTH,
    LEADERBOARD,
    METRICS,
    MODELS,
    TASKS,
    WORDS,
    harmony_grids,
    request,
    score,
    study,
    without,
)
from tests.unit.studies.harmony.harmony_study import (
    frame as table_of,
)
from tests.written import written
from workflow_scripts.render import figures
from workflow_scripts.render.figures import drawing, legend_below, save_both
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.scores.published_leaderboard import TEST_ITEMS, read_panel
from workflow_scripts.studies.harmony import scores
from workflow_scripts.studies.ranking import (
    agreement,
    agreement_by_task,
    bump,
    by_size,
    categories,
    components,
    labels,
    leaderboard,
    matrices,
    panel,
    pc1_by_size,
    variance,
)
from workflow_scripts.studies.ranking.frame import FLOORED
from workflow_scripts.studies.ranking.requests import GridWords, ModelsRequest, ScoresRequest

CASES = {
    "no scores": (study().iloc[:0], ("direct",)),
    "two models": (study(("direct",), MODELS[:2], TASKS[:2]), ("direct",)),
    "a missing cell": (without(study(), MODELS[2], "rte", "direct"), BOTH),
    "three protocols": (study((*BOTH, "few_shot")), (*BOTH, "few_shot")),
}
FIGURES = {
    "matrices": (agreement, matrices),
    "categories": (agreement, categories),
    "by task": (agreement, agreement_by_task),
    "by size": (by_size, by_size),
    "components": (components, components),
    "variance": (variance, variance),
    "size": (leaderboard, pc1_by_size),
    "bump": (leaderboard, bump),
    "panel": (panel, panel),
}
OF_MANY = {"scores": (scores, scores)}
NOBODY = "No two tasks have scores of the same models."
FEW = "Fewer than two models are ranked under a protocol."
SAID = {
    "no scores": {
        "matrices": "No two tasks or texts have scores of the same models.",
        "categories": "No two tasks or texts have scores of the same models.",
        "by task": NOBODY,
        "by size": NOBODY,
        "components": FEW,
        "variance": "Too few models have scores on two tasks.",
        "size": "No model of known size",
        "bump": FEW,
        "panel": "No model shares a task with the panel.",
    },
    "two models": {
        "matrices": "MNLI",
        "categories": "Understanding",
        "by task": "CoLA",
        "by size": "all models\n2 models",
        "components": "direct, 2 models",
        "variance": "all models, direct",
        "size": "Qwen",
        "bump": "Qwen2-1M ",
        "panel": "Qwen2-1M",
    },
    "three protocols": {
        "matrices": "few-shot\nmean agreement",
        "categories": "train-before-test (raw scores)\nmean agreement",
        "by task": "few-shot",
        "by size": "pairs of like size\n6 models",
        "components": "few-shot, 6 models",
        "variance": "all models, few-shot",
        "size": "cross: chunked",
        "bump": "few-shot",
        "panel": "few-shot",
    },
}


@cache
def made(case: str) -> dict[str, Path]:
    """The tables of a case as CSV, by their names."""
    measured, protocols = CASES[case]
    asked = request(protocols)
    grids = harmony_grids(measured, [], asked)
    frames = [
        (agreement.TABLE, agreement.agreement(grids, asked)),
        (by_size.TABLE, by_size.by_size(grids, asked)),
        (components.TABLE, components.components(grids, asked)),
        (variance.TABLE, variance.variance(grids, asked)),
        (leaderboard.TABLE, leaderboard.leaderboard(grids, asked)),
        (panel.TABLE, panel.on_panel(grids, read_panel(LEADERBOARD), asked)),
    ]
    folder = temporary_folder()
    return {table.name: written(table, frame, folder, asked).csv for table, frame in frames}


def draw(tables, name, folder) -> list[str]:
    """Draw a figure, and tell what is written in it."""
    texts = []

    def listen(fig, *paths):
        texts.extend(text.get_text() for text in fig.findobj(Text) if text.get_visible())
        save_both(fig, *paths)

    of, module = (FIGURES | OF_MANY)[name]
    asked = {
        GridWords: WORDS,
        ModelsRequest: ModelsRequest(models=request().models),
    }
    inputs = Inputs({"table": tables[of.TABLE.name], "panel": LEADERBOARD})
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "save_both", listen)
        figure = module.FIGURE
        figure.draw(inputs, asked[figure.asks], folder / "f.pdf", folder / "f.png")
    assert (folder / "f.pdf").read_bytes().startswith(b"%PDF")
    assert (folder / "f.png").read_bytes().startswith(b"\x89PNG")
    return texts


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize(("case", "words"), SAID.items(), ids=str)
def test_a_figure_is_drawn_from_little_and_from_much_and_says_so(case, words, name, tmp_path):
    texts = draw(made(case), name, tmp_path / "a")
    expected = words[name]
    assert any(expected in text for text in texts), texts


@cache
def many_models() -> dict[str, Path]:
    """A hundred and fifty imported models, none of them in the models table, whose second is best."""
    generator = np.random.default_rng(0)
    ability = {f"else/model-{at}": 0.8 - 0.004 * at for at in range(150)} | {"else/model-1": 0.85}
    theirs = [
        score(model, task, protocol, value + 0.01 * generator.standard_normal(), study="theirs")
        for protocol in BOTH
        for model, value in ability.items()
        for task in ("rte", "mnli", "arc_easy")
    ]
    asked = request(())
    grids = harmony_grids(study().iloc[:0], [table_of(theirs)], asked)
    sizes = {"parameters": {}, "metrics": METRICS, "tasks": asked.tasks}
    frames = [
        (leaderboard.TABLE, leaderboard.leaderboard(grids, asked)),
        (panel.TABLE, panel.on_panel(grids, read_panel(LEADERBOARD), asked)),
        (
            scores.TABLE,
            scores.harmony_scores(study().iloc[:0], ScoresRequest(**sizes), [table_of(theirs)]),
        ),
    ]
    folder = temporary_folder()
    return {table.name: written(table, frame, folder, asked).csv for table, frame in frames}


def test_of_very_many_models_names_thin_out_and_the_figure_keeps_its_size(tmp_path):
    for name in ("bump", "panel"):
        texts = draw(many_models(), name, tmp_path / name)
        named = [text for text in texts if re.fullmatch(r"(\d+ )?model-\d+( \d+)?", text)]
        assert 20 < len(named) < 150 * (2 if name == "bump" else 1) / 1.5, name
        assert any("model-1" in text.split() for text in named), "the best is named"
        _, height = struct.unpack(">II", (tmp_path / name / "f.png").read_bytes()[16:24])
        assert height < 4000


def test_of_very_many_models_scores_go_by_family(tmp_path):
    texts = draw(many_models(), "scores", tmp_path / "a")
    assert "other" in texts
    assert not any("model-" in text for text in texts)


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
    pairs = agreement.TABLE.read(tables["agreement"])
    pairs = pairs[(pairs["statistic"] == "pair") & (pairs["protocol"] != FLOORED)]
    for value in pairs["value"]:
        shown = f"{value:z.2f}".replace("0.", ".", 1).replace("-", "−")
        assert texts.count(shown) >= 2, "each pair stands on both sides of the diagonal"


@pytest.mark.parametrize("own", [True, False])
def test_the_ranking_names_every_ranked_model_and_marks_imported_ones_beside_ours(own, tmp_path):
    asked = request(())
    scores = study(("train_before_test",), tasks=list(TEST_ITEMS)) if own else study().iloc[:0]
    grids = harmony_grids(scores, [read_imported(LEADERBOARD, METRICS)], asked)
    table = leaderboard.leaderboard(grids, asked)
    csv = written(leaderboard.TABLE, table, tmp_path, asked).csv
    texts = " ".join(draw({"leaderboard": csv}, "bump", tmp_path / "a"))
    assert ("* imported scores" in texts) == own
    title = "train-before-test (ours raw scores)" if own else "train-before-test (imported scores)"
    assert title in texts, "imported ones are not to be taken for raw ones"
    for row in table[table["origin"] != "own"].itertuples():
        assert f"{row.model.split('/')[-1]}{'*' * own} {row.rank:.0f}" in texts


def test_twenty_families_are_told_apart_and_all_of_them_stand_within_the_figure(tmp_path):
    looks = labels.families(pd.DataFrame({"family": [f"family {at}" for at in range(20)]}))
    assert len(set(looks.values())) == 21, "and others"
    with drawing(tmp_path / "f.pdf", tmp_path / "f.png", 4, 4) as (fig, axes):
        for name, (colour, marker) in looks.items():
            axes.plot([], [], marker, color=colour, label=name)
        legend_below(fig, axes, 8)
        fig.draw_without_rendering()
        (below,) = fig.legends
        place = below.get_window_extent()
        assert fig.bbox.x0 <= place.x0 and place.x1 <= fig.bbox.x1
        assert [text.get_text() for text in below.get_texts()] == list(looks)
