"""Measure the perplexity, under the unchanged model, of what it writes in each chunk plan.

The published script has each plan answer one prompt, drawn as the model's generation config says, and reads
the answer with the unchanged model. It puts the prompt in front of what `generate` returns, which begins with
the prompt, and averages the loss over all of these tokens.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_json
from workflow_scripts.core.items import Item
from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.core.records import (
    Metric,
    TaskFacts,
    write_record,
)
from workflow_scripts.core.seeds import derive_seed, isolate_rng
from workflow_scripts.evaluation.measure_perplexity import build_perplexity_protocol, plan_condition
from workflow_scripts.evaluation.perplexity import (
    Scored,
    build_perplexity_items,
    compute_perplexity_metrics,
    encode_chat_prompt,
    score_rows,
)
from workflow_scripts.evaluation.record_parts import HARNESS, HARNESS_VERSION
from workflow_scripts.evaluation.requests import WrittenRequest
from workflow_scripts.hub.bos_token import get_bos_tokens
from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.hub.record_fields import Recording
from workflow_scripts.settings.plan_measures import WrittenScored

TASK = "written"
# What each prompt was answered with: both in tokens.
Responses = list[tuple[list[int], list[int]]]


def measure_written(model: Path, path: Path, request: WrittenRequest) -> None:
    """Measure the text of the model as it is, and of each plan, under the model as it is."""
    recording, measures = Recording(), request.measures
    base = load_model(model, **request.compute.loading)
    layers = base.model.config.num_hidden_layers
    metrics: list[Metric] = []
    items: list[Item] = []
    for plan in (None, *request.plans):
        writer = base
        if plan is not None:
            writer = load_model(model, chunking=plan.keys, **request.compute.loading)
        condition = Condition(**plan_condition(plan, layers))
        print(f"perplexity of what {condition.plan} writes", flush=True)
        responses = write_responses(writer, request)
        pieces = score_responses(base, responses, measures.written_scored)
        metrics += compute_perplexity_metrics(pieces, condition, request.perplexity_mean)
        texts = [base.tokenizer.decode(response) for _, response in responses]
        items += [
            replace(item, prediction=text)
            for item, text in zip(
                build_perplexity_items(TASK, pieces, condition), texts, strict=True
            )
        ]
        del writer  # two models are there at once, and never three
    write_record(
        path,
        items,
        study="chunking",
        task=TaskFacts(
            name=TASK,
            harness=HARNESS,
            harness_version=HARNESS_VERSION,
            dataset="chunking.measures.written_prompts",
            dataset_commit=sha256_json(measures.written_prompts)[:40],
            split="prompts",
            shots=0,
        ),
        protocol=build_perplexity_protocol(
            base,
            request,
            measures.model_dump(mode="json")
            | {
                "perplexity_mean": request.perplexity_mean,
                "model_generation_config": _sampling_settings(base),
            },
        ),
        metrics=tuple(metrics),
        **recording.parts(request, base, int(sum(item.scores["tokens"] for item in items))),
    )


def write_responses(loaded: LoadedModel, request: WrittenRequest) -> Responses:
    """Answer each prompt, by itself, as the model's own generation config says."""
    import torch

    model, tokenizer = loaded.model, loaded.tokenizer
    most = request.measures.written_tokens or 0
    context = model.config.max_position_embeddings
    responses = []
    for text in request.measures.written_prompts:
        prompt = encode_chat_prompt(tokenizer, text, get_bos_tokens(tokenizer))
        if 2 * len(prompt) + most > context:  # scored behind the prompt twice
            raise UserError(
                f"chunking.measures.written_tokens is {most}; expected at most {context - 2 * len(prompt)}"
                f" behind {text[:60]!r}, since the model sees {context} tokens."
            )
        ids = torch.tensor([prompt], device=model.device)
        with isolate_rng(model.device), torch.inference_mode():
            # Of the prompt alone: all plans draw alike.
            torch.manual_seed(derive_seed(request.seed, TASK, text))
            row = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=most,
                pad_token_id=tokenizer.pad_token_id,
            )
        responses.append((prompt, row[0, len(prompt) :].tolist()))
    return responses


def score_responses(
    loaded: LoadedModel, responses: Responses, scored: WrittenScored
) -> list[Scored]:
    """Score each response behind its prompt, or as published all tokens behind the first of both, the prompt
    twice."""
    if scored == "response":
        rows = [([*prompt, *response], len(prompt)) for prompt, response in responses]
    else:
        rows = [([*prompt, *prompt, *response], 1) for prompt, response in responses]
    return score_rows(loaded.model, loaded.tokenizer, rows)


def _sampling_settings(loaded: LoadedModel) -> dict[str, Any]:
    """Read how the model's generation config draws tokens."""
    names = ("do_sample", "temperature", "top_p", "top_k", "repetition_penalty")
    config = loaded.model.generation_config
    return {name: getattr(config, name, None) for name in names}


def main(model: Path, record: Path, request: dict[str, Any]) -> None:
    measure_written(model, record, WrittenRequest.of(request))


if "snakemake" in globals():
    run_job(main, snakemake)
