"""The exact text and tokens that a run sends for one question; needs the tokenizer, not the model."""

from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError, did_you_mean
from workflow_scripts.core.files import sha256_text, write_text
from workflow_scripts.evaluation.measurement import Measurement
from workflow_scripts.evaluation.prompts.questions import LETTERS, Question, read_questions
from workflow_scripts.evaluation.prompts.rendering import Prompt
from workflow_scripts.evaluation.prompts.requests import ExplainRequest
from workflow_scripts.evaluation.prompts.run import renderer_for
from workflow_scripts.evaluation.shown_tokens import with_texts
from workflow_scripts.hub.load import load_tokenizer
from workflow_scripts.hub.manifest import read_manifest
from workflow_scripts.settings.prompts.spec import Asking


def explain_prompt(manifest_path: Path, hub: Path, path: Path, request: ExplainRequest) -> None:
    """Write it as text."""
    from transformers import AutoConfig

    import workflow_scripts.chunked  # noqa: F401 (registers the chunked architectures)

    spec, tokenizer = request.asking, load_tokenizer(manifest_path)
    config = AutoConfig.from_pretrained(manifest_path.parent, local_files_only=True)
    questions, _ = read_questions(hub, spec.questions)
    question = question_of(questions, request.subject, request.number)
    prompt = renderer_for(spec, tokenizer, config, hub).prompt(question)
    model = read_manifest(manifest_path).repository
    write_text(path, explanation(request.run, model, spec, question, prompt, tokenizer))


def question_of(questions: list[Question], subject: str | None, number: int) -> Question:
    """The question of that number in its subject; without a subject, in the dataset."""
    subjects = list(dict.fromkeys(question.subject for question in questions))
    if subject is not None and subject not in subjects:
        raise UserError(
            f"explain names the subject {subject!r}; expected one of"
            f" {', '.join(subjects)}.{did_you_mean(subject, subjects)}"
        )
    mine = [question for question in questions if subject in (None, question.subject)]
    if number >= len(mine):
        raise UserError(
            f"explain names the question {number} of {subject}; expected a number from 0 to"
            f" {len(mine) - 1}."
        )
    return mine[number]


def explanation(
    run: str, model: str, spec: Asking, question: Question, prompt: Prompt, tokenizer: Any
) -> str:
    decoding = spec.decoding.model_dump(mode="json", exclude_defaults=True)
    lines = [
        f"run         {run}",
        f"model       {model}",
        f"question    {question.id}",
        f"right       {LETTERS[question.gold]}, {question.answer!r}",
        f"decoding    {', '.join(f'{key} {value}' for key, value in decoding.items())}",
        f"prompt      {len(prompt.tokens)} tokens, sha256 {sha256_text(prompt.text)}",
    ]
    if prompt.truncated:
        lines.append("truncated   on the left: the tokens below are what the model still reads")
    for letter, continuation in zip(LETTERS, prompt.continuations, strict=False):
        lines.append(f"scored {letter}    {_tokens(continuation, tokenizer)}")
    return "\n".join(
        [
            *lines,
            "",
            "---- text, from the next line to the line before the tokens ----",
            prompt.text,
            "---- tokens: number and text of each ----",
            *(f"{token:>7} {text!r}" for token, text in with_texts(prompt.tokens, tokenizer)),
            "",
        ]
    )


def _tokens(tokens: list[int], tokenizer: Any) -> str:
    return " ".join(f"{token} {text!r}" for token, text in with_texts(tokens, tokenizer))


MEASUREMENT = Measurement(ExplainRequest, explain_prompt, writes=("text",))
