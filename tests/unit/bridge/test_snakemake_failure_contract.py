"""A job that fails is made again by the same command, whatever it was that had changed."""

from pathlib import Path

import pytest

from tests.processes import ROOT, snakemake

SNAKEFILE = """
import sys
from pathlib import Path
sys.path.insert(0, ROOT)
from workflow_scripts.bridge.metadata import keep_notes_of_what_failed
if config.get("ours"):
    keep_notes_of_what_failed()

rule result:
    default_target: True
    input: "middle.txt"
    output: "result.txt"
    shell: "cp {input} {output}"

rule middle:
    input: "source.txt"
    output: "middle.txt"
    params: rate=config["rate"]
    shell: "test ! -e broken && cat {input} > {output} && echo {params.rate} >> {output}"
"""


def run(folder: Path, rate: int, *, ours: bool):
    return snakemake(folder, "--config", f"rate={rate}", *(["ours=1"] if ours else []))


@pytest.fixture
def failed(tmp_path):
    """A folder in which a result was made, and then not made again at another rate or of another source."""

    def fail(rate: int, source: str, *, ours: bool) -> Path:
        (tmp_path / "Snakefile").write_text(SNAKEFILE.replace("ROOT", repr(str(ROOT))))
        (tmp_path / "source.txt").write_text("old\n")
        assert run(tmp_path, 1, ours=ours).returncode == 0
        (tmp_path / "source.txt").write_text(source)
        (tmp_path / "broken").touch()
        assert run(tmp_path, rate, ours=ours).returncode != 0
        assert not (tmp_path / "middle.txt").exists()
        (tmp_path / "broken").unlink()
        return tmp_path

    return fail


@pytest.mark.parametrize(("rate", "source"), [(2, "old\n"), (1, "new\n"), (2, "new\n")])
def test_the_same_command_makes_again_what_failed(failed, rate, source):
    folder = failed(rate, source, ours=True)
    assert run(folder, rate, ours=True).returncode == 0
    assert (folder / "result.txt").read_text() == f"{source}{rate}\n"
    assert "Nothing to be done" in run(folder, rate, ours=True).stderr


def test_file_persistence_finished_notes_a_failed_job_as_if_it_had_made_its_output(failed):
    folder = failed(2, "old\n", ours=False)
    assert "Nothing to be done" in run(folder, 2, ours=False).stderr
    assert (folder / "result.txt").read_text() == "old\n1\n", "else ours could go"
