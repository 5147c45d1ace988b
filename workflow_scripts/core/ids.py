"""Name a model, a chunked checkpoint and its training stages, in prose and in paths.

A model is known by its hub name, `Qwen/Qwen2.5-0.5B-Instruct`. A chunked checkpoint adds its plan,
`@k2m12` (`@prune3-5` leaves out the layers 3 and 5, counted from 1), and its stages, `+cpt`,
`+cpt+sft`. A model that is trained as it is has the stage `+tuned`; a stage that ends after so many
thousand tokens says so, `+cpt.300k`. Behind the plan stands what else makes it another model, where it is
not the usual:
`@k4m6-sequential-mlp.none-noadapters`, `@k2m6-after4` where the chunks do not stand in the middle,
`@k2m12-init.normal` where its adapters start as random values, `@k2m12-distil.hidden` where it is trained towards
itself unchunked. What is usual has no mark, so that a model has one name.
In a path `/` becomes `--`, which the hub allows in no name, so the way back is unambiguous.

A model that is a folder on this machine, `./runs/seed1/checkpoint-500`, goes by a name of the same
form, `local/runs.seed1.checkpoint-500`.

A row of the leaderboard is a checkpoint in a precision, `Qwen/Qwen2-0.5B~bfloat16`, and, where its
request pins one, at a commit, of which the name has the first twelve digits: `~bfloat16~0123456789ab`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import PurePath
from posixpath import normpath
from typing import get_args

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.plan import DEFAULT_MODE, Aggregation, AggregationBase, Mode

TUNED = "tuned"  # the stage of a model that is no chunked one
STAGES = ("cpt", "sft", TUNED)
LOCAL = "local"  # what stands for the organisation of a model that is a folder on this machine
UNCHANGED = "k0m0"  # the plan that leaves a model as it is
USUAL_AGGREGATION = "mlp.residual"
NO_ADAPTERS = "noadapters"
NORMAL_INIT = "init.normal"
PUBLISHED_LOSS = "published"
USUAL_TEMPERATURE = 2.0  # of the distillation, where its mark names none
_MODES = [mode for mode in get_args(Mode) if mode not in (DEFAULT_MODE, "prune")]
_AGGREGATIONS = [
    *(f"mlp.{base}" for base in get_args(AggregationBase) if base != "residual"),
    *(mode for mode in get_args(Aggregation) if mode != "mlp"),
]
# The marks that may stand behind a plan, in this order.
_MARKS = (
    "|".join(_MODES),
    "after(?:0|[1-9][0-9]*)",
    "|".join(map(re.escape, _AGGREGATIONS)),
    f"{NO_ADAPTERS}|adapters[1-9][0-9]*",
    re.escape(NORMAL_INIT),
    rf"distil\.(?:hidden(?:\.{PUBLISHED_LOSS})?"
    rf"|(?:logits|both)(?:\.{PUBLISHED_LOSS})?(?:\.t(?!2(?![0-9.]))(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?)?)",
)
_CHECKPOINT = re.compile(
    # What has no chunks has no marks of them.
    rf"(?P<model>[^@+]+)(?:@(?!{UNCHANGED}-|prune[0-9-]*[0-9]-(?![0-9]|distil))"
    r"(?P<plan>k[0-9]+m[0-9]+|prune[0-9]+(?:-[0-9]+)*)"
    rf"(?P<marks>{''.join(f'(?:-(?:{mark}))?' for mark in _MARKS)}))?"
    rf"(?P<stages>(?:\+(?:cpt(?:\.[1-9][0-9]*k)?|sft|{TUNED}))*)"
)
_MAX_LENGTH = 96
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?"
_HUB_NAME = re.compile(rf"(?!.*(?:--|\.\.)){_PART}/{_PART}")


def describe_hub_name_problem(name: str) -> str | None:
    """Name what is wrong with a hub name, or None; the same rules as the hub's own, so no path can climb."""
    if _HUB_NAME.fullmatch(name) and len(name) <= _MAX_LENGTH:
        return None
    return (
        f"it must have the form organisation/name and at most {_MAX_LENGTH} characters, each part of"
        " letters, digits, '.', '_' and '-', without '--' or '..', and begin and end with a letter,"
        " digit or '_'"
    )


def is_folder_path(name: str) -> bool:
    """Tell whether a model is named by its folder, and not as the hub does."""
    return name.startswith(("./", "../", "/"))


def build_local_name(path: str) -> str:
    """Join the parts of a path in one name, for people and for paths; of a long one its end."""
    parts = [part for part in PurePath(normpath(path)).parts if part not in ("/", "//", ".", "..")]
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", ".".join(parts))
    name = re.sub(r"([.-])\1+", r"\1", name)[-(_MAX_LENGTH - len(LOCAL) - 1) :]
    return f"{LOCAL}/{name.strip('._-') or 'folder'}"


def build_checkpoint_name(name: str) -> str:
    """Build the name of a checkpoint, of which the model may be a folder."""
    base = re.split("[@+]", name)[0]
    return build_local_name(base) + name.removeprefix(base) if is_folder_path(name) else name


@dataclass(frozen=True)
class CheckpointId:
    """A loadable model: a hub model, or a chunked and perhaps trained variant of it."""

    model: str
    plan: str | None = None
    marks: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()

    @property
    def variant(self) -> str:
        """Spell all behind the model's own name; nothing for the model as it comes from the hub."""
        plan = f"@{'-'.join([self.plan, *self.marks])}" if self.plan else ""
        return plan + "".join(f"+{stage}" for stage in self.stages)

    @property
    def layout(self) -> "CheckpointId":
        """Keep its layers alone, however they are aggregated and trained."""
        marks = [mark for mark in self.marks if mark in _MODES or mark.startswith("after")]
        return CheckpointId(self.model, self.plan, tuple(marks))

    @property
    def timed_variant(self) -> "CheckpointId":
        """Keep what its speed depends on: its layers, aggregation and adapters, however they start and are trained."""
        marks = [mark for mark in self.marks if not mark.startswith(("init.", "distil."))]
        return CheckpointId(self.model, self.plan, tuple(marks))

    @property
    def before(self) -> "CheckpointId":
        """Name what its last stage was trained from."""
        return replace(self, stages=self.stages[:-1])

    def __str__(self) -> str:
        return self.model + self.variant

    @property
    def in_path(self) -> str:
        return str(self).replace("/", "--")

    @classmethod
    def parse(cls, text: str) -> "CheckpointId":
        """Read either spelling, the one for people or the one for paths."""
        return _parse(text)


@cache  # called for each file of each job while Snakemake plans
def _parse(text: str) -> CheckpointId:
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
    return CheckpointId(model, match["plan"], tuple(marks), tuple(stages))


def format_path_names(names: Iterable[str]) -> list[str]:
    """Spell checkpoints as paths do."""
    return [CheckpointId.parse(name).in_path for name in names]


@dataclass(frozen=True)
class RowId:
    """A checkpoint as a leaderboard tells them apart: by number format and, where pinned, by commit."""

    checkpoint: CheckpointId
    precision: str
    revision: str | None = None

    def __str__(self) -> str:
        pinned = f"~{self.revision[:12]}" if self.revision else ""
        return f"{self.checkpoint}~{self.precision}{pinned}"

    @property
    def in_path(self) -> str:
        return str(self).replace("/", "--")
