"""The tables of models and tasks: what they hold, and how bad rows are refused."""

import re
from pathlib import Path

import pandas as pd
import pytest

from tests.tables import table_beside
from tests.unit.settings.merged import ROOT
from workflow_scripts.core.errors import UserError
from workflow_scripts.miniature.specs import SPECS, TOKENS_PER_BATCH
from workflow_scripts.settings.tables import CATEGORIES, ModelRow, TaskRow, read_table

# The models of the published ranking, in its README's order.
LM_HARMONY_MODELS = Path(__file__).with_name("lm_harmony_models.txt").read_text().split()
# A row as a table may have it, and what stands below its columns.
MODEL, TASK = (
    dict(zip(columns, cells, strict=True))
    for columns, cells in (
        (
            [
                "model",
                "source",
                "family",
                "parameters",
                "layers",
                "kind",
                "licence",
                "gated",
                "revision",
            ],
            [
                "acme/Rocket-1B",
                "huggingface",
                "Rocket",
                "1000000000",
                "16",
                "base",
                "Apache-2.0",
                "no",
                "main",
            ],
        ),
        (
            [
                "task",
                "harness",
                "harness_task",
                "dataset",
                "subset",
                "metric",
                "filter",
                "training",
                "category",
            ],
            ["cola", "lm_eval", "cola", "nyu-mll/glue", "cola", "mcc", "none", "yes", "Math"],
        ),
    )
)
TASK["display_name"] = "CoLA"
GOOD = {"models": (ModelRow, MODEL), "tasks": (TaskRow, TASK)}


@pytest.fixture(scope="module")
def models():
    return read_table(ModelRow, ROOT / "config/models.tsv")


def write(folder: Path, *rows) -> Path:
    """Write rows as a spreadsheet saves them."""
    text = "".join("\t".join(row) + "\r\n" for row in rows)
    (folder / "table.tsv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    return folder / "table.tsv"


def test_the_models_of_the_published_ranking_are_all_there(models):
    assert len(LM_HARMONY_MODELS) == 61
    assert [name for name in models if name in LM_HARMONY_MODELS] == LM_HARMONY_MODELS


def test_facts_of_some_models(models):
    for name, *facts in table_beside(__file__, "model_facts.txt"):
        row = models[name]
        assert [str(fact) for fact in (row.parameters, row.layers, row.kind, row.gated)] == facts


def test_names_say_the_size_and_whether_a_model_is_instructed(models):
    for name, row in models.items():
        says_so = name.endswith(("-Instruct", "-Chat", "-it", "_sft"))
        assert (row.kind == "instruct") == says_so, name
        for size, unit in re.findall(r"-(\d+(?:\.\d+)?)([MB])\b", name, re.IGNORECASE):
            stated = float(size) * {"m": 1e6, "b": 1e9}[unit.lower()]
            # Some vendors round generously: gemma-2-2b has 2.6 billion, gemma-7b 8.5 billion.
            assert name not in LM_HARMONY_MODELS or 0.75 < stated / row.parameters < 1.25, name


def test_an_instruct_model_has_the_facts_of_its_base(models):
    shared = {"family", "parameters", "layers", "licence", "gated"}
    for name, row in models.items():
        if row.kind == "instruct" and (base := models.get(name.rsplit("-", 1)[0])):
            assert row.model_dump(include=shared) == base.model_dump(include=shared), name


def test_tokens_of_pretraining_are_those_that_were_published_and_those_that_are_read(models):
    published = pd.read_csv(ROOT / "resources/published/pretraining.tsv", sep="\t")
    tokens = {name: row.tokens_billion for name, row in models.items()}
    stated = dict(zip(published["model"], published["tokens_billion"], strict=True))
    assert stated.items() <= tokens.items()
    for name, spec in SPECS.items():
        read = SPECS[spec.base or name].steps * TOKENS_PER_BATCH / 1e9
        assert tokens[f"miniature/{name}"] == pytest.approx(read, rel=1e-12)


def test_the_tasks_of_the_published_grid_stand_in_its_six_categories_and_these_come_first():
    tasks = read_table(TaskRow, ROOT / "config/tasks.tsv")
    published = {
        name: tasks.split() for name, tasks in table_beside(__file__, "lm_harmony_categories.txt")
    }
    for category, names in published.items():
        assert {tasks[name].category for name in names} == {category}
        assert all(tasks[name].training for name in names)
    assert sum(map(len, published.values())) == 24
    assert list(CATEGORIES[:6]) == list(published)


def test_cells_become_values_blank_ones_are_left_out_and_columns_stand_in_any_order(tmp_path):
    row = MODEL | {"revision": "", "tokens_billion": ""}
    (model,) = read_table(
        ModelRow, write(tmp_path, list(row)[::-1], list(row.values())[::-1])
    ).values()
    assert (model.parameters, model.gated) == (1_000_000_000, False)
    assert model.revision is model.tokens_billion is None


@pytest.mark.parametrize(
    ("kind", "column", "cell", "expected"), table_beside(__file__, "bad_cells.txt")
)
def test_a_bad_cell_is_named(tmp_path, kind, column, cell, expected):
    row_type, good = GOOD[kind]
    path = write(
        tmp_path, [*good, column] if column not in good else good, (good | {column: cell}).values()
    )
    with pytest.raises(UserError, match=expected) as raised:
        read_table(row_type, path)
    assert str(raised.value).startswith(f"{path}, line 2: {column}")


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        (MODEL, 2, "line 3: acme/Rocket-1B is there a second time"),
        (list(MODEL)[:3], 1, "line 2: .*Keys should be strings"),
        (["modell", *list(MODEL)[1:]], 1, "modell is .*Did you mean 'model'"),
    ],
)
def test_rows_that_are_there_twice_or_have_other_columns_are_named(
    tmp_path, columns, rows, expected
):
    with pytest.raises(UserError, match=expected):
        read_table(ModelRow, write(tmp_path, columns, *[MODEL.values()] * rows))


def test_a_file_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_bytes(b"model\tso\xe9rce\n")
    with pytest.raises(UserError, match="cannot be read as a tab-separated UTF-8 table"):
        read_table(ModelRow, path)


def test_a_token_in_a_cell_is_not_shown(tmp_path):
    token = "hf_" + "AbCdEfGhIjKlMnOp"
    with pytest.raises(UserError) as raised:
        read_table(ModelRow, write(tmp_path, MODEL, (MODEL | {"gated": token}).values()))
    assert token not in str(raised.value)
