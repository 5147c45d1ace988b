"""Show the text and tokens of a training item and of a test item for each model.

This needs the tokenizers but not the weights.
"""

from pathlib import Path
from typing import Any

from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import write_text
from workflow_scripts.evaluation.encoding import EncodedRequest, Encoder
from workflow_scripts.evaluation.lm_eval_run import run_lm_eval
from workflow_scripts.grid.requests import ExplainTrainingRequest
from workflow_scripts.grid.splits import Splits, load_splits
from workflow_scripts.grid.training_texts import TrainingTextBuilder
from workflow_scripts.hub.load import load_tokenizer
from workflow_scripts.hub.manifest import get_hub_folder, read_manifest
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import build_training_pair


@validate_call
def explain_training(
    model: list[Path], data: list[Path], text: Path, request: ExplainTrainingRequest
) -> None:
    """Write the file `text`: for each model, a training item and a test item with their tokens."""
    with mirror(get_hub_folder(data)):
        splits = load_splits(request.task, request.recipe, request.seed, request.draws)
        count = len(splits.training)
        if request.number >= count:
            raise UserError(
                f"explain names the training item {request.number} of {request.task}, which has {count}."
            )
        parts = [_explain(manifest, splits, request) for manifest in model]
    write_text(text, "\n\n".join(parts) + "\n")


def _explain(manifest: Path, splits: Splits, request: ExplainTrainingRequest) -> str:
    from transformers import AutoConfig

    import workflow_scripts.chunked  # noqa: F401 (registers the chunked architectures)

    tokenizer = load_tokenizer(manifest)
    encoder = Encoder(tokenizer, AutoConfig.from_pretrained(manifest.parent, local_files_only=True))
    texts = TrainingTextBuilder(splits.test, encoder, request.recipe, chat=request.chat_template)
    text = texts.build_text(splits.training[request.number])
    ((prompt, answer),) = texts.tokenize([text])
    tokens = [*prompt, *answer][: request.recipe.max_length]
    test = _encode_test(encoder, splits, request)
    test_tokens = [*test.context, *test.continuation]
    return "\n".join(
        [
            f"==== {read_manifest(manifest).repository}: {request.task}, item {request.number} ====",
            "---- trained on; > marks the answer ----",
            text.full_text,
            *_format_tokens(tokens, len(prompt), tokenizer),
            "---- tested ----",
            "".join(test.texts) or tokenizer.decode(test_tokens),
            *_format_tokens(test_tokens, len(test.context), tokenizer),
        ]
    )


def _encode_test(
    encoder: Encoder, splits: Splits, request: ExplainTrainingRequest
) -> EncodedRequest:
    """Return lm-eval's request for a test item; for several choices, the request of the correct one."""
    task = splits.test
    number = min(request.number, len(task.eval_docs) - 1)
    task.set_config("num_fewshot", 0)
    encoder.recorded_requests = []
    tasks, items = {request.task: task}, {request.task: [number]}
    run_lm_eval(encoder, tasks, items, chat_template=request.chat_template)
    template = encoder.apply_chat_template if request.chat_template else None
    correct = build_training_pair(task, task.eval_docs[number], template)
    encoded = encoder.recorded_requests
    return next((test for test in encoded if test.texts == correct), encoded[0])


def _format_tokens(tokens: list[int], answer_start: int, tokenizer: Any) -> list[str]:
    """Return a line for each token with its id and name; the tokens of the answer are marked."""
    marks = [" "] * answer_start + [">"] * (len(tokens) - answer_start)
    names = tokenizer.convert_ids_to_tokens(tokens)
    return list(map("{} {:>7} {!r}".format, marks, tokens, names))


if "snakemake" in globals():
    run_job(explain_training, snakemake)
