"""Samples on the disk: what was written is what is read, and memory does not grow with their number."""

import numpy as np
import pytest

from tests.processes import python
from tests.unit.training.small import drawn_samples
from workflow_scripts.core.errors import UserError
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


def write(folder, samples: Samples):
    pieces = (samples[number] for number in range(len(samples)))
    return write_samples(folder, pieces, BadSamples(), about="this")


@pytest.mark.parametrize("count", [0, 1, 50])
def test_what_is_written_is_read(tmp_path, count):
    samples = drawn_samples(count)
    summary = write(tmp_path, samples)
    read, again = read_samples(tmp_path / "samples.json")
    assert contents(read) == contents(samples)
    assert again == summary
    assert summary["samples"] == count
    assert read.lengths.tolist() == [len(tokens) for tokens, _ in contents(samples)]


def test_a_split_loses_and_doubles_nothing():
    samples = drawn_samples(50)
    one, other = samples.split(0.3, np.random.default_rng(0))
    assert (len(one), len(other)) == (35, 15)
    assert sorted(contents(one) + contents(other)) == sorted(contents(samples))
    again = samples.split(0.3, np.random.default_rng(0))
    assert contents(again[1]) == contents(other)
    assert not other[BLANK].counted.any()
    assert [len(t) for t, _ in contents(other)] == other.lengths.tolist()


@pytest.mark.parametrize("name", ["tokens.bin", "counted.bin", "ends.bin", "samples.json"])
@pytest.mark.parametrize("damage", ["a bit", "lost"])
def test_damaged_files_are_named_and_not_trained_on(tmp_path, name, damage):
    write(tmp_path, drawn_samples(5))
    content = bytearray((tmp_path / name).read_bytes())
    content[0] ^= 1
    (tmp_path / name).write_bytes(content)
    if damage == "lost":
        (tmp_path / name).unlink()
    with pytest.raises(UserError, match=rf"samples.json cannot be read: .*{name}|line 1") as raised:
        read_samples(tmp_path / "samples.json")
    assert "Delete it to have it made again" in str(raised.value)


TOKENISE = """
import resource, sys
from pathlib import Path
import numpy as np
from tests.tiny_tokenizers import TEXT, tokenizer_like
from workflow_scripts.training.packing import Order
from workflow_scripts.training.samples import BadSamples, read_samples, write_samples
from workflow_scripts.training.tokenise import tokenise_conversations

count, folder = int(sys.argv[1]), Path(sys.argv[2])
rows = (
    (f"row {at}", {"conversations": [
        {"from": "human", "value": f"{at} {TEXT}"},
        {"from": "gpt", "value": TEXT if at % 7 else ""},
    ]})
    for at in range(count)
)
bad = BadSamples()
samples = tokenise_conversations(tokenizer_like("qwen"), rows, bad, column=None, length=512)
write_samples(folder, samples, bad)
samples, summary = read_samples(folder / "samples.json")
for split in samples.split(0.1, np.random.default_rng(0)):
    for at in range(len(split)):
        split[at]
    next(Order(len(split), 16, 8, 0).steps())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, summary["samples"])
"""


@pytest.mark.slow
def test_memory_hardly_grows_with_the_number_of_samples(tmp_path):
    peaks = {}
    for count in (2_000, 20_000):
        peak, samples = python(TOKENISE, count, tmp_path / str(count)).split()
        peaks[count] = float(peak)
        assert int(samples) == count - -(-count // 7)
    assert peaks[20_000] - peaks[2_000] < 30
