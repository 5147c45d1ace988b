"""Files that are to be made again although nothing that Snakemake looks at says so.

Snakemake takes the loss of an input for no reason to run a job: the file that was made from it is still
there. `--forcerun` would have it made again, and would also make a target of it, so that a command that
asks for one study would run the others. What is forced here is made again where a target needs it.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.snakemake_settings import is_main_process
from workflow_scripts.core.broken import is_broken

_CHECKS = Path("results/requests/checks.json")


def force_where_needed(workflow, outdated: Callable[[], Iterable[str]]) -> None:
    """Ask which files are out of date, before Snakemake looks for the jobs that it needs.

    The Snakemake inside a job asks nothing: it runs what it is told.
    """
    if not is_main_process(workflow):
        return
    prepare = workflow._prepare_dag

    def prepare_and_force(*arguments, **options) -> None:
        prepare(*arguments, **options)
        workflow.dag.forcefiles.update(outdated())

    workflow._prepare_dag = prepare_and_force


def scores_that_lost_a_record(records: Mapping[str, list[str]]) -> list[str]:
    """The scores of each study of which a record is not there; the suite's are those of its last check.

    Or which are not there themselves, since gathering them failed: Snakemake keeps the checksums of what a
    failed job read, and would take tables that are older than that for up to date.
    """
    known = {study: _last_accepted() if study == "suite" else records[study] for study in records}
    scores = {study: f"results/scores/{study}.parquet" for study in known}
    return [
        scores[study]
        for study, paths in known.items()
        if paths and not all(Path(path).exists() for path in (scores[study], *paths))
    ]


def checks_that_lost_a_source(sources: Mapping[str, Iterable[str]]) -> list[str]:
    """The check of the leaderboard's requests, where the hub did not give what one is checked by, and that.

    What says so in its place is removed by the next run of the same folder, or lies in the hub where another folder
    asked. A request that was read has its commit: of those nothing is asked again.
    """
    unread = [one["file"] for one in _checked() if one["reason"] and not one.get("commit")]
    lost = [
        source for file in unread for source in sources.get(file, ()) if not Path(source).exists()
    ]
    broken = [source for of in sources.values() for source in of if is_broken(Path(source))]
    return [str(_CHECKS), *broken] if lost or broken else []


def _last_accepted() -> list[str]:
    accepted = [request for request in _checked() if not request["reason"]]
    return [path for request in accepted for path in request["records"].values()]


def _checked() -> list[dict[str, Any]]:
    try:
        return json.loads(_CHECKS.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
