"""Build and parse the ids of checkpoints: model, chunk plan and training stages.

The id of a model is its hub name, `Qwen/Qwen2.5-0.5B-Instruct`. A chunked checkpoint adds its plan,
`@k2m12` (`@prune3-5` removes the layers 3 and 5, counted from 1), and its stages, `+cpt`,
`+cpt+sft`. A model that is trained without chunking has the stage `+tuned`. `+cpt.300k` is a stage that ends
after 300 thousand tokens. Marks after the plan name each choice that differs from the default:
`@k4m6-sequential-mlp.none-noadapters`; `@k2m12-init.normal` if the adapters are initialised at random;
`@k2m12-distil.hidden` if the unchunked model is the teacher. Defaults have no mark, so each checkpoint has one id.
In a path `/` becomes `--`. The hub allows no `--` in a name, so the id can be recovered from the path.

A model in a local folder, `./runs/seed1/checkpoint-500`, has an id of the same form,
`local/runs.seed1.checkpoint-500`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import PurePath
from posixpath import normpath
from typing import get_args

from workflow_scripts.core.chunk_plan import DEFAULT_MODE, Mode
from workflow_scripts.core.errors import UserError

TUNED = "tuned"  # the stage of a model without chunks
STAGES = ("cpt", "sft", TUNED)
LOCAL = "local"  # replaces the organisation in the id of a local folder
UNCHANGED = "k0m0"  # the plan of the unchanged model
DEFAULT_AGGREGATION = "mlp.residual"
NO_ADAPTERS = "noadapters"
NORMAL_INIT = "init.normal"
PUBLISHED_LOSS = "published"
DEFAULT_TEMPERATURE = 2.0  # distillation temperature, if the mark has none
_MODES = [mode for mode in get_args(Mode) if mode not in (DEFAULT_MODE, "prune")]
_CHECKPOINT = re.compile(
    r"(?P<model>[^@+]+)"
    r"(?:@(?P<plan>k[0-9]+m[0-9]+|prune[0-9]+(?:-[0-9]+)*)(?P<marks>(?:-[a-z][a-z0-9._]*)*))?"
    r"(?P<stages>(?:\+[a-z][a-z0-9.]*)*)"
)
_MAX_LENGTH = 96
_NAME_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?"
_HUB_NAME = re.compile(rf"(?!.*(?:--|\.\.)){_NAME_PART}/{_NAME_PART}")


def describe_hub_name_problem(name: str) -> str | None:
    """Describe the problem of a hub name, or return None.

    The rules are the hub's; they exclude `..`, so a path built from the name stays in its folder.
    """
    if _HUB_NAME.fullmatch(name) and len(name) <= _MAX_LENGTH:
        return None
    return (
        f"it must have the form organisation/name and at most {_MAX_LENGTH} characters, each part of"
        " letters, digits, '.', '_' and '-', without '--' or '..', and begin and end with a letter,"
        " digit or '_'"
    )


def is_folder_path(name: str) -> bool:
    """Return whether a model is named by a local folder, not by a hub name."""
    return name.startswith(("./", "../", "/"))


def build_local_name(path: str) -> str:
    """Join the parts of a path into an id; a long id keeps its end."""
    parts = [part for part in PurePath(normpath(path)).parts if part not in ("/", "//", ".", "..")]
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", ".".join(parts))
    name = re.sub(r"([.-])\1+", r"\1", name)[-(_MAX_LENGTH - len(LOCAL) - 1) :]
    return f"{LOCAL}/{name.strip('._-') or 'folder'}"


def build_checkpoint_name(name: str) -> str:
    """Build the id of a checkpoint; a model that is a local folder gets a `local/` name."""
    base = re.split("[@+]", name)[0]
    return build_local_name(base) + name.removeprefix(base) if is_folder_path(name) else name


@dataclass(frozen=True)
class CheckpointId:
    """The id of a checkpoint: a hub model, or a chunked or trained variant of it."""

    model: str
    plan: str | None = None
    marks: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()

    @property
    def variant(self) -> str:
        """Return the part of the id after the model's name; empty for the hub's model."""
        plan = f"@{'-'.join([self.plan, *self.marks])}" if self.plan else ""
        return plan + "".join(f"+{stage}" for stage in self.stages)

    @property
    def layout(self) -> "CheckpointId":
        """Return the id without aggregation, adapters and stages: the arrangement of the layers alone."""
        marks = [mark for mark in self.marks if mark in _MODES]
        return CheckpointId(self.model, self.plan, tuple(marks))

    @property
    def timed_variant(self) -> "CheckpointId":
        """Return the id with the parts that affect speed: layers, aggregation and adapters, without training."""
        marks = [mark for mark in self.marks if not mark.startswith(("init.", "distil."))]
        return CheckpointId(self.model, self.plan, tuple(marks))

    @property
    def previous_stage(self) -> "CheckpointId":
        """Return the id of the checkpoint that the last training stage starts from."""
        return replace(self, stages=self.stages[:-1])

    def __str__(self) -> str:
        return self.model + self.variant

    @property
    def path_name(self) -> str:
        """Return the id in the form for paths, with `--` for `/`."""
        return str(self).replace("/", "--")

    @classmethod
    @cache  # called for each file of each job while Snakemake plans
    def parse(cls, text: str) -> "CheckpointId":
        """Parse an id, or its form in paths; `load_settings` checks that the config has the checkpoint."""
        match = _CHECKPOINT.fullmatch(text)
        if match is None:
            raise UserError(
                f"{text!r} is not a model id; expected organisation/name, then optionally @ and a chunk plan with"
                " its marks, and + and stages, as in org/name@k2m12-noadapters+cpt+sft."
            )
        model = match["model"].replace("--", "/", 1)
        if problem := describe_hub_name_problem(model):
            raise UserError(f"{text!r} is not a model id: {problem}.")
        marks = (match["marks"] or "").split("-")[1:]
        stages = match["stages"].split("+")[1:]
        return cls(model, match["plan"], tuple(marks), tuple(stages))


def format_path_names(names: Iterable[str]) -> list[str]:
    """Return the ids of checkpoints in the form for paths."""
    return [CheckpointId.parse(name).path_name for name in names]
