"""The small world's measurements on a GPU that is pretended: what only runs on GPUs runs, and gives the CPU's
numbers."""

import json

import pytest

from tests.workflow.snakemake import run_snakemake, with_config
from workflow_scripts.core.records import read_record

pytestmark = [pytest.mark.workflow, pytest.mark.slow, pytest.mark.compiler]

# Of models that nothing was trained before; other numbers are of trainings, which on a GPU are in 16 bits.
UNTRAINED = [
    "harmony/direct/miniature--Llama-1.4M/mnli.json",
    "harmony/direct/miniature--Llama-1.4M/arc_easy.json",
    "harmony/direct/miniature--Pythia-0.1M/mnli.json",
    "chunking/perplexity/miniature--Qwen2-1M-Instruct/wikitext.json",
    "mmlu/few_shot/miniature--Qwen2-1M-Instruct/mmlu_helm.json",
    "mmlu/few_shot/miniature--Qwen2-1M-Instruct@k2m6/mmlu_helm.json",
    "prompts/prompt_run/miniature--Llama-1.4M-Instruct/run9.json",
    "suite/few_shot/miniature--Pythia-0.1M~float32/gsm8k.json",
    "training/perplexity/miniature--Qwen2-1M-Instruct@k2m12/magpie.json",
]
RUNS = ["run6", "run9"]  # one that generates, and one that reads off likelihoods
# What else computes on the GPU; tables, figures and pages are made of records as ever.
OTHERS = [
    "results/records/harmony/train_before_test/miniature--Pythia-0.1M/mnli.json",
    "results/training/miniature--Qwen2-1M-Instruct@k2m6+cpt+sft.json",
    "results/tables/chunking_latency.md",
]


def test_the_world_on_a_gpu_gives_the_cpus_numbers(finished, tmp_path, pretended_gpu):
    two = [{"model": "miniature/Qwen2-1M-Instruct", "num_layers_per_chunk": m} for m in (12, 6)]
    arguments = with_config(
        tmp_path,
        compute={"device": "cuda", "dtype": "float32"},
        chunking={"checkpoints": two},
        prompts={"runs": RUNS},
    )
    targets = [*OTHERS, *(f"results/records/{name}" for name in UNTRAINED)]
    result = run_snakemake(tmp_path, *targets, *arguments, **pretended_gpu)
    assert result.returncode == 0, result.stdout + result.stderr
    assert not list(tmp_path.glob("results/broken/*"))
    for name in UNTRAINED:
        here, there = (read_record(f / "results/records" / name) for f in (tmp_path, finished[0]))
        assert here.volatile.peak_gpu_memory_mb is not None
        assert [m.name for m in here.metrics] == [m.name for m in there.metrics]
        for ours, theirs in zip(here.metrics, there.metrics, strict=True):
            assert ours.value == pytest.approx(theirs.value, rel=1e-4), (name, ours.name)


def test_tasks_train_together_in_16_bits_and_are_tested(tmp_path, pretended_gpu):
    arguments = with_config(
        tmp_path, compute={"device": "cuda", "dtype": "auto"}, cluster={"tasks_per_job": 2}
    )
    result = run_snakemake(
        tmp_path, "results/tables/harmony_scores.md", *arguments, **pretended_gpu
    )
    assert result.returncode == 0, result.stdout + result.stderr
    found = list((tmp_path / "results/records/harmony/train_before_test").glob("*/*.json"))
    assert len(found) == 4
    for path in found:
        training = json.loads(path.read_text())["training"]
        assert training["together"] == 2
        assert training["ran"]["packing"] == "varlen" and training["ran"]["precision"] == "bfloat16"
