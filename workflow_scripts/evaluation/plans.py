"""What a model is worth and how fast it runs in many chunk plans, before any training.

One record per measure; its subsets are the plans. A plan's name is the variant of a checkpoint,
without its @, and what else was varied stands behind it, after slashes.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_json, sha256_text
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import Cost, Metric, Protocol, Record, TaskFacts, write_record
from workflow_scripts.evaluation.latency import (
    greedy_latency,
    interleaved,
    left_padded,
    median_and_spread,
)
from workflow_scripts.evaluation.perplexity import (
    Scored,
    response_perplexity,
    summary,
    text_perplexity,
)
from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.hub.manifest import Manifest, read_manifest
from workflow_scripts.hub.recording import Recording, model_facts

UNCHANGED, NOTHING = "k0m0", "-"
WIKITEXT, MAGPIE, MMLU = (
    "Salesforce/wikitext",
    "Magpie-Align/Magpie-Qwen2-Pro-200K-English",
    "cais/mmlu",
)


def measure_perplexity(
    model: Path,
    hub: Path,
    wikitext: Path,
    magpie: Path,
    *,
    plans: dict[str, dict[str, Any]],
    window: int,
    stride: int,
    responses: int,
    difficulties: list[str],
    compute: dict[str, Any],
    batch_size: int,
    threads: int,
    seed: int,
    study: str = "chunking",
) -> tuple[Record, Record]:
    """Perplexity of a text and of responses of the model as it is, and in each plan (config keys by
    its name)."""
    settings = {name: value for name, value in locals().items() if name not in _PATHS}
    recording = Recording()
    text = _wikitext(hub)
    pairs = {difficulty: _magpie(hub, responses, difficulty) for difficulty in difficulties}
    pieces: dict[str, dict[str, list[Scored]]] = {"wikitext": {}, "magpie": {}}
    for name, keys in {UNCHANGED: None, **plans}.items():
        loaded = load_model(model, chunking=keys, **compute)
        seen = min(window, loaded.model.config.max_position_embeddings)
        print(f"perplexity of {name}", flush=True)
        pieces["wikitext"][_subset(name)] = text_perplexity(
            loaded.model,
            loaded.tokenizer,
            text,
            window=seen,
            stride=min(stride, seen),
            batch_size=batch_size,
        )
        for difficulty, chosen in pairs.items():
            pieces["magpie"][_subset(name, difficulty)] = response_perplexity(
                loaded.model, loaded.tokenizer, chosen, window=seen, batch_size=batch_size
            )

    def record(path: Path, task: str, dataset: str, split: str, generation: dict) -> Record:
        metrics, items = [], []
        for subset, scored in pieces[task].items():
            metrics += _perplexity_metrics(subset, scored)
            items += [
                Item(
                    item=f"{subset}/{at}",
                    subset=subset,
                    prompt_sha256=sha256_json([task, at]),
                    gold=None,
                    prediction=None,
                    scores={"nats": piece.nats, "tokens": piece.tokens, "bytes": piece.bytes},
                )
                for at, piece in enumerate(scored)
            ]
        return write_record(
            path,
            items,
            study=study,
            model=model_facts(loaded.manifest),
            task=_task(task, _dataset(hub, dataset), split),
            protocol=_protocol("perplexity", loaded, batch_size, seed, generation),
            metrics=tuple(metrics),
            cost=Cost(tokens=sum(int(i.scores["tokens"]) for i in items), device=loaded.device),
            provenance=recording.provenance(settings),
            volatile=recording.volatile(loaded.device),
        )

    sight = {"window": window, "stride": stride}
    asked = {"window": window, "responses": responses, "difficulties": difficulties}
    return (
        record(wikitext, "wikitext", WIKITEXT, "validation", sight),
        record(magpie, "magpie", MAGPIE, "train", asked),
    )


def measure_latency(
    model: Path,
    hub: Path,
    path: Path,
    *,
    plans: dict[str, dict[str, Any]],
    batch_sizes: list[int],
    questions: int,
    new_tokens: int,
    repeats: int,
    compute: dict[str, Any],
    threads: int,
    seed: int,
) -> Record:
    """Each plan against the unchanged model, which takes turns with it: fused, and as the loop."""
    settings = {name: value for name, value in locals().items() if name not in _PATHS}
    recording = Recording()
    texts = _mmlu(hub, questions)
    prompts = sha256_text("\n".join(texts))
    base = load_model(model, **compute)
    metrics, items = [], []
    for plan, keys in plans.items():
        loaded = load_model(model, chunking=keys, **compute)
        chunked = bool(loaded.model.config.plan().chunks)
        ways = ("fused", "loop") if chunked else ("loop",)
        # A pruned model is a shorter one of the same kind; one batch size says how much shorter.
        for size in batch_sizes if chunked else batch_sizes[:1]:
            print(f"latency of {plan} at batch size {size}", flush=True)
            batches = left_padded(base.tokenizer, texts, size, base.device)
            variants = {"unchanged": lambda b=batches: greedy_latency(base.model, b, new_tokens)}
            for way in ways:
                variants[way] = _run_as(loaded, way, batches, new_tokens)
            for way, timing in interleaved(variants, repeats).items():
                subset = f"{plan}/{way}/{size}"
                found = {"prefill_seconds": timing.prefill, "token_seconds": timing.per_token}
                for metric, seconds in found.items():
                    median, spread = median_and_spread(seconds)
                    metrics += [
                        _metric(metric, subset, median, repeats),
                        _metric(f"{metric}_spread", subset, spread, repeats),
                    ]
                items += [
                    Item(
                        item=f"{subset}/{at}",
                        subset=subset,
                        prompt_sha256=prompts,
                        gold=None,
                        prediction=None,
                        scores={metric: seconds[at] for metric, seconds in found.items()},
                    )
                    for at in range(repeats)
                ]
    tokens = sum(len(base.tokenizer(text)["input_ids"]) + new_tokens - 1 for text in texts)
    generation = {"new_tokens": new_tokens, "questions": len(texts), "batch_sizes": batch_sizes}
    return write_record(
        path,
        items,
        study="latency",
        model=model_facts(base.manifest),
        task=_task("mmlu", _dataset(hub, MMLU), "test"),
        protocol=_protocol("latency", base, max(batch_sizes), seed, generation),
        metrics=tuple(metrics),
        cost=Cost(tokens=tokens * len(items), device=base.device),
        provenance=recording.provenance(settings),
        volatile=recording.volatile(base.device),
    )


_PATHS = {"model", "hub", "path", "wikitext", "magpie"}


def _run_as(loaded: LoadedModel, way: str, batches: list, new_tokens: int):
    def run() -> tuple[float, float]:
        loaded.model.config.chunk_execution = way
        return greedy_latency(loaded.model, batches, new_tokens)

    return run


def _subset(name: str, difficulty: str = NOTHING) -> str:
    """plan/aggregation/difficulty, with a dash for what there is not."""
    plan, _, aggregation = name.partition("/")
    return "/".join((plan, aggregation or NOTHING, difficulty))


def _perplexity_metrics(plan: str, scored: list[Scored]) -> list[Metric]:
    found = summary(scored)
    return [
        _metric("perplexity", plan, found.perplexity, found.n, found.stderr),
        _metric("bits_per_byte", plan, found.bits_per_byte, found.n),
    ]


def _metric(name: str, subset: str, value: float, n: int, stderr: float | None = None) -> Metric:
    return Metric(
        name=name, subset=subset, value=value, stderr=stderr, n=n, best_constant=None, chance=None
    )


def _task(name: str, dataset: Manifest, split: str) -> TaskFacts:
    return TaskFacts(
        name=name,
        harness="chorus",
        harness_version="1",
        dataset=dataset.repository,
        dataset_commit=dataset.commit,
        split=split,
        shots=0,
    )


def _protocol(
    name: str, loaded: LoadedModel, batch_size: int, seed: int, generation: dict[str, Any]
) -> Protocol:
    return Protocol(
        name=name,
        dtype=loaded.dtype,
        attention=loaded.attention,
        batch_size=batch_size,
        threads=loaded.threads,
        seed=seed,
        chat_template=name == "perplexity" and loaded.tokenizer.chat_template is not None,
        generation=generation,
    )


def _dataset(hub: Path, name: str) -> Manifest:
    return read_manifest(hub / "datasets" / name / "manifest.json")


def _rows(hub: Path, name: str, config: str | None, split: str) -> list[dict[str, Any]]:
    import datasets

    from workflow_scripts.hub.mirror import mirror

    with mirror(hub):
        return list(datasets.load_dataset(name, config, split=split))


def _wikitext(hub: Path) -> str:
    rows = _rows(hub, WIKITEXT, "wikitext-103-v1", "validation")
    return "\n\n".join(row["text"] for row in rows)


def _magpie(hub: Path, number: int, difficulty: str) -> list[tuple[str, str]]:
    rows = _rows(hub, MAGPIE, None, "train")
    chosen = [row for row in rows if row["difficulty"] == difficulty and row["response"].strip()]
    if not chosen:
        known = sorted({str(row["difficulty"]) for row in rows})
        raise UserError(
            f"chunking.measures.difficulties has {difficulty!r}, but {MAGPIE} has"
            f" {', '.join(known)}."
        )
    return [(row["instruction"], row["response"]) for row in chosen[:number]]


def _mmlu(hub: Path, number: int) -> list[str]:
    rows = _rows(hub, MMLU, "all", "test")
    if len(rows) < number:
        raise UserError(
            f"chunking.measures.questions is {number}, but MMLU has {len(rows)} test questions."
        )
    return [
        "\n".join(
            [row["question"], *(f"{a}. {c}" for a, c in zip("ABCD", row["choices"], strict=True))]
        )
        + "\nAnswer:"
        for row in rows[:number]
    ]
