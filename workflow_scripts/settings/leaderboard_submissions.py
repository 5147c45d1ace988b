"""Requests: the models that were submitted to the leaderboard, one YAML file each.

A file that is wrong is refused with its reasons and stops nothing else; it may be a stranger's.
"""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from workflow_scripts.core.clean_text import plain, shorten_text
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import LOCAL, CheckpointId, RowId, build_local_name, is_folder_path
from workflow_scripts.settings.compute import QUANTIZED, Precision
from workflow_scripts.settings.error_messages import validate
from workflow_scripts.settings.section import Section, Words
from workflow_scripts.settings.tables import HubName
from workflow_scripts.settings.yaml_files import parse_yaml

GENERATED = "miniature/"  # names of the generated world begin so
# The status of a request that got no verdict: its model is of the other source, or nobody could be asked.
ASIDE, UNCHECKED = "left aside", "unchecked"
LARGEST_REQUEST = 20_000  # bytes
# Limits of a repository that is checked. Bytes of weights are twice what any number format takes, for adapters and
# what is there twice.
BYTES_OF_A_PARAMETER = 16
MOST_SMALL_FILES, MOST_SMALL_BYTES = 500, 500_000_000
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*")


def _check_checkpoint(name: str) -> str:
    if is_folder_path(name):
        base = re.split("[@+]", name)[0]
        name = build_local_name(base) + name.removeprefix(base)
    try:
        return str(CheckpointId.parse(name))
    except UserError as error:
        raise ValueError(str(error)) from None


class Request(Section):
    """One model as its submitter describes it."""

    name: Annotated[str, AfterValidator(_check_checkpoint)]
    """Its name on the hub, or a checkpoint that this workflow makes of one."""
    revision: str | None = Field(None, pattern=r"^[0-9a-f]{40}$")
    """The commit that is meant; null is the one that the hub folder holds."""
    precision: Precision
    """Number format the model is run in; 8bit and 4bit are its weights, quantised by bitsandbytes
    on a GPU."""
    weight_type: Literal["original", "adapter", "delta"] = "original"
    """original: whole weights; adapter: low-rank adapters beside the weights they change; delta:
    what is added to the weights of base."""
    base: HubName | None = None
    """The model on the hub that a delta is added to when it is loaded."""
    model_type: Literal[
        "pretrained", "continuously pretrained", "fine-tuned", "chat", "merged", "chunked"
    ]
    """What kind of model it is; rows are compared within a kind."""
    licence: Words | None = None
    """As the model's card has it; null takes the card's word."""
    note: str | None = Field(None, max_length=1_000)
    """What the submitter wants readers to know."""
    protocol: Literal["few_shot", "train_before_test"] = "few_shot"
    """few_shot: asked as it is, with each task's shots; train_before_test: trained on each task
    before its test, by harmony.recipe, and asked without shots."""

    def contradictions(self) -> Iterator[str]:
        is_plain = self.name == self.checkpoint.model
        if (self.checkpoint.plan is not None) != (self.model_type == "chunked"):
            yield f"model_type is {self.model_type!r}; expected 'chunked' for chunk plans and no others."
        if self.revision is not None and (self.is_local or not is_plain):
            yield "revision is set; expected null for what is made here or lies in a folder."
        if (self.weight_type == "delta") != (self.base is not None):
            yield f"base is {self.base!r}; expected a model with weight_type 'delta', and null otherwise."
        if self.base and self.base.startswith(GENERATED) != self.name.startswith(GENERATED):
            yield f"base is {self.base!r}; expected a model of the same source as {self.name}."
        is_original = self.weight_type == "original"
        if self.precision in QUANTIZED and not (is_original and self.protocol == "few_shot"):
            yield f"precision is {self.precision!r}; quantised weights are neither added to nor trained."
        if self.base and not (is_plain and self.protocol == "few_shot"):
            yield "weight_type is 'delta'; sums are neither trained nor cut."

    @property
    def is_local(self) -> bool:
        return self.name.startswith(f"{LOCAL}/")

    @property
    def checkpoint(self) -> CheckpointId:
        return CheckpointId.parse(self.name)

    @property
    def row(self) -> RowId:
        return RowId(self.checkpoint, self.precision, self.revision)


def read_requests(
    folder: Path | None, source: str, made: Collection[str], local: Collection[str] = ()
) -> tuple[dict[str, Request], dict[str, str], dict[str, str]]:
    """Read a folder: by file the requests, why others are refused, and why others are of another config.

    `made` are the checkpoints that this config makes, `local` the models that are folders on this machine and
    that a request may name: a stranger's must not reach any other.
    """
    requests, refused, aside = {}, {}, {}
    for path in sorted(folder.glob("*.y*ml")) if folder else []:
        try:
            request = _read_request(path)
            is_generated = request.name.startswith(GENERATED)
            if not request.is_local and is_generated != (source == "miniature"):
                world = "the miniature world" if is_generated else "the hub"
                aside[path.name] = (
                    f"{request.name} is of {world}; this config's source is {source}."
                )
                continue
            _refuse_unknown(request, made, local)
            requests[path.name] = request
        except (UserError, OSError) as error:
            refused[plain(path.name)] = shorten_text(str(error))
    return requests, refused, aside


def _refuse_unknown(request: Request, made: Collection[str], local: Collection[str]) -> None:
    if request.is_local and request.checkpoint.model not in local:
        raise UserError(
            f"name is {request.name!r}, a folder on this machine; expected one that suite.local_models of the"
            " config names."
        )
    is_made_here = request.name != request.checkpoint.model
    if is_made_here and not request.is_local and request.name not in made:
        raise UserError(
            f"name is {request.name!r}; expected a checkpoint that chunking.checkpoints names, at a stage of"
            " training, or <model>+tuned of one that training.models names."
        )


def _read_request(path: Path) -> Request:
    """Read the file itself: what a link leads to may be anybody's, and would be quoted in the reason."""
    if not _FILE_NAME.fullmatch(path.name):
        raise UserError("its file's name may hold letters, digits and the signs . _ @ + - alone.")
    if path.is_symlink() or not path.is_file():
        raise UserError("it is a link or it is no regular file.")
    with path.open("rb") as file:
        content = file.read(LARGEST_REQUEST + 1)
    if len(content) > LARGEST_REQUEST:
        raise UserError(f"it has more than {LARGEST_REQUEST} bytes.")
    return validate(Request, parse_yaml(content, "it"))
