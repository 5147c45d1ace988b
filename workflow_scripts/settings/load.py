"""Load and check the merged config as settings, or raise one error that names every problem."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError, format_suggestion
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.config import Config
from workflow_scripts.settings.error_messages import validate
from workflow_scripts.settings.flags import read_flags
from workflow_scripts.settings.grids import read_grid_files
from workflow_scripts.settings.leaderboard_submissions import read_requests
from workflow_scripts.settings.names import LookUp, Registry, locate_file, read_tables
from workflow_scripts.settings.prompts.files import read_prompt_runs
from workflow_scripts.settings.settings import Settings
from workflow_scripts.settings.tables import TABLES


def load_settings(config: dict[str, Any], look_up: LookUp | None = None) -> Settings:
    """Check the config that Snakemake has merged; a UserError has one sentence per problem.

    `look_up` looks up models and tasks that no table has.
    """
    rows: dict[str, Any] = {name: read_tables(name) for name in TABLES}
    source = config["source"]
    registry = Registry(source, rows["models"], rows["tasks"], look_up)
    checked = validate(Config, config, context=registry)
    settings = Settings.model_construct(
        **dict(checked),
        **rows,
        folders=registry.folders,
        prompt_runs=read_prompt_runs(checked.prompts),
        flags=read_flags(locate_file(checked.suite.flags)),
        grids=read_grid_files(registry.tasks),
    )
    if problems := list(_check_names(settings)):
        raise UserError(problems)
    # Requests come last, because the rest of the config determines the checkpoints that they may name.
    checkpoints = list(map(str, settings.list_compared_checkpoints()))
    requests, refused = read_requests(
        Path(settings.suite.requests), source, checkpoints, settings.suite.local_models
    )
    return settings.model_copy(update={"requests": requests, "refused_requests": refused})


def _check_names(settings: Settings) -> Iterator[str]:
    """Yield the problems of names: unknown models and devices, and models to train that have no local weights."""
    variants = list(map(str, settings.list_compared_checkpoints()))
    for section in ("harmony", "mmlu", "prompts"):
        for name in getattr(settings, section).models:
            if name not in settings.models and name not in variants:
                yield (
                    f"{section}.models has {name!r}; expected a checkpoint that chunking.checkpoints names,"
                    " at a stage of training, or <model>+tuned of one that training.models names."
                    f"{format_suggestion(name, variants)}"
                )
    harmony = settings.harmony
    trains = "train_before_test" in harmony.protocols or harmony.corpora
    need_weights = [*settings.mmlu.models, *(harmony.models if trains else ())]
    for name in settings.served:
        if name in need_weights:
            yield (
                f"served has {name!r}, whose weights are on its server; expected models with local weights in"
                " mmlu.models, and in harmony.models with train_before_test or corpora."
            )
    chat_runs = [name for name, run in settings.prompt_runs.items() if run.messages is not None]
    for name in settings.prompts.models:
        row = settings.models[CheckpointId.parse(name).model]
        if chat_runs and row.kind == "base":
            yield (
                f"prompts.models has {name!r}, a base model without a chat template; expected an instruct"
                f" model, as the run {chat_runs[0]!r} has messages."
            )
    gpu = settings.cluster.gpu
    devices = settings.devices
    if gpu not in devices:
        yield f"cluster.gpu is {gpu!r}; expected a device of its table.{format_suggestion(gpu, devices)}"
