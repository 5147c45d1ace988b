"""Test a run of every study, and reruns after a config change, a deletion and an altered record."""

import json

import pandas as pd
import pytest

from tests.results import read_results
from tests.workflow.snakemake import (
    SMALL,
    count_jobs,
    run_snakemake,
    write_changed_config,
)
from workflow_scripts.core.records import read_record

pytestmark = pytest.mark.workflow

HARMONY_MODELS = ["miniature/Llama-1.4M", "miniature/Pythia-0.1M"]
RECORD = "results/records/harmony/direct/miniature--Llama-1.4M/mnli.json"


def test_run_scores_every_cell(finished):
    folder, result = finished
    assert "results/report/index.html: " in result.stdout + result.stderr
    table = pd.read_csv(folder / "results/tables/harmony_scores.csv")
    assert len(table) == 4
    assert table["value"].between(0, 1).all()
    assert (table["n"] == 16).all()
    assert table["changed"].between(0, 1).all() and (table["steps"] > 0).all()
    scores = pd.read_csv(folder / "results/scores.csv")
    by_study = scores.groupby("study")["model"].agg(set).to_dict()
    assert by_study == {
        "harmony": set(HARMONY_MODELS),
        "corpora": set(HARMONY_MODELS),
        "chunking": {"miniature/Qwen2-1M-Instruct"},
        "mmlu": {"miniature/Qwen2-1M-Instruct"},
        "prompts": {"miniature/Llama-1.4M-Instruct"},
        "suite": {"miniature/Pythia-0.1M"},
        "training": {"miniature/Qwen2-1M-Instruct"},
    }
    assert (folder / "results/figures/harmony_scores.png").stat().st_size > 10_000
    record = read_record(folder / RECORD)
    assert record.provenance.packages["lm_eval"] == "0.4.13"


def test_chunked_checkpoints(finished):
    folder, _ = finished
    plans = pd.read_csv(folder / "results/tables/chunking_plans.csv").set_index("variant")
    assert list(plans.index) == ["@k2m12", "@k2m6", "@k0m0"]
    assert plans.loc["@k0m0", "fused_from_base"] == 0
    assert (plans["fused_from_loop"] < 1e-4).all()
    base = folder / "resources/hub/models/miniature/Qwen2-1M-Instruct/model.safetensors"
    linked = "results/checkpoints/miniature--Qwen2-1M-Instruct@k2m12/base.safetensors"
    assert base.samefile(folder / linked)  # hard-linked, without a second copy


def test_explain_training(copy):
    config = [*SMALL, "--config", "explain=arc_easy/2"]
    result = run_snakemake(copy, "explain_training", *config)
    assert result.returncode == 0, result.stdout + result.stderr
    assert count_jobs(result) == {"explain_training": 1}
    assert "Llama-1.4M: arc_easy, item 2" in (copy / "results/explained_training.txt").read_text()


def test_second_run_has_no_jobs(finished, tmp_path):
    """A second run has another TMPDIR, which no parameter may contain."""
    folder, _ = finished
    before = read_results(folder)
    result = run_snakemake(folder, *SMALL, TMPDIR=str(tmp_path))
    assert result.returncode == 0
    assert "Nothing to be done" in result.stdout + result.stderr
    assert read_results(folder) == before


# Changed keys, the rules that run again with their numbers of jobs, and rules that do not.
CHANGES = [
    (
        {"chunking": {"measures": {"stride": 64}}},
        {"measure_perplexity": 1},
        {"measure_latency", "build_chunked", "evaluate_direct"},
    ),
    # Snakemake compares params as a set of values, and would miss a new 1 if another param is 1.
    ({"harmony": {"max_test_items": 1}}, {"evaluate_direct": 2}, set()),
    ({"compute": {"threads": 2}}, {"evaluate_direct": 2}, set()),
    ({"seed": 1}, {"evaluate_direct": 2, "train_before_test": 2}, {"build_world"}),
    (
        {"harmony": {"models": [*HARMONY_MODELS, "miniature/Qwen2-0.2M"]}},
        {"evaluate_few_shot": 1, "measure_corpus": 1},
        {"build_world"},
    ),
]


@pytest.mark.parametrize(
    ("changes", "rerun", "unchanged"), CHANGES, ids=[str(changes) for changes, *_ in CHANGES]
)
def test_changed_key_reruns_its_users_alone(finished, tmp_path, changes, rerun, unchanged):
    folder, _ = finished
    jobs = count_jobs(run_snakemake(folder, *write_changed_config(tmp_path, **changes), "-n"))
    assert {rule: jobs.get(rule) for rule in rerun} == rerun
    assert not unchanged & set(jobs)


def test_served_cells(tmp_path):
    """The cells of a served model wait for its description."""
    model = "miniature/Qwen2-0.2M"
    changes = {
        "served": {model: {"endpoint": "http://127.0.0.1:9/v1"}},
        "harmony": {"models": [model], "protocols": ["direct"], "tasks": ["sst2"]},
    }
    config = ["--configfile", write_changed_config(tmp_path, **changes)[-1]]
    jobs = count_jobs(run_snakemake(tmp_path, "results/scores/harmony.parquet", "-n", *config))
    served = ["describe_served_model", "evaluate_direct", "collect_scores"]
    assert jobs == dict.fromkeys(["build_world", *served], 1)


def test_touched_hub_file_reruns_nothing(copy):
    for path in (copy / "resources/hub").rglob("*"):
        path.touch()
    result = run_snakemake(copy, *SMALL, "-n")
    assert "Nothing to be done" in result.stdout + result.stderr


def test_altered_record_fails_collection(copy):
    fields = json.loads((copy / RECORD).read_text())
    fields["metrics"][0]["n"] += 1
    (copy / RECORD).write_text(json.dumps(fields))
    result = run_snakemake(copy, *SMALL)
    output = result.stdout + result.stderr
    assert result.returncode != 0
    assert RECORD in output and "was altered" in output
    assert "Traceback" not in output
