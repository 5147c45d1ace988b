"""Build the parameters of the jobs that run a prompt run and explain one of its questions."""

from typing import Any

from workflow_scripts.settings.compute import Loading
from workflow_scripts.settings.job_params import JobParams
from workflow_scripts.settings.prompts.spec import PromptSpec
from workflow_scripts.settings.settings import Settings


class PromptRequest(JobParams):
    """All parameters that the outputs of a run depend on; parsing is not among them."""

    run: str
    asking: PromptSpec
    max_items_per_subject: int | None
    compute: Loading
    seed: int


def build_prompt_request(settings: Settings, run: str) -> PromptRequest:
    asking = PromptSpec.select_fields(settings.prompt_runs[run])
    dtype = settings.prompts.dtype or (None if settings.source == "miniature" else asking.dtype)
    return PromptRequest(
        run=run,
        asking=asking.model_copy(update={"dtype": dtype}),
        max_items_per_subject=settings.prompts.max_items_per_subject,
        compute=Loading.select_fields(settings.compute),
        seed=settings.seed,
    )


def build_explain_arguments(settings: Settings) -> dict[str, Any]:
    """Return run, subject and number of the question named by the config key `explain`, and its prompt."""
    run, subject, number = settings.parse_explained_question()
    asking = PromptSpec.select_fields(settings.prompt_runs[run]).model_dump(mode="json")
    return {"run": run, "subject": subject, "number": number, "asking": asking}
