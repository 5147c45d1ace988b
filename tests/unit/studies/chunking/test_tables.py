"""Tables of the chunking study from scores with known numbers."""

import pandas as pd
import pytest

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.scores.tidy import COLUMNS
from workflow_scripts.settings.request import Nothing
from workflow_scripts.studies.chunking import (
    latency,
    perplexity,
    plans,
    precisions,
    pruning,
    summary,
)
from workflow_scripts.studies.chunking.chapter import CHUNKING
from workflow_scripts.studies.chunking.latency import latency_table, write_latency_figure
from workflow_scripts.studies.chunking.perplexity import perplexity_table, write_perplexity_figure
from workflow_scripts.studies.chunking.plans import plans_table
from workflow_scripts.studies.chunking.pruning import pruning_table, write_pruning_figure
from workflow_scripts.studies.chunking.requests import MeasuredModels, SizedCheckpoints

TEXTS = ("magpie (easy)", "wikitext")
PLAIN = "org/name@k2m12-residual-noadapters"  # the layers alone
ONE = MeasuredModels(models=["org/name"], texts=TEXTS)
TWO = MeasuredModels(models=["org/name", "org/other"], texts=TEXTS)


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


def perplexities(task, difficulty, *measured):
    return [
        one
        for plan, aggregation, value in measured
        for varied in [{"plan": plan, "aggregation": aggregation, "difficulty": difficulty}]
        for one in (
            row("perplexity", task, varied, "perplexity", value, value / 10),
            row("perplexity", task, varied, "bits_per_byte", 1.5),
        )
    ]


def latencies(plan, aggregation, adapters=None, devices=None, precision=None, **ways):
    of = {"plan": plan, "aggregation": aggregation, "adapters": adapters}
    of |= {"devices": devices, "precision": precision}
    return [
        one
        for way, seconds in ways.items()
        for varied in [{**of, "way": way, "batch": 2}]
        for kind in ("prefill", "token")
        for one in (
            row("latency", "latency", varied, f"{kind}_seconds", seconds),
            row("latency", "latency", varied, f"{kind}_seconds_spread", 0.001),
        )
    ]


@pytest.fixture
def scores():
    rows = [
        *perplexities(
            *("wikitext", None, ("k0m0", None, 10.0), ("prune3-5", None, 30.0)),
            *(("k2m12-sequential", "mean", 400.0), ("k2m12-sequential", "residual", 40.0)),
        ),
        *perplexities("magpie", "easy", ("k0m0", None, 5.0), ("k2m12-sequential", "mean", 20.0)),
        *latencies("k2m12", "residual", unchanged=0.4, fused=0.1, loop=0.5),
        *latencies("prune3-5", None, unchanged=0.4, loop=0.2),
    ]
    return pd.DataFrame(rows).astype(COLUMNS)


def written(described, table, asked, folder):
    """The table read again, and as people read it."""
    files = {kind: folder / f"t.{kind}" for kind in ("csv", "md", "tex")}
    described.write(table, asked, **files)
    again = described.read(files["csv"])
    pd.testing.assert_frame_equal(again, table, check_dtype=True)
    assert described.shown(again, asked) == described.shown(table, asked)
    return again, files["md"].read_text()


def test_perplexity_is_set_beside_the_unchanged_model(scores, tmp_path):
    table = perplexity_table(scores, ONE)
    assert list(table["plan"]) == [*["k0m0", "k2m12-sequential"] * 2, "k2m12-sequential"]
    assert list(table["chunks"]) == [1, 2, 1, 2, 2]
    assert list(table["ratio"]) == [1, 4, 1, 40, 4]
    assert list(dict.fromkeys(table["task"])) == ["magpie (easy)", "wikitext"]
    again, text = written(perplexity.TABLE, table, ONE, tmp_path)
    assert "400 ± 40" in text
    write_perplexity_figure(again, tmp_path / "f.pdf", tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 5000


def test_latency_is_compared_with_what_took_turns_with_it(scores, tmp_path):
    table = latency_table(scores, ONE).set_index("way")
    assert table.loc["fused", "token_faster"] == pytest.approx(4)
    assert table.loc["loop", "token_faster"] == pytest.approx(0.8)
    assert (table["layers_per_chunk"] == 12).all() and (table["batch"] == 2).all()
    write_latency_figure(table.reset_index(), tmp_path / "f.pdf", tmp_path / "f.png")


def test_a_checkpoint_and_the_layers_alone_are_each_held_against_their_own_turns(scores, tmp_path):
    trained = latencies("k2m12", "mlp.residual", "adapters", unchanged=0.6, fused=0.2, loop=0.9)
    narrow = latencies("k2m12", "mlp.none", "adapters64", unchanged=0.6, fused=0.1, loop=0.6)
    scores = pd.concat([scores, pd.DataFrame([*trained, *narrow]).astype(COLUMNS)])
    table = latency_table(scores, ONE)
    fused = table[table["way"] == "fused"].set_index("variant")["token_faster"]
    assert fused.to_dict() == pytest.approx(
        {"@k2m12-residual-noadapters": 4, "@k2m12": 3, "@k2m12-mlp.none-adapters64": 6}
    )
    assert all(CheckpointId.parse(f"org/name{variant}") for variant in fused.index)
    _, text = written(latency.TABLE, table, ONE, tmp_path)
    assert "| mlp.residual | full width |" in " ".join(text.split())
    told = CHUNKING.values({"chunking_latency": table})
    assert told["chunking.faster"] == 4 and told["chunking.timed"] == 1
    assert told["chunking.trained_fastest"] == "@k2m12-mlp.none-adapters64"
    assert told["chunking.trained_faster"] == pytest.approx(6)


def test_another_number_format_is_held_against_the_usual_one(scores, tmp_path):
    half = {"precision": "bfloat16"}
    timed = [
        *latencies("k2m12", "residual", **half, unchanged=0.6, fused=0.1),
        *latencies("k0m0", None, **half, unchanged=0.6, loop=0.4),
    ]
    cost = [
        row(
            "latency",
            "latency",
            {**half, "plan": plan, "aggregation": of},
            "nats_more",
            value,
            0.01,
        )
        for plan, of, value in (("k2m12", "residual", 0.25), ("k0m0", None, -0.5))
    ]
    more = pd.concat([scores, pd.DataFrame([*timed, *cost]).astype(COLUMNS)])
    table = precisions.precisions_table(more, ONE).set_index("plan")
    assert table["token_faster"].to_dict() == pytest.approx({"k2m12": 6, "k0m0": 1.5})
    # In the usual format k2m12 is four times as fast as the model, which is as fast as itself.
    assert table["than_usual"].to_dict() == pytest.approx({"k2m12": 1.5, "k0m0": 1.5})
    assert table["nats_more"].to_dict() == pytest.approx({"k2m12": 0.25, "k0m0": -0.5})
    _, text = written(precisions.TABLE, precisions.precisions_table(more, ONE), ONE, tmp_path)
    assert "| as it is |" in " ".join(text.split()) and "-0.5000 ± 0.0100" in text
    # The other tables are of the usual one.
    pd.testing.assert_frame_equal(latency_table(more, ONE), latency_table(scores, ONE))
    pruned = [pruning_table(one, one, ONE) for one in (more, scores)]
    pd.testing.assert_frame_equal(*pruned)
    broken = precisions.precisions_table(more, TWO)
    assert broken.loc[broken["model"] == "org/other", "token_seconds"].isna().all()
    written(precisions.TABLE, broken, TWO, tmp_path)


def test_chunks_over_several_devices_are_held_against_one(scores, tmp_path):
    spread = latencies("k2m12", "residual", devices=2, unchanged=0.6, fused=0.12, loop=0.3)
    scores = pd.concat([scores, pd.DataFrame(spread).astype(COLUMNS)])
    table = latency_table(scores, ONE)
    two = table[table["devices"] == 2].set_index("way")
    faster = two["token_faster"].drop("unchanged").to_dict()
    assert faster == pytest.approx({"fused": 5, "loop": 2}), "than what took turns with it"
    again, text = written(latency.TABLE, table, ONE, tmp_path)
    assert sum("| fused " in line for line in text.splitlines()) == 2
    told = CHUNKING.values({"chunking_latency": table})
    assert told["chunking.faster"] == 4, "of one device"
    assert told["chunking.spread_devices"] == 2 and told["chunking.spread"] == 1
    assert told["chunking.spread_faster"] == pytest.approx(1.25)
    write_latency_figure(again, tmp_path / "f.pdf", tmp_path / "f.png")
    assert drawn(tmp_path)
    one = SizedCheckpoints(checkpoints=[{"id": PLAIN, "parameters": 5, "layers": 2}])
    made = summary.chunking_summary(one, latency=table)
    assert list(made["token_faster"]) == [4.0], "of one device, where one user waits"


def test_pruning_joins_perplexity_and_time(scores, tmp_path):
    table = pruning_table(scores, scores, ONE).set_index("left_out")
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
    _, text = written(plans.TABLE, plans_table([report]), Nothing(), tmp_path)
    (line,) = [line for line in text.splitlines() if "@k2m1" in line]
    assert "0 → [1 \\| 2] → 3" in line and "1,200" in line


def test_a_study_without_measures_says_which_rule_makes_them(scores):
    with pytest.raises(UserError, match="measure_latency"):
        latency_table(
            scores[scores["protocol"] == "perplexity"], MeasuredModels(models=(), texts=())
        )


# A cell that is broken has no score.


def drawn(folder):
    return all((folder / f"f.{kind}").stat().st_size > 3000 for kind in ("pdf", "png"))


@pytest.mark.parametrize("whole", [["org/name"], []])
def test_a_broken_cell_of_perplexity_has_a_row_of_dashes(scores, whole, tmp_path):
    table = perplexity_table(scores[scores["model"].isin(whole)], TWO)
    again, text = written(perplexity.TABLE, table, TWO, tmp_path)
    rows = table[table["perplexity"].isna()]
    assert rows["model"].nunique() == 2 - len(whole)
    assert set(rows["task"]) == set(TEXTS) and rows["chunks"].isna().all()
    (line,) = [x for x in text.splitlines() if "org/other" in x and "wikitext" in x]
    assert line.count("—") == 7
    write_perplexity_figure(again, tmp_path / "f.pdf", tmp_path / "f.png")
    assert drawn(tmp_path)


@pytest.mark.parametrize("whole", [["org/name"], []])
def test_a_broken_cell_of_latency_has_a_row_of_dashes(scores, whole, tmp_path):
    table = latency_table(scores[scores["model"].isin(whole)], TWO)
    again, text = written(latency.TABLE, table, TWO, tmp_path)
    assert list(table.loc[table["way"].isna(), "model"]) == [
        model for model in TWO.models if model not in whole
    ]
    (line,) = [x for x in text.splitlines() if "org/other" in x]
    assert line.count("—") == 11
    write_latency_figure(again, tmp_path / "f.pdf", tmp_path / "f.png")
    assert drawn(tmp_path)


@pytest.mark.parametrize("broken", [["perplexity"], ["latency"], ["perplexity", "latency"]])
@pytest.mark.parametrize("asked", [ONE, TWO])
def test_what_leaving_layers_out_costs_without_one_of_its_cells(scores, broken, asked, tmp_path):
    scores = scores[~scores["protocol"].isin(broken)]
    table = pruning_table(scores, scores, asked)
    again, text = written(pruning.TABLE, table, asked, tmp_path)
    ours = table[table["model"] == "org/name"]
    assert list(ours["left_out"]) == (["", "3, 5"] if len(broken) == 1 else [""])
    assert ours["perplexity"].isna().all() == ("perplexity" in broken)
    assert ours["prefill_faster"].isna().all() == ("latency" in broken)
    assert all(model in text for model in asked.models)
    write_pruning_figure(again, tmp_path / "f.pdf", tmp_path / "f.png")
    assert drawn(tmp_path)


def test_what_is_broken_is_not_told_of(scores):
    def told(of):
        tables = {
            "chunking_perplexity": perplexity_table(of, TWO),
            "chunking_latency": latency_table(of, TWO),
            "chunking_pruning": pruning_table(of, of, TWO),
        }
        return CHUNKING.values(tables)

    found = told(scores)
    assert found["chunking.ratio_most"] == 40 and found["chunking.timed"] == 1
    assert found["chunking.pruned_best"] == "3, 5"
    assert told(scores[:0]) == {}


def test_the_summary_has_a_line_for_each_checkpoint_whatever_was_measured(tmp_path):
    asked = SizedCheckpoints(
        checkpoints=[
            {"id": name, "parameters": 10, "layers": 4} for name in ("org/name", "org/name@k2m1")
        ]
    )
    none = pd.DataFrame(columns=list(latency.COLUMNS.named))
    made = summary.chunking_summary(asked, latency=latency.COLUMNS.typed(none))
    again, text = written(summary.TABLE, made, asked, tmp_path)
    assert list(again["depth"].fillna(0)) == [4, 0]
    assert again["token_seconds"].isna().all()
    assert "| as it is" in text and "| @k2m1" in text


def test_variants_of_a_plan_have_times_and_sizes_of_their_own(scores):
    plan, variant = "org/name@k2m12", "org/name@k2m12-mlp.none"
    size = {"base": "org/name", "plan": "[0 | 1]", "depth": 1, "layers": 2, "new_parameters": 1}
    size |= {"fused_from_loop": 0.0, "fused_from_base": 1.0, "dtype": "float32"}
    plans = plans_table(
        size | {"checkpoint": name, "parameters": parameters}
        for name, parameters in ((plan, 10), (variant, 20), (f"{plan}-distil.hidden", 10))
    )
    asked = SizedCheckpoints(
        checkpoints=[
            {"id": name, "parameters": 5, "layers": 2}
            for name in (
                *("org/name", plan, f"{plan}-distil.hidden+cpt", variant, f"{variant}+cpt"),
                *("org/name@k2m12-mean", PLAIN),
            )
        ]
    )
    timed = [
        *latencies("k2m12", "mlp.residual", "adapters", unchanged=0.6, fused=0.2),
        *latencies("k2m12", "mlp.none", "adapters", unchanged=0.6, fused=0.3),
    ]
    scores = pd.concat([scores, pd.DataFrame(timed).astype(COLUMNS)])
    made = summary.chunking_summary(asked, plans=plans, latency=latency_table(scores, ONE))
    assert list(made["parameters"][:5]) == [5, 10, 10, 20, 20]
    assert pd.isna(made["token_faster"][0]) and pd.isna(made["token_faster"][5])
    assert made["token_faster"][1:5].tolist() == pytest.approx([3, 3, 2, 2])
    assert made["token_faster"][6] == pytest.approx(4)
