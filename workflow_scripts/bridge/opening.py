"""What happens before the rules are read, and before the first job runs."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.flash_attention import find_flash_problem
from workflow_scripts.bridge.gpus import share_gpus
from workflow_scripts.bridge.interruption import (
    end_quietly_before_the_first_job,
    end_when_asked,
)
from workflow_scripts.bridge.metadata import keep_notes_of_what_failed, pass_over_damaged_metadata
from workflow_scripts.bridge.orphaned_slurm_jobs import cancel_left_behind
from workflow_scripts.bridge.ready_process import have_jobs_forked
from workflow_scripts.bridge.run_lock import hold_run_lock, is_run_alive, sweep_stale_lock
from workflow_scripts.bridge.slurm_nodes import try_again_elsewhere
from workflow_scripts.bridge.slurm_offer import misfits
from workflow_scripts.bridge.slurm_refusals import tell_refusals
from workflow_scripts.bridge.slurm_requests import (
    CHECK,
    ask_what_is_offered,
    checked,
    guess_no_account,
    missing_programs,
    requests_of,
    submits_to_slurm,
)
from workflow_scripts.bridge.snakemake_settings import (
    config_files,
    is_dry_run,
    is_main_process,
    takes_lock,
    targets_of,
)
from workflow_scripts.bridge.terminal import say_error
from workflow_scripts.bridge.write_protection import ask_the_disk_what_is_protected
from workflow_scripts.core.broken import clear_broken_cells
from workflow_scripts.core.clean_text import plain_lines
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.found import LookUp
from workflow_scripts.settings.generated_code import code_problems
from workflow_scripts.settings.load import Settings, load_settings
from workflow_scripts.settings.yaml_files import read_yaml

STATE = Path(".snakemake")
_IN_USE = "Another run is at work in this folder. Nothing was done."
_NO_SLURM = (
    "Jobs cannot be submitted from this machine, because Slurm's {} cannot be found on PATH: start on a"
    " login node, or leave out `--profile slurm` to run on this machine."
)


def before_parsing(workflow) -> float:
    """Clear away what a dead run left; the answer is when this one began."""
    began = time.time()
    ask_the_disk_what_is_protected()
    pass_over_damaged_metadata()
    keep_notes_of_what_failed()
    if is_main_process(workflow):
        end_quietly_before_the_first_job()
    if is_main_process(workflow) and not is_dry_run(workflow):  # which changes nothing
        sweep_stale_lock(STATE)
        if not is_run_alive(STATE):  # whose tables need them
            clear_broken_cells()
    return began


@contextmanager
def mending(title: str = "The configuration needs mending:") -> Iterator[None]:
    """End with a sentence for each mistake of the config.

    A WorkflowError in its place would make Snakemake add a line of traceback.
    """
    try:
        yield
    except UserError as error:
        sys.exit(plain_lines(f"{title}\n{error}"))


def checked_settings(workflow, config: dict[str, Any], look_up: LookUp) -> Settings:
    """What no table has is looked up by the Snakemake that was typed; jobs find it in the table it wrote."""
    for path in config_files(workflow):
        read_yaml(path)  # Snakemake has read it too, but says nothing of a key that stands twice
    asks = look_up if is_main_process(workflow) else None
    settings = load_settings(config, Path(workflow.basedir), asks)
    if asks and (problems := list(code_problems(settings, asks.runs_code))):
        raise UserError(problems)
    return settings


def before_the_first_job(workflow, config: dict[str, Any], threads: int) -> None:
    """Take the folder for this run alone, and share out what its jobs need of this machine."""
    end_quietly_before_the_first_job()
    targets = targets_of(workflow)
    if targets in (["plan"], ["separate"]):  # which read and compute, beside a run too
        end_when_asked(workflow)
        return
    if submits_to_slurm(workflow) and (missing := missing_programs()):
        sys.exit(_NO_SLURM.format(", ".join(missing)))
    if CHECK in targets:
        _end_with_check(workflow)
    alone = hold_run_lock(STATE)
    if takes_lock(workflow):  # without it another run may be alive
        if not alone:
            sys.exit(_IN_USE)
        cancel_left_behind(Path.cwd())
    if problem := find_flash_problem(workflow, config):
        sys.exit(problem)
    share_gpus(workflow)
    if submits_to_slurm(workflow):
        _before_submissions(workflow)
    else:
        have_jobs_forked(workflow, threads)
    end_when_asked(workflow)


def _end_with_check(workflow) -> None:
    """Here all jobs are known with what they ask for, and none has been started."""
    with mending("Slurm cannot run this config:"):
        print(checked(workflow))
    sys.exit(0)


def _before_submissions(workflow) -> None:
    guess_no_account(workflow)
    try:
        partitions = ask_what_is_offered()
    except UserError as error:
        partitions = []
        print(error, file=sys.stderr)
    for sentence in misfits(requests_of(workflow), partitions) if partitions else ():
        say_error(f"{sentence} What fits nowhere is refused, or waits forever.")
    tell_refusals(workflow, partitions)
    try_again_elsewhere(workflow)
