"""The table and figure of MMLU: each number in its place, and what is not there left empty."""

import pandas as pd
import pytest

from tests.records import make_scores
from workflow_scripts.core.errors import UserError
from workflow_scripts.render.tables import read_markdown, read_table
from workflow_scripts.studies.mmlu.by_subject import (
    compute_by_subject,
    main,
)
from workflow_scripts.studies.mmlu.numbers import mmlu_numbers

MODEL = "org/net"
CHECKPOINTS = {MODEL: "base", f"{MODEL}@k2m6+cpt": None}
PUBLISHED = {
    "base": pd.DataFrame(
        {
            "task": ["all", "helm:mmlu:_average:5", "helm:mmlu:anatomy:5"],
            "metric": "qem",
            "value": [0.3, 0.3, 0.25],
            "stderr": [0.03, 0.03, 0.04],
        }
    )
}


def score(metric, value, subset=None, variant="", stderr=0.05, floor=0.3):
    row = {"study": "mmlu", "model": MODEL, "variant": variant, "task": "mmlu_helm"}
    row |= {"protocol": "few_shot", "metric": metric, "value": value, "subset": subset}
    return row | {"stderr": stderr, "n": 12, "floor": floor, "chance": 0.25}


ROWS = [
    *(score(metric, 0.5) for metric in ("em", "qem", "acc")),
    *(score(f"{metric}_macro", 0.4) for metric in ("em", "qem", "acc")),
    score("em", 0.1, "anatomy"),
    score("qem", 0.2, "anatomy"),
    score("acc", 0.45, "anatomy"),
    score("qem", 1.0, "law", stderr=0.0),
    score("em", 0.0, "law", stderr=0.0),
    score("format_met", 0.9, stderr=None, floor=None),
    score("qem", 0.35, "anatomy", variant="@k2m6+cpt"),
]


@pytest.fixture
def table():
    return compute_by_subject(make_scores(ROWS), CHECKPOINTS, PUBLISHED)


def test_one_row_for_each_subject_and_checkpoint_the_averages_first(table):
    assert table["subject"].tolist() == [
        name for name in ("micro", "macro", "anatomy", "law") for _ in CHECKPOINTS
    ]
    micro, _, macro, _, anatomy, chunked, law, absent = table.to_dict("records")
    assert (micro["qem"], macro["qem"], anatomy["qem"], chunked["qem"]) == (0.5, 0.4, 0.2, 0.35)
    assert (anatomy["em"], anatomy["acc"], anatomy["n"], anatomy["floor"]) == (0.1, 0.45, 12, 0.3)
    at_floor = (0.3 * 0.7 / 12) ** 0.5  # the error of a model that is at the floor
    assert anatomy["acc_z"] == pytest.approx(0.15 / at_floor)
    assert law["qem_z"] == pytest.approx(0.7 / at_floor)
    assert law["em_z"] == pytest.approx(-0.3 / at_floor)
    assert all(pd.isna(absent[key]) for key in ("qem", "n", "floor", "published_qem"))
    assert (anatomy["published_qem"], anatomy["published_stderr"]) == (0.25, 0.04)
    assert macro["published_qem"] == 0.3
    assert pd.isna(macro["published_stderr"]), "what was printed there is another quantity"
    assert pd.isna(micro["published_qem"]) and pd.isna(chunked["published_qem"])


def write_outputs(folder, scores) -> dict:
    """Run the script on scores; return its output files by their endings."""
    make_scores(scores).to_parquet(folder / "scores.parquet")
    PUBLISHED["base"].to_csv(folder / "base.csv", index=False)
    files = {kind: folder / f"t.{kind}" for kind in ("csv", "md", "tex", "pdf", "png")}
    table, figure = [list(files.values())[part] for part in (slice(3), slice(3, 5))]
    main(folder / "scores.parquet", [folder / "base.csv"], table, figure, CHECKPOINTS)
    return files


def test_the_table_is_readable_and_its_csv_exact(table, tmp_path):
    files = write_outputs(tmp_path, ROWS)
    again = read_table(files["csv"])
    pd.testing.assert_frame_equal(again, table, check_dtype=False)
    text = files["md"].read_text()
    assert "| all questions (micro)        | org/net " in text
    for cell in ("0.450 ± 0.050", "+1.1", "0.250 ± 0.040"):
        assert cell in text
    assert "∞" not in text
    assert r"\toprule" in files["tex"].read_text()


def test_a_score_twice_is_refused():
    with pytest.raises(UserError, match="several scores em of org/net in the study mmlu"):
        compute_by_subject(make_scores([*ROWS, score("em", 0.2)]), CHECKPOINTS, PUBLISHED)


@pytest.mark.parametrize("variants", [[""], []])
def test_a_checkpoint_whose_cell_is_broken_keeps_its_place(variants, tmp_path):
    files = write_outputs(tmp_path, [row for row in ROWS if row["variant"] in variants])
    shown = read_markdown(files["md"])
    (last,) = [row for row in shown.rows if "macro" in row[0] and "@k2m6+cpt" in row[1]]
    assert set(last[2:]) == {"—"}
    assert files["png"].stat().st_size > 5000
    numbers = mmlu_numbers(read_table(files["csv"]))
    assert numbers.get("mmlu.models") == (1 if variants else None)
