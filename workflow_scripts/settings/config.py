"""Define the whole config: its top level and its sections."""

from typing import Literal

from pydantic import Field

from workflow_scripts.settings.chunking import Chunking
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.compute import Compute
from workflow_scripts.settings.harmony import Harmony
from workflow_scripts.settings.import_folders import Imports
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
    """A number agrees with a published one if the 90% interval of their difference is within the margin."""

    scores: float = Field(gt=0, lt=1)
    """Margin for scores, in the units of the metric: 0.02 is two points."""


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
    """The folder of models and datasets, and the file that locks their commits."""
    compute: Compute
    """How models are run."""
    served: dict[ModelName, Served]
    """Models that run behind an API server, by name or by folder, each with at least its
    `endpoint`."""
    cluster: Cluster
    """The machines that jobs run on; the resources that jobs request are computed from it."""
    miniature: Miniature
    """Size of the generated world."""
    chunking: Chunking
    """Chunked variants of models."""
    training: Training
    """Stages of training that chunked checkpoints go through."""
    harmony: Harmony
    """The grid of models and tasks for rankings before and after training."""
    imports: Imports
    """Folders with results of lm-eval or lighteval, or shared by another run: the scores in each
    file are ranked with ours, under the folder's name. Answers are imported too if the harness
    saved them (--log_samples, --save-details)."""
    mmlu: Mmlu
    """MMLU with the published protocol, for the models with chunked variants."""
    prompts: Prompts
    """Prompt ablations: models asked the same questions in many ways."""
    suite: Suite
    """The leaderboard: submitted models on a suite of tasks."""
    margins: Margins
    """Margins within which a number agrees with the published one; set them before the run."""
    compare: str | None
    """Two models that `snakemake compare` compares, by the names that tables have, or two folders of
    results of lm-eval or lighteval, with a space between, such as Qwen/Qwen2.5-7B
    meta-llama/Llama-3.1-8B."""
    explain: str | None = Field(pattern=r"^[^/]+(/[^/]+(/\d+)?)?$")
    """What `snakemake explain_prompt` shows, such as run6/anatomy/3: a prompt run, a subject and
    the number of a question in it, counted from 0; null is the first question of the first run. And
    what `snakemake explain_training` shows, such as sst2/3: a task and the number of a training
    item; null is the first item of the first task."""
