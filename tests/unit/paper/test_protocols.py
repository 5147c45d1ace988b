"""What differs from the published protocols: read off records, named once, and in place of a verdict."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from tests.records import record_fields
from tests.unit.paper.nearest import (
    CASES,
    measured,
    of_mmlu,
    of_the_grid,
    of_the_prompts,
    of_the_suite,
    settings,
)
from tests.unit.paper.test_reproduction_grid import reruns
from tests.unit.settings.merged import load
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.records import ItemsFile, Record
from workflow_scripts.evaluation.requests import (
    latency_request,
    perplexity_request,
    written_request,
)
from workflow_scripts.paper.protocols.differences import (
    NO,
    YES,
    compute_differences,
    format_columns,
)
from workflow_scripts.paper.protocols.ours import Cell, grid_cell, mmlu_cell
from workflow_scripts.paper.protocols.plans import latency_cell, perplexity_cell
from workflow_scripts.paper.protocols.verdicts import with_other_protocols
from workflow_scripts.paper.reproduction_by_task import compute_by_task
from workflow_scripts.paper.requests import published_cells
from workflow_scripts.render.verdict import (
    AGREES,
    DIFFERS,
    GENERATED,
    NOT_COMPARABLE,
    OTHER_PROTOCOL,
    make_table,
)
from workflow_scripts.scores.published_protocols import read_protocols
from workflow_scripts.settings.plan_measures import LatencyMeasures, WrittenMeasures
from workflow_scripts.settings.training import Recipe
from workflow_scripts.studies.ranking.frame import DIRECT, TRAINED

ROOT = Path(__file__).parents[3]
PROTOCOLS = read_protocols(ROOT / "resources/published/protocols.yaml")
QWEN, GEMMA = "Qwen/Qwen2-0.5B", "google/gemma-2b"
OWN = {"draws": "own"}
DRAWS = (
    "numpy's permutation under seed 0, anew for each draw",
    "by the seed, the task's name and the purpose",
)


def record(
    task: str = "rte",
    *,
    model: str = QWEN,
    n: int = 277,
    keys: dict[str, Any] | None = None,
    held_out_split: str = "held_out_of_training",
    device: str = "cuda",
    trained: bool = True,
    request: dict[str, Any] | None = None,
    ran: dict[str, Any] | None = None,
    items: tuple[int, int] = (50_000, 1_000),
    **protocol: Any,
) -> Record:
    """As a run of config/paper_exact.yaml leaves it behind, but for what is said."""
    found = of_the_grid(task, TRAINED if trained else DIRECT, n).record
    training = found.training
    if training:
        update = {"keys": training.keys | (keys or {}), "held_out_split": held_out_split}
        update |= {"ran": ran, "samples": items[0], "held_out_samples": items[1]}
        training = training.model_copy(update=update)
    return found.model_copy(
        update={
            "model": found.model.model_copy(update={"id": model}),
            "protocol": found.protocol.model_copy(update=protocol),
            "cost": found.cost.model_copy(update={"device": device}),
            "request": found.request | (request or {}),
            "training": training,
        }
    )


def found(*records: Record) -> pd.DataFrame:
    return compute_differences(map(grid_cell, records), PROTOCOLS)


def decisive(*records: Record) -> dict[str, tuple[str, str]]:
    """What decides, and how it is there and here."""
    table = found(*records)
    table = table[table["decides"] == YES]
    return {row.what: (row.published, row.ours) for row in table.itertuples()}


def test_a_run_of_the_exact_config_differs_in_nothing_that_decides():
    assert decisive(record(), record(trained=False)) == {}
    assert decisive(record(model=GEMMA, attention="eager")) == {}
    drawn = record("qqp", n=10_000)
    assert decisive(drawn) == {}
    assert decisive(record("medmcqa", n=4183, held_out_split="validation")) == {}
    assert decisive(record("nq_open", n=3610)) == {}
    # And what cannot be had is not passed over in silence.
    noted = found(record()).query("decides == @NO").set_index("what")
    assert set(noted.index) == {"seed", "lm-eval", "transformers", "trainer"}
    assert noted["because"].str.len().min() > 0
    assert noted.loc["lm-eval", "published"] == "0.4.8"


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        (record(dtype="bfloat16", trained=False), {"number format of the test": ("float32", "bfloat16")}),
        (record(keys={"precision": "auto"}), {"number format of the training": ("float32", "bfloat16")}),
        (record(keys={"precision": "auto"}, device="cpu"), {}),
        (record(keys={"precision": "auto"}, ran={"precision": "float32"}), {}),  # an older GPU
        (record(attention="flash_attention_2"), {"attention": ("sdpa", "flash_attention_2")}),
        (record(model=GEMMA), {"attention": ("eager", "sdpa")}),
        (record(chat_template=True), {"chat template": (NO, YES)}),
        (record("nq_open", n=3610, keys={"training_text": "as_tested"}), {"training text": ("published", "as_tested")}),
        (record(keys={"training_text": "as_tested"}), {}),  # the same text, to the letter
        (record("medmcqa", n=4183), {"split to choose the epoch on": ("the test's own", "held_out_of_training")}),
        (record(n=100, max_items=100, trained=False, request=OWN), {
            "test items, at most": ("10,000", "100"),
            "draw of test items": DRAWS,
        }),
        (record("mnli", n=9815, request=OWN), {
            "draw of training items": DRAWS,
            "draw of held-out items": DRAWS,
            "draw of items to choose on": DRAWS,
        }),
        # Where all items are taken nothing is drawn.
        (record(request=OWN, items=(1_992, 498)), {"draw of held-out items": DRAWS}),
        (record("sciq", n=1000, request=OWN, items=(11_679, 1_000), held_out_split="validation"), {}),
        (record(max_items=None), {}),  # all of the 277
        (record("qqp", n=40_430, max_items=None), {"test items, at most": ("10,000", "40,430")}),
        (record(keys={"learning_rate": 1e-4}), {"training: learning_rate": ("2e-05", "0.0001")}),
        (record(keys={"packing": True}), {}),  # noted, and decides nothing
    ],
)  # fmt: skip
def test_each_difference_is_read_off_the_record(measured, expected):
    assert decisive(measured) == expected


@pytest.mark.parametrize(("key", "what", "there"), [
    ("training_text", "training text", "published"), ("loss_on", "training: loss_on", "all"),
])  # fmt: skip
def test_an_older_record_without_a_key_does_not_pass_for_the_published(key, what, there):
    older = record("nq_open", n=3610)
    keys = {k: v for k, v in older.training.keys.items() if k != key}
    training = older.training.model_copy(update={"keys": keys})
    older = older.model_copy(update={"training": training})
    assert decisive(older) == {what: (there, "not recorded")}


def test_the_published_recipe_of_the_settings_is_the_published_protocols():
    (training,) = (
        fact for fact in PROTOCOLS["harmony"].facts if fact.what == "training" and fact.decides
    )
    exact = settings("paper_exact")
    ours = exact.harmony.task_recipe(exact.source).model_dump(mode="json")
    assert {key: ours[key] for key in training.each} == training.each


@pytest.mark.parametrize("stage", ["cpt", "sft"])
def test_the_published_stages_of_the_settings_are_the_published_protocols(stage):
    (fact,) = (fact for fact in PROTOCOLS["mmlu"].facts if fact.what == stage and fact.decides)
    ours = Recipe.model_validate(load({}).training.recipes[stage].model_dump()).model_dump(
        mode="json"
    )
    ours["precision"] = "bfloat16"  # auto, on the GPUs it was trained on
    assert {key: ours[key] for key in fact.each} == fact.each


@pytest.mark.parametrize("number", range(1, 8))
def test_the_prompt_runs_ask_as_published_but_for_words_and_the_examples_of_dev(number):
    case = of_the_prompts(number)
    table = case.differences(case.document)
    decides = table.loc[table["decides"] == YES, "what"].tolist()
    words = [] if number == 7 else ["wording of the prompts"]
    examples = ["which examples"] if number in (2, 3, 4, 5) else []
    examples += ["choices in the examples"] if number == 6 else []
    examples += ["answers in the examples"] if number in (5, 6) else []
    compared = [] if number == 7 else ["comparison of texts"]
    assert decides == words + examples + compared


def test_run_seven_with_the_text_of_its_prompts_is_another():
    case = of_the_prompts(7)
    document = case.document
    document["request"]["asking"]["messages"][0]["content"] = "{{ prompt }}"
    assert case.verdict(case.differences(case.document)) == AGREES
    table = case.differences(document)
    assert case.verdict(table) == OTHER_PROTOCOL
    assert table.loc[table["decides"] == YES, "what"].tolist() == ["wording of the prompts"]


def test_mmlu_with_the_prompt_of_the_installed_lighteval_is_another_protocol():
    case = of_mmlu("")
    document = case.document
    assert document["request"]["prompt"] == "published"
    document["request"]["prompt"] = "installed"
    table = case.differences(document)
    decides = table[table["decides"] == YES].set_index("what")
    assert decides[["published", "ours"]].to_dict("index") == {
        "blank lines between instruction and examples": {"published": "1", "ours": "3"}
    }
    assert case.verdict(table) == OTHER_PROTOCOL


def read_plans(task: str, **changes: Any) -> tuple[Cell, dict[str, Any]]:
    """Read a record of chunk plans as config/paper.yaml measures them, but for some keys."""
    ask = {"written": written_request, "mmlu": latency_request}.get(task, perplexity_request)
    request = ask(settings("paper"), "Qwen/Qwen2.5-0.5B-Instruct").as_params()
    kind = "latency" if task == "mmlu" else "perplexity"
    record = measured(
        "latency" if task == "mmlu" else "chunking", "Qwen/Qwen2.5-0.5B-Instruct", task, 4,
        request, name=kind, dtype="bfloat16", generation=request["measures"] | changes,
    )  # fmt: skip
    cell = latency_cell if task == "mmlu" else perplexity_cell
    return cell(record)


def of_plans(task: str, **changes: Any) -> pd.DataFrame:
    return compute_differences([read_plans(task, **changes)], PROTOCOLS).set_index("what")


def test_every_fact_is_computed_from_a_record_or_said_to_be_not_measured():
    """Without this a fact that no record states would pass for equal."""
    distilled = "@k2m12-mlp.none-adapters4864-init.normal-distil.both+cpt+sft"
    stated: dict[str, set[str]] = {}
    cases = [*(make() for make in CASES.values()), of_mmlu(distilled)]
    plans = [read_plans(task) for task in ("wikitext", "magpie", "written", "mmlu")]
    for study, what in [
        *(case.stated() for case in cases),
        *((cell.study, set(ours)) for cell, ours in plans),
    ]:
        stated.setdefault(study, set()).update(what)
    for study, protocol in PROTOCOLS.items():
        for fact in protocol.facts:
            names = {f"{fact.what}: {key}" for key in fact.each} or {fact.what}
            if fact.not_measured:
                assert not names & stated[study], f"{study}: {fact.what} is measured"
            else:
                assert names <= stated[study], f"{study}: no record states {fact.what}"


def test_what_is_not_measured_is_in_the_table_with_its_reason():
    row = of_plans("wikitext").loc["context of the last window"]
    assert row["ours"].startswith("not measured: ") and row["decides"] == NO


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("wikitext", ["context of the last window"]),
        ("magpie", ["what is scored of a conversation", "conversations that are too long"]),
        ("written", ["seed", "adapters of the plans", "attention"]),
        ("mmlu", ["latency: devices", "what is timed", "GPU"]),
    ],
)
def test_chunk_plans_are_measured_as_published_but_for_what_is_listed(task, expected):
    table = of_plans(task)
    assert table.index.tolist() == expected
    assert (table["decides"] == NO).all()


@pytest.mark.parametrize(
    ("task", "measures"),
    [
        ("wikitext", ("window", "stride", "text_tokens", "perplexity_mean")),
        ("magpie", ("responses", "difficulties", "perplexity_mean")),
        ("written", tuple(WrittenMeasures.model_fields)),
        ("mmlu", tuple(key for key in LatencyMeasures.model_fields if key != "repeats")),
    ],
)
def test_each_key_of_a_measure_of_plans_has_a_fact(task, measures):
    kind = "latency" if task == "mmlu" else "perplexity"
    for key in measures:
        assert of_plans(task, **{key: "other"}).loc[f"{kind}: {key}", "ours"] == "other"


def test_the_aggregation_of_the_latency_grid_is_named():
    request = latency_request(load({}), "miniature/Qwen2-1M-Instruct").as_params()
    record = measured("latency", "miniature/Qwen2-1M-Instruct", "mmlu", 4, request, name="latency")
    table = compute_differences([latency_cell(record)], PROTOCOLS).set_index("what")
    assert table.loc["aggregation of the layers alone", ["published", "ours"]].tolist() == [
        "mean", "residual",
    ]  # fmt: skip


def test_of_chunked_models_the_stages_before_count_too():
    case = of_mmlu("@k2m12-mlp.none-adapters4864-init.normal+cpt+sft")
    document = case.document
    document["cpt"]["request"]["keys"]["learning_rate"] = 2e-3
    document["sft"]["data"]["data"]["system"] = None
    table = case.differences(document)
    decides = table[table["decides"] == YES].set_index("what")["ours"].to_dict()
    assert {decides.pop("cpt: learning_rate"), decides.pop("sft: system")} == {"0.002", "none"}
    # What is not followed, or not known.
    assert list(decides) == [
        "cpt: batch_size", "sft: batch_size", "cpt: empty rows", "cpt: what fills no sample",
        "sft: conversations that are too long",
    ]  # fmt: skip


def test_the_leaderboard_s_rows_are_held_against_the_harness_of_its_published_scores():
    case = of_the_suite("gsm8k")
    table = case.differences(case.document).set_index("what")
    assert table.loc["lm-eval", "published"] == "b281b0921b636bc36ad05c0b0b0763bd6dd43463"
    assert table.loc[table["decides"] == YES].index.tolist() == [
        "start token in front of a prompt", "draw of the examples", "generation",
        "number behind ####",
    ]  # fmt: skip
    fixed = of_the_suite("mmlu")  # asked of the same five examples in the same words
    table = fixed.differences(fixed.document)
    assert set(table.loc[table["decides"] == YES, "what"]) == {"start token in front of a prompt"}


FORM = (
    *("aggregation of the chunks", "adapters"),
    *("start of the adapters", "distillation", "losses of distillation"),
)
LABELLED = "over tokens with a label; of hidden states the mean over those behind the chunks"


@pytest.mark.parametrize(
    ("marks", "ours"),
    [
        ("-mlp.none-adapters4864-init.normal", {}),
        ("-mlp.none-adapters4864", {FORM[2]: "the identity"}),
        ("-noadapters", {FORM[0]: "mlp.residual", FORM[1]: "noadapters"}),
        (
            "-mlp.none-adapters4864-init.normal-distil.both.published",
            {FORM[3]: "distil.both.published"},
        ),
        (
            "-mlp.none-adapters4864-init.normal-distil.both.t3",
            {FORM[3]: "distil.both.t3", FORM[4]: LABELLED},
        ),
    ],
)
def test_another_form_of_a_published_plan_is_named(marks, ours):
    fields = record_fields(study="mmlu", model=f"a/b@k2m12{marks}", task="mmlu_helm")
    items = ItemsFile(file="mmlu.parquet", sha256="0" * 64, n=4)
    table = compute_differences(
        [mmlu_cell(Record(items=items, **fields), {})], PROTOCOLS
    ).set_index("what")
    table = table[table.index.isin(FORM)]
    assert table["ours"].to_dict() == ours
    assert (table["decides"] == YES).all()


def test_the_paper_has_every_published_model_of_mmlu_and_its_other_form():
    paper = yaml.safe_load((ROOT / "config/paper.yaml").read_text(encoding="utf-8"))
    asked = published_cells(load(paper))["checkpoints"]
    variants = {one.removeprefix("Qwen/Qwen2.5-0.5B-Instruct") for one in asked}
    stages = ("+cpt", "+cpt+sft")
    forms = [
        f"@{plan}{form}{stage}"
        for plan in ("k2m12", "k2m6")
        for form in ("", "-distil.both", "-mlp.none-adapters4864-init.normal")
        for stage in stages
    ]
    assert variants >= {"", *forms}


# --- In place of a verdict


def compared(metric: str, item: str, verdict: str, **changes: Any) -> dict:
    row = {"source": "harmony_leaderboard", "of": QWEN, "item": item, "metric": metric}
    row |= {"published": 0.5, "ours": 0.51, "difference": 0.01, "z": 0.4, "error": 0.025}
    return row | {"verdict": verdict, "because": None} | changes


def test_what_a_difference_touches_gets_no_verdict_and_nothing_else_changes():
    rows = make_table(
        [
            compared("score", "rte", DIFFERS),
            compared("score", "sst2", AGREES),
            compared("direct", "rte", AGREES),
            compared("score", "rte", NOT_COMPARABLE, because=GENERATED),
            compared("rank", "rank", AGREES),
        ]
    )
    measured = record(keys={"learning_rate": 1e-4, "epochs": 3})
    table = with_other_protocols(rows, found(measured), PROTOCOLS)
    assert table["verdict"].tolist() == [
        OTHER_PROTOCOL, AGREES, AGREES, NOT_COMPARABLE, OTHER_PROTOCOL,
    ]  # fmt: skip
    assert table.loc[0, "because"] == (
        "training: learning rate (0.0001 here, 2e-05 there); training: epochs (3 here, 5 there)"
    )
    assert table.loc[0, "difference"] == pytest.approx(0.01)
    assert pd.isna(table.loc[0, "z"])
    untouched = [1, 2, 3]
    pd.testing.assert_frame_equal(table.loc[untouched], rows.loc[untouched])


def test_a_subject_of_mmlu_is_touched_by_what_touches_all():
    rows = make_table([compared("qem", "virology", AGREES, source="mmlu_baseline")])
    cell = Cell("mmlu", QWEN, None, "few_shot")
    ours = {"examples in front of a question": 0}
    table = with_other_protocols(rows, compute_differences([(cell, ours)], PROTOCOLS), PROTOCOLS)
    assert table.loc[0, "because"] == "examples in front of a question (0 here, 5 there)"


def test_over_all_models_a_task_by_another_protocol_has_a_difference_and_no_verdict():
    models = [f"a/{at}" for at in range(6)]
    rows = make_table([compared("score", "rte", AGREES, of=model) for model in models])
    other = found(*[record(model=model, dtype="bfloat16") for model in models])
    (row,) = compute_by_task(with_other_protocols(rows, other, PROTOCOLS), reruns()).itertuples()
    assert (row.verdict, row.models) == (OTHER_PROTOCOL, 6)
    assert row.difference == pytest.approx(0.01)
    assert "bfloat16 here" in row.because


def test_for_reading_each_difference_is_named_once_with_its_cells():
    table = found(*[record(task, dtype="bfloat16") for task in ("rte", "wic", "sst2")])
    assert len(table.query("decides == @YES")) == 3
    shown = pd.DataFrame(format_columns(table))
    (row,) = shown[shown["Ours"] == "bfloat16"].to_numpy().tolist()
    assert row[:6] == [
        "Train before test", "number format of the test", "float32", "bfloat16", "3", "yes",
    ]  # fmt: skip


# --- The file


def test_every_table_of_published_scores_has_its_protocol():
    named = {source for one in PROTOCOLS.values() for source in one.sources}
    folder = ROOT / "resources/published"
    tables = {path.stem for ending in ("csv", "tsv") for path in folder.glob(f"*.{ending}")}
    # No run measures the grid of the test task again.
    assert named == tables - {"sources", "pretraining", "test_task_cells", "test_task_models"}


@pytest.mark.parametrize(
    "wrong", ["harmony: []", "harmony: {sources: [a], facts: [{what: x, known_from: y, decides: false}]}", "- a"]
)  # fmt: skip
def test_a_wrong_file_is_named(wrong, tmp_path):
    path = tmp_path / "protocols.yaml"
    path.write_text(wrong)
    with pytest.raises(UserError, match=r"protocols\.yaml is not a table of published protocols"):
        read_protocols(path)
