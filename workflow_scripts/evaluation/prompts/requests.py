"""Build the requests of a prompt run: to ask a model, to read its answers, to show a question."""

from workflow_scripts.settings.compute import Loading
from workflow_scripts.settings.job_params import JobParams
from workflow_scripts.settings.prompts.spec import Asking, Reading
from workflow_scripts.settings.settings import Settings


class PromptRequest(JobParams):
    """All that the outputs of a run depend on; how they are read is not."""

    run: str
    asking: Asking
    max_items_per_subject: int | None
    compute: Loading
    seed: int


class ReadingRequest(JobParams):
    read: Reading


class ExplainRequest(JobParams):
    run: str
    asking: Asking
    subject: str | None
    number: int


def prompt_request(settings: Settings, run: str) -> PromptRequest:
    asking = Asking.select_fields(settings.prompt_runs[run])
    dtype = settings.prompts.dtype or (None if settings.source == "miniature" else asking.dtype)
    return PromptRequest(
        run=run,
        asking=asking.model_copy(update={"dtype": dtype}),
        max_items_per_subject=settings.prompts.max_items_per_subject,
        compute=Loading.select_fields(settings.compute),
        seed=settings.seed,
    )


def reading_request(settings: Settings, run: str) -> ReadingRequest:
    return ReadingRequest(read=settings.prompt_runs[run].read)


def explain_request(settings: Settings) -> ExplainRequest:
    run, subject, number = settings.explained()
    assert run is not None  # without a run there is no model to explain it for, which is said first
    asking = Asking.select_fields(settings.prompt_runs[run])
    return ExplainRequest(run=run, asking=asking, subject=subject, number=number)
