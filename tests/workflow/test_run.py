"""Run every study once; then check reruns after a change, a deletion and an altered record."""

import json
import shutil
import subprocess
import sys

import pandas as pd
import pytest

from tests.results import read_results
from tests.workflow.snakemake import (
    ROOT,
    SMALL,
    count_jobs,
    run_snakemake,
    write_changed_config,
)
from workflow_scripts.core.records import read_record

pytestmark = pytest.mark.workflow

TABLES = (
    *("scores", "leaderboard", "agreement", "agreement_by_size", "components", "variance"),
    *("significance", "panel", "task_pair"),
)
FIGURES = [
    "scores",
    "agreement",
    "categories",
    "compute",
    "task_pair",
    "bump",
]
REPORT_RULES = ["collect_numbers", "paper_source"]
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
        "chunking": {"miniature/Qwen2-1M-Instruct"},
        "mmlu": {"miniature/Qwen2-1M-Instruct"},
        "prompts": {"miniature/Llama-1.4M-Instruct"},
        "suite": {"miniature/Pythia-0.1M"},
        "training": {"miniature/Qwen2-1M-Instruct"},
    }
    assert (folder / "results/figures/harmony_scores.png").stat().st_size > 10_000
    record = read_record(folder / RECORD)
    assert record.provenance.packages["lm_eval"] == "0.4.13"


def test_chunked_checkpoint_loads_in_new_process(finished):
    folder, _ = finished
    plans = pd.read_csv(folder / "results/tables/chunking_plans.csv").set_index("variant")
    assert list(plans.index) == ["@k2m12", "@k2m6", "@k2m12-mean", "@k0m0"]
    assert plans.loc["@k0m0", "fused_from_base"] == 0
    assert (plans["fused_from_loop"] < 1e-4).all()
    code = (
        "import sys, workflow_scripts.chunked\n"
        "from transformers import AutoModelForCausalLM, AutoTokenizer\n"
        "folder = sys.argv[1]\n"
        "ids = AutoTokenizer.from_pretrained(folder)('The fox', return_tensors='pt')\n"
        "model = AutoModelForCausalLM.from_pretrained(folder)\n"
        "print(model.generate(**ids, max_new_tokens=4, do_sample=False).shape[1])"
    )
    checkpoint = folder / "results/checkpoints/miniature--Qwen2-1M-Instruct@k2m12"
    run = subprocess.run(
        [sys.executable, "-c", code, checkpoint], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) >= 5
    base = folder / "resources/hub/models/miniature/Qwen2-1M-Instruct/model.safetensors"
    assert base.samefile(checkpoint / "base.safetensors")  # linked: no second copy on the disk


def test_plan_variant_checkpoints(copy):
    """A new variant is built and trained alone, and keeps its aggregation."""
    model = "miniature/Qwen2-1M-Instruct"
    plan = {"model": model, "num_chunks": 2, "num_layers_per_chunk": 12}
    config = write_changed_config(
        copy, chunking={"checkpoints": [plan, plan | {"aggregation_base": "none"}]}
    )
    trained = "results/training/miniature--Qwen2-1M-Instruct@k2m12-mlp.none+cpt.json"
    result = run_snakemake(copy, "results/tables/chunking_plans.csv", trained, *config)
    jobs = count_jobs(result)
    assert jobs["build_chunked"] == jobs["verify_chunked"] == jobs["train_checkpoint"] == 1
    plans = pd.read_csv(copy / "results/tables/chunking_plans.csv").set_index("variant")
    assert list(plans.index) == ["@k2m12", "@k2m12-mlp.none"]
    assert plans["plan"].nunique() == 1 and plans["fused_from_base"].nunique() == 2
    for variant, base in (("", "residual"), ("-mlp.none", "none"), ("-mlp.none+cpt", "none")):
        folder = f"results/checkpoints/miniature--Qwen2-1M-Instruct@k2m12{variant}"
        assert json.loads((copy / folder / "config.json").read_text())["aggregation_base"] == base


def test_chunking_tables_and_figures_are_written(finished):
    folder, _ = finished
    for name in ("perplexity", "latency", "pruning"):
        assert len(pd.read_csv(folder / f"results/tables/chunking_{name}.csv")) >= 2
    for name in ("perplexity", "latency", "quality"):
        assert (folder / f"results/figures/chunking_{name}.png").stat().st_size > 10_000


def test_harmony_tables_and_figures_are_written(
    finished,
):
    folder, _ = finished
    for name in TABLES:
        assert len(pd.read_csv(folder / f"results/tables/harmony_{name}.csv")) >= 1
    for name in FIGURES:
        assert (folder / f"results/figures/harmony_{name}.png").stat().st_size > 5_000
    panel = pd.read_csv(folder / "results/tables/harmony_panel.csv")
    assert set(panel["model"]) == set(HARMONY_MODELS)
    assert panel["tasks"].eq(2).all()
    significance = pd.read_csv(folder / "results/tables/harmony_significance.csv")
    for protocol in ("direct", "train_before_test"):
        errors = significance.loc[significance["protocol"] == protocol, "stderr"]
        assert len(errors) == 3 and (errors > 0).all()


def test_imported_leaderboard_keeps_its_ranking(copy):
    leaderboard = "resources/published/harmony_leaderboard.csv"
    target = "results/tables/harmony_leaderboard.csv"
    config = write_changed_config(copy, harmony={"imported_scores": [leaderboard]})
    result = run_snakemake(copy, target, *config)
    assert result.returncode == 0, result.stdout + result.stderr
    table = pd.read_csv(copy / target)
    trained = table[table["protocol"] == "train_before_test"]
    imported = trained[trained["origin"] == "harmony_leaderboard"].set_index("model")
    reference = pd.read_csv(ROOT / leaderboard, index_col="model")
    assert (imported["pc1"] - reference["pc1"]).abs().max() < 0.1
    assert {"direct", "train_before_test"} <= set(table.loc[table["origin"] == "own", "protocol"])


def test_explain_training(copy):
    config = [*SMALL, "--config", "explain=arc_easy/2"]
    result = run_snakemake(copy, "explain_training", *config)
    assert result.returncode == 0, result.stdout + result.stderr
    assert count_jobs(result) == {"explain_training": 1}
    llama, pythia = (copy / "results/explained_training.txt").read_text().split("\n==== ")
    assert llama.startswith("==== miniature/Llama-1.4M: arc_easy, item 2 ====")
    assert llama.count("'<|begin_of_text|>'") == 2
    assert "'<|begin_of_text|>'" not in pythia


def test_second_run_has_no_jobs(finished, tmp_path):
    """The temporary folder is another one: no parameter may hold it."""
    folder, _ = finished
    before = read_results(folder)
    result = run_snakemake(folder, *SMALL, TMPDIR=str(tmp_path))
    assert result.returncode == 0
    assert "Nothing to be done" in result.stdout + result.stderr
    assert read_results(folder) == before


def test_deleted_record_reruns_its_users_alone(copy):
    (copy / RECORD).unlink()
    jobs = count_jobs(run_snakemake(copy, *SMALL, "-n"))
    users = ("evaluate_direct", "collect_scores", "merge_scores", "build_grid", "leaderboard_table")
    assert [jobs[rule] for rule in (*users, *REPORT_RULES)] == [1] * (
        len(users) + len(REPORT_RULES)
    )
    other_rules = (
        "train_before_test",
        "evaluate_mmlu",
        "ask_prompt_run",
        "mmlu_by_subject",
        "releases",
    )
    assert not set(other_rules) & set(jobs)


def test_single_table_needs_one_job(copy):
    shutil.rmtree(copy / "results/tables")
    (copy / "results/scores.parquet").unlink()
    jobs = count_jobs(run_snakemake(copy, *SMALL, "-n", "results/tables/harmony_agreement.md"))
    assert jobs == {"agreement": 1}


# By changed keys: jobs that run again, with their number, and rules that do not.
CHANGES = [
    (
        {"chunking": {"measures": {"stride": 64}}},
        {"measure_perplexity": 1},
        {"measure_latency", "build_chunked", "evaluate_direct"},
    ),
    ({"harmony": {"max_test_items": 8}}, {"evaluate_direct": 4}, {"build_world"}),
    # Snakemake compares parameters as a set of values: a new 1 vanishes beside another 1.
    ({"harmony": {"max_test_items": 1}}, {"evaluate_direct": 4}, set()),
    ({"compute": {"threads": 2}}, {"evaluate_direct": 4}, set()),
    ({"compute": {"batch_size": 1}}, {"evaluate_direct": 4}, set()),
    ({"compute": {"dtype": "bfloat16"}}, {"evaluate_direct": 4}, set()),
    ({"seed": 1}, {"evaluate_direct": 4, "train_before_test": 4}, {"build_world"}),
    ({"miniature": {"items": 20}}, {"build_world": 1, "evaluate_direct": 4}, set()),
    (
        {"harmony": {"models": [*HARMONY_MODELS, "miniature/Qwen2-0.2M"]}},
        {"place_miniature_model": 1, "train_before_test": 2},
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
    assert not ({"place_miniature_model", *unchanged} - set(rerun)) & set(jobs)


def test_retrain_miniature_plans_eight_trainings(tmp_path):
    jobs = count_jobs(run_snakemake(tmp_path, "retrain_miniature", "-n"))
    assert jobs == {
        "build_world": 1,
        "build_corpus": 1,
        "train_miniature_model": 8,
        "retrain_miniature": 1,
    }


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
    assert RECORD in output and "n = 17" in output
    assert "Traceback" not in output
