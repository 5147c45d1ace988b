"""Samples on the disk and the rows that they are made of."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.tiny_tokenizers import TEXT
from tests.unit.training.small import drawn_samples
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.rows import dataset_rows, file_rows
from workflow_scripts.training.samples import (
    BLANK,
    BadSamples,
    Samples,
    read_samples,
    write_samples,
)


def contents(samples: Samples):
    pieces = [samples[number] for number in range(len(samples))]
    return [(s.tokens.tolist(), s.counted.tolist()) for s in pieces]


@pytest.mark.parametrize("count", [0, 1, 600])
def test_what_is_written_is_read(tmp_path, count):
    samples, path = drawn_samples(count), tmp_path / "samples.json"
    summary = write_samples(path, map(samples.__getitem__, range(count)), BadSamples(odd=1), a="b")
    read, again = read_samples(path)
    assert contents(read) == contents(samples)
    assert again == summary and (summary["samples"], summary["bad"]) == (count, {"odd": 1})
    assert read.lengths.tolist() == [len(tokens) for tokens, _ in contents(samples)]


def test_a_split_loses_and_doubles_nothing():
    samples = drawn_samples(50)
    one, other = samples.split(0.3, np.random.default_rng(0))
    assert (len(one), len(other)) == (35, 15)
    assert sorted(contents(one) + contents(other)) == sorted(contents(samples))
    assert contents(samples.split(0.3, np.random.default_rng(0))[1]) == contents(other)
    assert not other[BLANK].counted.any()


def test_a_flipped_bit_is_not_trained_on(tmp_path):
    write_samples(tmp_path / "samples.json", [drawn_samples(1)[0]], BadSamples())
    content = bytearray((tmp_path / "samples.arrow").read_bytes())
    content[-1] ^= 1
    (tmp_path / "samples.arrow").write_bytes(content)
    with pytest.raises(UserError, match=r"samples.arrow was altered"):
        read_samples(tmp_path / "samples.json")


def test_files_are_read_row_by_row(tmp_path):
    texts = [f"{number} {TEXT}\n" for number in range(500)]
    rows = [{"text": text} for text in texts]
    (tmp_path / "a.txt").write_text("".join(texts), encoding="utf-8")
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    paths = [tmp_path / f"a.{kind}" for kind in ("txt", "jsonl", "parquet")]
    assert list(file_rows(paths)) == rows * 3


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", b"", r"ends in '.csv'; expected .txt, .jsonl or .parquet."),
        ("a.txt", b"\xff\xfe", "cannot be read"),
        ("a.jsonl", b"{broken", "cannot be read"),
        ("a.parquet", b"nothing of the kind", "cannot be read"),
        ("missing.txt", None, "cannot be read"),
    ],
)
def test_files_that_cannot_be_read_are_a_sentence(tmp_path, name, content, sentence):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        list(file_rows([tmp_path / name]))


def test_datasets_of_the_hub_are_streamed(world):
    rows = dataset_rows(world, "Salesforce/wikitext", "wikitext-103-raw-v1", "validation")
    assert all(isinstance(row["text"], str) for row in rows)
    with pytest.raises(UserError, match=r"'?Salesforce/wikitext'? cannot be read: .*trian"):
        list(dataset_rows(world, "Salesforce/wikitext", "wikitext-103-raw-v1", "trian"))
