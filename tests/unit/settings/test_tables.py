"""Test the tables of models and tasks: their content, and the rejection of invalid rows."""

from pathlib import Path

import pytest

from tests.tables import load_table
from tests.unit.settings.merged import ROOT
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.tables import ModelRow, TaskRow, read_table

# A valid row of each table.
MODEL, TASK = (dict(load_table(__file__, f"good_{name}.txt")) for name in ("model", "task"))
GOOD = {"models": (ModelRow, MODEL), "tasks": (TaskRow, TASK)}


def write(folder: Path, *rows) -> Path:
    """Write rows as spreadsheet programs do, with a BOM and CRLF."""
    text = "".join("\t".join(row) + "\r\n" for row in rows)
    (folder / "table.tsv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    return folder / "table.tsv"


def test_published_ranking_models():
    """All models are in the table, in the published order."""
    models = read_table(ModelRow, ROOT / "config/models.tsv")
    names = [name for (name,) in load_table(__file__, "lm_harmony_models.txt")]
    assert [name for name in models if name in names] == names
    for name, *facts in load_table(__file__, "model_facts.txt"):
        row = models[name]
        assert [str(fact) for fact in (row.parameters, row.layers, row.kind, row.gated)] == facts


def test_read_table(tmp_path):
    """Columns may have any order; blank cells count as missing."""
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
        (MODEL, 2, "line 3: acme/Rocket-1B is listed twice"),
        (["modell", *list(MODEL)[1:]], 1, "modell is .*Did you mean 'model'"),
    ],
)
def test_bad_table(tmp_path, columns, rows, expected):
    path = write(tmp_path, columns, *[MODEL.values()] * rows)
    with pytest.raises(UserError, match=expected):
        read_table(ModelRow, path)
