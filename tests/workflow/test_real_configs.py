"""Run the configs of real models up to their reports, with a few models, tasks and items.

Only the hub is fake; it has stand-in models under the real names.
"""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.made_once import make_once
from tests.workflow.real_configs import CUTS, list_config_arguments, serve_real_config
from tests.workflow.snakemake import ROOT, run_snakemake
from workflow_scripts.core.records import read_complete_record
from workflow_scripts.hub.manifest import read_manifest

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


@pytest.fixture(scope="module")
def finish(tmp_path_factory):
    """Return a function that runs a config once, and returns its folder and the hub's commits."""

    @cache
    def run_once(name: str) -> tuple[Path, dict[tuple[str, str], str]]:
        return make_once(tmp_path_factory, f"real_{name}", lambda folder: _run_config(folder, name))

    return run_once


def _run_config(folder: Path, name: str) -> dict[tuple[str, str], str]:
    report = folder / "network.txt"
    with serve_real_config(name, folder) as (arguments, environment, hub):
        result = run_snakemake(
            folder,
            *arguments,
            **environment,
            PYTHONPATH=str(CUTS.parent / "forbid_network"),
            CHORUS_NETWORK_REPORT=str(report),
        )
        commits = dict(hub.commits)
    assert result.returncode == 0, result.stdout + result.stderr
    assert not report.exists(), report.read_text()
    return commits


def parse_rules(output: str) -> dict[str, set[str]]:
    """Return the wildcards of every rule in Snakemake's output; batches count as one rule."""
    rules: dict[str, set[str]] = {}
    for rule, details in re.findall(
        r"^(?:local)?(?:rule|checkpoint) (\w+):\n((?: +.*\n)*)", output, re.M
    ):
        wildcards = re.search(r"^ +wildcards: (.*)$", details, re.M)
        names = re.findall(r"(?:^|, )(\w+)=", wildcards[1]) if wildcards else []
        rules.setdefault(re.sub(r"_\d+$", "", rule), set()).update(names)
    return rules


@pytest.mark.parametrize("name", ["first", "paper"])
def test_real_config_report(finish, name):
    folder, commits = finish(name)
    assert "<html" in (folder / "results/report/index.html").read_text()
    assert not list(folder.glob("results/broken/*"))
    manifests = [read_manifest(path) for path in folder.glob("resources/*/*/*/*/manifest.json")]
    assert {manifest.source for manifest in manifests} == {"huggingface"}
    paths = list(folder.glob("results/records/*/*/*/*.json"))
    assert len(paths) > 10
    for record in map(read_complete_record, paths):
        model, dataset = record.model, record.task.dataset
        assert model.id.partition("@")[0] == model.repository
        if model.id == model.repository:  # and not a checkpoint built from it
            assert model.commit == commits["model", model.repository]
        if record.task.name != "written":  # its prompts are in the config
            assert record.task.dataset_commit == commits["dataset", dataset]
    rerun = run_snakemake(folder, *list_config_arguments(name), "-n")
    assert "Nothing to be done" in rerun.stdout + rerun.stderr


def test_paper_config_rules(finish, tmp_path):
    folder, _ = finish("paper")
    actual = parse_rules("".join(path.read_text() for path in folder.glob(".snakemake/log/*.log")))
    # Without a profile Snakemake lists every job of a dry run.
    paper = ["--configfile", str(ROOT / "config/paper.yaml")]
    result = run_snakemake(tmp_path, "-n", "--workflow-profile", "none", *paper)
    assert result.returncode == 0, result.stdout + result.stderr
    expected = parse_rules(result.stdout + result.stderr)
    assert len(expected) > 20 and "train_before_test" in expected
    assert {rule: actual.get(rule) for rule in expected} == expected
    products = re.findall(r"results/(?:tables|figures|report)/[\w./-]+", result.stdout)
    assert [path for path in sorted(set(products)) if not (folder / path).is_file()] == []
    # A dry run cannot list these rules, because they depend on the check of the requests.
    assert {"evaluate_suite", "train_suite"} <= set(actual)
