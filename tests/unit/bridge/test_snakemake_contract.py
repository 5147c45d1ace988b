"""Test the undocumented behaviour of Snakemake that snakemake_contract.py uses, in one small workflow."""

import json

import pytest

from tests.processes import ROOT, run_small_workflow

SNAKEFILE = f"""
import json, os, sys
sys.path.insert(0, {str(ROOT)!r})
from workflow_scripts.bridge import snakemake_contract as contract
from workflow_scripts.bridge.fork_server import fork_local_jobs
os.environ["WORD"] = "mine"
configfile: "one.yaml"
# Run by the main process and, for its `run:`, once more within the job.
with open("main.txt", "a") as file:
    print(contract.is_main_process(workflow), file=file)
onstart:
    facts = {{
        "configs": sorted(path.name for path in contract.get_config_files(workflow)),
        "gpu_request": contract.get_default_resource(workflow, "gpu_request"),
        "absent": contract.get_default_resource(workflow, "absent"),
        "executor": contract.get_executor(workflow),
        "environments": sorted(contract.list_needed_environments(workflow)),
    }}
    with open("facts.json", "w") as file:
        json.dump(facts, file)
    fork_local_jobs(workflow, threads=1)
rule all:
    input: "run.txt", expand("{{name}}.json", name=["forked", "threads", "plain", "failed", "killed"])
rule run:
    output: "run.txt"
    run:
        open(output[0], "w")
"""
RULE = """
rule {name}:
    output: "{name}.json"
    conda: "envs/{env}.yaml"
    threads: {threads}
    script: "{script}.py"
"""
SCRIPTS = {
    "facts": """
import json, multiprocessing, os, sys
facts = {"forked": multiprocessing.parent_process() is not None, "word": os.environ["WORD"],
         "folder": os.getcwd(), "argv": len(sys.argv), "offline": os.environ.get("HF_HUB_OFFLINE")}
with open(snakemake.output[0], "w") as file:
    json.dump(facts, file)
""",
    "fails": "import sys\nprint('it fails', file=sys.stderr)\nsys.exit(3)",
    "dies": "import os\nos.kill(os.getpid(), 9)",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run a workflow that forks the jobs that allow it; return its working directory and result."""
    folder = tmp_path_factory.mktemp("contract")
    (folder / "envs").mkdir()
    rules = {
        "forked": ("reporting", 1, "facts"),
        "threads": ("reporting", 2, "facts"),
        "plain": ("hub", 1, "facts"),
        "failed": ("reporting", 1, "fails"),
        "killed": ("reporting", 1, "dies"),
    }
    rule_texts = [RULE.format(name=n, env=e, threads=t, script=s) for n, (e, t, s) in rules.items()]
    files = {f"{name}.py": text for name, text in SCRIPTS.items()}
    files |= dict.fromkeys(("envs/reporting.yaml", "envs/hub.yaml"), "dependencies: []\n")
    files |= dict.fromkeys(("one.yaml", "two.yaml"), "a: 1\n")
    for name, text in (files | {"Snakefile": "".join([SNAKEFILE, *rule_texts])}).items():
        (folder / name).write_text(text)
    defaults = ("--default-resources", "gpu_request=gres:a100")
    options = ("--keep-going", "--cores", "4", "--configfile", "two.yaml")
    return folder, run_small_workflow(folder, *options, *defaults)


def test_command_line_and_profile(run):
    folder, _ = run
    assert (folder / "main.txt").read_text().split() == ["True", "False"]
    assert json.loads((folder / "facts.json").read_text()) == {
        "configs": ["one.yaml", "two.yaml"],
        "gpu_request": "gres:a100",
        "absent": None,
        "executor": "local",
        "environments": ["None", "hub", "reporting"],
    }


@pytest.mark.parametrize("name", ["forked", "threads", "plain"])
def test_forked_job(run, name):
    """Only a job with a suitable conda environment and one thread is forked; it keeps its folder and environment."""
    folder, _ = run
    facts = json.loads((folder / f"{name}.json").read_text())
    expected = {"forked": name == "forked", "word": "mine", "folder": str(folder), "argv": 1}
    assert facts == expected | {"offline": None}


def test_failed_and_killed_fork(run):
    folder, result = run
    assert result.returncode == 1 and "it fails" in result.stderr
    for name in ("failed", "killed"):
        assert f"Error in rule {name}" in result.stderr and not (folder / f"{name}.json").exists()
