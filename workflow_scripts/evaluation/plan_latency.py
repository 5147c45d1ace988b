"""How fast a model runs in many chunk plans, before any training, on one device and over several.

One record; its conditions are the plans with what stands between their layers, how the chunks ran, over how
many devices, and the batch size.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from workflow_scripts.core.conditions import Condition
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_text
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import Cost, Metric, Record, write_record
from workflow_scripts.evaluation.latency import (
    Timings,
    greedy_latency,
    interleaved,
    left_padded,
    median_and_spread,
)
from workflow_scripts.evaluation.perplexity import labelled, measure
from workflow_scripts.evaluation.plans import protocol_of, task_facts, varied_by
from workflow_scripts.evaluation.prompts.questions import read_questions
from workflow_scripts.hub.load import choose_device, load_model
from workflow_scripts.hub.manifest import Manifest
from workflow_scripts.hub.recording import Recording, model_facts
from workflow_scripts.settings.measures import LatencyRequest
from workflow_scripts.settings.plan_measures import too_few_threads

Timed = Callable[[], tuple[float, float]]


def measure_latency(model: Path, hub: Path, path: Path, asked: LatencyRequest) -> Record:
    """Each plan against the unchanged model, which takes turns with it: fused and as the loop, on one device
    and over several."""
    recording, measures = Recording(), asked.measures
    places = places_of(choose_device(asked.compute.device), max(measures.devices))
    texts, dataset = _questions(hub, measures.questions)
    prompts = sha256_text("\n".join(texts))
    base = load_model(model, **asked.compute.loading)
    layers = base.model.config.num_hidden_layers
    metrics: list[Metric] = []
    items: list[Item] = []
    for plan in asked.plans:
        chunks = len(plan.plan(layers).chunks)
        # A pruned model is a shorter one of the same kind; one batch size says how much shorter.
        sizes = measures.batch_sizes if chunks else measures.batch_sizes[:1]
        ways = ("fused", "loop") if chunks else ("loop",)
        for devices in [number for number in measures.devices if number <= chunks] or [1]:
            loaded = load_model(model, chunking=plan.keys, **asked.compute.loading).model
            if devices > 1:
                loaded.spread(places[:devices])
            for size in sizes:
                print(
                    f"latency of {plan.id(layers).variant} over {devices} at batch size {size}",
                    flush=True,
                )
                batches = left_padded(base.tokenizer, texts, size, base.device)
                timed = {"unchanged": _run(base.model, None, batches, measures.new_tokens)}
                timed |= {way: _run(loaded, way, batches, measures.new_tokens) for way in ways}
                for way, timing in interleaved(timed, measures.repeats).items():
                    condition = Condition(
                        **varied_by(plan, layers),
                        way=way,
                        batch=size,
                        devices=None if devices == 1 else devices,
                    )
                    metrics += _latency_metrics(timing, condition)
                    items += _rounds(timing, condition, prompts)
            del loaded, timed  # two models are there at once, and never three
    tokens = sum(len(base.tokenizer(text)["input_ids"]) + measures.new_tokens - 1 for text in texts)
    return write_record(
        path,
        items,
        study="latency",
        request=asked.as_params(),
        model=model_facts(base.manifest),
        task=task_facts("mmlu", dataset, "test"),
        protocol=protocol_of(
            "latency",
            base,
            max(measures.batch_sizes),
            asked.seed,
            measures.model_dump(mode="json", exclude={"repeats"}),
        ),
        metrics=tuple(metrics),
        cost=Cost(tokens=tokens * len(items), device=base.device),
        provenance=recording.provenance(asked),
        volatile=recording.volatile(base.device, _named(places)),
    )


def places_of(device: str, number: int) -> list[str]:
    """So many devices: GPUs, or shares of the processor's threads; refused where there are fewer."""
    import torch

    if device == "cpu":
        if problem := too_few_threads(number, torch.get_num_threads()):
            raise UserError(problem)
        return ["cpu"] * number
    seen = torch.cuda.device_count()
    if number > seen:
        raise UserError(
            f"chunking.measures.devices has {number}, but PyTorch sees {seen} GPU{'s' * (seen != 1)} here;"
            " expected at most as many. A cluster gives as many where the rule's resources ask for them; on"
            " a machine with fewer leave the number out."
        )
    return [f"cuda:{at}" for at in range(number)]


def _named(places: list[str]) -> list[str]:
    import torch

    if places[0] == "cpu":
        shares = len(places)
        return (
            [f"cpu, share {at} of {shares}" for at in range(1, shares + 1)]
            if shares > 1
            else ["cpu"]
        )
    return [f"{place} {torch.cuda.get_device_name(place)}" for place in places]


def _run(model: Any, way: str | None, batches: list, new_tokens: int) -> Timed:
    def run() -> tuple[float, float]:
        if way is not None:
            model.config.chunk_execution = way
        return greedy_latency(model, batches, new_tokens)

    return run


def _latency_metrics(timing: Timings, condition: Condition) -> list[Metric]:
    metrics = []
    for name, seconds in timing.named.items():
        median, spread = median_and_spread(seconds)
        metrics += [
            measure(name, median, len(seconds), condition),
            measure(f"{name}_spread", spread, len(seconds), condition),
        ]
    return metrics


def _rounds(timing: Timings, condition: Condition, prompts: str) -> list[Item]:
    return [
        Item(
            item=f"{labelled('mmlu', condition)}/{at}",
            condition=condition,
            prompt_sha256=prompts,
            gold=None,
            prediction=None,
            scores={name: seconds[at] for name, seconds in timing.named.items()},
        )
        for at in range(len(timing.prefill))
    ]


def _questions(hub: Path, number: int) -> tuple[list[str], Manifest]:
    questions, dataset = read_questions(hub, "mmlu")
    if len(questions) < number:
        raise UserError(
            f"chunking.measures.questions is {number}, but MMLU has {len(questions)} test questions."
        )
    texts = [
        "\n".join(
            [one.text, *(f"{a}. {c}" for a, c in zip("ABCD", one.choices, strict=True)), "Answer:"]
        )
        for one in questions[:number]
    ]
    return texts, dataset
