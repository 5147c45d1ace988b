"""What snakemake_contract.py relies on without Snakemake promising it, a small workflow a place."""

import json

import pytest

from tests.processes import ROOT, snakemake

HEAD = f"""
import json, os, sys
sys.path.insert(0, {str(ROOT)!r})
from workflow_scripts.bridge import snakemake_contract as contract
"""
# Run by the main process and, for its `run:`, once more within the job.
READS = """
configfile: "one.yaml"
with open("told.txt", "a") as file:
    print(contract.is_main_process(workflow), file=file)
onstart:
    about = {
        "configs": [str(path) for path in contract.get_config_files(workflow)],
        "gpu_request": contract.get_default_resource(workflow, "gpu_request"),
        "absent": contract.get_default_resource(workflow, "absent"),
        "executor": contract.get_executor(workflow),
    }
    with open("about.json", "w") as file:
        json.dump(about, file)
rule one:
    output: "one.txt"
    run:
        open(output[0], "w")
"""
FORKS = """
from workflow_scripts.bridge.fork_server import fork_local_jobs
os.environ["WORD"] = "mine"
onstart:
    fork_local_jobs(workflow, threads=1, measures=False)
rule all:
    input: expand("{name}.json", name=["forked", "threads", "plain", "failed", "killed"])
"""
RULE = """
rule {name}:
    output: "{name}.json"
    conda: "envs/{env}.yaml"
    threads: {threads}
    script: "{script}.py"
"""
TELLS = """
import json, multiprocessing, os, sys
about = {"forked": multiprocessing.parent_process() is not None, "word": os.environ["WORD"],
         "folder": os.getcwd(), "argv": len(sys.argv), "offline": os.environ.get("HF_HUB_OFFLINE")}
with open(snakemake.output[0], "w") as file:
    json.dump(about, file)
"""


def test_what_is_read_of_the_command_line_and_the_profile(here):
    (here / "Snakefile").write_text(HEAD + READS)
    for name in ("one.yaml", "two.yaml"):
        (here / name).write_text("a: 1\n")
    defaults = ["--default-resources", "gpu_request=gres:a100"]
    run = snakemake(here, "--configfile", "two.yaml", *defaults)
    assert run.returncode == 0, run.stderr
    assert (here / "told.txt").read_text().split() == ["True", "False"]
    about = json.loads((here / "about.json").read_text())
    assert {path.rpartition("/")[2] for path in about.pop("configs")} == {"one.yaml", "two.yaml"}
    assert about == {"gpu_request": "gres:a100", "absent": None, "executor": "local"}


@pytest.fixture(scope="module")
def forks(tmp_path_factory):
    """The folder of a run whose jobs are forked where they may be, and what was said."""
    folder = tmp_path_factory.mktemp("forks")
    rules = {
        "forked": ("reporting", 1, "tells"),
        "threads": ("reporting", 2, "tells"),
        "plain": ("hub", 1, "tells"),
        "failed": ("reporting", 1, "fails"),
        "killed": ("reporting", 1, "dies"),
    }
    made = [RULE.format(name=n, env=e, threads=t, script=s) for n, (e, t, s) in rules.items()]
    (folder / "Snakefile").write_text(HEAD + FORKS + "".join(made))
    (folder / "envs").mkdir()
    for environment in ("reporting", "hub"):
        (folder / f"envs/{environment}.yaml").write_text("dependencies: []\n")
    (folder / "tells.py").write_text(TELLS)
    (folder / "fails.py").write_text("import sys\nprint('it fails', file=sys.stderr)\nsys.exit(3)")
    (folder / "dies.py").write_text("import os\nos.kill(os.getpid(), 9)")
    return folder, snakemake(folder, "--keep-going", "--cores", "4")


@pytest.mark.parametrize("name", ["forked", "threads", "plain"])
def test_a_job_is_forked_with_its_folder_and_environment_if_the_libraries_suit_it(forks, name):
    folder, _ = forks
    about = json.loads((folder / f"{name}.json").read_text())
    expected = {"forked": name == "forked", "word": "mine", "folder": str(folder), "argv": 1}
    assert about == expected | {"offline": None}


def test_a_fork_that_fails_or_is_killed_fails_its_job(forks):
    folder, run = forks
    assert run.returncode == 1 and "it fails" in run.stderr
    for name in ("failed", "killed"):
        assert f"Error in rule {name}" in run.stderr and not (folder / f"{name}.json").exists()
