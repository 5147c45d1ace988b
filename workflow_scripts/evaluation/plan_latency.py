"""Time a model in many chunk plans, before any training, on one device and over several.

One record; its conditions are the plans with their aggregation and adapters, how the chunks ran, over how many
devices, and the batch size.
"""

from functools import partial
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import sha256_text
from workflow_scripts.core.items import Item
from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.evaluation.latency import (
    batch_left_padded,
    compute_median_iqr,
    time_greedy_generation,
    time_interleaved,
)
from workflow_scripts.evaluation.measure_perplexity import plan_condition
from workflow_scripts.evaluation.perplexity import labelled
from workflow_scripts.evaluation.prompts.questions import LETTERS, Question, read_questions
from workflow_scripts.evaluation.record_parts import build_metric, build_protocol, build_task_facts
from workflow_scripts.evaluation.requests import LatencyRequest
from workflow_scripts.hub.load import choose_device, load_model
from workflow_scripts.hub.manifest import get_hub_folder
from workflow_scripts.hub.record_fields import Recording


def measure_latency(model: Path, hub: Path, path: Path, request: LatencyRequest) -> None:
    """Time each plan, fused and as the loop, on each number of devices, in turns with the unchanged model."""
    recording, measures = Recording(), request.measures
    places = list_timing_devices(choose_device(request.compute.device), max(measures.devices))
    questions, dataset = read_questions(hub, "mmlu")
    base = load_model(model, **request.compute.loading)
    layers = base.model.config.num_hidden_layers
    is_chat = measures.latency_prompts == "chat"
    prompts = [
        format_chat(base.tokenizer, question) if is_chat else format_plain(question)
        for question in questions[: measures.questions]
    ]
    encode = partial(base.tokenizer, add_special_tokens=not is_chat)
    metrics: list[Metric] = []
    items: list[Item] = []
    for plan in request.plans:
        chunks = len(plan.plan(layers).chunks)
        # A pruned model is a shorter one of the same kind; one batch size says how much shorter.
        sizes = measures.batch_sizes if chunks else measures.batch_sizes[:1]
        ways = ("fused", "loop") if chunks else ("loop",)
        for devices in [number for number in measures.devices if number <= chunks] or [1]:
            loaded = load_model(model, chunking=plan.keys, **request.compute.loading)
            if devices > 1:
                loaded.model.spread(places[:devices])
            for size in sizes:
                name = plan.plan_name(layers)
                print(f"latency of {name}, batch {size}, devices {devices}", flush=True)
                batches = batch_left_padded(encode, prompts, size, base.device)
                runs = {"unchanged": partial(_run, base.model, None, batches, measures.new_tokens)}
                for way in ways:
                    runs[way] = partial(_run, loaded.model, way, batches, measures.new_tokens)
                for way, timings in time_interleaved(runs, measures.repeats).items():
                    condition = Condition(
                        **plan_condition(plan, layers),
                        way=way,
                        batch=size,
                        devices=devices if devices > 1 else None,
                    )
                    for name, seconds in timings.items():
                        median, spread = compute_median_iqr(seconds)
                        for key, value in ((name, median), (f"{name}_spread", spread)):
                            metrics.append(build_metric(key, value, len(seconds), condition))
                    items += [
                        Item(
                            item=f"{labelled('mmlu', condition)}/{number}",
                            condition=condition,
                            prompt_sha256=sha256_text("\n".join(prompts)),
                            gold=None,
                            prediction=None,
                            scores=dict(zip(timings, seconds, strict=True)),
                        )
                        for number, seconds in enumerate(zip(*timings.values(), strict=True))
                    ]
            del loaded  # two models are there at once, and never three
    tokens = sum(len(encode(text)["input_ids"]) + measures.new_tokens - 1 for text in prompts)
    write_record(
        path,
        items,
        study="latency",
        task=build_task_facts("mmlu", dataset, "test"),
        protocol=build_protocol(
            "latency",
            base,
            seed=request.seed,
            batch_size=max(measures.batch_sizes),
            chat_template=is_chat,
            generation=measures.model_dump(mode="json", exclude={"repeats"}),
        ),
        metrics=tuple(metrics),
        **recording.parts(request, base, tokens * len(items), _name_places(places)),
    )


def list_timing_devices(device: str, number: int) -> list[str]:
    """List so many devices: GPUs, or shares of the CPU's threads."""
    return ["cpu"] * number if device == "cpu" else [f"cuda:{index}" for index in range(number)]


def _name_places(places: list[str]) -> list[str]:
    import torch

    if places == ["cpu"]:
        return places
    if places[0] == "cpu":
        return [f"cpu, share {number} of {len(places)}" for number in range(1, len(places) + 1)]
    return [f"{place} {torch.cuda.get_device_name(place)}" for place in places]


def _run(model: Any, way: str | None, batches: list, new_tokens: int) -> tuple[float, float]:
    if way is not None:
        model.config.chunk_execution = way
    return time_greedy_generation(model, batches, new_tokens)


def format_plain(question: Question) -> str:
    """Write a question with its choices."""
    choices = zip(LETTERS, question.choices, strict=False)
    lines = [f"{letter}. {choice}" for letter, choice in choices]
    return "\n".join([question.text, *lines, "Answer:"])


def format_chat(tokenizer: Any, question: Question) -> str:
    """Write a question alone as a user's turn, with the system message that the template adds by itself."""
    turns = [{"role": "user", "content": question.text}]
    return tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)


def main(model: Path, data: list[Path], record: Path, request: dict[str, Any]) -> None:
    measure_latency(model, get_hub_folder(data[0]), record, LatencyRequest.of(request))


if "snakemake" in globals():
    run_job(main, snakemake)
