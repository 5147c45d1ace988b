"""The sums over all jobs, and that a person can read them."""

import csv
import io

import pytest

from workflow_scripts.planning.jobs import PlannedJob, study_of
from workflow_scripts.planning.needs import Need
from workflow_scripts.planning.plan import as_csv, as_text, longest_chain, rows
from workflow_scripts.planning.wording import clock
from workflow_scripts.settings.cluster import Cluster

_OWN = ("outputs", "model", "retries", "assumed")


def job(rule, seconds, *after, study="harmony", gpus=0, done=False, **fields):
    """What is no field of a job is one of its need."""
    own = {name: fields.pop(name) for name in _OWN if name in fields}
    return PlannedJob(
        rule=rule,
        study=study,
        need=Need(seconds, **{"mem_mb": 1_000, "gpus": gpus} | fields),
        asked_minutes=30,
        threads=4,
        is_done=done,
        log=None,
        after=after,
        **{"outputs": (f"{rule}.json",)} | own,
    )


JOBS = [
    job("fetch_model", 100, study="hub", download_mb=2_000, disk_mb=2_000),
    job("evaluate_direct_1", 3_600, 0, gpus=1, mem_mb=8_000, gpu_mb=20_000, done=True),
    job("evaluate_direct_2", 7_200, 0, gpus=1, mem_mb=9_000, gpu_mb=30_000),
    job("train_checkpoint", 3_600, 0, gpus=4, gpu_mb=70_000),
    job("table_harmony_scores", 10, 1, 2),
    job("figure_harmony_scores", 10, 4),
    job("all", 0, 3, 5, study="all", mem_mb=0),
]


def test_packs_are_one_row_and_so_are_tables_and_figures():
    table = {(row["study"], row["rule"]): row for row in rows(JOBS)}
    assert list(table) == [
        ("hub", "fetch_model"),
        ("harmony", "evaluate_direct"),
        ("harmony", "train_checkpoint"),
        ("harmony", "tables, figures"),
    ]
    packs = table["harmony", "evaluate_direct"]
    assert (packs["jobs"], packs["done"], packs["gpus"]) == (2, 1, 1)
    assert packs["gpu_hours"] == pytest.approx(3)  # added up
    assert packs["cpu_hours"] == pytest.approx(12)
    assert (packs["mem_gb"], packs["gpu_gb"]) == (9, 30)  # the largest
    assert packs["longest_hours"] == 2
    assert table["harmony", "train_checkpoint"]["gpu_hours"] == 4
    assert table["hub", "fetch_model"]["download_gb"] == 2


def test_the_longest_chain_is_the_slowest_way_and_not_the_sum():
    seconds, way = longest_chain(JOBS)
    assert seconds == 100 + 7_200 + 10 + 10
    assert [one.rule for one in way if one.need.mem_mb] == [
        "fetch_model",
        "evaluate_direct_2",
        "table_harmony_scores",
        "figure_harmony_scores",
    ]
    assert longest_chain([]) == (0, [])


def test_the_text_fits_a_hundred_columns_and_has_what_one_asks_for():
    text = as_text(JOBS, Cluster())
    assert max(map(len, text.splitlines())) <= 100
    assert "GPU hours on A100-80GB: 7.0 expected, 6.0 still to come." in text
    assert "4 x 70 GB" in text
    assert "fetch_model > evaluate_direct > tables, figures" in text
    assert "2 h 02" in text
    assert "Jobs reserve 3.0 together" in text  # four GPUs and two of one, half an hour each
    assert "GPU" not in as_text(JOBS[:1], Cluster()).split("\n", 2)[2]


def test_the_csv_has_a_line_a_row():
    table = list(csv.DictReader(io.StringIO(as_csv(rows(JOBS)))))
    assert [row["rule"] for row in table][:2] == ["fetch_model", "evaluate_direct"]
    assert table[1]["gpu_hours"] == "3.0"


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.001, "4 s"), (0.5, "30 min"), (2.5, "2 h 30"), (1.999, "2 h 00"), (30, "30 h 00")],
)
def test_hours_are_said_as_people_say_them(value, said):
    assert clock(value) == said


def test_a_rule_belongs_to_the_study_that_its_file_is_named_after():
    assert study_of("/somewhere/rules/harmony_corpora.smk", {}) == "harmony"
    assert study_of("rules/paper.smk", {}) == study_of("Snakefile", {}) == "all"
    assert study_of("rules/cells.smk", {"row": "a--b~float32"}) == "suite"
    assert study_of("rules/cells.smk", {"checkpoint": "a--b"}) == "harmony"


def test_a_table_or_a_page_belongs_to_the_study_that_declares_it():
    wildcards = {"table": "training_stages"}
    assert study_of("rules/products.smk", wildcards, "training") == "training"
    assert study_of("rules/products.smk", {"page": "index"}, "paper") == "all"
