"""The leaderboard: a suite of tasks with their shots and metrics, and where its requests lie."""

from collections.abc import Iterator

from pydantic import Field

from workflow_scripts.settings.names import Folder, LmEvalTaskName, ModelName
from workflow_scripts.settings.section import Count, Listed, NonNegative, Section, Words

FOLDER = "config/requests"
FLAGS = "config/flags.yaml"


class SuiteTask(Section):
    task: LmEvalTaskName
    """Its name."""
    shots: NonNegative
    """Worked examples in front of each item; a task that fixes them at 0 has none."""
    metric: Words | None = None
    """The metric that counts, as records name it: with lm-eval's filter behind a comma, and with
    _macro for the mean over the members of a group. Null is the tasks table's."""
    shown_as: Words | None = None
    """What readers know the metric as; null is its own name."""
    max_items: Count | None = None
    """Items of this task, of a group those of each member; null is suite.max_items."""


class Suite(Section):
    tasks: Listed[SuiteTask] = Field(min_length=1)
    """What every submitted model is asked; the average is over all of them. By default the six of
    the Open LLM Leaderboard."""
    max_items: Count | None = 12
    """Items of a task, taken in a seeded order; null takes all of them. 12 show that it works; a
    number to be reported needs null, here and in each of the tasks."""
    requests: Folder = FOLDER
    """Folder of the requests, one YAML file for each submitted model; looked up in the working
    directory first, then beside the Snakefile. Requests for models of the other source are left
    aside."""
    local_models: Listed[ModelName] = ()
    """Models that are folders on this machine (./my-checkpoint) and that requests may name in the
    same way; they can name no other folder."""
    flags: Words = FLAGS
    """File of the flags, looked up in the same way: models that are marked, with a reason and a
    link."""
    memory_mb: Count = 8_000
    """The most memory that a job of the suite may take; a request for a model that needs more is
    refused."""
    open_licences: Listed[str] = ()
    """Licences that a model may have, as cards on the hub spell them."""

    def contradictions(self) -> Iterator[str]:
        names = [entry.task for entry in self.tasks]
        if twice := [name for name in names if names.count(name) > 1]:
            yield f"tasks names {twice[0]!r} twice; expected each task once."
