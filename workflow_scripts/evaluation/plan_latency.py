"""How fast a model runs in many chunk plans, before any training, on one device and over several.

One record; its conditions are the plans with what stands between their layers, how the chunks ran, over how
many devices, in which number format, and the batch size.
"""

from collections.abc import Iterable
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

from workflow_scripts.core.conditions import Condition
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_text
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import Metric, Record, write_record
from workflow_scripts.core.words import many
from workflow_scripts.evaluation.latency import (
    Timings,
    greedy_latency,
    interleaved,
    left_padded,
    median_and_spread,
)
from workflow_scripts.evaluation.measurement import Measurement
from workflow_scripts.evaluation.perplexity import labelled, measure, nats_a_token, nats_of
from workflow_scripts.evaluation.plans import varied_by
from workflow_scripts.evaluation.prompts.questions import Question, read_questions
from workflow_scripts.evaluation.record_parts import own_task, protocol_of
from workflow_scripts.evaluation.requests import LatencyRequest
from workflow_scripts.hub.load import LoadedModel, choose_device, load_model
from workflow_scripts.hub.manifest import Manifest
from workflow_scripts.hub.recording import Recording
from workflow_scripts.hub.start_token import start_of
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.plan_measures import too_few_threads


def measure_latency(model: Path, hub: Path, path: Path, request: LatencyRequest) -> Record:
    """Each plan against the unchanged model, which takes turns with it: fused and as the loop, on one device
    and over several, and in other number formats."""
    recording, measures = Recording(), request.measures
    places = places_of(choose_device(request.compute.device), max(measures.devices))
    questions, dataset = _questions(hub, measures.questions)
    timing = _Timing(model, questions, places, request)
    for plan in request.plans:
        timing.plan(plan)
    base = timing.base
    if measures.precisions:
        timing.in_other_formats(None, timing.nats(base))
    tokens = sum(
        len(timing.encode(text)["input_ids"]) + measures.new_tokens - 1 for text in timing.texts
    )
    return write_record(
        path,
        timing.items,
        study="latency",
        task=own_task("mmlu", dataset, "test"),
        protocol=protocol_of(
            "latency",
            base,
            seed=request.seed,
            batch_size=max(measures.batch_sizes),
            chat_template=measures.latency_prompts == "chat",
            generation=measures.model_dump(mode="json", exclude={"repeats"}),
        ),
        metrics=tuple(timing.metrics),
        **recording.parts(request, base, tokens * timing.rounds, _named(places)),
    )


class _Timing:
    """The unchanged model, what has been timed beside it so far, and the questions that all of them are put."""

    def __init__(
        self, model: Path, questions: list[Question], places: list[str], request: LatencyRequest
    ):
        self._model, self._places, self._request = model, places, request
        self.base = self._load(None)
        self._is_chat = request.measures.latency_prompts == "chat"
        self.texts = (
            chat_prompts(self.base, questions) if self._is_chat else plain_prompts(questions)
        )
        self._prompts = sha256_text("\n".join(self.texts))
        self._layers = self.base.model.config.num_hidden_layers
        self.metrics: list[Metric] = []
        self.items: list[Item] = []

    @property
    def rounds(self) -> int:
        """All other items are of what a number format costs, which is of no way of running."""
        return sum(
            item.condition is not None and item.condition.way is not None for item in self.items
        )

    def plan(self, plan: Checkpoint) -> None:
        measures = self._request.measures
        chunks = len(plan.plan(self._layers).chunks)
        # A pruned model is a shorter one of the same kind; one batch size says how much shorter.
        sizes = measures.batch_sizes if chunks else measures.batch_sizes[:1]
        ways = ("fused", "loop") if chunks else ("loop",)
        in_others = bool(chunks and measures.precisions)
        usual: list[tuple[float, int]] = []
        for devices in [number for number in measures.devices if number <= chunks] or [1]:
            loaded = self._load(plan)
            if in_others and not usual:  # before it is spread, or told to run as the loop
                usual = self.nats(loaded)
            if devices > 1:
                loaded.model.spread(self._places[:devices])
            number = None if devices == 1 else devices
            self._beside_the_unchanged(loaded, plan, ways, sizes, devices=number)
            del loaded  # two models are there at once, and never three
        if in_others:
            self.in_other_formats(plan, usual)

    def in_other_formats(self, plan: Checkpoint | None, usual: list[tuple[float, int]]) -> None:
        """How fast a plan is in them, fused on one device, and what they cost: of the same questions, nats that a
        token takes more than in the usual one. Without a plan, of the model as it is."""
        measures = self._request.measures
        for precision in measures.precisions:
            if precision == self.base.dtype:
                continue  # which auto has come to: all plans are timed in it anyway
            loaded = self._load(plan, precision)
            way = "fused" if plan else "loop"
            there = self.nats(loaded)  # before it is timed, and may be run as is fastest here
            self._beside_the_unchanged(
                loaded, plan, (way,), measures.batch_sizes, precision=precision
            )
            more = [one - other for (one, _), (other, _) in zip(there, usual, strict=True)]
            cost, stderr = nats_a_token(more, [tokens for _, tokens in there])
            condition = Condition(**varied_by(plan, self._layers), precision=precision)
            self.metrics.append(measure("nats_more", cost, len(more), condition, stderr=stderr))
            scores = [
                {"nats_more": one, "tokens": tokens}
                for one, (_, tokens) in zip(more, there, strict=True)
            ]
            self._note(condition, map(sha256_text, self.texts), scores)
            del loaded

    def _load(self, plan: Checkpoint | None, precision: str | None = None) -> LoadedModel:
        loading = self._request.compute.loading | ({"dtype": precision} if precision else {})
        return load_model(self._model, chunking=plan.keys if plan else None, **loading)

    def _beside_the_unchanged(
        self,
        loaded: LoadedModel,
        plan: Checkpoint | None,
        ways: tuple[str, ...],
        sizes: tuple[int, ...],
        **varied: Any,
    ) -> None:
        base, measures = self.base, self._request.measures
        told = [f"latency of {plan.id(self._layers).variant if plan else 'the model as it is'}"]
        told += [f"{value} {name}" for name, value in varied.items() if value is not None]
        for size in sizes:
            print(f"{', '.join(told)}, at batch size {size}", flush=True)
            batches = left_padded(self.encode, self.texts, size, base.device)
            timed = {"unchanged": partial(_run, base.model, None, batches, measures.new_tokens)}
            timed |= {
                way: partial(
                    _run, loaded.model, way if plan else None, batches, measures.new_tokens
                )
                for way in ways
            }
            for way, timing in interleaved(timed, measures.repeats).items():
                condition = Condition(
                    **varied_by(plan, self._layers), way=way, batch=size, **varied
                )
                self.metrics += _latency_metrics(timing, condition)
                rounds = zip(*timing.values(), strict=True)
                scores = [dict(zip(timing, one, strict=True)) for one in rounds]
                self._note(condition, repeat(self._prompts, len(scores)), scores)

    def _note(
        self, condition: Condition, prompts: Iterable[str], scores: list[dict[str, float]]
    ) -> None:
        self.items += [
            Item(
                item=f"{labelled('mmlu', condition)}/{at}",
                condition=condition,
                prompt_sha256=prompt,
                gold=None,
                prediction=None,
                scores=one,
            )
            for at, (prompt, one) in enumerate(zip(prompts, scores, strict=True))
        ]

    def encode(self, text: str) -> Any:
        """Tokenise a prompt; a chat template has written its special tokens."""
        return self.base.tokenizer(text, add_special_tokens=not self._is_chat)

    def nats(self, loaded: LoadedModel) -> list[tuple[float, int]]:
        """What each question costs a model, and its scored tokens."""
        start = [] if self._is_chat else start_of(loaded.tokenizer)
        rows = [
            [*start, *loaded.tokenizer(text, add_special_tokens=False)["input_ids"]]
            for text in self.texts
        ]
        first = max(1, len(start))
        costs = nats_of(loaded.model, [(row, first) for row in rows])
        return [(cost, len(row) - first) for cost, row in zip(costs, rows, strict=True)]


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
            f"chunking.measures.devices has {number}, but PyTorch sees {many(seen, 'GPU')} here;"
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


def _run(model: Any, way: str | None, batches: list, new_tokens: int) -> tuple[float, float]:
    if way is not None:
        model.config.chunk_execution = way
    return greedy_latency(model, batches, new_tokens)


def _latency_metrics(timing: Timings, condition: Condition) -> list[Metric]:
    metrics = []
    for name, seconds in timing.items():
        median, spread = median_and_spread(seconds)
        metrics += [
            measure(name, median, len(seconds), condition),
            measure(f"{name}_spread", spread, len(seconds), condition),
        ]
    return metrics


def _questions(hub: Path, number: int) -> tuple[list[Question], Manifest]:
    questions, dataset = read_questions(hub, "mmlu")
    if len(questions) < number:
        raise UserError(
            f"chunking.measures.questions is {number}, but MMLU has {len(questions)} test questions."
        )
    return questions[:number], dataset


def plain_prompts(questions: list[Question]) -> list[str]:
    """Write each question with its choices."""
    return [
        "\n".join(
            [one.text, *(f"{a}. {c}" for a, c in zip("ABCD", one.choices, strict=True)), "Answer:"]
        )
        for one in questions
    ]


def chat_prompts(loaded: LoadedModel, questions: list[Question]) -> list[str]:
    """Write each question alone as a user's turn, with the system message that the template adds by itself."""
    tokenizer = loaded.tokenizer
    if tokenizer.chat_template is None:
        raise UserError(
            f"chunking.measures.latency_prompts is 'chat', but {loaded.manifest.repository} has no chat"
            " template; expected 'plain', or chunking.measures.latency_models without this model."
        )
    return [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": one.text}], tokenize=False, add_generation_prompt=True
        )
        for one in questions
    ]


MEASUREMENT = Measurement(LatencyRequest, measure_latency)
