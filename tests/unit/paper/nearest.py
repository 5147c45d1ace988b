"""Records of the runs that come nearest to the published ones, as their rules ask for them, with all their keys."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lm_eval
import pandas as pd
import yaml

from tests.records import record_fields
from tests.unit.settings.merged import ROOT, load
from workflow_scripts.core.records import ItemsFile, Record, TrainingFacts
from workflow_scripts.evaluation.cells import CellsRequest, harmony_cells, suite_cells
from workflow_scripts.evaluation.prompts.requests import prompt_request, reading_request
from workflow_scripts.evaluation.requests import mmlu_request
from workflow_scripts.paper.protocols.differences import compute_differences
from workflow_scripts.paper.protocols.ours import (
    Cell,
    grid_cell,
    mmlu_cell,
    prompt_cell,
    suite_cell,
)
from workflow_scripts.paper.protocols.verdicts import with_other_protocols
from workflow_scripts.render.verdict import AGREES, make_table
from workflow_scripts.scores.published_protocols import read_protocols
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.requests import Request
from workflow_scripts.settings.training import SampleKeys
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.requests import StageRequest

PROTOCOLS = read_protocols(ROOT / "resources/published/protocols.yaml")


@dataclass(frozen=True)
class Case:
    """A measurement of the run that comes nearest to the published one."""

    source: str
    metric: str
    item: str
    record: Record
    cell: Callable[[Record, dict], tuple[Cell, dict[str, Any]]]
    trainings: dict[str, dict[str, Any]] = field(default_factory=dict)  # of chunked models, by id

    @property
    def document(self) -> dict[str, Any]:
        """All keys that its records hold."""
        training = self.record.training
        return deepcopy(
            {
                "protocol": self.record.protocol.model_dump(mode="json"),
                "request": self.record.request,
                **({"training": training.keys} if training else {}),
                **{one.rpartition("+")[2]: keys for one, keys in self.trainings.items()},
            }
        )

    def differences(self, document: dict[str, Any]) -> pd.DataFrame:
        """Of a record with these keys; where items were drawn, as many as its protocol says."""
        record, cap = self.record, self.record.protocol.max_items
        n = document["protocol"]["max_items"] if record.items.n == cap else record.items.n
        training = record.training
        if training:
            training = training.model_copy(update={"keys": document["training"]})
        measured = record.model_copy(
            update={
                "protocol": record.protocol.model_copy(update=document["protocol"]),
                "request": document["request"],
                "items": record.items.model_copy(update={"n": n}),
                "training": training,
            }
        )
        return compute_differences([self._read(measured, document)], PROTOCOLS)

    def stated(self) -> tuple[str, set[str]]:
        """The study, and all that the record says of its protocol."""
        cell, ours = self._read(self.record, self.document)
        return cell.study, set(ours)

    def _read(self, record: Record, document: dict[str, Any]) -> tuple[Cell, dict[str, Any]]:
        trainings = {
            one: SimpleNamespace(**document[one.rpartition("+")[2]]) for one in self.trainings
        }
        return self.cell(record, trainings)

    def verdict(self, found: pd.DataFrame) -> str:
        """What becomes of a number that agrees."""
        row = {"source": self.source, "of": self.record.model.id, "item": self.item}
        row |= {
            "metric": self.metric,
            "published": 0.5,
            "ours": 0.5,
            "verdict": AGREES,
            "because": None,
        }
        (row,) = with_other_protocols(make_table([row]), found, PROTOCOLS).itertuples()
        return row.verdict


@cache
def settings(name: str) -> Settings:
    config = yaml.safe_load((ROOT / f"config/{name}.yaml").read_text(encoding="utf-8"))
    return load(config)


def measured(
    study: str, model: str, task: str, n: int, request: dict[str, Any], **protocol: Any
) -> Record:
    fields = record_fields(study=study, model=model, task=task, n=n)
    shots = protocol.pop("shots", 0)
    fields["task"] = fields["task"].model_copy(update={"shots": shots})
    update = {"max_items": None, "attention": "sdpa", **protocol}
    fields["protocol"] = fields["protocol"].model_copy(update=update)
    fields |= {"request": request, "items": ItemsFile(file="x.parquet", sha256="0" * 64, n=n)}
    return Record(**fields)


def generation_of(task: str) -> dict[str, Any]:
    """As lm-eval's own task says; those of likelihoods generate nothing."""
    if task not in ("nq_open", "gsm8k"):
        return {}
    path = Path(lm_eval.__file__).parent / f"tasks/{task}/{task}.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))["generation_kwargs"]


def of_the_grid(task: str, protocol: str, n: int) -> Case:
    exact = settings("paper_exact")
    request: CellsRequest = harmony_cells(exact, protocol, (task,)).cells()[task]
    record = measured(
        "harmony", "Qwen/Qwen2-0.5B", task, n, request.as_params(),
        name=protocol, max_items=10_000, generation=generation_of(task),
    )  # fmt: skip
    if request.recipe:
        known = {"samples": 50_000, "held_out_samples": 1_000}
        known |= {"held_out_split": "held_out_of_training"}
        known |= {"tokens": 9, "trained_parameters": 9, "selected": {}, "evaluations": ()}
        facts = TrainingFacts(keys=request.recipe.model_dump(mode="json"), **known)
        record = record.model_copy(update={"training": facts})
    metric = "score" if request.recipe else "direct"
    return Case("harmony_leaderboard", metric, task, record, lambda record, _: grid_cell(record))


def of_mmlu(variant: str) -> Case:
    paper = settings("paper")
    record = measured(
        "mmlu", f"Qwen/Qwen2.5-0.5B-Instruct{variant}", "mmlu_helm", 4,
        mmlu_request(paper).as_params(), name="few_shot", dtype="bfloat16", shots=5,
        generation={"max_new_tokens": 5, "until": ["\n"], "do_sample": False},
    )  # fmt: skip
    stages = variant.split("+")[1:]
    ids = {stage: record.model.id.partition(f"+{stage}")[0] + f"+{stage}" for stage in stages}
    trainings = {ids[stage]: trained(ids[stage], stage) for stage in stages}
    return Case("mmlu_baseline", "qem", "virology", record, mmlu_cell, trainings)


def trained(id: str, stage: str) -> dict[str, Any]:
    recipe = load({}).training.recipes[stage]
    request = StageRequest(
        id=id, recipe=stage, keys=TrainingKeys.part_of(recipe), validation=recipe.validation,
        seed=0, device="cuda", attention="auto", threads=8,
    )  # fmt: skip
    data = SampleKeys.part_of(recipe).model_dump(mode="json", exclude={"files"})
    return {
        "request": request.as_params(),
        "data": {"data": {"max_length": recipe.max_length, **data}},
        "report": {"precision": "bfloat16", "attention": "flash_attention_2"},
    }


def of_the_prompts(number: int) -> Case:
    paper = settings("paper")
    (run,) = [name for name, one in paper.prompt_runs.items() if one.published == str(number)]
    asked = prompt_request(paper, run)
    own = {"do_sample": True, "temperature": 0.6, "top_p": 0.9, "top_k": None}
    reading = reading_request(paper, run).as_params()
    record = measured(
        "prompts", "meta-llama/Llama-3.2-1B-Instruct", run, 4, asked.as_params() | reading,
        name="prompt_run", dtype=asked.asking.dtype, shots=asked.asking.shots.number,
        chat_template=True,
        generation=asked.asking.decoding.model_dump(mode="json")
        | {"model_generation_config": own} | reading,
    )  # fmt: skip
    return Case(
        "prompt_runs", "micro", f"run {number}", record,
        lambda record, _: prompt_cell(record, str(number)),
    )  # fmt: skip


def of_the_suite(task: str) -> Case:
    row = Request(name="Qwen/Qwen2.5-0.5B-Instruct", precision="bfloat16", model_type="chat")
    request = suite_cells(settings("paper"), row, "few_shot", (task,)).cells()[task]
    record = measured(
        "suite", "Qwen/Qwen2.5-0.5B-Instruct", task, 4, request.as_params(), name="few_shot",
        dtype="bfloat16", shots=request.task.shots, generation=generation_of(task), batch_size=1,
    )  # fmt: skip
    return Case("suite_baselines", "acc", task, record, lambda record, _: suite_cell(record))


CASES: dict[str, Callable[[], Case]] = {
    "grid, direct": lambda: of_the_grid("qqp", "direct", 10_000),
    "grid, trained": lambda: of_the_grid("qqp", "train_before_test", 10_000),
    "grid, generated": lambda: of_the_grid("nq_open", "train_before_test", 3610),
    "mmlu, baseline": lambda: of_mmlu(""),
    "mmlu, stages": lambda: of_mmlu("@k2m12-mlp.none-adapters4864-init.normal+cpt+sft"),
    "prompts, run 2": lambda: of_the_prompts(2),
    "prompts, run 6": lambda: of_the_prompts(6),
    "prompts, run 7": lambda: of_the_prompts(7),
    "suite, gsm8k": lambda: of_the_suite("gsm8k"),
}
# What is as published to the last key that decides; the others differ in something that cannot be had.
AGREEING = ("grid, direct", "grid, trained", "grid, generated", "mmlu, baseline", "prompts, run 7")
