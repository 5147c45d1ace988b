"""Checks of what does not go together between sections of a config, each of which is fine by itself."""

from collections.abc import Collection, Iterator

from workflow_scripts.core.errors import suggest_name
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.error_messages import shown
from workflow_scripts.settings.settings import Settings


def find_contradictions(settings: Settings) -> Iterator[str]:
    """Describe what of the models, runs, tasks and machines that sections name does not go together."""
    yield from _check_checkpoints(settings)
    yield from _check_served(settings)
    yield from _check_explain(settings)
    number, cluster = max(settings.chunking.measures.devices), settings.cluster
    limit = cluster.gpus_per_node if settings.on_gpus else settings.compute.threads
    if number > limit:
        yield f"chunking.measures.devices has {number}; expected at most the {limit} of a job."
    gpu, devices = cluster.gpu, settings.devices
    if gpu not in devices:
        yield f"cluster.gpu is {gpu!r}; expected a device of its table.{suggest_name(gpu, devices)}"


def _check_checkpoints(settings: Settings) -> Iterator[str]:
    """Check that each variant is made, and that a model without a chat template is asked in no conversation."""
    sections = ("harmony", "mmlu", "prompts")
    named = {name: getattr(settings, name).models for name in sections}
    for section, names in named.items():
        for name in names:
            if name not in settings.models and name not in settings.made_checkpoints:
                yield (
                    f"{section}.models has {name!r}; expected a checkpoint that chunking.checkpoints names,"
                    " at a stage of training, or <model>+tuned of one that training.models names."
                    f"{suggest_name(name, settings.made_checkpoints)}"
                )
    chats = [name for name, run in settings.prompt_runs.items() if run.messages is not None]
    for name in named["prompts"]:
        if chats and settings.models[CheckpointId.parse(name).model].kind == "base":
            yield (
                f"prompts.models has {name!r}, a base model without a chat template; expected an instruct"
                f" model, as the run {chats[0]!r} has messages."
            )


def _check_served(settings: Settings) -> Iterator[str]:
    """Check that nothing needs the weights of a model that a server runs."""
    harmony, measures = settings.harmony, settings.chunking.measures
    trains = "train_before_test" in harmony.protocols or harmony.corpora
    uses: dict[str, Collection[str]] = {
        "harmony.models with train_before_test or corpora": harmony.models if trains else (),
        "chunking.checkpoints": settings.chunking.models,
        "chunking.measures.latency_models": measures.latency_models or (),
        "mmlu.models": settings.mmlu.models,
    }
    for name in settings.served:
        if name not in settings.models:
            near = suggest_name(name, settings.models)
            yield f"served has {name!r}; expected a model that a study or the table names.{near}"
        for key, names in uses.items():
            if name in names:
                yield f"{key} has {name!r}, whose weights stay with its server."


def _check_explain(settings: Settings) -> Iterator[str]:
    """Check that what is to be explained is a prompt run or a training item."""
    name, _, number = (settings.explain or "").partition("/")
    if not name or name in settings.prompt_runs:
        return
    row = settings.tasks.get(name)
    if row is None or not row.training or not (number or "0").isdecimal():
        trained = [name for name, row in settings.tasks.items() if row.training]
        near = suggest_name(name, [*settings.prompt_runs, *trained])
        yield (
            f"explain is {shown(settings.explain)}; expected a prompt run, or a task with a training"
            f" split and the number of an item, as in sst2/3.{near}"
        )
