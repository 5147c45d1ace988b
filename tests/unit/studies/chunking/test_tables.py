"""Tables of the chunking study from scores with known numbers."""

import json

import pandas as pd
import pytest

from tests.records import make_scores, record_fields
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.render.tables import read_table, write_table
from workflow_scripts.studies.chunking import latency, perplexity, plans, pruning, quality
from workflow_scripts.studies.chunking.chapter import CHUNKING

TEXTS = ["magpie (easy)", "wikitext"]
MODEL = "org/name"
ONE, TWO = [MODEL], [MODEL, "org/other"]


def score(protocol, task, varied, metric, value, stderr=None):
    row = {"study": "chunking", "model": MODEL, "variant": ""}
    row |= {"protocol": protocol, "task": task, "metric": metric, "n": 4} | varied
    return row | {"value": value, "stderr": stderr}


def perplexities(task, difficulty, *measured):
    return [
        one
        for plan, aggregation, value in measured
        for varied in [{"plan": plan, "aggregation": aggregation, "difficulty": difficulty}]
        for one in (
            score("perplexity", task, varied, "perplexity", value, value / 10),
            score("perplexity", task, varied, "bits_per_byte", 1.5),
        )
    ]


def latencies(plan, aggregation, adapters=None, devices=None, **ways):
    shape = {"plan": plan, "aggregation": aggregation, "adapters": adapters, "devices": devices}
    return [
        score("latency", "latency", shape | {"way": way, "batch": 2}, metric, value)
        for way, seconds in ways.items()
        for kind in ("prefill", "token")
        for metric, value in ((f"{kind}_seconds", seconds), (f"{kind}_seconds_spread", 0.001))
    ]


UNTRAINED = [
    *perplexities(
        *("wikitext", None, ("k0m0", None, 10.0), ("prune3-5", None, 30.0)),
        *(("k2m12-sequential", "mean", 400.0), ("k2m12-sequential", "residual", 40.0)),
    ),
    *perplexities("magpie", "easy", ("k0m0", None, 5.0), ("k2m12-sequential", "mean", 20.0)),
    *latencies("k2m12", "residual", unchanged=0.4, fused=0.1, loop=0.5),
    *latencies("prune3-5", None, unchanged=0.4, loop=0.2),
]


@pytest.fixture
def scores():
    return make_scores(UNTRAINED)


def run_main(folder, main, **arguments):
    """Run a script; return its table as it is read again, its Markdown, and the size of its figure."""
    table = [folder / f"t.{kind}" for kind in ("csv", "md", "tex")]
    figure = [folder / f"f.{kind}" for kind in ("pdf", "png")]
    main(table=table, figure=figure, **arguments)
    return read_table(table[0]), table[1].read_text(encoding="utf-8"), figure[1].stat().st_size


def write_scores(folder, rows):
    rows.to_parquet(folder / "scores.parquet")
    return folder / "scores.parquet"


def test_perplexity_is_set_beside_the_unchanged_model(scores):
    table = perplexity.compute_perplexity(scores, ONE, TEXTS)
    assert list(table["plan"]) == [*["k0m0", "k2m12-sequential"] * 2, "k2m12-sequential"]
    assert list(table["chunks"]) == [1, 2, 1, 2, 2]
    assert list(table["ratio"]) == [1, 4, 1, 40, 4]
    assert list(dict.fromkeys(table["task"])) == TEXTS


def test_speedup_is_compared_with_what_took_turns_with_it():
    trained = [
        *latencies("k2m12", "mlp.residual", "adapters", unchanged=0.6, fused=0.2, loop=0.9),
        *latencies("k2m12", "mlp.none", "adapters64", unchanged=0.6, fused=0.1, loop=0.6),
        *latencies("k2m12", "residual", devices=2, unchanged=0.6, fused=0.12, loop=0.3),
    ]
    table = latency.compute_latency(make_scores([*UNTRAINED, *trained]), ONE)
    assert (table["layers_per_chunk"] == 12).all() and (table["batch"] == 2).all()
    faster = table.set_index(["variant", "devices", "way"])["token_faster"]
    bare = "@k2m12-residual-noadapters"
    assert faster.drop("unchanged", level="way").to_dict() == pytest.approx(
        {
            (bare, 1, "fused"): 4,
            (bare, 1, "loop"): 0.8,
            (bare, 2, "fused"): 5,
            (bare, 2, "loop"): 2,
            ("@k2m12", 1, "fused"): 3,
            ("@k2m12", 1, "loop"): 2 / 3,
            ("@k2m12-mlp.none-adapters64", 1, "fused"): 6,
            ("@k2m12-mlp.none-adapters64", 1, "loop"): 1,
        }
    )
    assert all(CheckpointId.parse(f"{MODEL}{variant}") for variant in table["variant"])
    values = CHUNKING.values({"chunking_latency": table})
    assert values["chunking.fastest"] == f"{MODEL}@k2m12-mlp.none-adapters64"
    assert values["chunking.fastest_speedup"] == pytest.approx(6)


def test_pruning_joins_perplexity_and_time(scores):
    table = pruning.compute_pruning(scores, scores, ONE).set_index("left_out")
    assert table.loc["3, 5", "perplexity"] == 30
    assert table.loc["3, 5", "prefill_faster"] == pytest.approx(2)
    assert pd.isna(table.loc["none", "prefill_seconds"])


def test_plans_are_shown_with_what_they_hold(tmp_path):
    report = {"checkpoint": f"{MODEL}@k2m1", "base": MODEL, "plan": "0 → [1 | 2] → 3", "depth": 3}
    report |= {"layers": 4, "parameters": 1200, "new_parameters": 200, "dtype": "float32"}
    report |= {"fused_from_loop": 1e-7, "fused_from_base": 0.0, "device": "cpu"}
    (tmp_path / "report.json").write_text(json.dumps(report), encoding="utf-8")
    table = [tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex")]
    plans.main([tmp_path / "report.json"], table)
    (line,) = [line for line in table[1].read_text().splitlines() if "@k2m1" in line]
    assert "0 → [1 \\| 2] → 3" in line and "1,200" in line


@pytest.mark.parametrize("measured", [ONE, []])
def test_a_failed_cell_has_a_row_of_dashes(scores, measured, tmp_path):
    path = write_scores(tmp_path, scores[scores["model"].isin(measured)])
    table, text, size = run_main(tmp_path, perplexity.main, scores=path, models=TWO, texts=TEXTS)
    failed = table[table["perplexity"].isna()]
    assert failed["model"].nunique() == 2 - len(measured) and set(failed["task"]) == set(TEXTS)
    (line,) = [x for x in text.splitlines() if "org/other" in x and "wikitext" in x]
    assert line.count("—") == 7 and size > 3000
    table, text, size = run_main(tmp_path, latency.main, scores=path, models=TWO)
    failed = list(table.loc[table["way"].isna(), "model"])
    assert failed == [model for model in TWO if model not in measured]
    (line,) = [x for x in text.splitlines() if "org/other" in x]
    assert line.count("—") == 11 and size > 3000


@pytest.mark.parametrize("failed", [["perplexity"], ["latency"], ["perplexity", "latency"]])
def test_pruning_without_one_of_its_cells(scores, failed, tmp_path):
    path = write_scores(tmp_path, scores[~scores["protocol"].isin(failed)])
    table, text, size = run_main(tmp_path, pruning.main, perplexity=path, latency=path, models=TWO)
    ours = table[table["model"] == MODEL]
    assert list(ours["left_out"]) == (["none", "3, 5"] if len(failed) == 1 else ["none"])
    assert all(model in text for model in TWO) and size > 3000


def test_what_failed_is_not_told_of(scores):
    def told(rows):
        return CHUNKING.values(
            {
                "chunking_perplexity": perplexity.compute_perplexity(rows, TWO, TEXTS),
                "chunking_latency": latency.compute_latency(rows, TWO),
                "chunking_pruning": pruning.compute_pruning(rows, rows, TWO),
            }
        )

    values = told(scores)
    assert values["chunking.ratio_most"] == 40 and values["chunking.fastest_timed"] == 1
    assert values["chunking.pruned_best"] == "3, 5"
    assert told(scores[:0]) == {}


# Every checkpoint at every stage beside the unchanged model.

CHUNKED = f"{MODEL}@k2m12"
PRUNED = f"{MODEL}@prune3-5-distil.logits"
CHECKPOINTS = [MODEL, CHUNKED, f"{CHUNKED}+cpt", f"{CHUNKED}+cpt+sft", PRUNED, f"{PRUNED}+cpt.2k"]
PERPLEXITIES = (10.0, 40.0, 15.0, 12.0, 30.0, 20.0)
LETTERS = ("ABCD", "AAAA", "ABCA", "ABCD", "BBCD", "ABDC")


def write_answers(folder, name, letters):
    """Write a record of MMLU with these likeliest letters."""
    items = [
        Item(
            item=f"law/{number}",
            prompt_sha256="0" * 64,
            gold="A",
            prediction=letter,
            loglikelihoods=[0.0 if one == letter else -1.0 for one in "ABCD"],
        )
        for number, letter in enumerate(letters)
    ]
    fields = record_fields(study="mmlu", model=name)
    metric = Metric(name="acc", value=0.5, stderr=0.1, n=4, best_constant=0.3, chance=0.25)
    path = folder / f"{name.replace('/', '--')}.json"
    write_record(path, items, **fields | {"metrics": (metric,)})
    return path


def stages_and_mmlu():
    ids = [CheckpointId.parse(name) for name in CHECKPOINTS]
    names = {"model": MODEL, "variant": [id.variant for id in ids]}
    tokens = [1000 if id.stages else None for id in ids]
    stages = {"tokens": tokens, "wikitext": PERPLEXITIES, "wikitext stderr": 1.0}
    scores = {"subject": "micro", "acc": 0.5, "acc_stderr": 0.1, "floor": 0.3, "n": 4}
    return pd.DataFrame(names | stages), pd.DataFrame(names | scores)


def test_quality_of_every_stage_beside_the_unchanged_model(tmp_path):
    paths = [
        write_answers(tmp_path, name, letters)
        for name, letters in zip(CHECKPOINTS, LETTERS, strict=True)
    ]
    timed = latencies("k2m12", "mlp.residual", "adapters", unchanged=0.6, fused=0.2, loop=0.9)
    files = {}
    for name, table in zip(("stages", "mmlu"), stages_and_mmlu(), strict=True):
        written = [tmp_path / f"{name}.{kind}" for kind in ("csv", "md", "tex")]
        write_table(table, written, title="", note="", shown={"a": ["b"]})
        files[name] = written[0]
    table, text, size = run_main(
        tmp_path,
        quality.main,
        stages=files["stages"],
        mmlu=files["mmlu"],
        latency=write_scores(tmp_path, make_scores([*UNTRAINED, *timed])),
        records=paths,
        checkpoints=CHECKPOINTS,
    )
    assert list(table["stage"]) == ["untrained"] * 2 + ["cpt", "sft", "untrained", "cpt.2k"]
    assert list(table["tokens"]) == [0, 0, 1000, 2000, 0, 1000]
    assert list(table["ratio"]) == [1, 4, 1.5, 1.2, 3, 2]
    assert list(table["agreement"]) == [1, 0.25, 0.75, 1, 0.75, 0.5]
    assert table["speedup"].tolist() == pytest.approx([1, 3, 3, 3, 2, 2])
    assert "| as it is" in text and "0.500 ± 0.100" in text and size > 3000
    values = CHUNKING.values({"chunking_quality": table})
    assert values["chunking.best"] == f"{CHUNKED}+cpt+sft"
    assert (values["chunking.before_wikitext"], values["chunking.whole_wikitext"]) == (40, 10)
    assert values["chunking.best_agreement"] == 1
    assert values["chunking.best_speedup"] == pytest.approx(3)


def test_quality_of_what_was_neither_trained_nor_timed_nor_answered(tmp_path):
    stages, mmlu = stages_and_mmlu()
    table = quality.compute_quality(CHECKPOINTS, stages[:0], mmlu[:0], None, {})
    measured = ["perplexity", "ratio", "agreement", "accuracy", "speedup"]
    assert list(table["model"] + table["variant"]) == CHECKPOINTS
    assert table[measured].isna().all().all()
    quality.plot_quality(table, tmp_path / "f.pdf", tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 3000
