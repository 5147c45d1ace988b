"""Tasks that run the code which a model writes are refused before anything is fetched, unless that is allowed."""

import pytest
import yaml
from snakemake.utils import update_config

from tests.unit.settings.merged import load
from tests.workflow.snakemake import ROOT, run_snakemake
from workflow_scripts.settings.generated_code import ALLOWED, find_code_problems

ROW = "{0}\tlm_eval\t{0}\topenai/{0}\t\tpass@1\tnone\t\tno\tOther\t{0}\n"
TASKS = {"harmony": {"tasks": ["sst2", "humaneval"]}, "suite": {"tasks": [{"task": "mbpp", "shots": 3}]}}  # fmt: skip


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(ALLOWED, raising=False)
    table = (ROOT / "config/tasks.tsv").read_text() + ROW.format("humaneval") + ROW.format("mbpp")
    (tmp_path / "tasks.tsv").write_text(table)
    return {"hub": {"path": "hub"}, "tables": {"tasks": "tasks.tsv"}, **TASKS}


def problems(config):
    paper = yaml.safe_load((ROOT / "config/paper.yaml").read_text())
    update_config(paper, config)
    return list(find_code_problems(load(paper), lambda name: name in ("humaneval", "mbpp")))


def test_each_is_named(config):
    for name, problem in zip(("humaneval", "mbpp"), problems(config), strict=True):
        assert problem.startswith(f"The task {name!r} runs code") and ALLOWED in problem


def test_allowed_is_allowed_and_what_is_there_is_asked_about_no_more(config, monkeypatch, tmp_path):
    folder = tmp_path / "hub/datasets/openai/humaneval"
    folder.mkdir(parents=True)
    (folder / "manifest.json").touch()
    (problem,) = problems(config)
    assert "'mbpp'" in problem
    monkeypatch.setenv(ALLOWED, "1")
    assert problems(config) == []


@pytest.mark.workflow
def test_a_run_with_one_ends_with_that_sentence_and_fetches_nothing(config, tmp_path):
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(config))
    paper = str(ROOT / "config/paper.yaml")
    result = run_snakemake(tmp_path, "harmony", "-n", "--configfile", paper, "mine.yaml")
    assert result.returncode != 0 and "Traceback" not in result.stderr
    assert "The task 'humaneval' runs code that a model" in result.stderr
    assert not (tmp_path / "hub").exists()
