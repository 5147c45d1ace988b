"""Measure the perplexity, under the unchanged model, of what it writes in each chunk plan.

The published script has each plan answer one prompt, drawn as the model's generation config says, and reads the answer
with the unchanged model. It puts the prompt in front of what `generate` returns, which begins with the prompt, and
averages the loss over all of these tokens.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import hash_json
from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.core.seeds import derive_seed, isolate_rng
from workflow_scripts.evaluation.measure_perplexity import PerplexityRecord, load_plans
from workflow_scripts.evaluation.perplexity import encode_chat_prompt, score_rows
from workflow_scripts.evaluation.requests import WrittenRequest
from workflow_scripts.hub.bos_token import get_bos_tokens
from workflow_scripts.hub.load import LoadedModel
from workflow_scripts.hub.record_fields import Recording

TASK = "written"
_SAMPLING = ("do_sample", "temperature", "top_p", "top_k", "repetition_penalty")


def measure_written(model: Path, path: Path, request: WrittenRequest) -> None:
    """Measure the text of the model as it is, and of each plan, under the model as it is."""
    recording, measures = Recording(), request.measures
    record = PerplexityRecord(
        TASK,
        "chunking.measures.written_prompts",
        hash_json(measures.written_prompts)[:40],
        "prompts",
    )
    base = None
    for varied, writer in load_plans(model, request.plans, request.compute):
        base = base or writer
        print(f"perplexity of what {varied['plan']} writes", flush=True)
        responses = [write_response(writer, text, request) for text in measures.written_prompts]
        if measures.written_scored == "response":
            rows = [([*prompt, *response], len(prompt)) for prompt, response in responses]
        else:  # as published, all tokens behind the first, the prompt twice
            rows = [([*prompt, *prompt, *response], 1) for prompt, response in responses]
        texts = [base.tokenizer.decode(response) for _, response in responses]
        pieces = score_rows(base.model, base.tokenizer, rows)
        record.add(pieces, Condition(**varied), request.perplexity_mean, texts)
        del writer  # two models are there at once, and never three
    assert base
    config = base.model.generation_config
    generation = measures.model_dump(mode="json") | {
        "perplexity_mean": request.perplexity_mean,
        "model_generation_config": {name: getattr(config, name, None) for name in _SAMPLING},
    }
    record.write(path, request, base, recording, "chunking", generation)


def write_response(
    loaded: LoadedModel, text: str, request: WrittenRequest
) -> tuple[list[int], list[int]]:
    """Answer a prompt as the model's own generation config says; return the tokens of both."""
    import torch

    model, tokenizer = loaded.model, loaded.tokenizer
    prompt = encode_chat_prompt(tokenizer, text, get_bos_tokens(tokenizer))
    ids = torch.tensor([prompt], device=model.device)
    with isolate_rng(model.device), torch.inference_mode():
        # Of the prompt alone: all plans draw alike.
        torch.manual_seed(derive_seed(request.seed, TASK, text))
        row = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=request.measures.written_tokens,
            pad_token_id=tokenizer.pad_token_id,
        )
    return prompt, row[0, len(prompt) :].tolist()


def main(model: Path, record: Path, request: dict[str, Any]) -> None:
    measure_written(model, record, WrittenRequest.of(request))


if "snakemake" in globals():
    run_job(main, snakemake)
