"""What each choice buys: differences by hand and by SciPy, from answers with known numbers."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, false_discovery_control, ttest_rel

from tests.records import record_fields
from tests.unit.stories import story
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.records import write_record
from workflow_scripts.evaluation.perplexity import Scored, perplexity_items, perplexity_metrics
from workflow_scripts.studies.chunking import latency
from workflow_scripts.studies.chunking.ablation import TABLE, chunking_ablation, read_answers
from workflow_scripts.studies.chunking.ablation_figure import write_ablation_figure
from workflow_scripts.studies.chunking.ablation_numbers import ablation_numbers
from workflow_scripts.studies.chunking.chapter import CHUNKING
from workflow_scripts.studies.chunking.choices import what_differs
from workflow_scripts.studies.chunking.requests import AblatedCheckpoints
from workflow_scripts.studies.mmlu.by_subject import COLUMNS as MMLU
from workflow_scripts.studies.mmlu.by_subject import METRICS
from workflow_scripts.studies.training.stages import COLUMNS as STAGES

MODEL = "org/name"
USUAL, MEAN = f"{MODEL}@k2m6", f"{MODEL}@k2m6-mean"
ASKED = AblatedCheckpoints(
    checkpoints=[{"id": USUAL, "against": MODEL}, {"id": MEAN, "against": USUAL}],
    texts=["wikitext"],
)


def answers_of(*ids, questions=40, windows=12):
    generator = np.random.default_rng(1)
    found = {}
    for id in ids:
        for metric in METRICS:
            right = generator.random(questions) < 0.5
            found[id, metric] = pd.Series(right, [f"q/{at}" for at in range(questions)])
        pieces = {"nats": generator.normal(300, 20, windows), "tokens": np.full(windows, 100.0)}
        found[id, "wikitext"] = pd.DataFrame(pieces, [f"wikitext/{at}" for at in range(windows)])
    return found


def tables_of(*ids):
    stages, mmlu = [], []
    for id in map(CheckpointId.parse, ids):
        stages.append(
            {"model": id.model, "variant": id.variant or None, "stage": "untrained"}
            | {"wikitext": 20.0, "wikitext stderr": 1.0}
        )
        mmlu.append(
            {"subject": "micro", "model": id.model, "variant": id.variant, "n": 40, "floor": 0.3}
            | dict.fromkeys(METRICS, 0.5)
            | {f"{metric}_stderr": 0.08 for metric in METRICS}
        )
    columns = [*STAGES.named, "wikitext", "wikitext stderr"]
    return {
        "stages": STAGES.typed(pd.DataFrame(stages, columns=columns)),
        "mmlu": MMLU.typed(pd.DataFrame(mmlu, columns=list(MMLU.named))),
        "latency": latency.COLUMNS.typed(pd.DataFrame(columns=list(latency.COLUMNS.named))),
    }


def test_differences_are_of_pairs_and_their_ps_corrected_within_a_measure(tmp_path):
    answers = answers_of(MODEL, USUAL, MEAN)
    table = chunking_ablation(ASKED, answers, [], **tables_of(MODEL, USUAL, MEAN))
    by = table.set_index([table["model"] + table["variant"], "measure"])
    for id, against in ((USUAL, MODEL), (MEAN, USUAL)):
        text = by.loc[(id, "wikitext")]
        here, there = (answers[one, "wikitext"]["nats"] for one in (id, against))
        assert text["difference"] == pytest.approx((here - there).mean() / 100)
        assert text["p"] == pytest.approx(ttest_rel(here, there).pvalue)
        for metric in METRICS:
            row = by.loc[(id, metric)]
            here, there = answers[id, metric], answers[against, metric]
            won, lost = int((here & ~there).sum()), int((there & ~here).sum())
            assert (row["won"], row["lost"]) == (won, lost)
            assert row["difference"] == pytest.approx(here.mean() - there.mean())
            paired = here.astype(float) - there.astype(float)
            assert row["difference_stderr"] == pytest.approx(paired.std(ddof=0) / np.sqrt(40))
            assert row["p"] == pytest.approx(binomtest(won, won + lost).pvalue)
    for _, of_measure in table.groupby("measure"):
        low, high = sorted(of_measure["p"])
        expected = [min(1, 2 * low), max(min(1, 2 * low), high)]
        assert sorted(of_measure["p_holm"]) == pytest.approx(expected)
        # Holm's is never below what a correction that promises less would give.
        assert (sorted(of_measure["p_holm"]) >= false_discovery_control([low, high])).all()
    TABLE.write(table, ASKED, **{kind: tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex")})
    pd.testing.assert_frame_equal(TABLE.read(tmp_path / "t.csv"), table)
    text = (tmp_path / "t.md").read_text()
    assert "| @k2m6-mean" in text and "mean of the chunks" in text


@pytest.mark.parametrize("mean", ["tokens", "windows"])
def test_differences_of_texts_are_of_the_mean_that_their_perplexities_are(mean, tmp_path):
    generator = np.random.default_rng()
    tokens = generator.integers(2, 90, 6)
    found, paths = {}, []
    for model in ("org/one", "org/other"):
        nats = tokens * generator.uniform(1, 5, 6)
        found[model] = [
            Scored(*piece) for piece in zip(nats, tokens.tolist(), tokens * 4, strict=True)
        ]
        metrics = perplexity_metrics(found[model], over=mean)
        fields = record_fields(study="training", model=model, task="wikitext", n=6)
        protocol = fields["protocol"].model_copy(update={"generation": {"perplexity_mean": mean}})
        paths.append(tmp_path / f"{model.replace('/', '-')}.json")
        items = perplexity_items("wikitext", found[model])
        write_record(paths[-1], items, **fields | {"protocol": protocol, "metrics": metrics})
    answers = read_answers(paths)
    asked = AblatedCheckpoints(
        checkpoints=[{"id": "org/other", "against": "org/one"}], texts=["wikitext"]
    )
    table = chunking_ablation(asked, answers, [], **tables_of("org/one", "org/other"))
    (row,) = table[table["measure"] == "wikitext"].to_dict("records")
    one, other = (perplexity_metrics(found[of], over=mean)[0].value for of in found)
    assert row["difference"] == pytest.approx(math.log(other / one))


def test_each_variant_has_the_time_of_its_own_aggregation_and_adapters():
    usual, mean = CheckpointId.parse(USUAL), CheckpointId.parse(MEAN)
    about = {"model": MODEL, "plan": "k2m6", "way": "fused", "batch": 2, "devices": 1}
    timed = [
        about | {"variant": usual.variant, "token_seconds": 0.2},
        about | {"variant": mean.variant, "token_seconds": 0.1},
        about | {"variant": mean.variant, "token_seconds": 0.05, "devices": 2},
        about | {"variant": "@k2m6-residual-noadapters", "token_seconds": 0.02},
    ]
    columns = list(latency.COLUMNS.named)
    tables = tables_of(MODEL, USUAL, MEAN)
    tables["latency"] = latency.COLUMNS.typed(pd.DataFrame(timed, columns=columns))
    table = chunking_ablation(ASKED, answers_of(MODEL, USUAL, MEAN), [], **tables)
    found = table.groupby("variant")["token_seconds"].unique().map(list)
    assert found.to_dict() == {"@k2m6": [0.2], "@k2m6-mean": [0.1]}


def test_items_come_in_any_order_and_pairs_are_of_the_same_item():
    answers = answers_of(MODEL, USUAL, MEAN)
    table = chunking_ablation(ASKED, answers, [], **tables_of(MODEL, USUAL, MEAN))
    shuffled = {key: of.sample(frac=1, random_state=3) for key, of in answers.items()}
    again = chunking_ablation(ASKED, shuffled, [], **tables_of(MODEL, USUAL, MEAN))
    pd.testing.assert_frame_equal(again, table)


@pytest.mark.parametrize("broken", [[MEAN], [USUAL], [MODEL, USUAL, MEAN]])
def test_a_broken_checkpoint_has_a_line_of_dashes_and_the_others_their_numbers(broken, tmp_path):
    whole = [id for id in (MODEL, USUAL, MEAN) if id not in broken]
    table = chunking_ablation(ASKED, answers_of(*whole), [], **tables_of(*whole))
    compared = {(MEAN, USUAL): MEAN, (USUAL, MODEL): USUAL}
    there = {id for pair, id in compared.items() if set(pair) <= set(whole)}
    measured = table[table["difference"].notna()]
    assert set(measured["model"] + measured["variant"]) == there
    TABLE.write(table, ASKED, **{kind: tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex")})
    assert len([x for x in (tmp_path / "t.md").read_text().splitlines() if "| @k2m6" in x]) == 2
    write_ablation_figure(TABLE.read(tmp_path / "t.csv"), tmp_path / "f.pdf", tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ("@k2m6", "", "layers as k2m6"),
        ("@k4m6-sequential-mean+cpt", "", "layers as k4m6-sequential"),
        ("@k2m6-mean", "@k2m6", "mean of the chunks"),
        ("@k2m6-mlp.none-noadapters", "@k2m6", "mlp on top of nothing, no adapters"),
        ("@k2m6", "@k2m6-mean-adapters8", "mlp on top of the residual, adapters"),
        (
            "@k2m6-distil.both.t3+cpt",
            "@k2m6+cpt",
            "distillation of hidden states and logits at temperature 3",
        ),
        ("@k2m6-distil.hidden", "@k2m6-distil.logits", "distillation of hidden states"),
        ("@k2m6-adapters16", "@k2m6-noadapters", "adapters of width 16"),
        ("@k2m6-init.normal", "@k2m6", "adapters that start as random values"),
        ("@k2m6-noadapters", "@k2m6-init.normal", "no adapters"),
        (
            "@k2m6-distil.both.published.t3",
            "@k2m6",
            "distillation of hidden states and logits by the published loss at temperature 3",
        ),
    ],
)
def test_what_is_otherwise_is_said_in_words(one, other, said):
    id, against = (CheckpointId.parse(MODEL + variant) for variant in (one, other))
    assert what_differs(id, against) == said


def told(answers):
    table = chunking_ablation(ASKED, answers, [], **tables_of(MODEL, USUAL, MEAN))
    table = table.assign(trained_tokens=100)
    return story(CHUNKING, ablation_numbers(table))


def test_the_report_says_which_choice_matters_and_that_the_others_may_be_chance():
    answers = answers_of(MODEL, USUAL, MEAN)
    answers[MEAN, "wikitext"]["nats"] = answers[USUAL, "wikitext"]["nats"] + 50
    answers[MEAN, "acc"] = answers[USUAL, "acc"]
    text = told(answers)
    assert "costs most" in text and "gains most" not in text
    assert "none of 1 choices differs" in text
    answers[MEAN, "wikitext"]["nats"] -= 100
    assert "gains most" in told(answers)
    assert told({}) == ""
