"""A training item as it is trained on beside an item of the test: text and tokens, for each model.

It needs the tokenizers, not the weights.
"""

from itertools import zip_longest
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import write_text
from workflow_scripts.evaluation.encoding import EncodedRequest, Encoder
from workflow_scripts.evaluation.lm_eval_run import ask
from workflow_scripts.evaluation.shown_tokens import with_texts
from workflow_scripts.grid.requests import ExplainTrainingRequest
from workflow_scripts.grid.splits import Splits, load_splits
from workflow_scripts.grid.training_texts import TrainingText, TrainingTexts
from workflow_scripts.hub.load import load_tokenizer
from workflow_scripts.hub.manifest import hub_of, read_manifest
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import training_pair

_COLUMN = 44


def explain_training(
    models: list[Path], hub: Path, path: Path, request: ExplainTrainingRequest
) -> None:
    """Write it as text, the models one after another."""
    with mirror(hub):
        splits = load_splits(request.task, request.recipe, request.seed, request.draws)
        training, tested = len(splits.training), len(splits.test.eval_docs)
        if request.number >= training:
            raise UserError(
                f"explain names the training item {request.number} of {request.task}; expected a number from"
                f" 0 to {training - 1}."
            )
        at = min(request.number, tested - 1)
        head = [
            f"task          {request.task}",
            f"training item {request.number} of {training}, text {request.recipe.training_text}",
            f"test item     {at} of {tested}, its right answer",
        ]
        parts = [_of_model(manifest, splits, at, request) for manifest in models]
    write_text(path, "\n".join(["\n".join(head), *parts]))


def _of_model(manifest: Path, splits: Splits, at: int, request: ExplainTrainingRequest) -> str:
    from transformers import AutoConfig

    import workflow_scripts.chunked  # noqa: F401 (registers the chunked architectures)

    tokenizer = load_tokenizer(manifest)
    title = f"\n==== {read_manifest(manifest).repository} ===="
    if request.chat_template and tokenizer.chat_template is None:
        return f"{title}\nharmony.chat_template is true, but this model has no chat template.\n"
    encoder = Encoder(tokenizer, AutoConfig.from_pretrained(manifest.parent, local_files_only=True))
    texts = TrainingTexts(splits.test, encoder, request.recipe, chat=request.chat_template)
    text = texts.text(splits.training[request.number])
    ((prompt, answer),) = texts.tokens([text])
    notes = [] if text.answer.strip() else ["Not trained on: its answer is empty."]
    most = request.recipe.max_length
    if len(prompt) + len(answer) > most:
        notes.append(f"Cut to max_length, {most} of {len(prompt) + len(answer)} tokens.")
        prompt, answer = prompt[:most], answer[: max(0, most - len(prompt))]
    test = _request(encoder, splits, at, request)
    return "\n".join([title, *notes, _beside(text, (prompt, answer), test, tokenizer)])


def _request(
    encoder: Encoder, splits: Splits, at: int, request: ExplainTrainingRequest
) -> EncodedRequest:
    """What lm-eval puts of a test item: of several choices, the right one."""
    task = splits.test
    task.set_config("num_fewshot", 0)
    encoder.noted = []
    ask(encoder, {request.task: task}, {request.task: [at]}, chat_template=request.chat_template)
    template = encoder.apply_chat_template if request.chat_template else None
    right = training_pair(task, task.eval_docs[at], template)
    return next((one for one in encoder.noted if one.texts == right), encoder.noted[0])


def _beside(
    text: TrainingText, trained: tuple[list[int], list[int]], test: EncodedRequest, tokenizer: Any
) -> str:
    """Tokens of the answer are marked: what the test scores, or in training what it would."""
    columns = [
        [
            f"{mark} {token:>7} {shown!r}"
            for mark, tokens in ((" ", prompt), (">", answer))
            for token, shown in with_texts(tokens, tokenizer)
        ]
        for prompt, answer in (trained, (test.context, test.continuation))
    ]
    return "\n".join(
        [
            "---- trained on, text ----",
            text.whole,
            "---- tested, text ----",
            "".join(test.texts) or tokenizer.decode([*test.context, *test.continuation]),
            "---- tokens, trained on and tested: number and text of each, > in the answer ----",
            *(
                f"{one:<{_COLUMN}} | {other}".rstrip()
                for one, other in zip_longest(*columns, fillvalue="")
            ),
            "",
        ]
    )


def main(model: list[Path], data: list[Path], text: Path, request: dict[str, Any]) -> None:
    explain_training(model, hub_of(data[0]), text, ExplainTrainingRequest.of(request))


if "snakemake" in globals():
    run_job(main, snakemake)
