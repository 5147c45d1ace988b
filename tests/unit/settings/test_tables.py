"""The tables of models and tasks: what they hold, and how bad rows are refused."""

import re
from pathlib import Path

import pandas as pd
import pytest

from tests.tables import table_beside
from tests.unit.settings.merged import ROOT
from workflow_scripts.core.errors import UserError
from workflow_scripts.miniature.specs import SPECS, TOKENS_PER_BATCH
from workflow_scripts.settings.tables import CATEGORIES, ModelRow, read_models, read_tasks

# The models of the published ranking, in its README's order.
LM_HARMONY_MODELS = (Path(__file__).with_name("lm_harmony_models.txt")).read_text().split()
# The header of its leaderboard.
LM_HARMONY_TASKS = [
    *("MNLI", "QQP", "MedMCQA", "QNLI", "NQ-Open", "SST-2", "Winogrande", "HellaSwag"),
    *("Social-IQA", "MathQA", "ANLI", "PIQA", "SciQ", "CommonsenseQA", "BoolQ", "CoLA", "GSM8K"),
    *("WiC", "OpenBookQA", "MRPC", "HeadQA", "RTE", "ARC-Easy", "ARC-Challenge"),
]

# The groups of the figures there, in their order (github.com/socialfoundations/lm-harmony, notebook).
LM_HARMONY_CATEGORIES = {
    "Language Understanding": "mnli qnli rte cola sst2 mrpc qqp wic anli_r1",
    "Commonsense Reasoning": "winogrande commonsense_qa hellaswag social_iqa",
    "Question Answering": "openbookqa nq_open boolq arc_easy arc_challenge",
    "Physics/Biology/Chemistry": "sciq piqa",
    "Math": "mathqa gsm8k",
    "Medicine": "medmcqa headqa_en",
}

MODEL_COLUMNS = list(ModelRow.model_fields)
MODEL = {
    "model": "acme/Rocket-1B",
    "source": "huggingface",
    "family": "Rocket",
    "parameters": "1000000000",
    "active_parameters": "",
    "tokens_billion": "2000",
    "layers": "16",
    "kind": "base",
    "licence": "Apache-2.0",
    "gated": "no",
    "revision": "",
    "endpoint": "",
}
TASK = {
    "task": "cola",
    "harness": "lm_eval",
    "harness_task": "cola",
    "dataset": "nyu-mll/glue",
    "subset": "cola",
    "metric": "mcc",
    "filter": "none",
    "training": "yes",
    "category": "Math",
    "display_name": "CoLA",
}


@pytest.fixture
def table(tmp_path):
    """Write rows of cells, the header first, and give the file."""

    def write(*rows: list[str]) -> Path:
        path = tmp_path / "table.tsv"
        path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


def problems_of(read, path: Path) -> list[str]:
    with pytest.raises(UserError) as raised:
        read(path)
    assert all(str(path) in problem and problem.endswith(".") for problem in raised.value.problems)
    return raised.value.problems


def test_the_models_of_the_published_ranking_are_all_there():
    models = read_models(ROOT / "config/models.tsv")
    assert len(LM_HARMONY_MODELS) == 61
    assert [name for name in models if name in LM_HARMONY_MODELS] == LM_HARMONY_MODELS


def test_the_tasks_of_the_published_ranking_are_all_there_and_can_be_trained_on():
    tasks = [
        row
        for row in read_tasks(ROOT / "config/tasks.tsv").values()
        if row.training and row.metric != "bits_per_byte"
    ]
    assert len(LM_HARMONY_TASKS) == 24
    assert {row.display_name for row in tasks} >= set(LM_HARMONY_TASKS)


@pytest.mark.parametrize(
    ("model", "parameters", "layers", "kind", "gated"),
    [
        ("openai-community/gpt2-xl", 1_557_611_200, 48, "base", False),
        ("Qwen/Qwen2.5-0.5B-Instruct", 494_032_768, 24, "instruct", False),
        ("Qwen/Qwen2.5-14B", 14_770_033_664, 48, "base", False),
        ("Qwen/Qwen1.5-4B-Chat", 3_950_369_280, 40, "instruct", False),
        ("meta-llama/Llama-3.2-1B-Instruct", 1_235_814_400, 16, "instruct", True),
        ("google/gemma-2-9b-it", 9_241_705_984, 42, "instruct", True),
        ("EleutherAI/pythia-1b-deduped", 1_011_781_632, 16, "base", False),
        ("01-ai/Yi-1.5-9B-Chat", 8_829_407_232, 48, "instruct", False),
    ],
)
def test_facts_of_some_models(model, parameters, layers, kind, gated):
    row = read_models(ROOT / "config/models.tsv")[model]
    assert (row.parameters, row.layers, row.kind, row.gated) == (parameters, layers, kind, gated)


def test_the_size_in_a_published_name_is_the_number_of_parameters():
    for name in LM_HARMONY_MODELS:
        row = read_models(ROOT / "config/models.tsv")[name]
        for size, unit in re.findall(r"-(\d+(?:\.\d+)?)([MB])\b", name, re.IGNORECASE):
            stated = float(size) * {"m": 1e6, "b": 1e9}[unit.lower()]
            # Some vendors round generously: gemma-2-2b has 2.6 billion, gemma-7b 8.5 billion.
            assert 0.75 < stated / row.parameters < 1.25, name


def test_instruct_models_are_those_whose_names_say_so():
    for name, row in read_models(ROOT / "config/models.tsv").items():
        says_so = name.endswith(("-Instruct", "-Chat", "-it", "_sft"))
        assert (row.kind == "instruct") == says_so, name


def test_an_instruct_model_has_the_facts_of_its_base():
    models = read_models(ROOT / "config/models.tsv")
    shared = {"family", "parameters", "layers", "licence", "gated"}
    for name, row in models.items():
        if row.kind == "instruct" and (base := models.get(name.rsplit("-", 1)[0])):
            assert row.model_dump(include=shared) == base.model_dump(include=shared), name


def test_cells_become_typed_values(table):
    row = read_models(table(MODEL_COLUMNS, list(MODEL.values())))["acme/Rocket-1B"]
    assert (row.parameters, row.gated, row.revision) == (1_000_000_000, False, None)
    assert read_tasks(table(list(TASK), list(TASK.values())))["cola"].training is True


def test_columns_may_stand_in_any_order(table):
    columns = MODEL_COLUMNS[::-1]
    assert read_models(table(columns, [MODEL[column] for column in columns]))


def test_a_table_saved_by_a_spreadsheet_is_read(tmp_path):
    path = tmp_path / "table.tsv"
    text = "".join("\t".join(row) + "\r\n" for row in (MODEL_COLUMNS, MODEL.values()))
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert list(read_models(path)) == ["acme/Rocket-1B"]


@pytest.mark.parametrize(
    ("of", "column", "cell", "expected"), table_beside(__file__, "bad_cells.txt")
)
def test_a_bad_cell_is_named(table, of, column, cell, expected):
    read, good = {"models": (read_models, MODEL), "tasks": (read_tasks, TASK)}[of]
    values = good | {column: cell}
    (problem,) = problems_of(read, table(list(good), list(values.values())))
    assert f"line 2, column {column}: the value is {cell!r}; expected" in problem
    assert expected in problem


def test_tokens_of_pretraining_may_be_left_out_as_a_cell_and_as_a_column(table):
    (row,) = read_models(table(MODEL_COLUMNS, list(MODEL.values()))).values()
    assert row.tokens_billion == 2000
    (row,) = read_models(
        table(MODEL_COLUMNS, list((MODEL | {"tokens_billion": ""}).values()))
    ).values()
    assert row.tokens_billion is None
    fewer = {name: cell for name, cell in MODEL.items() if name != "tokens_billion"}
    (row,) = read_models(table(list(fewer), list(fewer.values()))).values()
    assert row.tokens_billion is None


def test_tokens_of_pretraining_are_those_that_were_published_and_those_that_are_read():
    published = pd.read_csv(ROOT / "resources/published/pretraining.tsv", sep="\t")
    known = {
        name: row.tokens_billion
        for name, row in read_models(ROOT / "config/models.tsv").items()
        if row.tokens_billion
    }
    real = {name: tokens for name, tokens in known.items() if not name.startswith("miniature/")}
    theirs = dict(zip(published["model"], published["tokens_billion"], strict=True))
    assert theirs.items() <= real.items()
    for name, spec in SPECS.items():
        steps = SPECS[spec.base or name].steps
        tokens = steps * TOKENS_PER_BATCH / 1e9
        assert known[f"miniature/{name}"] == pytest.approx(tokens, rel=1e-12)


def test_all_problems_of_a_table_are_named_at_once(table):
    bad = MODEL | {"layers": "x", "gated": "maybe"}
    again = MODEL | {"kind": "chat"}
    rows = [list(row.values()) for row in (MODEL, bad, again)]
    problems = problems_of(read_models, table(MODEL_COLUMNS, *rows, ["short"], []))
    assert [problem.split(": ", 1)[0].split(", ", 1)[1] for problem in problems] == [
        "line 3, column model",
        "line 3, column layers",
        "line 3, column gated",
        "line 4, column model",
        "line 4, column kind",
        "line 5",
        "line 6",
    ]
    assert "as in line 2; expected each model once." in problems[0]
    assert f"there are 1 cells; expected {len(MODEL)}" in problems[5]


def test_columns_that_are_missing_unknown_or_twice_are_named(table):
    columns = ["model", "sorce", "family", "family", "parameters", "layers", "kind", "licence"]
    problems = problems_of(read_models, table(columns))
    assert [problem.split("line 1: ")[1] for problem in problems] == [
        f"the column 'sorce' is unknown; expected {', '.join(MODEL_COLUMNS[:-1])} and endpoint"
        " (did you mean 'source'?).",
        "the column source is missing.",
        "the column family stands 2 times; expected it once.",
        "the column gated is missing.",
        "the column revision is missing.",
    ]


def test_a_table_without_rows_is_refused(table):
    (problem,) = problems_of(read_models, table(MODEL_COLUMNS))
    assert "has no rows; expected at least one model." in problem


def test_an_empty_file_lacks_every_column(table):
    assert (
        len(problems_of(read_models, table())) == len(MODEL_COLUMNS) - 3
    )  # tokens, endpoints and active parameters may lack


@pytest.mark.parametrize("content", [b"\xff\xfe\x00m", b"model\tso\xe9rce\n"])
def test_a_file_that_is_no_text_is_refused(tmp_path, content):
    path = tmp_path / "table.tsv"
    path.write_bytes(content)
    (problem,) = problems_of(read_models, path)
    assert "cannot be read as a tab-separated UTF-8 table" in problem


def test_a_token_in_a_cell_is_not_shown(table):
    token = "hf_" + "AbCdEfGhIjKlMnOp"
    values = MODEL | {"gated": token}
    (problem,) = problems_of(read_models, table(MODEL_COLUMNS, list(values.values())))
    assert token not in problem


def test_the_tasks_of_the_published_grid_stand_in_its_six_categories_and_these_come_first():
    tasks = read_tasks(ROOT / "config/tasks.tsv")
    for category, names in LM_HARMONY_CATEGORIES.items():
        assert {tasks[name].category for name in names.split()} == {category}
    assert sum(len(names.split()) for names in LM_HARMONY_CATEGORIES.values()) == 24
    assert list(CATEGORIES[:6]) == list(LM_HARMONY_CATEGORIES)
