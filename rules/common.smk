"""Load the checked settings, and define what all studies share: inputs, resources, wildcards."""

from workflow_scripts.bridge.startup import load_checked_settings, exit_on_config_error
from workflow_scripts.bridge.resources import build_resources, read_gpu_request
from workflow_scripts.bridge.snakemake_contract import is_main_process
from workflow_scripts.core.ids import format_path_names
from workflow_scripts.hub.lock import read_lock
from workflow_scripts.hub.hub_lookup import look_up_row
from workflow_scripts.planning.estimates import ResourceEstimator
from workflow_scripts.settings.names import locate_file
from workflow_scripts.studies.inputs import match_any
from workflow_scripts.studies.suite.inputs import SuiteInputs

with exit_on_config_error():
    SETTINGS = load_checked_settings(workflow, config, look_up_row)
    LOCK_FILE = locate_file(SETTINGS.hub.lock)
    read_lock(LOCK_FILE)  # report its errors before any job starts
    GPU_REQUEST = read_gpu_request(workflow) if SETTINGS.on_gpus else None
    ESTIMATOR = ResourceEstimator(SETTINGS)

HUB = SETTINGS.hub.path
INPUTS = SuiteInputs(SETTINGS, lambda: checkpoints.check_requests.get().output.checks)
RECORDS = INPUTS.records
# The environments of --sdm conda; with GPUs, both use the GPU environment.
EVALUATION_ENVIRONMENT = f"../envs/{'gpu' if SETTINGS.on_gpus else 'lm_eval'}.yaml"
LIGHTEVAL_ENVIRONMENT = f"../envs/{'gpu' if SETTINGS.on_gpus else 'lighteval'}.yaml"
# A killed or signalled job resumes where it stopped. Inside a job, another try would get the same memory and time.
TRIES = 6
RETRIES = TRIES - 1 if is_main_process(workflow) else 0


wildcard_constraints:
    org=r"[^/]+",
    name=r"[^/]+",
    model=match_any(format_path_names(SETTINGS.models)),
    checkpoint=r"[^/]+",  # not all names, which every output pattern would compile; INPUTS.measured has them
    recipe=match_any(SETTINGS.training.recipes),
    run=match_any(SETTINGS.prompt_runs),
    study=match_any(RECORDS),
    row=match_any(SETTINGS.suite_rows),
    corpus=match_any(SETTINGS.harmony.corpora),


def estimate_resources(rule, estimate, gpu=True):
    """Return a rule's resources, computed from the estimate of each job (workflow_scripts/planning)."""
    return build_resources(rule, estimate, SETTINGS.cluster, GPU_REQUEST if gpu else None)


def get_record_files(path, name="record"):
    """Return a record and the Parquet file of its items; the record has the given name."""
    return multiext(f"results/records/{path}", **{name: ".json", f"{name}_items": ".parquet"})


def get_figure_files(name, category):
    """Return the PDF and the PNG of a figure; the PNG is shown in Snakemake's report. Grids share a caption."""
    caption = f"../docs/captions/{name.removeprefix('{grid}_')}.rst"
    png = report(f"results/figures/{name}.png", caption=caption, category=category)
    return [f"results/figures/{name}.pdf", png]


def list_tables(*names):
    """List the CSV files of these tables, without tables that no chapter has."""
    files = [f"results/tables/{name}.csv" for name in names]
    return [file for file in files if any(file in chapter for chapter in CHAPTERS.values())]
