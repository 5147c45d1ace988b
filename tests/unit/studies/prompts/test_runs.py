"""The table of the prompt runs: paired differences, published scores, strict shares; and the figure."""

import pandas as pd
import pytest

from tests.records import collected, record_fields
from tests.unit.settings.merged import ROOT
from tests.unit.stories import numbers_of
from workflow_scripts.core.files import sha256_text, write_json
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.render.tables import read_markdown, read_table
from workflow_scripts.studies.prompts import by_subject, runs
from workflow_scripts.studies.prompts.board import make_prompts_tab
from workflow_scripts.studies.prompts.chapter import PROMPTS
from workflow_scripts.studies.prompts.runs import compute_runs, read_correct_answers

MODEL, CHUNKED = "miniature/Llama-1.4M-Instruct", "miniature/Llama-1.4M-Instruct@k2m1"
RIGHT = {
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
SUBJECTS = ["anatomy"] * 3 + ["virology"] * 5


@pytest.fixture
def records(tmp_path):
    paths = []
    for model in (MODEL, CHUNKED):
        for run, right in RIGHT.items():
            subjects = SUBJECTS[: len(right)]
            order = list(range(len(right)))[:: -1 if run == "run2" else 1]  # as files may be
            items = [
                Item(
                    item=f"{subjects[index]}/{index}",
                    subset=subjects[index],
                    prompt_sha256=sha256_text(str(index)),
                    gold="A",
                    prediction="A",
                    correct=bool(right[index]),
                )
                for index in order
            ]
            members = {None: right}
            for subject in dict.fromkeys(subjects):
                members[subject] = [
                    is_right for is_right, s in zip(right, subjects, strict=True) if s == subject
                ]
            metrics = []
            for subset, values in members.items():
                columns = {"acc": values, "acc_strict": values}
                if subset is None:
                    columns |= {"acc_macro": values, "acc_strict": [0, *values[1:]]}
                    columns |= {} if run == "run9" else {"format_met": [1] * len(values)}
                for name, column in columns.items():
                    value, n = sum(column) / len(column), len(column)
                    floor = {"best_constant": 0.25, "chance": 0.25}
                    metrics.append(
                        Metric(name=name, subset=subset, value=value, stderr=0.1, n=n, **floor)
                    )
            fields = record_fields(study="prompts", model=model, task=run)
            fields["protocol"] = fields["protocol"].model_copy(update={"name": "prompt_run"})
            path = tmp_path / model.replace("/", "--") / f"{run}.json"
            path.parent.mkdir(exist_ok=True)
            write_record(path, items, **fields | {"metrics": tuple(metrics)})
            paths.append(path)
    return paths


CHECKPOINTS = {MODEL: True, CHUNKED: False}
NAMES = [run["name"] for run in RUNS]
PUBLISHED = ROOT / "resources/published/prompt_runs.csv"


@pytest.fixture
def table(records):
    published = pd.read_csv(PUBLISHED, dtype="string")
    return compute_runs(
        collected(records), read_correct_answers(records), published, CHECKPOINTS, RUNS
    )


def test_runs_are_compared_on_the_same_questions_and_beside_published_scores(table):
    rows = table[table["variant"] == ""].set_index("run")
    second = rows.loc["run2"]
    assert (second["pairs"], second["won"], second["lost"]) == (8, 4, 1)
    assert second["difference"] == pytest.approx(3 / 8)
    assert second["difference"] == pytest.approx(second["micro"] - rows.loc["run1", "micro"])
    assert second["p"] == pytest.approx(2 * (1 + 5) / 2**5)
    part = rows.loc["part"]
    assert (part["pairs"], part["won"], part["lost"]) == (3, 1, 1)
    assert rows.loc[["run1", "run9"], "p"].isna().all(), "nothing to compare with"
    assert rows["published_micro"].tolist()[:2] == pytest.approx([0.213, 0.371])
    assert rows["published_macro"].tolist()[1] == pytest.approx(0.390)
    assert pd.isna(part["published_micro"])
    assert table[table["variant"] != ""]["published_micro"].isna().all()
    assert rows["strict_share"].tolist()[:2] == pytest.approx([1 / 2, 4 / 5])
    assert rows.loc["run9", ["strict_share", "format_met"]].isna().all()


def test_the_published_figures_are_those_that_were_printed():
    published = pd.read_csv(PUBLISHED, dtype="string").set_index(["metric", "run"])["percent"]
    assert published["micro"].tolist() == ["21.3", "15.7", "30.5", "35.7", "36.3", "37.1", "42.9"]
    assert published["macro"].to_dict() == {"6": "39.0", "7": "43.7"}


def write(records, folder, checkpoints=CHECKPOINTS) -> dict:
    """Run both scripts on the records; return the files by name and ending."""
    collected(records).to_parquet(folder / "scores.parquet")
    files = {
        f"{name}.{kind}": folder / f"{name}.{kind}"
        for name in ("runs", "subjects")
        for kind in ("csv", "md", "tex", "pdf", "png")
    }
    paths = list(files.values())
    inputs = [folder / "scores.parquet", records, PUBLISHED]
    runs.main(*inputs, paths[:3], paths[3:5], checkpoints, RUNS)
    by_subject.main(folder / "scores.parquet", paths[5:8], checkpoints, RUNS)
    return files


def break_record(path):
    write_json(path, {"broken": {"record": str(path), "reason": "It died.", "log": "logs/x.log"}})


def test_a_run_that_broke_costs_its_own_row_and_no_more(table, records, tmp_path):
    break_record(records[1])
    files = write(records, tmp_path)
    read = read_table(files["runs.csv"])
    assert len(read) == len(table)
    assert read.loc[1, ["run", "variant"]].tolist() == ["run2", ""]
    measured = ["n", "micro", "macro", "floor", "format_met", "pairs", "p"]
    assert read.loc[1, measured].isna().all()
    assert read.drop(index=1)["micro"].tolist() == table.drop(index=1)["micro"].tolist()
    assert read_markdown(files["runs.md"]).rows[1].count("—") == 8
    assert files["runs.png"].stat().st_size > 5000
    assert "run2" in read_markdown(files["subjects.md"]).head
    rows = {
        (row["checkpoint"], row["run"]): row for row in make_prompts_tab(files["runs.csv"]).rows
    }
    assert rows[MODEL, "run2"]["micro"] is None and rows[MODEL, "run1"]["micro"] is not None
    assert "prompts.lowest" in numbers_of(PROMPTS.values({"prompt_runs": read}))


def test_where_every_run_broke_there_are_tables_a_figure_and_a_tab(records, tmp_path):
    for path in records:
        break_record(path)
    files = write(records, tmp_path)
    assert len(make_prompts_tab(files["runs.csv"]).rows) == len(records)
    assert PROMPTS.values({"prompt_runs": read_table(files["runs.csv"])}) == {}


def test_printed_tables_have_a_column_for_two_models_and_for_each_run(records, tmp_path):
    for checkpoints in ({MODEL: True}, CHECKPOINTS):
        files = write(records, tmp_path, checkpoints)
        text = files["runs.md"].read_text()
        assert "+37.5 to run1" in text and "0.371, macro 0.390" in text
        assert ("Model" in read_markdown(files["runs.md"]).head) == (len(checkpoints) == 2)
    assert read_markdown(files["subjects.md"]).head == ["Subject", "Model", "n", *NAMES]
    cells = read_table(files["subjects.csv"])
    cells = cells[cells["variant"] == ""].set_index(["subject", "run"])
    assert cells.loc[("anatomy", "run1"), "acc"] == pytest.approx(2 / 3)
    assert cells.loc[("virology", "run2"), "n"] == 5
    assert ("virology", "part") not in cells.index
