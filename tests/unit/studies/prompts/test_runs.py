"""Test the tables of prompt runs: paired differences, published scores, strict parsing and failed cells."""

from dataclasses import replace

import pandas as pd
import pytest

from tests.records import collect, make_items, record_fields
from tests.unit.settings.merged import ROOT
from workflow_scripts.core.files import write_json
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.render.tables import read_table
from workflow_scripts.studies.prompts import runs
from workflow_scripts.studies.prompts.chapter import NUMBER_FUNCTIONS

MODEL, CHUNKED = "miniature/Llama-1.4M-Instruct", "miniature/Llama-1.4M-Instruct@k2m1"
CHECKPOINTS = {MODEL: True, CHUNKED: False}
CORRECT = {
    "run1": [1, 1, 0, 0, 0, 0, 0, 0],
    "run2": [1, 0, 1, 1, 1, 1, 0, 0],
    "part": [1, 0, 1],
    "run9": [0, 0, 0, 0, 0, 0, 0, 0],
}
RUNS = [
    {"name": "run1", "changed": "two shots", "after": None, "published": "1"},
    {"name": "run2", "changed": "JSON", "after": "run1", "published": "6"},
    {"name": "part", "changed": "first three", "after": "run1", "published": None},
    {"name": "run9", "changed": "letters", "after": "absent", "published": None},
]
PUBLISHED = ROOT / "resources/published/prompt_runs.csv"


def make_metric(name, values) -> Metric:
    value, n = sum(values) / len(values), len(values)
    return Metric(name=name, value=value, stderr=0.1, n=n, best_constant=0.25, chance=0.25)


def write_run(path, model, run, correct) -> None:
    items = [
        replace(item, correct=bool(value))
        for item, value in zip(make_items(golds=("0",) * 8), correct, strict=False)
    ]
    metrics = [
        make_metric("acc", correct),
        make_metric("acc_macro", correct),
        make_metric("acc_strict", [0, *correct[1:]]),
    ]
    if run != "run9":
        metrics.append(make_metric("format_met", [1] * len(correct)))
    fields = record_fields(study="prompts", model=model, task=run)
    fields["protocol"] = fields["protocol"].model_copy(update={"name": "prompt_run"})
    # The order of a file's rows does not matter.
    items = items[:: -1 if run == "run2" else 1]
    write_record(path, items, **fields | {"metrics": tuple(metrics)})


@pytest.fixture
def make_tables(tmp_path):
    """Write records, including failed cells, and run both scripts; return the files by name."""

    def make(failed=()):
        records = []
        for model in CHECKPOINTS:
            for run, correct in CORRECT.items():
                path = tmp_path / model.replace("/", "--") / f"{run}.json"
                path.parent.mkdir(exist_ok=True)
                write_run(path, model, run, correct)
                if (model, run) in failed:
                    note = {"record": str(path), "reason": "It died.", "log": "logs/x.log"}
                    write_json(path, {"broken": note})
                records.append(path)
        scores = tmp_path / "scores.parquet"
        collect(records)[0].to_parquet(scores)
        names = ("t.csv", "t.md", "t.tex", "t.pdf", "t.png")
        files = {name: tmp_path / name for name in names}
        paths = list(files.values())
        runs.main(scores, records, PUBLISHED, paths[:3], paths[3:], CHECKPOINTS, RUNS)
        return files

    return make


def test_runs_are_paired_by_question(make_tables):
    files = make_tables()
    table = read_table(files["t.csv"])
    rows = table[table["variant"] == ""].set_index("run")
    second = rows.loc["run2"]
    assert second["difference"] == pytest.approx(second["micro"] - rows.loc["run1", "micro"])
    assert second["p"] == pytest.approx(2 * (1 + 5) / 2**5)
    assert rows.loc["part", ["n", "difference"]].tolist() == [3, 0]
    assert rows.loc[["run1", "run9"], "p"].isna().all()
    assert rows["published_micro"].tolist()[:2] == pytest.approx([0.213, 0.371])
    assert table[table["variant"] != ""]["published_micro"].isna().all()
    assert rows["strict"].tolist()[:2] == pytest.approx([1 / 8, 4 / 8])
    assert rows.loc["run9", ["strict", "format_met"]].isna().all()


def test_published_figures_match_print():
    published = pd.read_csv(PUBLISHED, dtype="string").set_index(["metric", "run"])["percent"]
    assert published["micro"].tolist() == ["21.3", "15.7", "30.5", "35.7", "36.3", "37.1", "42.9"]
    assert published["macro"].to_dict() == {"6": "39.0", "7": "43.7"}


def test_failed_run_empties_its_row(make_tables):
    failed_runs = ["run2"]
    files = make_tables(failed=[(model, run) for model in CHECKPOINTS for run in failed_runs])
    table = read_table(files["t.csv"]).set_index("run")
    assert len(table) == 8 and table.loc[failed_runs, ["n", "micro", "baseline", "p"]].isna().all(
        axis=None
    )
    assert table.drop(index=failed_runs)["micro"].notna().all()
    values = NUMBER_FUNCTIONS["prompt_runs"](table.reset_index())
    assert values["prompts.lowest_run"] == "run9"
