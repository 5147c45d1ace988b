"""Show the exact text and tokens that a run sends for one question; needs the tokenizer, not the model."""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError, suggest_name
from workflow_scripts.core.files import sha256_text, write_text
from workflow_scripts.evaluation.prompts.ask_prompt_run import build_renderer
from workflow_scripts.evaluation.prompts.questions import LETTERS, Question, read_questions
from workflow_scripts.evaluation.prompts.requests import ExplainRequest
from workflow_scripts.evaluation.token_texts import with_texts
from workflow_scripts.hub.load import load_tokenizer
from workflow_scripts.hub.manifest import get_hub_folder, read_manifest


def explain_prompt(manifest_path: Path, hub: Path, path: Path, request: ExplainRequest) -> None:
    """Write text and tokens of one question of a run."""
    from transformers import AutoConfig

    import workflow_scripts.chunked  # noqa: F401 (registers the chunked architectures)

    spec, tokenizer = request.asking, load_tokenizer(manifest_path)
    config = AutoConfig.from_pretrained(manifest_path.parent, local_files_only=True)
    questions, _ = read_questions(hub, spec.questions)
    question = get_question(questions, request.subject, request.number)
    prompt = build_renderer(spec, tokenizer, config, hub).prompt(question)
    lines = [
        f"run         {request.run}",
        f"model       {read_manifest(manifest_path).repository}",
        f"question    {question.id}",
        f"right       {LETTERS[question.gold]}, {question.answer!r}",
        f"decoding    {spec.decoding.model_dump(mode='json', exclude_defaults=True)}",
        f"prompt      {len(prompt.tokens)} tokens, sha256 {sha256_text(prompt.text)}",
    ]
    if prompt.truncated:
        lines.append("truncated   on the left: the tokens below are what the model still reads")
    for letter, tokens in zip(LETTERS, prompt.continuations, strict=False):
        lines.append(f"scored {letter}    {with_texts(tokens, tokenizer)}")
    lines += ["", "---- text, from the next line to the line before the tokens ----", prompt.text]
    lines += ["---- tokens: number and text of each ----"]
    lines += [f"{token:>7} {text!r}" for token, text in with_texts(prompt.tokens, tokenizer)]
    write_text(path, "\n".join([*lines, ""]))


def get_question(questions: list[Question], subject: str | None, number: int) -> Question:
    """Return the question of that number in its subject; without a subject, in the dataset."""
    members = [question for question in questions if subject in (None, question.subject)]
    if number >= len(members):
        subjects = list(dict.fromkeys(question.subject for question in questions))
        raise UserError(
            f"explain names the question {number} of {subject!r}, which has {len(members)}; expected a number"
            f" below that and one of {', '.join(subjects)}.{suggest_name(subject or '', subjects)}"
        )
    return members[number]


def main(model: Path, data: list[Path], text: Path, request: dict[str, Any]) -> None:
    explain_prompt(model, get_hub_folder(data[0]), text, ExplainRequest.of(request))


if "snakemake" in globals():
    run_job(main, snakemake)
