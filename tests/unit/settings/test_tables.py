"""The tables of models and tasks: what they hold, and how bad rows are refused."""

import re
from pathlib import Path

import pytest

from tests.tables import load_table
from tests.unit.settings.merged import ROOT
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.tables import CATEGORIES, ModelRow, TaskRow, read_table

# The models of the published ranking, in its README's order.
LM_HARMONY_MODELS = Path(__file__).with_name("lm_harmony_models.txt").read_text().split()
# A good row of each table.
MODEL, TASK = (dict(line) for line in (
    load_table(__file__, "good_model.txt"), load_table(__file__, "good_task.txt")
))  # fmt: skip
GOOD = {"models": (ModelRow, MODEL), "tasks": (TaskRow, TASK)}


@pytest.fixture(scope="module")
def models():
    return read_table(ModelRow, ROOT / "config/models.tsv")


def write(folder: Path, *rows) -> Path:
    """Write rows as a spreadsheet saves them."""
    text = "".join("\t".join(row) + "\r\n" for row in rows)
    (folder / "table.tsv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    return folder / "table.tsv"


def test_published_ranking_models(models):
    """All are there, and names say the size; some vendors round generously: gemma-7b has 8.5 billion."""
    assert [name for name in models if name in LM_HARMONY_MODELS] == LM_HARMONY_MODELS
    for name in LM_HARMONY_MODELS:
        for size, unit in re.findall(r"-(\d+(?:\.\d+)?)([MB])\b", name, re.IGNORECASE):
            stated = float(size) * {"m": 1e6, "b": 1e9}[unit.lower()]
            assert 0.75 < stated / models[name].parameters < 1.25, name
    for name, *facts in load_table(__file__, "model_facts.txt"):
        row = models[name]
        assert [str(fact) for fact in (row.parameters, row.layers, row.kind, row.gated)] == facts


def test_published_grid_tasks():
    tasks = read_table(TaskRow, ROOT / "config/tasks.tsv")
    published = load_table(__file__, "lm_harmony_categories.txt")
    assert list(CATEGORIES[:6]) == [category for category, _ in published]
    for category, names in published:
        rows = [tasks[name] for name in names.split()]
        assert all(row.category == category and row.training for row in rows)


def test_read_table(tmp_path):
    """Columns in any order; blank cells are as if left out."""
    row = dict(reversed((MODEL | {"revision": "", "tokens_billion": ""}).items()))
    (model,) = read_table(ModelRow, write(tmp_path, row, row.values())).values()
    assert (model.parameters, model.gated) == (1_000_000_000, False)
    assert model.revision is model.tokens_billion is None


@pytest.mark.parametrize(
    ("kind", "column", "cell", "expected"), load_table(__file__, "bad_cells.txt")
)
def test_bad_cell(tmp_path, kind, column, cell, expected):
    row_type, good = GOOD[kind]
    row = good | {column: cell}
    path = write(tmp_path, row, row.values())
    with pytest.raises(UserError, match=expected) as error:
        read_table(row_type, path)
    assert str(error.value).startswith(f"{path}, line 2: {column}")


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        (MODEL, 2, "line 3: acme/Rocket-1B is there a second time"),
        (list(MODEL)[:3], 1, "line 2: .*Keys should be strings"),
        (["modell", *list(MODEL)[1:]], 1, "modell is .*Did you mean 'model'"),
        (["mod\udce9l"], 0, "cannot be read as a tab-separated UTF-8 table"),
    ],
)
def test_bad_table(tmp_path, columns, rows, expected):
    path = tmp_path / "table.tsv"
    lines = ["\t".join(columns), *["\t".join(MODEL.values())] * rows]
    path.write_text("\n".join(lines), "utf-8", "surrogateescape")
    with pytest.raises(UserError, match=expected):
        read_table(ModelRow, path)
