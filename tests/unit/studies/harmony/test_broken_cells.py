"""Check that a failed cell affects only its row: every table, figure and sentence is made and names the cell."""

import pandas as pd

from tests.records import collect, make_items, record_fields
from tests.unit.stories import make_story_numbers
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
from workflow_scripts.core.records import FailedRecord, write_record
from workflow_scripts.paper.report import PACKAGE
from workflow_scripts.render.prose import render_prose
from workflow_scripts.render.tables import read_table
from workflow_scripts.studies.harmony.board import make_harmony_tab
from workflow_scripts.studies.harmony.chapter import NUMBER_FUNCTIONS
from workflow_scripts.studies.ranking import build_grid, scores
from workflow_scripts.studies.ranking.grid_tables import DIRECT, FEW_SHOT, OVERALL, TRAINED

CORRELATIONS = ROOT / "resources/published/items/correlations.csv"
ALL = (DIRECT, FEW_SHOT, TRAINED)
TASKS = ["rte", "mnli", "sst2", "boolq"]
BROKEN = {(DIRECT, MODELS[0], "rte"), (FEW_SHOT, MODELS[1], "mnli")}
BROKEN |= {(TRAINED, model, task) for model in MODELS[:4] for task in TASKS}


def write_cell(path, protocol, model, task, number):
    path.parent.mkdir(parents=True)
    if (protocol, model, task) in BROKEN:
        failure = FailedRecord(record=str(path), reason="the disk ate it", log="x.log")
        write_items(path.with_suffix(".parquet"), [])
        write_json(path, {"broken": failure.model_dump()})
        return
    golds = tuple("01"[(number * item + len(task)) % 3 == 0] for item in range(12))
    fields = record_fields(model=model, task=task, n=len(golds))
    fields["protocol"] = fields["protocol"].model_copy(update={"name": protocol})
    changes = {"name": METRICS[task], "value": golds.count("0") / len(golds), "best_constant": 0.6}
    fields["metrics"] = (fields["metrics"][0].model_copy(update=changes),)
    write_record(path, make_items(golds=golds), **fields)


def test_broken_cells_are_named_everywhere(tmp_path):
    cells = [(protocol, model, task) for protocol in ALL for model in MODELS[:4] for task in TASKS]
    records = []
    for number, (protocol, model, task) in enumerate(cells):
        records.append(tmp_path / f"{protocol}/{number}/{task}.json")
        write_cell(records[-1], protocol, model, task, number)
    outputs = {name: tmp_path / f"{name}.parquet" for name in ("scores", "errors")}
    for table, path in zip(collect(records), outputs.values(), strict=True):
        table.to_parquet(path)
    options = {"known_models": MODEL_ROWS}
    build_grid.main(
        [outputs["scores"]],
        CORRELATIONS,
        tmp_path / "cells.parquet",
        settings=SETTINGS.model_dump(mode="json"),
        requested={protocol: {"models": MODELS[:4], "tasks": TASKS} for protocol in ALL},
        errors=outputs["errors"],
        **options,
    )
    run_all(tmp_path / "cells.parquet", tmp_path)
    scores.main(
        [outputs["scores"]],
        table=[tmp_path / f"scores.{kind}" for kind in ("csv", "md", "tex")],
        figure=[tmp_path / f"scores.{kind}" for kind in ("pdf", "png")],
        settings=SETTINGS.model_dump(mode="json"),
        tasks=TASKS,
        models=MODELS[:2],
        **options,
    )
    leaderboard = (tmp_path / "leaderboard.md").read_text()
    assert leaderboard.count("estimated: RTE") == leaderboard.count("estimated: MNLI") == 1
    assert leaderboard.count("no scores") == 4
    pairs = pd.read_csv(tmp_path / "significance.csv")
    assert pairs[pairs["task"] == OVERALL].groupby("protocol").size().to_dict() == {
        DIRECT: 6,
        FEW_SHOT: 6,
    }
    tab = make_harmony_tab(tmp_path / "leaderboard.csv", TASK_ROWS, PROTOCOLS)
    assert [row["note"] for row in tab.rows] == ["no scores"] * 4
    values = {}
    for table, compute in NUMBER_FUNCTIONS.items():
        path = tmp_path / f"{table.removeprefix('harmony_')}.csv"
        if path.exists():
            values |= compute(read_table(path))
    assert (values["harmony.missing"], values["harmony.cells"]) == (18, 7)
    template = PACKAGE / "studies/harmony/chapter.md.j2"
    assert "without a score: 18." in " ".join(render_prose(template, make_story_numbers(values)))
