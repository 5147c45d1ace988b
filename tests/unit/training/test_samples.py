"""Test reading rows from files and datasets, and storing samples."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.tiny_tokenizers import TEXT
from tests.unit.training.tiny_training import draw_samples, flip_bit
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.samples import BadSamples, read_samples, write_samples
from workflow_scripts.training.tokenise_samples import read_dataset_rows, read_file_rows


def to_lists(samples):
    return [(sample.tokens.tolist(), sample.loss_mask.tolist()) for sample in samples]


@pytest.mark.parametrize("count", [0, 600])
def test_write_and_read_samples(tmp_path, count):
    samples, path = draw_samples(count), tmp_path / "samples.json"
    summary = write_samples(path, samples, BadSamples(odd=1), a="b")
    loaded, loaded_summary = read_samples(path)
    assert to_lists(loaded) == to_lists(samples)
    assert loaded_summary == summary and (summary["samples"], summary["bad"]) == (count, {"odd": 1})
    assert loaded.lengths.tolist() == [len(tokens) for tokens, _ in to_lists(samples)]


def test_flipped_bit_is_refused(tmp_path):
    write_samples(tmp_path / "samples.json", draw_samples(1), BadSamples())
    flip_bit(tmp_path / "samples.arrow")
    with pytest.raises(UserError, match=r"samples.arrow was altered"):
        read_samples(tmp_path / "samples.json")


def test_read_file_rows(tmp_path):
    texts = [f"{number} {TEXT}\n" for number in range(500)]
    rows = [{"text": text} for text in texts]
    (tmp_path / "a.txt").write_text("".join(texts), encoding="utf-8")
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    paths = [tmp_path / f"a.{kind}" for kind in ("txt", "jsonl", "parquet")]
    assert list(read_file_rows(paths)) == rows * 3


def test_read_dataset_rows(world):
    arguments = (world, "Salesforce/wikitext", "wikitext-103-raw-v1")
    assert all(isinstance(row["text"], str) for row in read_dataset_rows(*arguments, "validation"))
