"""Tasks whose scores come from running the code that a model writes: refused before anything is fetched for them."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from workflow_scripts.settings.settings import Settings

# The variable by which the metric of these tasks is allowed everywhere; of the machine, so no key of a config.
ALLOWED = "HF_ALLOW_CODE_EVAL"


def may_run_code() -> bool:
    return os.environ.get(ALLOWED) == "1"


def find_code_problems(settings: Settings, runs_code: Callable[[str], bool]) -> Iterator[str]:
    """Yield a sentence for each such task; `runs_code` is asked by the name that the harness has for it."""
    if settings.source == "miniature" or may_run_code():
        return
    for name in (*settings.harmony.tasks, *(entry.task for entry in settings.suite.tasks)):
        row = settings.task(name)
        # What is there already was allowed once, and is refused again by lm-eval.
        is_there = Path(settings.hub.path, "datasets", row.dataset, "manifest.json").is_file()
        if row.harness == "lm_eval" and not is_there and runs_code(row.harness_task):
            yield (
                f"The task {name!r} runs code that a model has written; expected one that does not, or"
                f" {ALLOWED}=1 in the environment, which allows it."
            )
