"""Test collecting tidy scores from records."""

from tests.records import collect, write_example
from workflow_scripts.scores.columns import COLUMNS


def test_metric_rows_have_baselines(tmp_path):
    write_example(tmp_path / "a.json", model="miniature/Llama-1.4M", value=0.75)
    write_example(tmp_path / "b.json", model="org/net@k2m12+cpt+sft", value=0.25, seed=3)
    scores, _ = collect([tmp_path / "b.json", tmp_path / "a.json"])
    assert list(scores.columns) == list(COLUMNS)
    # The baseline is the maximum of chance (0.5) and the best constant answer (0.45).
    shown = scores[["model", "variant", "value", "n", "protocol", "baseline", "seed"]]
    assert shown.to_numpy().tolist() == [
        ["miniature/Llama-1.4M", "", 0.75, 4, "direct", 0.5, 0],
        ["org/net", "@k2m12+cpt+sft", 0.25, 4, "direct", 0.5, 3],
    ]
