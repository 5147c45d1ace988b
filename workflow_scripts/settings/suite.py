"""Configure the leaderboard: its tasks with shots and metrics, and the folder of submissions."""

from pydantic import Field, field_validator

from workflow_scripts.settings.names import Folder, LmEvalTaskName, ModelName
from workflow_scripts.settings.section import (
    Count,
    Listed,
    NonEmptyText,
    NonNegative,
    Section,
    refuse_repeated,
)


class SuiteTask(Section):
    task: LmEvalTaskName
    """Name of the task."""
    shots: NonNegative
    """Number of few-shot examples; a task that fixes them at 0 has none."""
    metric: NonEmptyText | None = None
    """The metric as records name it: with lm-eval's filter after a comma, and with _macro for the
    mean over the members of a group. Null is the tasks table's."""
    shown_as: NonEmptyText | None = None
    """Name of the metric for readers; null is its own name."""
    max_items: Count | None = None
    """Maximum number of items of this task, for a group of each member; null is suite.max_items."""


class Suite(Section):
    tasks: Listed[SuiteTask] = Field(min_length=1)
    """Tasks for every submitted model; the average is over all of them. By default the six of the
    Open LLM Leaderboard."""
    max_items: Count | None
    """Maximum number of items of a task, in a seeded order; null uses all. 12 are enough for a
    first look; a number to be reported needs null, here and in each of the tasks."""
    requests: Folder
    """Folder of the requests, one YAML file for each submitted model; looked up in the working
    directory first, then beside the Snakefile. Requests for the demo's models are skipped where the
    source is huggingface."""
    local_models: Listed[ModelName]
    """Models that are folders on this machine (./my-checkpoint) and that requests may name in the
    same way; they can name no other folder."""
    flags: NonEmptyText
    """File of the flags, looked up in the same way: models that are marked, with a reason and a
    link."""
    memory_mb: Count
    """Maximum memory of a job of the suite; a request for a model that needs more is refused."""
    open_licences: Listed[str]
    """Licences that a model may have, as model cards spell them."""

    @field_validator("tasks")
    @classmethod
    def _check_tasks(cls, tasks: tuple[SuiteTask, ...]) -> tuple[SuiteTask, ...]:
        refuse_repeated(tuple(entry.task for entry in tasks))
        return tasks
