"""The leaderboard: a suite of tasks with their shots and metrics, and where its requests lie."""

from collections.abc import Iterator

from pydantic import Field

from workflow_scripts.settings.names import Folder, LmEvalTaskName, ModelName
from workflow_scripts.settings.section import Listed, Section

FOLDER = "config/requests"
FLAGS = "config/flags.yaml"


class SuiteTask(Section):
    task: LmEvalTaskName
    """Its name."""
    shots: int = Field(ge=0)
    """Worked examples in front of each item; a task that fixes them at 0 has none."""
    metric: str | None = Field(None, min_length=1)
    """The metric that counts, as records name it: with lm-eval's filter behind a comma, and with
    _macro for the mean over the members of a group. Null is the tasks table's."""
    shown_as: str | None = Field(None, min_length=1)
    """What readers know the metric as; null is its own name."""
    max_items: int | None = Field(None, ge=1)
    """Items of this task, of a group those of each member; null is suite.max_items."""


# Shots and metrics of the Open LLM Leaderboard; where it and today's lm-eval use different names for
# the same number, `shown_as` has the leaderboard's.
OPEN_LLM_LEADERBOARD = (
    SuiteTask(task="arc_challenge", shots=25, metric="acc_norm"),
    SuiteTask(task="hellaswag", shots=10, metric="acc_norm"),
    SuiteTask(task="truthfulqa_mc2", shots=0, metric="acc", shown_as="mc2"),
    SuiteTask(task="mmlu", shots=5, metric="acc_macro", shown_as="acc", max_items=2),
    SuiteTask(task="winogrande", shots=5, metric="acc"),
    SuiteTask(task="gsm8k", shots=5, metric="exact_match,strict-match", shown_as="acc"),
)
OPEN_LICENCES = (
    *("apache-2.0", "mit", "bsd-2-clause", "bsd-3-clause", "bsd-3-clause-clear", "isc", "ms-pl"),
    *("mpl-2.0", "lgpl-3.0", "gpl-2.0", "gpl-3.0", "agpl-3.0"),
    *("eupl-1.1", "eupl-1.2", "artistic-2.0"),
    *("cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "unlicense", "zlib", "wtfpl"),
)


class Suite(Section):
    tasks: Listed[SuiteTask] = Field(OPEN_LLM_LEADERBOARD, min_length=1)
    """What every submitted model is asked; the average is over all of them. By default the six of
    the Open LLM Leaderboard."""
    max_items: int | None = Field(12, ge=1)
    """Items of a task, taken in a seeded order; null takes all of them. 12 show that it works; a
    number to be reported needs null, here and in each of the tasks."""
    requests: Folder = FOLDER
    """Folder of the requests, one YAML file for each submitted model; looked up in the working
    directory first, then beside the Snakefile. Requests for models of the other source are left
    aside."""
    local_models: Listed[ModelName] = ()
    """Models that are folders on this machine (./my-checkpoint) and that requests may name in the
    same way; they can name no other folder."""
    flags: str = Field(FLAGS, min_length=1)
    """File of the flags, looked up in the same way: models that are marked, with a reason and a
    link."""
    memory_mb: int = Field(8_000, ge=1)
    """The most memory that a job of the suite may take; a request for a model that needs more is
    refused."""
    open_licences: Listed[str] = OPEN_LICENCES
    """Licences that a model may have, as cards on the hub spell them."""

    def contradictions(self) -> Iterator[str]:
        names = [entry.task for entry in self.tasks]
        if twice := [name for name in names if names.count(name) > 1]:
            yield f"tasks names {twice[0]!r} twice; expected each task once."
