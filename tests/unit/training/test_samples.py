"""Samples on the disk: what was written is what is read, and memory does not grow with their number."""

import numpy as np
import pytest

from tests.processes import python
from tests.unit.training.small import drawn_samples, samples_of
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.samples import BLANK, Sample, Samples, SampleWriter, read_samples


def contents(samples: Samples):
    pieces = [samples[at] for at in range(len(samples))]
    return [(s.tokens.tolist(), s.counted.tolist()) for s in pieces]


def write(folder, samples: Samples):
    writer = SampleWriter(folder)
    for at in range(len(samples)):
        writer.add(samples[at])
    return writer.close(about="this")


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


def test_marks_belong_to_tokens():
    with pytest.raises(ValueError, match="3 tokens and 2 marks"):
        Sample(np.zeros(3, np.int32), np.zeros(2, bool))
    with pytest.raises(IndexError):
        samples_of([3])[1]


@pytest.mark.parametrize("name", ["tokens.bin", "counted.bin", "ends.bin"])
def test_one_flipped_bit_is_named_and_not_trained_on(tmp_path, name):
    write(tmp_path, drawn_samples(5))
    content = bytearray((tmp_path / name).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=rf"{name} was altered.* Delete .*samples.json"):
        read_samples(tmp_path / "samples.json")


@pytest.mark.parametrize("name", ["tokens.bin", "counted.bin", "ends.bin"])
def test_files_that_do_not_fit_their_summary_are_named(tmp_path, name):
    write(tmp_path, drawn_samples(5))
    with (tmp_path / name).open("ab") as file:
        file.write(b"0")
    with pytest.raises(UserError, match=rf"{name} has \d+ bytes; expected \d+\. Delete"):
        read_samples(tmp_path / "samples.json")
    (tmp_path / name).unlink()
    with pytest.raises(UserError, match=f"{name} is missing"):
        read_samples(tmp_path / "samples.json")
    (tmp_path / "samples.json").write_text("{")
    with pytest.raises(UserError, match="delete it to have it made again"):
        read_samples(tmp_path / "samples.json")


TOKENISE = """
import resource, sys
from pathlib import Path
import numpy as np
from tests.tiny_tokenizers import TEXT, tokenizer_like
from workflow_scripts.training.packing import Order
from workflow_scripts.training.samples import SampleWriter, read_samples
from workflow_scripts.training.tokenise import write_conversations

count, folder = int(sys.argv[1]), Path(sys.argv[2])
rows = (
    (f"row {at}", {"conversations": [
        {"from": "human", "value": f"{at} {TEXT}"},
        {"from": "gpt", "value": TEXT if at % 7 else ""},
    ]})
    for at in range(count)
)
writer = SampleWriter(folder)
write_conversations(writer, tokenizer_like("qwen"), rows, column=None, length=512, most=None)
writer.close()
samples, summary = read_samples(folder / "samples.json")
for split in samples.split(0.1, np.random.default_rng(0)):
    for at in range(len(split)):
        split[at]
    next(Order(len(split), 16, 8, 0).steps())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, summary["samples"])
"""


@pytest.mark.slow
def test_memory_hardly_grows_with_the_number_of_samples(tmp_path):
    """The order of samples and their ends take some bytes each, and nothing else grows: 10,000 and
    100,000 were measured to peak at the same 503 MB, which are imports for the most part.
    """
    peaks = {}
    for count in (2_000, 20_000):
        peak, samples = python(TOKENISE, count, tmp_path / str(count)).split()
        peaks[count] = float(peak)
        assert int(samples) == count - -(-count // 7)
    print({count: f"{peak:.0f} MB" for count, peak in peaks.items()})
    assert peaks[20_000] - peaks[2_000] < 30
