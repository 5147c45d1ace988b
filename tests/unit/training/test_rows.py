"""Rows from files and datasets: streamed, and what cannot be read is a sentence or a counted row."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.tiny_tokenizers import TEXT
from workflow_scripts.core.errors import UserError
from workflow_scripts.training import rows as sources
from workflow_scripts.training.rows import dataset_rows, file_rows


def test_a_text_file_comes_in_pieces_that_are_the_text(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_BYTES_OF_TEXT", 100)
    text = "".join(f"{at} {TEXT}\r\n" for at in range(50)) + "no line end"
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode())
    rows = list(file_rows([path]))
    assert len(rows) > 10
    assert "".join(row["text"] for _, row in rows) == text
    assert rows[1][0] == f"{path}, piece 1"


def test_lines_that_are_no_rows_are_passed_on_as_such(tmp_path):
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"text": "Zoë"}).encode(), b"{broken", b"[1]", b'{"text": "\xff"}', b""]
    path.write_bytes(b"\n".join([*lines, json.dumps({"text": "b"}).encode()]))
    assert [(where.rpartition(" ")[2], row) for where, row in file_rows([path])] == [
        ("1", {"text": "Zoë"}),
        ("2", None),
        ("3", None),
        ("4", None),
        ("5", None),
        ("6", {"text": "b"}),
    ]


def test_parquet_rows_are_counted_through(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [str(at) for at in range(2500)]}), path)
    rows = list(file_rows([path, path]))
    assert len(rows) == 5000
    assert rows[2499] == (f"{path}, row 2499", {"text": "2499"})


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.txt", None, "is missing; a recipe's `files` names it."),
        ("a.csv", b"", r"ends in '.csv'; expected .txt, .jsonl or .parquet."),
        ("a.txt", b"\xff\xfe", "is not text in UTF-8"),
        ("a.parquet", b"nothing of the kind", "is not a Parquet file"),
    ],
)
def test_files_that_cannot_be_read_are_a_sentence(tmp_path, name, content, sentence):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        list(file_rows([path]))


def test_datasets_of_the_hub_are_streamed(world):
    rows = list(dataset_rows(world, "Salesforce/wikitext", "wikitext-103-raw-v1", "validation"))
    assert rows[3][0] == "Salesforce/wikitext, row 3"
    assert all(isinstance(row["text"], str) for _, row in rows)


def test_an_unknown_split_is_a_sentence(world):
    with pytest.raises(UserError, match=r"'Salesforce/wikitext' cannot be read: .*trian"):
        list(dataset_rows(world, "Salesforce/wikitext", "wikitext-103-raw-v1", "trian"))
