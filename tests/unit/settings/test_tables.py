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


def test_the_models_of_the_published_ranking_are_all_there():
    models = read_models(ROOT / "config/models.tsv")
    assert len(LM_HARMONY_MODELS) == 61
    assert [name for name in models if name in LM_HARMONY_MODELS] == LM_HARMONY_MODELS


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


def test_a_table_saved_by_a_spreadsheet_is_read(tmp_path):
    path = tmp_path / "table.tsv"
    text = "".join("\t".join(row) + "\r\n" for row in (MODEL_COLUMNS, MODEL.values()))
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert list(read_models(path)) == ["acme/Rocket-1B"]


@pytest.mark.parametrize(
    ("kind", "column", "cell", "expected"), table_beside(__file__, "bad_cells.txt")
)
def test_a_bad_cell_is_named(table, kind, column, cell, expected):
    read, good = {"models": (read_models, MODEL), "tasks": (read_tasks, TASK)}[kind]
    path = table(list(good), list((good | {column: cell}).values()))
    with pytest.raises(UserError, match=expected) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}, line 2: {column}")


def test_blank_cells_are_as_if_left_out_and_columns_stand_in_any_order(table):
    row = MODEL | {"tokens_billion": ""}
    (model,) = read_models(table(list(row)[::-1], list(row.values())[::-1])).values()
    assert (model.parameters, model.gated, model.revision) == (1_000_000_000, False, None)
    assert model.tokens_billion is None


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


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        (MODEL_COLUMNS, [MODEL, MODEL], "line 3: acme/Rocket-1B is there a second time"),
        (MODEL_COLUMNS[:3], [MODEL], "line 2: .*Keys should be strings"),
        (["modell", *MODEL_COLUMNS[1:]], [MODEL], "modell is .*Did you mean 'model'"),
    ],
)
def test_rows_that_are_there_twice_or_have_other_columns_are_named(table, columns, rows, expected):
    with pytest.raises(UserError, match=expected):
        read_models(table(columns, *(list(row.values()) for row in rows)))


@pytest.mark.parametrize("content", [b"\xff\xfe\x00m", b"model\tso\xe9rce\n"])
def test_a_file_that_is_no_text_is_refused(tmp_path, content):
    path = tmp_path / "table.tsv"
    path.write_bytes(content)
    with pytest.raises(UserError, match="cannot be read as a tab-separated UTF-8 table"):
        read_models(path)


def test_a_token_in_a_cell_is_not_shown(table):
    token = "hf_" + "AbCdEfGhIjKlMnOp"
    values = MODEL | {"gated": token}
    with pytest.raises(UserError) as raised:
        read_models(table(MODEL_COLUMNS, list(values.values())))
    assert token not in str(raised.value)


def test_the_tasks_of_the_published_grid_stand_in_its_six_categories_and_these_come_first():
    tasks = read_tasks(ROOT / "config/tasks.tsv")
    for category, names in LM_HARMONY_CATEGORIES.items():
        assert {tasks[name].category for name in names.split()} == {category}
    assert sum(len(names.split()) for names in LM_HARMONY_CATEGORIES.values()) == 24
    assert list(CATEGORIES[:6]) == list(LM_HARMONY_CATEGORIES)
