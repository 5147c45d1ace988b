"""Run what users type: dry runs of every config, the linter, the Slurm profile, mistakes."""

import math
import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from tests.bad_configs import COMMAND_LINES
from tests.unit.settings.merged import CONFIGS
from tests.workflow.snakemake import ROOT, count_jobs, run_for, run_snakemake

pytestmark = pytest.mark.workflow

TABLE = "results/tables/published_agreement.md"
PROFILE = str(ROOT / "profiles/slurm")
# Snakemake opens this file, and fails with a traceback of its own, before any of our code runs.
BEFORE_OUR_CODE = {"missing file"}


@pytest.mark.parametrize("case", COMMAND_LINES, ids=lambda case: case.name)
def test_bad_command_line(case, tmp_path):
    for name, text in case.files.items():
        (tmp_path / name).write_text(text)
    result = run_snakemake(tmp_path, *case.arguments)
    output = result.stdout + result.stderr
    assert result.returncode != 0
    assert all(text in output for text in case.printed)
    assert case.hidden not in output
    if case.name not in BEFORE_OUR_CODE:
        assert "Traceback" not in output
    assert {path.name for path in tmp_path.iterdir()} <= {".home", ".snakemake", *case.files}


def read_section(path: Path, name: str) -> dict:
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    return config[name] | yaml.safe_load(path.read_text()).get(name, {})


def count_grid(path: Path) -> tuple[int, int]:
    harmony = read_section(path, "harmony")
    return len(harmony["models"]), len(harmony["tasks"])


# The other configs are checked by make test-all.
QUICK_CONFIGS = ("config.yaml", "first.yaml", "paper.yaml")
CONFIG_CASES = [
    pytest.param(path, id=path.name, marks=[] if path.name in QUICK_CONFIGS else pytest.mark.slow)
    for path in CONFIGS
]


@pytest.mark.parametrize("path", CONFIG_CASES)
def test_dry_run_grid(path, tmp_path):
    models, tasks = count_grid(path)
    result = run_snakemake(tmp_path, "-n", "--configfile", str(path))
    # A rule asked for what the config has not.
    assert "Exception" not in result.stdout + result.stderr
    jobs = count_jobs(result)
    packs = math.ceil(tasks / (read_section(path, "cluster")["tasks_per_job"] or tasks))
    grid_jobs = [jobs.get(rule, 0) for rule in ("evaluate_direct", "train_before_test")]
    assert grid_jobs == [models * packs] * 2
    has_grid = models > 0
    assert jobs.get("leaderboard_table", 0) == has_grid
    assert jobs["agreement"] == 1 + has_grid, "of the published grid, and of the run's own"
    if path.name in ("config.yaml", "paper.yaml"):
        checkpoints = read_section(path, "chunking")["checkpoints"]
        # The unchanged plan is the model itself.
        variants = sum(entry.get("num_chunks") != 0 for entry in checkpoints)
        # The model; each variant and both its stages.
        assert jobs["evaluate_mmlu"] == 1 + 3 * variants
        assert jobs["ask_prompt_run"] == jobs["score_prompt_run"] == 12
    if path.name == "paper.yaml":
        assert count_grid(path) == (61, 24) and jobs["fetch_model"] == 61


def test_lock_hub_selection(tmp_path):
    model = "HuggingFaceTB/SmolLM2-135M"
    measures = {"sequential_chunks": [2], "pruned": [], "latency_models": [model]}
    changes = {
        "harmony": {"models": []},
        "chunking": {"checkpoints": [], "measures": measures},
        "mmlu": {"models": []},
        "prompts": {"models": []},
        "suite": {"requests": "none"},
    }
    (tmp_path / "none").mkdir()
    (tmp_path / "times.yaml").write_text(yaml.safe_dump(changes))
    configs = [str(ROOT / "config/first.yaml"), "times.yaml"]
    result = run_snakemake(tmp_path, "lock_hub", "--summary", "--configfile", *configs)
    names = re.findall(r"hub-first/(.*)/manifest.json", result.stdout)
    assert sorted(names) == ["datasets/cais/mmlu", f"models/{model}"], result.stderr


def test_dry_run_without_models(tmp_path):
    (tmp_path / "no_requests").mkdir()
    path = tmp_path / "none.yaml"
    path.write_text(
        "harmony: {models: []}\nprompts: {models: []}\nchunking: {checkpoints: []}\n"
        "suite: {requests: no_requests}\n"
    )
    jobs = count_jobs(run_snakemake(tmp_path, "-n", "--configfile", str(path)))
    studies = ("harmony", "chunking", "mmlu", "prompt", "suite", "training")
    assert not [name for name in jobs if any(study in name for study in studies)]
    assert not [name for name in jobs if name.startswith(("evaluate_", "train_", "measure_"))]


def test_slurm_profile_without_slurm(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "which"):  # of Snakemake and its plugin
        (programs / name).symlink_to(shutil.which(name))
    result = run_snakemake(tmp_path, TABLE, "--profile", PROFILE, PATH=str(programs))
    assert result.returncode == 1 and "Slurm's sbatch cannot be found" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "results").exists() and not (tmp_path / "logs").exists()
    # As people type it, from the root: the link `slurm` is what Snakemake looks for.
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "-n",
        "--profile",
        "slurm",
        "--directory",
        tmp_path,
    ]
    assert count_jobs(run_for(tmp_path, *command, cwd=ROOT))["train_before_test"] == 6


def test_snakemake_lint(tmp_path):
    for config in ("config.yaml", "paper.yaml"):
        result = run_snakemake(tmp_path, "--lint", "--configfile", str(ROOT / "config" / config))
        assert result.returncode == 0, result.stdout + result.stderr


def test_snakefile_imports_no_heavy_package(tmp_path):
    """Every cluster job parses it again; what plugins import, an empty workflow imports too."""
    empty = tmp_path / "Snakefile"
    empty.write_text('rule all:\n    output: "x"\n    shell: "touch {output}"\n')

    def list_imports(*arguments: str) -> set[str]:
        listing = [sys.executable, "-X", "importtime", "-m", "snakemake", "--list"]
        result = run_for(tmp_path, *listing, *arguments)
        assert result.returncode == 0, result.stderr
        return {line.rpartition("|")[2].strip() for line in result.stderr.splitlines()}

    profile = ["--workflow-profile", str(ROOT / "profiles/default")]
    imports = list_imports("--snakefile", str(ROOT / "Snakefile"), *profile)
    packages = {name.split(".")[0] for name in imports - list_imports(*profile)}
    assert "workflow_scripts" in packages
    heavy = "torch transformers datasets pandas numpy pyarrow matplotlib scipy"
    assert not packages & {*heavy.split(), "lm_eval", "lighteval", "peft", "huggingface_hub"}


def test_run_hides_token(tmp_path):
    token = "hf_" + "PlantedTokenPlantedTokenPlanted"
    result = run_snakemake(tmp_path, "--until", "build_world", "--config", "seed=1", HF_TOKEN=token)
    assert result.returncode == 0, result.stdout + result.stderr
    assert token not in result.stdout + result.stderr
    holders = [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and token.encode() in path.read_bytes()
    ]
    assert not holders


def test_inherited_rule_has_localrule_and_version():
    """Snakemake drops `localrule` of a rule that is taken with changes; the version stands where it is raised."""
    texts = [path.read_text() for path in (ROOT / "rules").glob("*.smk")]
    rules = [rule for text in texts for rule in re.split(r"^(?=(?:use )?rule\b)", text, flags=re.M)]
    local = {rule.split()[1].rstrip(":") for rule in rules if "    localrule: True\n" in rule}
    for rule in rules:
        if rule.startswith("use rule"):
            # A job of its own says what it needs.
            is_job = "    resources:\n" in rule or rule.split()[2] not in local
            assert is_job or "    localrule: True\n" in rule, rule
            version = re.search(r'^ {8}version=(\d+|"\w+ \d+"),', rule, re.M)
            assert version or "    params:\n" not in rule, rule
