"""Write the exact text and tokens of one question of a run; needs the tokenizer, not the weights."""

from pathlib import Path

from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import hash_text, write_text
from workflow_scripts.evaluation.prompts.questions import LETTERS, read_questions
from workflow_scripts.evaluation.prompts.rendering import Renderer
from workflow_scripts.hub.load import load_tokenizer
from workflow_scripts.hub.manifest import get_hub_folder
from workflow_scripts.settings.prompts.spec import PromptSpec


@validate_call
def explain_prompt(
    model: Path,
    data: list[Path],
    text: Path,
    run: str,
    subject: str | None,
    number: int,
    asking: PromptSpec,
) -> None:
    """Explain the question with this index in its subject, or in the dataset if `subject` is None."""
    from transformers import AutoConfig

    import workflow_scripts.chunked  # noqa: F401 (registers the chunked architectures)

    hub = get_hub_folder(data)
    tokenizer = load_tokenizer(model)
    config = AutoConfig.from_pretrained(model.parent, local_files_only=True)
    questions, _ = read_questions(hub, asking.questions)
    candidates = [question for question in questions if subject in (None, question.subject)]
    if number >= len(candidates):
        raise UserError(
            f"explain names the question {number} of {subject!r}, which has {len(candidates)} questions."
        )
    question = candidates[number]
    prompt = Renderer(asking, tokenizer, config, hub).render(question)
    truncated = "; truncated on the left" if prompt.truncated else ""
    lines = [
        f"run         {run}",
        f"question    {question.id}",
        f"answer      {LETTERS[question.gold]}, {question.answer!r}",
        f"prompt      {len(prompt.tokens)} tokens, sha256 {hash_text(prompt.text)}{truncated}",
    ]
    for letter, tokens in zip(LETTERS, prompt.continuations, strict=False):
        lines.append(f"scored {letter}    {tokenizer.convert_ids_to_tokens(tokens)}")
    lines += ["", "---- text ----", prompt.text, "---- tokens ----"]
    names = tokenizer.convert_ids_to_tokens(prompt.tokens)
    lines += map("{:>7} {!r}".format, prompt.tokens, names)
    write_text(text, "\n".join([*lines, ""]))


if "snakemake" in globals():
    run_job(explain_prompt, snakemake)
