"""A broken cell costs its own row: every table, figure, tab and sentence is made, and names it."""

import re

import pandas as pd
import pytest

from tests.records import make_items, record_fields
from tests.unit.stories import story
from tests.unit.studies.harmony.harmony_study import (
    METRICS,
    MODEL_ROWS,
    MODELS,
    PROTOCOLS,
    ROOT,
    SETTINGS,
    TASK_ROWS,
    run_all,
)
from workflow_scripts.core.files import write_json
from workflow_scripts.core.items import write_items
from workflow_scripts.core.records import FailedRecord, Metric, Protocol, write_record
from workflow_scripts.render.tables import read_table
from workflow_scripts.scores.tidy import collect_scores
from workflow_scripts.studies.harmony.board import make_harmony_tab
from workflow_scripts.studies.harmony.chapter import HARMONY
from workflow_scripts.studies.ranking import build_grid, scores
from workflow_scripts.studies.ranking.frame import DIRECT, FEW_SHOT, OVERALL, TRAINED
from workflow_scripts.studies.ranking.grid import read_grids

CORRELATIONS = ROOT / "resources/published/items/correlations.csv"
ALL = (DIRECT, FEW_SHOT, TRAINED)
TASKS = ["rte", "mnli", "sst2", "boolq"]
# The broken cell of each protocol, by model and task.
BROKEN = {
    DIRECT: (MODELS[0], "rte"),
    FEW_SHOT: (MODELS[1], "mnli"),
    TRAINED: (MODELS[2], "sst2"),
}


def write_cell(path, protocol, model, task, at, broken):
    path.parent.mkdir(parents=True, exist_ok=True)
    if broken:
        lost = FailedRecord(record=str(path), reason="the disk ate it", log="x.log")
        write_items(path.with_suffix(".parquet"), [])
        write_json(path, {"broken": lost.model_dump()})
        return
    golds = tuple("01"[(at * item + len(task)) % 3 == 0] for item in range(12))
    fields = record_fields(model=model, task=task, n=len(golds))
    fields["protocol"] = Protocol(**fields["protocol"].model_dump() | {"name": protocol})
    value, about = golds.count("0") / len(golds), {"best_constant": 0.6, "chance": 0.5}
    metric = Metric(name=METRICS[task], value=value, stderr=0.1, n=len(golds), **about)
    write_record(path, make_items(golds=golds), **fields | {"metrics": (metric,)})


@pytest.fixture(params=["one cell of each protocol", "every cell of one protocol"])
def made(request, tmp_path):
    """All tables and figures of the study, by name."""
    alone = request.param.startswith("one")
    cells = [(p, model, task) for p in ALL for model in MODELS[:4] for task in TASKS]
    records = []
    for at, (protocol, model, task) in enumerate(cells):
        records.append(tmp_path / protocol / str(at) / f"{task}.json")
        lost = BROKEN[protocol] == (model, task) if alone else protocol == TRAINED
        write_cell(records[-1], protocol, model, task, at, lost)
    outputs = {name: tmp_path / f"{name}.parquet" for name in ("scores", "errors")}
    collect_scores({"records": records}, {}, outputs)
    known = {"known_models": [one.model_dump() for one in MODEL_ROWS]}
    grid = {"cells": tmp_path / "cells.parquet", "models": tmp_path / "models.parquet"}
    build_grid.main(
        [outputs["scores"]],
        CORRELATIONS,
        **grid,
        settings=SETTINGS.to_params(),
        wanted={protocol: {"models": MODELS[:4], "tasks": TASKS} for protocol in ALL},
        errors=outputs["errors"],
        **known,
    )
    run_all(read_grids(**grid), tmp_path)
    scores.main(
        [outputs["scores"]],
        table=[tmp_path / f"scores.{kind}" for kind in ("csv", "md", "tex")],
        figure=[tmp_path / f"scores.{kind}" for kind in ("pdf", "png")],
        tasks=[row.model_dump() for row in TASK_ROWS if row.task in TASKS],
        models=MODELS[:2],
        metrics=METRICS,
        **known,
    )
    return tmp_path, alone


def test_every_table_figure_tab_and_sentence_is_made_and_the_tables_name_what_is_missing(made):
    folder, alone = made
    lines = (folder / "leaderboard.md").read_text().splitlines()
    for protocol, (model, task) in BROKEN.items():
        (line,) = [
            line
            for line in lines
            if line.startswith(f"| {PROTOCOLS[protocol]} ") and f"| {model} " in line
        ]
        if alone:
            assert re.search(rf"\| [1-4]† \([1-4]–[1-4]\) \| +\d \| {model} ", line)
            assert f"estimated: {SETTINGS.names[task]}" in line
        elif protocol == TRAINED:
            assert "no scores" in line
        else:
            assert "missing" not in line
    scores = (folder / "scores.md").read_text()
    assert sum(line.count("—") >= 4 for line in scores.splitlines()) == alone
    significance = pd.read_csv(folder / "significance.csv")
    pairs = significance[significance["task"] == OVERALL].groupby("protocol").size()
    assert pairs[[DIRECT, FEW_SHOT]].tolist() == [6, 6]
    assert (TRAINED in pairs) == alone

    files = [folder / name for name in ("leaderboard.csv", "components.csv")]
    tab = make_harmony_tab(*files, list(TASK_ROWS), PROTOCOLS)
    (row,) = [row for row in tab.rows if row["label"] == BROKEN[TRAINED][0]]
    assert (row["rank"] is None) != alone
    assert row["note"].startswith("estimated: SST-2" if alone else "no scores")

    tables = {f"harmony_{path.stem}": read_table(path) for path in folder.glob("*.csv")}
    values = HARMONY.values(tables)
    assert values["harmony.missing"] == (3 if alone else 16)
    assert values["harmony.cells"] == 8 - alone
    assert f"without a score: {values['harmony.missing']}." in story(HARMONY, values)
