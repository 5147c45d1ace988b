"""The list of a config's jobs, asked for while another run removes and makes files."""

import pytest

from workflow_scripts.bridge.job_list import list_jobs
from workflow_scripts.core.errors import UserError

# As Snakemake stops when a file that it has just seen is gone: the first `stops` times. Some of its looks
# say so themselves, and the one for a file's time makes an error of its own of it.
WAYS = {
    "the file is missing": 'raise FileNotFoundError(2, "No such file or directory", "vanished.txt")',
    "the file has no time": """
    seen = os.stat

    def gone(path, *more, **named):
        if str(path) == "vanished.txt" and not named.get("follow_symlinks", True):
            raise FileNotFoundError(2, "No such file or directory", "vanished.txt")
        return seen(path, *more, **named)

    os.stat = gone
""",
}
SNAKEFILE = """
import os
from pathlib import Path

NEEDS = {{}}
looks = Path({looks!r})
looks.write_text(looks.read_text() + "." if looks.exists() else ".")
if len(looks.read_text()) <= {stops}:
    {way}


rule all:
    input:
        "vanished.txt",
    output:
        "made.txt",
    shell:
        "touch {{output}}"
"""


def listed(tmp_path, monkeypatch, way: str, stops: int):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vanished.txt").touch()
    looks = tmp_path / "looks"
    snakefile = tmp_path / "Snakefile"
    snakefile.write_text(SNAKEFILE.format(looks=str(looks), stops=stops, way=way))
    return list_jobs(snakefile, {}, ("all",)), len(looks.read_text())


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_file_that_vanishes_while_snakemake_plans_has_it_asked_again(tmp_path, monkeypatch, way):
    plan, looks = listed(tmp_path, monkeypatch, way, stops=2)
    assert [job["outputs"] for job in plan["jobs"]] == [["made.txt"]]
    assert looks == 3


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_file_that_stays_away_is_named(tmp_path, monkeypatch, way):
    with pytest.raises(UserError, match=r"(?s)cannot plan this config: .*vanished\.txt"):
        listed(tmp_path, monkeypatch, way, stops=1_000)
