"""Tasks whose scores come from running the code that a model writes: refused before anything is fetched for them."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from workflow_scripts.settings.load import Settings

# The variable by which the metric of these tasks is allowed everywhere; of the machine, so no key of a config.
ALLOWED = "HF_ALLOW_CODE_EVAL"


def may_run_code() -> bool:
    return os.environ.get(ALLOWED) == "1"


def code_problems(settings: Settings, runs_code: Callable[[str], bool]) -> Iterator[str]:
    """A sentence for each such task; `runs_code` is asked by the name that the harness has for it."""
    if settings.source == "miniature" or may_run_code():
        return
    named = {f"harmony.tasks[{at}]": name for at, name in enumerate(settings.harmony.tasks)}
    named |= {f"suite.tasks[{at}].task": one.task for at, one in enumerate(settings.suite.tasks)}
    for key, name in named.items():
        row = settings.task(name)
        # What is there already was allowed once, and is refused again by lm-eval.
        there = Path(settings.hub.path, "datasets", row.dataset, "manifest.json").is_file()
        if row.harness == "lm_eval" and not there and runs_code(row.harness_task):
            yield (
                f"{key} is {name!r}, which runs code that a model has written; expected a task that"
                f" does not, or {ALLOWED}=1 in the environment, which allows it."
            )
