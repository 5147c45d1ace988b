"""The table of the prompt runs: paired differences, published scores, strict shares; and the figure."""

import pandas as pd
import pytest

from tests.records import collected, record_fields
from tests.unit.settings.merged import ROOT
from tests.unit.stories import numbers_of
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_text, write_json
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.paper.chapters import chapters
from workflow_scripts.paper.requests import Report, ToldTable
from workflow_scripts.studies.prompts import by_subject
from workflow_scripts.studies.prompts.board import prompts_tab
from workflow_scripts.studies.prompts.by_subject import prompt_runs_by_subject
from workflow_scripts.studies.prompts.chapter import PROMPTS
from workflow_scripts.studies.prompts.requests import PromptTables
from workflow_scripts.studies.prompts.runs import (
    TABLE,
    prompt_runs,
    read_right,
    write_prompt_figure,
)

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


def metric(name, values, subset=None, floor=0.25):
    value = sum(values) / len(values)
    return Metric(
        name=name, subset=subset, value=value, stderr=0.1, n=len(values),
        best_constant=floor, chance=floor,
    )  # fmt: skip


@pytest.fixture
def records(tmp_path):
    paths = []
    for model in (MODEL, CHUNKED):
        for run, right in RIGHT.items():
            subjects = SUBJECTS[: len(right)]
            order = list(range(len(right)))[:: -1 if run == "run2" else 1]  # as files may be
            items = [
                Item(
                    item=f"{subjects[at]}/{at}",
                    subset=subjects[at],
                    prompt_sha256=sha256_text(str(at)),
                    gold="A",
                    prediction="A",
                    correct=bool(right[at]),
                )
                for at in order
            ]
            fields = record_fields(study="prompts", model=model, task=run)
            met = [] if run == "run9" else [metric("format_met", [1] * len(right), floor=None)]
            whole = [
                metric("acc", right),
                metric("acc_macro", right),
                metric("acc_strict", [0, *right[1:]]),
                *met,
            ]
            parts = [
                metric(name, [right[at] for at in order if subjects[at] == subject], subject)
                for subject in dict.fromkeys(subjects)
                for name in ("acc", "acc_strict")
            ]
            protocol = fields["protocol"].model_copy(update={"name": "prompt_run"})
            path = tmp_path / model.replace("/", "--") / f"{run}.json"
            path.parent.mkdir(exist_ok=True)
            write_record(
                path, items, **fields | {"metrics": (*whole, *parts), "protocol": protocol}
            )
            paths.append(path)
    return paths


CHECKPOINTS = [{"id": MODEL, "published": True}, {"id": CHUNKED, "published": False}]
ASKED = PromptTables.of({"checkpoints": CHECKPOINTS, "runs": RUNS})
PUBLISHED = pd.read_csv(ROOT / "resources/published/prompt_runs.csv", dtype="string")


@pytest.fixture
def table(records):
    return prompt_runs(collected(records), read_right(records), PUBLISHED, ASKED)


def test_a_difference_is_of_the_same_questions_whatever_their_order(table):
    rows = table[table["variant"] == ""].set_index("run")
    second = rows.loc["run2"]
    assert (second["pairs"], second["won"], second["lost"]) == (8, 4, 1)
    assert second["difference"] == pytest.approx(3 / 8)
    assert second["difference"] == pytest.approx(second["micro"] - rows.loc["run1", "micro"])
    assert second["p"] == pytest.approx(2 * (1 + 5) / 2**5)
    part = rows.loc["part"]
    assert (part["pairs"], part["won"], part["lost"]) == (3, 1, 1)
    assert pd.isna(rows.loc["run1", "p"])
    assert pd.isna(rows.loc["run9", "p"]), "the run it comes after is not among these"


def test_published_scores_stand_beside_the_model_they_may_stand_beside(table):
    own = table[table["variant"] == ""].set_index("run")
    assert own.loc["run1", "published_micro"] == pytest.approx(0.213)
    assert own.loc["run2", "published_micro"] == pytest.approx(0.371)
    assert own.loc["run2", "published_macro"] == pytest.approx(0.390)
    assert pd.isna(own.loc["part", "published_micro"])
    assert table[table["variant"] != ""]["published_micro"].isna().all()


def test_the_published_figures_are_those_that_were_printed():
    published = pd.read_csv(ROOT / "resources/published/prompt_runs.csv", dtype="string")
    micro = published[published["metric"] == "micro"].set_index("run")["percent"]
    assert micro.to_dict() == {
        "1": "21.3", "2": "15.7", "3": "30.5", "4": "35.7", "5": "36.3", "6": "37.1", "7": "42.9",
    }  # fmt: skip
    macro = published[published["metric"] == "macro"].set_index("run")["percent"]
    assert macro.to_dict() == {"6": "39.0", "7": "43.7"}


def test_a_strict_share_is_of_the_right_answers_and_of_runs_with_a_format(table):
    rows = table[table["variant"] == ""].set_index("run")
    assert rows.loc["run1", "strict_share"] == pytest.approx(1 / 2)
    assert rows.loc["run2", "strict_share"] == pytest.approx(4 / 5)
    assert pd.isna(rows.loc["run9", "strict_share"])
    assert pd.isna(rows.loc["run9", "format_met"])


def test_a_run_whose_score_is_out_of_date_is_named(records):
    right = read_right(records)
    right |= {(MODEL, "run77"): right[MODEL, "run1"]}
    runs = [*RUNS, RUNS[0] | {"name": "run77"}]
    asked = PromptTables.of({"checkpoints": CHECKPOINTS, "runs": runs})
    with pytest.raises(UserError, match="The run run77 of"):
        prompt_runs(collected(records), right, PUBLISHED, asked)


def broken(path):
    write_json(path, {"broken": {"record": str(path), "reason": "It died.", "log": "logs/x.log"}})


def written(table, folder, of=TABLE):
    files = {kind: folder / f"{of.name}.{kind}" for kind in ("csv", "md", "tex")}
    of.write(table, ASKED, **files)
    return files


def test_a_run_that_broke_costs_its_own_row_and_no_more(table, records, tmp_path):
    broken(records[1])
    again = prompt_runs(collected(records), read_right(records), PUBLISHED, ASKED)
    written(again, tmp_path)
    read = TABLE.read(tmp_path / "prompt_runs.csv")
    assert len(read) == len(table)
    assert read.loc[1, ["run", "variant"]].tolist() == ["run2", ""]
    measured = ["n", "micro", "macro", "floor", "format_met", "pairs", "p"]
    assert read.loc[1, measured].isna().all()
    assert read.drop(index=1)["micro"].tolist() == table.drop(index=1)["micro"].tolist()
    lines = (tmp_path / "prompt_runs.md").read_text().splitlines()
    (line,) = [one for one in lines if "run2 " in one and "@" not in one]
    assert line.count("—") == 8, "its name, the model, what it changed and the published score stay"
    write_prompt_figure(read, tmp_path / "f.pdf", tmp_path / "f.png")
    parts = prompt_runs_by_subject(collected(records), ASKED)
    files = written(parts, tmp_path, by_subject.TABLE)
    head = next(line for line in files["md"].read_text().splitlines() if "run1" in line)
    assert "run2" in head
    board = prompts_tab(tmp_path / "prompt_runs.csv", files["csv"], records)
    found = {row.id: row for row in board.rows}
    assert found[f"{MODEL}/run2"].notes and not found[f"{MODEL}/run1"].notes
    assert found[f"{MODEL}/run2"].values["micro"] is None
    numbers = numbers_of(PROMPTS.values({"prompt_runs": read}))
    assert "prompts.lowest" in numbers
    modules = {"prompt_runs": "runs", "prompt_runs_by_subject": "by_subject"}
    told = {
        name: ToldTable(
            table=f"studies.prompts.{module}", request=ASKED.as_params(), chapter="prompts"
        )
        for name, module in modules.items()
    }
    csvs = [tmp_path / f"{name}.csv" for name in told]
    report = Report(tables=told, figures={})
    (chapter,), _ = chapters(numbers, csvs, [], report)
    assert [table.name for table in chapter.tables] == list(told)
    assert len(chapter.tables[0].shown.rows) == len(table)


def test_where_every_run_broke_there_are_tables_a_figure_and_a_tab(records, tmp_path):
    for path in records:
        broken(path)
    table = prompt_runs(collected(records), read_right(records), PUBLISHED, ASKED)
    csv = written(table, tmp_path)["csv"]
    parts = written(prompt_runs_by_subject(collected(records), ASKED), tmp_path, by_subject.TABLE)
    write_prompt_figure(TABLE.read(csv), tmp_path / "f.pdf", tmp_path / "f.png")
    board = prompts_tab(csv, parts["csv"], records)
    assert all(row.notes for row in board.rows)
    assert PROMPTS.values({"prompt_runs": TABLE.read(csv)}) == {}


def test_tables_and_figure_are_written_for_one_model_and_for_two(table, tmp_path):
    for name, some in (("one", table[table["variant"] == ""]), ("two", table)):
        csv, md, tex, pdf, png = (
            tmp_path / f"{name}.{kind}" for kind in ["csv", "md", "tex", "pdf", "png"]
        )
        TABLE.write(some, ASKED, csv=csv, md=md, tex=tex)
        text = md.read_text()
        assert "+37.5 to run1" in text
        assert "0.371, macro 0.390" in text
        assert ("Model" in text) == (name == "two")
        write_prompt_figure(TABLE.read(csv), pdf, png)
        first = png.read_bytes()
        write_prompt_figure(TABLE.read(csv), pdf, png)
        assert png.read_bytes() == first
        assert len(first) > 10_000


def test_by_subject_there_is_a_row_of_each_run_and_a_column_in_print(records, tmp_path):
    table = prompt_runs_by_subject(collected(records), ASKED)
    cells = table[table["variant"] == ""].set_index(["subject", "run"])
    assert cells.loc[("anatomy", "run1"), "acc"] == pytest.approx(2 / 3)
    assert cells.loc[("virology", "run2"), "n"] == 5
    assert ("virology", "part") not in cells.index
    md = written(table, tmp_path, by_subject.TABLE)["md"]
    header = next(line for line in md.read_text().splitlines() if line.startswith("| Subject"))
    assert [cell.strip() for cell in header.strip("|").split("|")] == [
        "Subject", "Model", "n", "run1", "run2", "part", "run9",
    ]  # fmt: skip
