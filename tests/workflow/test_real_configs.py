"""Run the configs of real models up to their reports, with a few models, tasks and items.

Only the hub is fake; it has stand-in models under the real names.
"""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.made_once import make_once
from tests.workflow.real_configs import CUTS, list_config_arguments, serve_real_config
from tests.workflow.snakemake import ROOT, count_jobs, run_snakemake
from workflow_scripts.core.records import read_complete_record
from workflow_scripts.hub.lock import read_lock
from workflow_scripts.hub.manifest import read_manifest

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


@pytest.fixture(scope="module")
def finish(tmp_path_factory):
    """Return a function that runs a config once, and returns its folder, the hub's commits and the rules."""

    @cache
    def run_once(name: str):
        return make_once(tmp_path_factory, f"real_{name}", lambda folder: _run_config(folder, name))

    return run_once


def _run_config(folder: Path, name: str) -> tuple[dict[tuple[str, str], str], set[str]]:
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
    assert not report.exists(), report.read_text()
    return commits, set(count_jobs(result))


@pytest.mark.parametrize("name", ["first", "paper"])
def test_real_config_report(finish, name):
    folder, (commits, _) = finish(name)
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
    arguments = list_config_arguments(name)
    assert count_jobs(run_snakemake(folder, "lock_hub", *arguments)) == {"lock_hub": 1}
    lock = read_lock(folder / "config/hub.lock.tsv")
    assert len(lock) > 3 and lock.items() <= commits.items()
    rerun = run_snakemake(folder, *arguments, "-n")
    assert "Nothing to be done" in rerun.stdout + rerun.stderr


def test_paper_config_rules(finish, tmp_path):
    folder, (_, rules) = finish("paper")
    # Without a profile Snakemake lists every job of a dry run.
    paper = ["--configfile", str(ROOT / "config/paper.yaml")]
    result = run_snakemake(tmp_path, "-n", "--workflow-profile", "none", *paper)
    expected = set(count_jobs(result))
    assert len(expected) > 20 and expected <= rules
    products = re.findall(r"results/(?:tables|figures|report)/[\w./-]+", result.stdout)
    assert [path for path in sorted(set(products)) if not (folder / path).is_file()] == []
    # A dry run cannot list this rule, because it depends on the check of the requests.
    assert list(folder.glob("results/records/suite/few_shot/*/*.json"))
