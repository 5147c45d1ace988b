"""Time a model under many chunk plans, without training, on one device and on several.

Write one record; its conditions are the plan with its aggregation and adapters, the execution of the chunks, the
number of devices and the batch size. All variants are timed in one process and alternate within each round, so that
other load on the machine affects all of them equally; ratios are taken within a round.
"""

import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import hash_json
from workflow_scripts.core.items import Item
from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.evaluation.perplexity import encode_chat_prompt
from workflow_scripts.evaluation.plan_models import build_plan_condition
from workflow_scripts.evaluation.prompts.questions import read_questions
from workflow_scripts.evaluation.record_parts import (
    build_metric,
    build_task_facts,
    describe_run,
    format_label,
)
from workflow_scripts.evaluation.requests import LatencyRequest
from workflow_scripts.hub.bos_token import get_bos_tokens
from workflow_scripts.hub.load import choose_device, load_model
from workflow_scripts.hub.manifest import get_hub_folder
from workflow_scripts.hub.record_fields import RunTracker

_WARM_UP_ROUNDS = 1
_METRICS = ("prefill_seconds", "token_seconds")
Timings = list[tuple[float, float]]  # the values of both metrics in each round


@validate_call
def measure_latency(model: Path, data: list[Path], record: Path, request: LatencyRequest) -> None:
    """Time each plan, fused and as a loop, on each number of devices, alternating with the unchanged model."""
    tracker = RunTracker()
    measures = request.measures
    device = choose_device(request.compute.device)
    devices = [f"cuda:{n}" if device == "cuda" else device for n in range(max(measures.devices))]
    questions, dataset = read_questions(get_hub_folder(data), "mmlu")
    base = load_model(model, **request.compute.loading)
    layers = base.model.config.num_hidden_layers
    bos = get_bos_tokens(base.tokenizer)
    rows = [
        encode_chat_prompt(base.tokenizer, question.text, bos)
        for question in questions[: measures.questions]
    ]
    metrics: list[Metric] = []
    items: list[Item] = []
    for plan in request.plans:
        chunks = len(plan.build_plan(layers).chunks)
        # A pruned model is only a shallower model; one batch size is enough to measure its speedup.
        batch_sizes = measures.batch_sizes if chunks else measures.batch_sizes[:1]
        for num_devices in [number for number in measures.devices if number <= chunks] or [1]:
            loaded = load_model(model, chunking=plan.keys, **request.compute.loading)
            if num_devices > 1:
                loaded.model.spread(devices[:num_devices])
            variants = {"unchanged": base.model, "fused": loaded.model, "loop": loaded.model}
            if not chunks:
                del variants["fused"]
            for size in batch_sizes:
                plan_condition = build_plan_condition(plan, layers) | {"batch": size}
                plan_condition["devices"] = num_devices if num_devices > 1 else None
                print(f"latency of {plan_condition}", flush=True)
                batches = [
                    pad_left(rows[start : start + size], base.device)
                    for start in range(0, len(rows), size)
                ]
                timings = time_variants(variants, batches, measures.new_tokens, measures.repeats)
                for execution, rounds in timings.items():
                    condition = Condition(**plan_condition, way=execution)
                    metrics += build_metrics(rounds, condition)
                    items += [
                        Item(
                            item=f"{format_label('mmlu', condition)}/{number}",
                            condition=condition,
                            prompt_sha256=hash_json(rows),
                            scores=dict(zip(_METRICS, seconds, strict=True)),
                        )
                        for number, seconds in enumerate(rounds)
                    ]
            del loaded, variants  # so that at most two models are in memory
    tokens = sum(len(row) + measures.new_tokens - 1 for row in rows)
    write_record(
        record,
        items,
        study="latency",
        task=build_task_facts("mmlu", dataset.repository, dataset.commit, "test"),
        **describe_run(
            "latency",
            request,
            base,
            tracker,
            tokens * len(items),
            devices=[*map(_name_device, devices)],
            batch_size=max(measures.batch_sizes),
            chat_template=base.tokenizer.chat_template is not None,
            generation=measures.model_dump(mode="json", exclude={"repeats"}),
        ),
        metrics=tuple(metrics),
    )


def time_variants(
    variants: Mapping[str, Any], batches: list, new_tokens: int, rounds: int
) -> dict[str, Timings]:
    """Time each variant (unchanged, fused or loop) once per round; return the rounds after the warm-up."""
    timings: dict[str, Timings] = {execution: [] for execution in variants}
    for _ in range(_WARM_UP_ROUNDS + rounds):
        for execution, model in variants.items():
            if execution != "unchanged":
                model.config.chunk_execution = execution
            timings[execution].append(time_greedy_generation(model, batches, new_tokens))
    return {execution: seconds[_WARM_UP_ROUNDS:] for execution, seconds in timings.items()}


def build_metrics(timings: Timings, condition: Condition) -> list[Metric]:
    """Compute the median of each time over the rounds, and half its interquartile range."""
    metrics = []
    for name, seconds in zip(_METRICS, zip(*timings, strict=True), strict=True):
        low, median, high = statistics.quantiles(seconds, n=4)
        metrics.append(build_metric(name, median, len(seconds), condition))
        metrics.append(build_metric(f"{name}_spread", (high - low) / 2, len(seconds), condition))
    return metrics


def time_greedy_generation(model, batches: list, new_tokens: int) -> tuple[float, float]:
    """Return the seconds of the prefill of all batches, and of one decoding step for all of their rows.

    `batches` are pairs of ids and attention mask, padded on the left; the prefill gives the first new token, so
    `new_tokens` - 1 decoding steps are timed.
    """
    import torch

    prefill_seconds = decoding_seconds = 0.0
    with torch.inference_mode():
        for ids, mask in batches:
            position = (mask.cumsum(-1) - 1).clamp(min=0)
            cache = None
            start = prefill_end = _get_time(model)
            for step in range(new_tokens):
                if step > 0:
                    mask = torch.cat((mask, mask.new_ones(len(mask), 1)), dim=1)
                    position = position[:, -1:] + 1
                out = model(
                    ids,
                    attention_mask=mask,
                    position_ids=position,
                    past_key_values=cache,
                    use_cache=True,
                    logits_to_keep=1,
                )
                ids = out.logits[:, -1:].argmax(-1)
                cache = out.past_key_values
                if step == 0:
                    prefill_end = _get_time(model)
            prefill_seconds += prefill_end - start
            decoding_seconds += _get_time(model) - prefill_end
    return prefill_seconds, decoding_seconds / (new_tokens - 1)


def pad_left(rows: list[list[int]], device) -> tuple:
    """Pad rows of tokens on the left; return one batch of ids and mask."""
    import torch

    return tuple(
        torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_side="left").to(device)
        for tensors in (
            [torch.tensor(row) for row in rows],
            [torch.ones(len(row), dtype=torch.long) for row in rows],
        )
    )


def _name_device(device: str) -> str:
    import torch

    return device if device == "cpu" else f"{device} {torch.cuda.get_device_name(device)}"


def _get_time(model) -> float:
    if model.device.type == "cuda":
        import torch

        torch.cuda.synchronize(model.device)
    return time.perf_counter()


if "snakemake" in globals():
    run_job(measure_latency, snakemake)
