"""Build the parameters of the jobs that show training items and measure a user's text."""

from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.compute import Compute
from workflow_scripts.settings.error_messages import format_value
from workflow_scripts.settings.harmony import Draws, TaskRecipe
from workflow_scripts.settings.job_params import JobParams
from workflow_scripts.settings.settings import Settings
from workflow_scripts.settings.training_keys import TrainingKeys


class ExplainTrainingRequest(JobParams):
    task: str  # lm-eval's name
    number: int
    recipe: TaskRecipe
    chat_template: bool
    seed: int
    draws: Draws


def build_explain_request(settings: Settings) -> ExplainTrainingRequest:
    task, number = find_explained_task(settings)
    return ExplainTrainingRequest(
        task=settings.tasks[task].harness_task,
        number=number,
        recipe=settings.task_recipe,
        chat_template=settings.harmony.chat_template,
        seed=settings.seed,
        draws=settings.harmony.draws,
    )


class CorpusRequest(JobParams):
    """The perplexity of a user's text before and after training on it."""

    corpus: str
    keys: TrainingKeys
    window: int
    stride: int
    compute: Compute
    seed: int


def build_corpus_request(settings: Settings, corpus: str) -> CorpusRequest:
    measures = settings.chunking.measures
    return CorpusRequest(
        corpus=corpus,
        keys=TrainingKeys.select_fields(settings.task_recipe),
        window=measures.window,
        stride=measures.stride,
        compute=settings.compute,
        seed=settings.seed,
    )


def find_explained_task(settings: Settings) -> tuple[str, int]:
    """Return the task's name in the tasks table, and the number of the training item."""
    named, _, number = (settings.explain or "").partition("/")
    trained = [name for name in settings.harmony.tasks if settings.tasks[name].training]
    task = named or next(iter(trained), settings.harmony.tasks[0])
    row = settings.tasks.get(task)
    if row is None or not row.training or not (number or "0").isdecimal():
        raise UserError(
            f"explain is {format_value(settings.explain)}; expected a task with a training split and the number of an"
            " item, as in sst2/3, or `snakemake explain_prompt`, which shows prompt runs."
        )
    return task, int(number or 0)
