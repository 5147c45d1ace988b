"""How a model, a chunked checkpoint and its training stages are named, in prose and in paths.

A model is known by its hub name, `Qwen/Qwen2.5-0.5B-Instruct`. A chunked checkpoint adds its plan,
`@k2m12` (with `-<mode>` when the mode is not the default; `@prune3-5` leaves out the layers 3 and 5,
counted from 1), and its stages, `+cpt`, `+cpt+sft`.
In a path `/` becomes `--`, which the hub allows in no name, so the way back is unambiguous.

A row of the leaderboard is a checkpoint in a precision, `Qwen/Qwen2-0.5B~bfloat16`, and, where its
request pins one, at a commit, of which the name has the first twelve digits: `~bfloat16~0123456789ab`.
"""

import re
from dataclasses import dataclass, replace
from functools import cache

from workflow_scripts.core.errors import UserError

STAGES = ("cpt", "sft")
UNCHANGED = "k0m0"  # the plan that leaves a model as it is
HUB_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?")
_CHECKPOINT = re.compile(
    r"(?P<model>[^@+]+)(?:@(?:(?P<plan>k\d+m\d+)(?:-(?P<mode>[a-z_]+))?|(?P<pruned>prune\d+(?:-\d+)*)))?(?P<stages>(?:\+[a-z]+)*)"
)


def hub_name_problem(name: str) -> str | None:
    """What is wrong with a hub name, or None; the same rules as the hub's own, so no path can climb."""
    parts = name.split("/")
    if len(parts) != 2:
        return "it must have the form organisation/name"
    if any(not HUB_NAME.fullmatch(part) for part in parts):
        return "each part must be letters, digits, '.', '_' and '-', and begin and end with a letter, digit or '_'"
    if "--" in name or ".." in name:
        return "it must not hold '--' or '..'"
    if len(name) > 96:
        return "it must have at most 96 characters"
    return None


@dataclass(frozen=True)
class CheckpointId:
    """One loadable model: a hub model, or a chunked and perhaps trained variant of it."""

    model: str
    plan: str | None = None
    mode: str | None = None
    stages: tuple[str, ...] = ()

    @property
    def variant(self) -> str:
        """Everything behind the model's own name; empty for the model as it comes from the hub."""
        plan = f"@{self.plan}" + (f"-{self.mode}" if self.mode else "") if self.plan else ""
        return plan + "".join(f"+{stage}" for stage in self.stages)

    @property
    def before(self) -> "CheckpointId":
        """What its last stage was trained from."""
        return replace(self, stages=self.stages[:-1])

    def __str__(self) -> str:
        return self.model + self.variant

    @property
    def in_path(self) -> str:
        return str(self).replace("/", "--")

    @classmethod
    def parse(cls, text: str) -> "CheckpointId":
        """Read either spelling, the one for people or the one for paths."""
        return _parsed(text)


@cache  # asked for each file of each job while Snakemake plans
def _parsed(text: str) -> CheckpointId:
    match = _CHECKPOINT.fullmatch(text)
    if match is None:
        raise UserError(
            f"{text!r} is not a model id; expected organisation/name, then optionally"
            " @k<chunks>m<layers> and -<mode>, or @prune<layers>, and +cpt or +cpt+sft."
        )
    model = match["model"].replace("--", "/", 1)
    stages = tuple(match["stages"].split("+")[1:])
    if problem := hub_name_problem(model):
        raise UserError(f"{text!r} is not a model id: {problem}.")
    if unknown := [stage for stage in stages if stage not in STAGES]:
        raise UserError(f"{text!r} names the unknown stage {unknown[0]!r}; known: cpt, sft.")
    return CheckpointId(model, match["plan"] or match["pruned"], match["mode"], stages)


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
