"""MMLU of chunked checkpoints as their authors put them on the hub, by the config of the repository."""

import pandas as pd
import pytest

from tests.workflow.real_configs import serve_real_config
from tests.workflow.snakemake import ROOT, count_jobs, run_snakemake
from tests.workflow.stand_in_hub import CHUNKED
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_complete_record

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
BASELINE = "Qwen/Qwen2.5-0.5B-Instruct"


def test_published_checkpoints_mmlu(tmp_path):
    with serve_real_config("published_checkpoints", tmp_path) as (arguments, environment, _):
        result = run_snakemake(tmp_path, "mmlu", *arguments, **environment)
    assert result.returncode == 0, result.stdout + result.stderr
    jobs = count_jobs(result)
    assert (jobs["fetch_model"], jobs["evaluate_mmlu"]) == (4, 4)
    loglikelihoods = set()
    for model in (BASELINE, *CHUNKED):
        path = tmp_path / f"results/records/mmlu/few_shot/{model.replace('/', '--')}/mmlu_helm.json"
        record = read_complete_record(path)
        assert record.request["prompt"] == "published" and record.items.n == 57
        items = read_items(path.with_suffix(".parquet")).to_pylist()
        loglikelihoods.add(str([item["loglikelihoods"] for item in items]))
    assert len(loglikelihoods) == 4, "each has weights of its own"

    table = pd.read_csv(tmp_path / "results/tables/mmlu_by_subject.csv")
    table = table[table["subject"] == "virology"].set_index("model")
    expected = {BASELINE: "mmlu_baseline"} | {
        model: f"mmlu_k2m{layers}_cpt_sft" for model, layers in CHUNKED.items() if layers
    }
    for model, name in expected.items():
        published = pd.read_csv(ROOT / f"resources/published/{name}.csv").set_index("task")
        value = published.loc["helm:mmlu:virology:5", "value"]
        assert table.loc[model, "published_qem"] == pytest.approx(value)
