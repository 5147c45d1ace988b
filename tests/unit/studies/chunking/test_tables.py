"""Tables of the chunking study from scores with known numbers."""

import pandas as pd
import pytest

from workflow_scripts.core.errors import UserError
from workflow_scripts.scores.tidy import COLUMNS
from workflow_scripts.studies.chunking.latency import latency_table, write_latency_figure
from workflow_scripts.studies.chunking.perplexity import (
    perplexity_table,
    write_perplexity_figure,
    write_perplexity_table,
)
from workflow_scripts.studies.chunking.plans import plans_table, write_plans_table
from workflow_scripts.studies.chunking.pruning import pruning_table, write_pruning_figure


def row(protocol, task, varied, metric, value, stderr=None, n=4):
    return {
        **dict.fromkeys(COLUMNS),
        "study": "chunking",
        "model": "org/name",
        "variant": "",
        "protocol": protocol,
        "task": task,
        **varied,
        "metric": metric,
        "value": value,
        "stderr": stderr,
        "n": n,
    }


def perplexities(task, plans, **varied):
    return [
        one
        for (plan, aggregation), value in plans.items()
        for under in [{"plan": plan, "aggregation": aggregation, **varied}]
        for one in (
            row("perplexity", task, under, "perplexity", value, value / 10),
            row("perplexity", task, under, "bits_per_byte", 1.5),
        )
    ]


def latencies(plan, aggregation=None, **ways):
    return [
        one
        for way, seconds in ways.items()
        for under in [{"plan": plan, "aggregation": aggregation, "way": way, "batch": 2}]
        for kind in ("prefill", "token")
        for one in (
            row("latency", "latency", under, f"{kind}_seconds", seconds),
            row("latency", "latency", under, f"{kind}_seconds_spread", 0.001),
        )
    ]


@pytest.fixture
def scores():
    rows = [
        *perplexities(
            "wikitext",
            {("k0m0", None): 10.0, ("k2m12-sequential", "mean"): 400.0, ("prune3-5", None): 30.0},
        ),
        *perplexities(
            "magpie",
            {("k0m0", None): 5.0, ("k2m12-sequential", "mean"): 20.0},
            difficulty="easy",
        ),
        *latencies("k2m12", "residual", unchanged=0.4, fused=0.1, loop=0.5),
        *latencies("prune3-5", unchanged=0.4, loop=0.2),
    ]
    return pd.DataFrame(rows).astype(COLUMNS)


def test_perplexity_is_set_beside_the_unchanged_model(scores, tmp_path):
    table = perplexity_table(scores)
    assert list(table["plan"]) == ["k0m0", "k2m12-sequential"] * 2
    assert list(table["chunks"]) == [1, 2, 1, 2]
    assert list(table["ratio"]) == [1, 4, 1, 40]
    assert list(dict.fromkeys(table["task"])) == ["magpie (easy)", "wikitext"]
    files = [tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex")]
    write_perplexity_table(table, *files)
    assert "400 ± 40" in files[1].read_text()
    again = pd.read_csv(files[0])
    write_perplexity_figure(again, tmp_path / "f.pdf", tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 5000


def test_latency_is_compared_with_what_took_turns_with_it(scores, tmp_path):
    table = latency_table(scores).set_index("way")
    assert table.loc["fused", "token_faster"] == pytest.approx(4)
    assert table.loc["loop", "token_faster"] == pytest.approx(0.8)
    assert (table["layers_per_chunk"] == 12).all() and (table["batch"] == 2).all()
    write_latency_figure(table.reset_index(), tmp_path / "f.pdf", tmp_path / "f.png")


def test_pruning_joins_perplexity_and_time(scores, tmp_path):
    table = pruning_table(scores, scores).set_index("left_out")
    assert table.loc["3, 5", "perplexity"] == 30
    assert table.loc["3, 5", "prefill_faster"] == pytest.approx(2)
    assert pd.isna(table.loc["", "prefill_seconds"])
    write_pruning_figure(table.reset_index(), tmp_path / "f.pdf", tmp_path / "f.png")


def test_plans_are_shown_with_what_they_hold(tmp_path):
    report = {
        "checkpoint": "org/name@k2m1",
        "base": "org/name",
        "plan": "0 → [1 | 2] → 3",
        "depth": 3,
        "layers": 4,
        "parameters": 1200,
        "base_parameters": 1000,
        "new_parameters": 200,
        "fused_from_loop": 1e-7,
        "fused_from_base": 0.0,
        "dtype": "float32",
        "device": "cpu",
    }
    files = [tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex")]
    write_plans_table(plans_table([report]), *files)
    (line,) = [line for line in files[1].read_text().splitlines() if "@k2m1" in line]
    assert "0 → [1 \\| 2] → 3" in line and "1,200" in line


def test_a_study_without_measures_says_which_rule_makes_them(scores):
    with pytest.raises(UserError, match="measure_latency"):
        latency_table(scores[scores["protocol"] == "perplexity"])
