"""What does not go together between sections of a config, each of which is fine by itself."""

from collections.abc import Collection

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.config import Config
from workflow_scripts.settings.prompts.spec import PromptRun
from workflow_scripts.settings.sentences import hint, shown
from workflow_scripts.settings.tables import ModelRow


def unmade_checkpoints(config: Config, models: Collection[str], made: Collection[str]) -> list[str]:
    """Variants that the config names in one place and makes in none."""
    return [
        f"{section}.models[{at}] is {shown(name)}; expected a checkpoint that chunking.checkpoints names,"
        f" at a stage of training, or <model>+tuned of one that training.models names{hint(name, made)}."
        for section, named in (
            ("harmony", config.harmony.models),
            ("mmlu", config.mmlu.models),
            ("prompts", config.prompts.models),
        )
        for at, name in enumerate(named)
        if name not in models and name not in made
    ]


def measures_problems(config: Config) -> list[str]:
    """What of chunking.measures does not go with the machines."""
    measures, nodes = config.chunking.measures, config.cluster
    problem = measures.devices_problem(config.compute, nodes.gpus_per_node)
    return [problem] if problem else []


def prompt_problems(
    config: Config, models: dict[str, ModelRow], runs: dict[str, PromptRun]
) -> list[str]:
    """What does not go together between the models, their chunked variants and the runs."""
    problems = []
    chats = [name for name, run in runs.items() if run.messages is not None]
    for at, name in enumerate(config.prompts.models):
        if chats and models[CheckpointId.parse(name).model].kind == "base":
            problems.append(
                f"prompts.models[{at}] is {shown(name)}, a base model without a chat template; expected"
                f" an instruct model, as the run {chats[0]!r} has messages."
            )
    return problems
