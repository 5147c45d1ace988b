"""Test the table and figure of MMLU by subject, also with failed cells."""

import pandas as pd
import pytest

from tests.records import make_scores
from workflow_scripts.render.tables import read_markdown, read_table
from workflow_scripts.studies.chunking.chapter import get_mmlu_numbers
from workflow_scripts.studies.mmlu.by_subject import METRICS, main

MODEL = "org/net"
CHECKPOINTS = {MODEL: "base", f"{MODEL}@k2m6+cpt": None}
PUBLISHED = {
    "task": ["all", "helm:mmlu:_average:5", "helm:mmlu:anatomy:5"],
    "metric": "qem",
    "value": [0.3, 0.3, 0.25],
    "stderr": [0.03, 0.03, 0.04],
}


def make_score(metric, value, subset=None, variant="", stderr=0.05, baseline=0.3):
    row = {"study": "mmlu", "model": MODEL, "variant": variant, "task": "mmlu_helm"}
    row |= {"protocol": "few_shot", "metric": metric, "value": value, "subset": subset}
    return row | {"stderr": stderr, "n": 12, "baseline": baseline, "chance": 0.25}


ROWS = [
    *(make_score(metric, 0.5) for metric in METRICS),
    *(make_score(f"{metric}_macro", 0.4) for metric in METRICS),
    make_score("em", 0.1, "anatomy"),
    make_score("qem", 0.2, "anatomy"),
    make_score("acc", 0.45, "anatomy"),
    make_score("qem", 1.0, "law", stderr=0.0),
    make_score("em", 0.0, "law", stderr=0.0),
    make_score("format_met", 0.9, stderr=None, baseline=None),
    make_score("qem", 0.35, "anatomy", variant="@k2m6+cpt"),
]


@pytest.fixture
def make_files(tmp_path):
    def make(rows) -> dict:
        make_scores(rows).to_parquet(tmp_path / "scores.parquet")
        pd.DataFrame(PUBLISHED).to_csv(tmp_path / "base.csv", index=False)
        files = {kind: tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex", "pdf", "png")}
        paths = list(files.values())
        published = [tmp_path / "base.csv"]
        main(tmp_path / "scores.parquet", published, paths[:3], paths[3:], CHECKPOINTS)
        return files

    return make


def test_rows_by_subject_and_checkpoint(make_files):
    files = make_files(ROWS)
    table = read_table(files["csv"])
    assert table["subject"].tolist() == [
        name for name in ("micro", "macro", "anatomy", "law") for _ in CHECKPOINTS
    ]
    micro, _, macro, _, anatomy, chunked, law, absent = table.to_dict("records")
    assert (micro["qem"], macro["qem"], anatomy["qem"], chunked["qem"]) == (0.5, 0.4, 0.2, 0.35)
    assert (anatomy["em"], anatomy["acc"], anatomy["n"], anatomy["baseline"]) == (
        0.1,
        0.45,
        12,
        0.3,
    )
    assert (law["qem"], law["em"]) == (1, 0)
    assert all(pd.isna(absent[key]) for key in ("qem", "n", "baseline", "published_qem"))
    assert (anatomy["published_qem"], anatomy["published_qem_stderr"]) == (0.25, 0.04)
    assert macro["published_qem"] == 0.3 and pd.isna(macro["published_qem_stderr"])
    assert pd.isna(micro["published_qem"]) and pd.isna(chunked["published_qem"])


def test_failed_checkpoint_keeps_its_rows(make_files):
    files = make_files([row for row in ROWS if not row["variant"]])
    rows = read_markdown(files["md"]).rows
    (cells,) = [row[2:] for row in rows if "macro" in row[0] and "@k2m6+cpt" in row[1]]
    assert set(cells) == {"—"}
    numbers = get_mmlu_numbers(read_table(files["csv"]))
    assert numbers["mmlu.models"] == 1
