"""The recovery study, end to end: cut, trained back step by step, measured, one table and one figure."""

import pandas as pd
import pytest

from tests.workflow.snakemake import ROOT, jobs_of, run_snakemake
from workflow_scripts.core.training_record import read_training_record

pytestmark = pytest.mark.workflow
CONFIG = ["--configfile", str(ROOT / "tests/workflow/recovery.yaml")]
CUTS = ("k2m6-residual-noadapters-distil.logits", "prune18-19-20-21-22-23-distil.logits")


def test_each_cut_is_trained_back_and_stands_beside_the_model(tmp_path):
    result = run_snakemake(tmp_path, "recovery", *CONFIG)
    assert result.returncode == 0, result.stdout + result.stderr
    table = pd.read_csv(tmp_path / "results/tables/recovery.csv")
    measures = ["magpie (easy)", "wikitext", "arc_easy", "mmlu (likeliest letter)"]
    assert list(dict.fromkeys(table["measure"])) == measures
    assert (
        len(table) == 4 * (1 + 2 + 2 * 3) and not table[["value", "kept", "n"]].isna().any().any()
    )
    text = table[table["measure"] == "wikitext"].set_index("variant")
    control = text[text["plan"] == "k0m0"]
    assert list(control["tokens"]) == [0, 2048, 4096] and set(control["faster"]) == {1.0}
    for cut in CUTS:
        tokens = text.loc[[f"@{cut}", *(f"@{cut}+recovery.{n}k" for n in (2, 4))], "tokens"]
        assert list(tokens) == [0, 2048, 4096]
        assert text.loc[f"@{cut}+recovery.4k", "kept"] > text.loc[f"@{cut}", "kept"]
        assert text.loc[f"@{cut}", "faster"] > 1
    for cut in CUTS:
        record = f"results/training/miniature--Qwen2-1M-Instruct@{cut}+recovery"
        longer = read_training_record(tmp_path / f"{record}.4k.json")
        assert longer.speed.went_on_from_step == 4 and longer.facts["steps"] == 8
    assert (tmp_path / "results/figures/recovery.png").is_file()
    # A still longer one trains what is missing, and makes nothing again.
    (tmp_path / "longer.yaml").write_text("training: {recovery_tokens: [2, 4, 6]}\n")
    more = run_snakemake(tmp_path, "-n", "recovery", *CONFIG, "longer.yaml")
    jobs = jobs_of(more)
    assert jobs["train_checkpoint"] == 3 and "build_chunked" not in jobs
    assert jobs["evaluate_direct"] == jobs["evaluate_mmlu"] == 3
    # The study of trainings has other trainings, of which this config has none.
    assert "train_checkpoint" not in jobs_of(
        run_snakemake(tmp_path, "-n", "training", *CONFIG, "longer.yaml")
    )
