"""Test the tables of the chunking study on scores with known values."""

import pandas as pd
import pytest

from tests.records import make_scores, record_fields
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.render.tables import read_table
from workflow_scripts.studies.chunking import latency, perplexity, quality
from workflow_scripts.studies.chunking.chapter import NUMBER_FUNCTIONS

TEXTS = ["magpie (easy)", "wikitext"]
MODEL = "org/name"
TWO = [MODEL, "org/other"]


def make_score(protocol, task, metric, value, stderr=None, **varied):
    row = {"study": "chunking", "model": MODEL, "variant": "", "protocol": protocol, "task": task}
    return row | {"metric": metric, "n": 4, "value": value, "stderr": stderr} | varied


def make_perplexities(task, difficulty, *measured):
    return [
        make_score(
            *("perplexity", task, metric, value, value / 10),
            **{"plan": plan, "aggregation": aggregation, "difficulty": difficulty},
        )
        for plan, aggregation, perplexity in measured
        for metric, value in (("perplexity", perplexity), ("bits_per_byte", 1.5))
    ]


def make_latencies(plan, aggregation, adapters=None, devices=None, **ways):
    shape = {"plan": plan, "aggregation": aggregation, "adapters": adapters, "devices": devices}
    return [
        make_score("latency", "latency", metric, value, way=way, batch=2, **shape)
        for way, seconds in ways.items()
        for kind in ("prefill", "token")
        for metric, value in ((f"{kind}_seconds", seconds), (f"{kind}_seconds_spread", 0.001))
    ]


UNTRAINED = [
    *make_perplexities(
        *("wikitext", None, ("k0m0", None, 10.0), ("prune3-5", None, 30.0)),
        *(("k2m12-sequential", "mean", 400.0), ("k2m12-sequential", "residual", 40.0)),
    ),
    *make_perplexities("magpie", "easy", ("k0m0", None, 5.0), ("k2m12-sequential", "mean", 20.0)),
    *make_latencies("k2m12", "residual", unchanged=0.4, fused=0.1, loop=0.5),
    *make_latencies("prune3-5", None, unchanged=0.4, loop=0.2),
]
SCORES = make_scores(UNTRAINED)


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a script on data frames and returns its table as read back."""

    def run(main, **arguments):
        for name, value in arguments.items():
            if isinstance(value, pd.DataFrame):
                arguments[name] = tmp_path / f"{name}.parquet"
                value.to_parquet(arguments[name])
        arguments["figure"] = [tmp_path / f"f.{kind}" for kind in ("pdf", "png")]
        table = [tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex")]
        main(table=table, **arguments)
        assert (tmp_path / "f.png").stat().st_size > 3000
        return read_table(table[0])

    return run


def test_perplexity_ratio():
    table = perplexity.compute_perplexity(SCORES, [MODEL], TEXTS)
    chunked = "k2m12-sequential"
    assert list(table["plan"]) == ["k0m0", chunked, "k0m0", "prune3-5", chunked, chunked]
    assert list(table["chunks"]) == [1, 2, 1, 1, 2, 2]
    assert list(table["ratio"]) == [1, 4, 1, 3, 40, 4]
    assert list(dict.fromkeys(table["task"])) == TEXTS


def test_speedup():
    trained = [
        *make_latencies("k2m12", "mlp.residual", "adapters", unchanged=0.6, fused=0.2, loop=0.9),
        *make_latencies("k2m12", "mlp.none", "adapters64", unchanged=0.6, fused=0.1, loop=0.6),
        *make_latencies("k2m12", "residual", devices=2, unchanged=0.6, fused=0.12, loop=0.3),
    ]
    table = latency.compute_latency(make_scores([*UNTRAINED, *trained]), [MODEL])
    assert (table["batch"] == 2).all()
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
            ("@prune3-5", 1, "loop"): 2,
        }
    )
    assert all(CheckpointId.parse(f"{MODEL}{variant}") for variant in table["variant"])


def test_failed_cell_row_is_empty(run):
    table = run(perplexity.main, scores=SCORES, models=TWO, texts=TEXTS)
    empty = table[table["perplexity"].isna()]
    assert set(empty["model"]) == {TWO[1]} and set(empty["task"]) == set(TEXTS)
    table = run(latency.main, scores=SCORES, models=TWO)
    assert list(table.loc[table["way"].isna(), "model"]) == [TWO[1]]


# Every checkpoint at every stage, against the unchanged model.

CHUNKED = f"{MODEL}@k2m12"
PRUNED = f"{MODEL}@prune3-5-distil.logits"
CHECKPOINTS = [MODEL, CHUNKED, f"{CHUNKED}+cpt", f"{CHUNKED}+cpt+sft", PRUNED, f"{PRUNED}+cpt.2k"]
LETTERS = ("ABCD", "AAAA", "ABCA", "ABCD", "BBCD", "ABDC")
IDS = [CheckpointId.parse(name) for name in CHECKPOINTS]
NAMES = {"model": MODEL, "variant": [id.variant for id in IDS]}
STAGES = pd.DataFrame(
    NAMES
    | {"tokens": [1000 if id.stages else None for id in IDS]}
    | {"wikitext": (10.0, 40.0, 15.0, 12.0, 30.0, 20.0), "wikitext stderr": 1.0}
)
MMLU = pd.DataFrame(
    NAMES | {"subject": "micro", "acc": 0.5, "acc_stderr": 0.1, "baseline": 0.3, "n": 4}
)


def write_answers(folder, name, letters):
    """Write an MMLU record with these predicted letters."""
    items = [
        Item(
            item=f"law/{number}",
            prompt_sha256="0" * 64,
            gold="A",
            prediction=letter,
            loglikelihoods=[0.0 if choice == letter else -1.0 for choice in "ABCD"],
        )
        for number, letter in enumerate(letters)
    ]
    fields = record_fields(study="mmlu", model=name)
    metric = Metric(name="acc", value=0.5, stderr=0.1, n=4, best_constant=0.3, chance=0.25)
    path = folder / f"{name.replace('/', '--')}.json"
    write_record(path, items, **fields | {"metrics": (metric,)})
    return path


def test_stage_quality(tmp_path, run):
    records = [write_answers(tmp_path, *pair) for pair in zip(CHECKPOINTS, LETTERS, strict=True)]
    timed = make_latencies("k2m12", "mlp.residual", "adapters", unchanged=0.6, fused=0.2, loop=0.9)
    STAGES.to_csv(tmp_path / "stages.csv", index=False)
    MMLU.to_csv(tmp_path / "mmlu.csv", index=False)
    times = latency.compute_latency(make_scores([*UNTRAINED, *timed]), [MODEL])
    times.to_csv(tmp_path / "latency.csv", index=False)
    table = run(
        quality.main,
        stages=tmp_path / "stages.csv",
        mmlu=tmp_path / "mmlu.csv",
        latency=tmp_path / "latency.csv",
        records=records,
        checkpoints=CHECKPOINTS,
    )
    assert list(table["stage"]) == ["untrained"] * 2 + ["cpt", "sft", "untrained", "cpt.2k"]
    assert list(table["tokens"]) == [0, 0, 1000, 2000, 0, 1000]
    assert list(table["ratio"]) == [1, 4, 1.5, 1.2, 3, 2]
    assert list(table["agreement"]) == [1, 0.25, 0.75, 1, 0.75, 0.5]
    assert table["speedup"].tolist() == pytest.approx([1, 3, 3, 3, 2, 2])
    values = NUMBER_FUNCTIONS["chunking_quality"](table)
    assert values["chunking.best"] == f"{CHUNKED}+cpt+sft"
    assert (values["chunking.before_wikitext"], values["chunking.whole_wikitext"]) == (40, 10)
    assert values["chunking.best_speedup"] == pytest.approx(3)


def test_quality_without_measurements(tmp_path):
    table = quality.compute_quality(CHECKPOINTS, STAGES[:0], MMLU[:0], pd.Series(), {})
    assert list(table["model"] + table["variant"]) == CHECKPOINTS
    measured = ["perplexity", "ratio", "agreement", "accuracy", "speedup"]
    assert table[measured].isna().all().all()
    quality.plot_quality(table, [tmp_path / "f.pdf", tmp_path / "f.png"])
