"""Define the whole config: its top level and its sections."""

from typing import Literal

from pydantic import Field

from workflow_scripts.settings.chunking import Chunking
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.compute import Compute
from workflow_scripts.settings.harmony import Harmony
from workflow_scripts.settings.imports import Imports
from workflow_scripts.settings.mmlu import Mmlu
from workflow_scripts.settings.names import ModelName, PlainPath
from workflow_scripts.settings.prompts.section import Prompts
from workflow_scripts.settings.section import Count, Section
from workflow_scripts.settings.served import Served
from workflow_scripts.settings.suite import Suite
from workflow_scripts.settings.training import Training


class Hub(Section):
    path: PlainPath
    """Folder of models and datasets, fetched or generated; it may be a link to a large disk. Use
    one folder per source."""
    lock: PlainPath
    """Lock file: the commit each model and dataset of the hub resolved to when first fetched."""


class Margins(Section):
    """A number agrees where its difference surely lies within this, and is inconclusive where it may not."""

    scores: float = Field(gt=0, lt=1)
    """Of scores, in the units of the metric: 0.02 is two points."""


class Miniature(Section):
    items: Count
    """Test items of each generated task."""


class Config(Section):
    """Chorus: from checkpoint to paper."""

    # The defaults are in config/config.yaml, which is always loaded.

    source: Literal["miniature", "huggingface"]
    """Where models and datasets come from: generated on this machine, or fetched from the Hugging
    Face hub."""
    seed: int = Field(ge=0, le=2**32 - 1)
    """Seed of everything random, orders and training, but not of the generated world."""
    hub: Hub
    """Where models and datasets lie."""
    compute: Compute
    """How models are run."""
    served: dict[ModelName, Served]
    """Models that a server answers for, by name or by folder, each with at least its `endpoint`."""
    cluster: Cluster
    """The machines: what jobs ask for is computed from this."""
    miniature: Miniature
    """How large the generated world is."""
    chunking: Chunking
    """Chunked variants of models."""
    training: Training
    """Stages of training that chunked checkpoints go through."""
    harmony: Harmony
    """The grid of models and tasks for rankings before and after training."""
    imports: Imports
    """Folders that lm-eval or lighteval wrote results into, or that were shared: each file becomes records
    that are ranked beside ours, under the folder's name. Answers too, where the harness was told to keep
    them (--log_samples, --save-details)."""
    mmlu: Mmlu
    """MMLU as published, of the models that are cut into chunks."""
    prompts: Prompts
    """Prompt ablations: models asked the same questions in many ways."""
    suite: Suite
    """The leaderboard: submitted models on a suite of tasks."""
    margins: Margins
    """Within what a number agrees with the published one; set it beforehand."""
    compare: str | None
    """Two models that `snakemake compare` compares, by the names that tables have, or two folders of
    results of lm-eval or lighteval, with a space between, such as Qwen/Qwen2.5-7B
    meta-llama/Llama-3.1-8B."""
    explain: str | None = Field(pattern=r"^[^/]+(/[^/]+(/\d+)?)?$")
    """What `snakemake explain_prompt` shows, such as run6/anatomy/3: a prompt run, a subject and
    the number of a question in it, counted from 0; null is the first question of the first run. And
    what `snakemake explain_training` shows, such as sst2/3: a task and the number of a training
    item; null is the first item of the first task."""
