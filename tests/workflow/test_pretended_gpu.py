"""The small world's measurements on a GPU that is pretended: what only runs on GPUs runs, and gives the CPU's
numbers, also where the GPU dies amid a job; and jobs that share the cards of a machine."""

import json
import os
from itertools import pairwise

import pytest

from tests.workflow.snakemake import ROOT, command, run_for, run_snakemake, with_config
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
    died = tmp_path / "died"
    dies = {"CHORUS_PRETENDED_DEATH": f"0,5000,{died}"}  # amid the first job that does so much
    result = run_snakemake(tmp_path, *targets, *arguments, **pretended_gpu, **dies)
    assert result.returncode == 0, result.stdout + result.stderr
    assert died.exists() and not list(tmp_path.glob("results/broken/*"))
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


SNAKEFILE = """
import sys
sys.path.insert(0, ROOT)
from workflow_scripts.bridge.gpus import share_gpus

onstart:
    share_gpus(workflow)

rule all:
    input: expand("{n}.txt", n=range(6))

rule one:
    output: "{n}.txt"
    log: "logs/{n}.log"
    retries: 1
    resources: mem_mb=1000, runtime=5, gpu=1
    script: "one.py"
"""
ONE = """
import os, sys, time
from pathlib import Path
sys.path.insert(0, ROOT)
from workflow_scripts.bridge.step import step
with step(snakemake):
    import torch
    begun = time.time()
    ones = torch.ones(8, device="cuda")
    for _ in range(200):
        ones += 1
        time.sleep(0.002)
    assert float(ones[0]) == 201 and torch.cuda.device_count() == 1
    said = f"{os.environ['CUDA_VISIBLE_DEVICES']} {begun} {time.time()}"
    Path(snakemake.output[0]).write_text(said)
"""


def test_jobs_have_a_card_each_and_one_whose_card_dies_is_tried_again(tmp_path, pretended_gpu):
    for name, text in {"Snakefile": SNAKEFILE, "one.py": ONE}.items():
        (tmp_path / name).write_text(text.replace("ROOT", repr(str(ROOT))))
    programs, died = tmp_path / "programs", tmp_path / "died"
    programs.mkdir()
    (programs / "nvidia-smi").write_text(
        "#!/bin/sh\necho GPU 0: pretended\necho GPU 1: pretended\n"
    )
    (programs / "nvidia-smi").chmod(0o755)
    environment = pretended_gpu | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(tmp_path),
        "CHORUS_PRETENDED_GPUS": "2",
        "CHORUS_PRETENDED_DEATH": f"1,50,{died}",
    }
    words = command(
        tmp_path, "--cores", "6", "--show-failed-logs", snakefile=tmp_path / "Snakefile"
    )
    result = run_for(tmp_path, *words, **environment)
    said = result.stdout + result.stderr
    assert result.returncode == 0 and died.exists(), said
    assert "The GPU fails (CUDA error: unspecified launch failure)" in said
    jobs = [(tmp_path / f"{n}.txt").read_text().split() for n in range(6)]
    for card in ("0", "1"):
        times = sorted((float(begun), float(ended)) for of, begun, ended in jobs if of == card)
        assert times, f"card {card} has done nothing"
        assert all(one[1] <= other[0] for one, other in pairwise(times)), times
