"""Build example records and imported results for tests."""

import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from workflow_scripts.core.files import hash_text
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import (
    Cost,
    Metric,
    ModelFacts,
    Protocol,
    Provenance,
    Record,
    RunMetadata,
    TaskFacts,
    TrainingFacts,
    write_record,
)
from workflow_scripts.scores.tidy import COLUMNS, collect_scores

DIGEST = hash_text("example")
TRAINED = TrainingFacts(
    keys={},
    samples=1,
    held_out_samples=0,
    held_out_split="train",
    tokens=1,
    trained_parameters=1,
    selected={},
    evaluations=(),
)


def make_scores(rows: Iterable[dict]) -> pd.DataFrame:
    """Build a table of scores from rows with some of its columns."""
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def make_items(
    subset: str | None = None, golds: tuple[str, ...] = ("0", "1", "0", "1")
) -> list[Item]:
    return [
        Item(
            item=f"{subset or 'sst2'}/{index}",
            subset=subset,
            prompt_sha256=hash_text(str(index)),
            gold=gold,
            prediction="0",
            correct=gold == "0",
            scores={"acc": float(gold == "0")},
            loglikelihoods=[-0.25, -1.5],
        )
        for index, gold in enumerate(golds)
    ]


def record_fields(
    *,
    study: str = "harmony",
    model: str = "miniature/Llama-1.4M",
    task: str = "sst2",
    value: float = 0.5,
    stderr: float = 0.1,
    seed: int = 0,
    n: int = 4,
    started: str = "2026-01-01T00:00:00+00:00",
) -> dict:
    return {
        "study": study,
        "request": {},
        "model": ModelFacts(id=model, repository=model, commit="0" * 40, weights_sha256=DIGEST),
        "task": TaskFacts(
            name=task,
            harness="lm_eval",
            harness_version="0.4.13",
            dataset="nyu-mll/glue",
            dataset_commit="1" * 40,
            subset="sst2",
            split="validation",
            shots=0,
        ),
        "protocol": Protocol(
            name="direct", dtype="float32", attention="sdpa", batch_size=8, threads=1, seed=seed
        ),
        "metrics": (
            Metric(name="acc", value=value, stderr=stderr, n=n, best_constant=0.45, chance=0.5),
        ),
        "cost": Cost(tokens=100, device="cpu"),
        "provenance": Provenance(code_commit=None, settings_sha256=DIGEST, packages={}),
        "volatile": RunMetadata(
            started=started, finished=started, seconds=1.0, host="h", peak_memory_mb=1
        ),
    }


def write_example(path: Path, golds: tuple[str, ...] = ("0", "1", "0", "1"), **overrides) -> Record:
    return write_record(path, make_items(golds=golds), **record_fields(n=len(golds), **overrides))


def collect(records: Iterable[Path] = (), folder: Path | None = None) -> tuple[pd.DataFrame, ...]:
    """Collect the tidy scores of records and of a folder to import, and their errors from shared items."""
    folders = {"theirs": str(folder)} if folder else {}
    return collect_scores(list(records), folders, {"names": {}, "tasks": {}})


def write_lm_eval_results(
    folder: Path, model: str, task: str, right: int, *, shots: int = 0, version: str = "0.4.13"
) -> Path:
    """Write lm-eval results of ten questions with two choices; the first `right` answers are correct."""
    folder.mkdir(parents=True, exist_ok=True)
    samples = [
        {
            "doc_id": index,
            "doc": {"question": f"q{index}", "sentence": f"q{index}"},
            "target": index % 2,
            "arguments": {
                choice: {"arg_0": f"q{index}", "arg_1": choice} for choice in (" no", " yes")
            },
            "prompt_hash": f"{index}" * 64,
            "resps": [],
            "filtered_resps": [
                [str(-1.0 - (choice != (index + (index >= right)) % 2)), "False"]
                for choice in (0, 1)
            ],
            "filter": "none",
            "metrics": ["acc"],
            "acc": float(index < right),
        }
        for index in range(10)
    ]
    content = {
        "results": {task: {"acc,none": right / 10, "acc_stderr,none": 0.1}},
        "n-samples": {task: {"effective": 10}},
        "n-shot": {task: shots},
        "group_subtasks": {},
        "config": {"model_dtype": "torch.bfloat16"},
        "model_name": model,
        "lm_eval_version": version,
    }
    (folder / f"results_{task}.json").write_text(json.dumps(content))
    path = folder / f"samples_{task}_{task}.jsonl"
    path.write_text("\n".join(map(json.dumps, samples)))
    return path
