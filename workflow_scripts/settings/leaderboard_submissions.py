"""Read the requests: models submitted to the leaderboard, one YAML file each.

The files are untrusted: an invalid file is refused with its reasons and does not stop the run.
"""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from workflow_scripts.core.clean_text import clean_line, shorten_text
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import LOCAL, CheckpointId
from workflow_scripts.settings.compute import QUANTIZED, Precision
from workflow_scripts.settings.error_messages import validate
from workflow_scripts.settings.names import CheckpointName
from workflow_scripts.settings.section import Section
from workflow_scripts.settings.tables import HubName
from workflow_scripts.settings.yaml_files import parse_yaml

GENERATED = "miniature/"  # prefix of the names of the demo's models
MAX_REQUEST_BYTES = 20_000  # bytes
# Limits of a repository. Weights may have twice the bytes of float64, for adapters and duplicates.
MAX_BYTES_PER_PARAMETER = 16
MAX_SMALL_FILES, MAX_SMALL_BYTES = 500, 500_000_000
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*")


class LeaderboardRequest(Section):
    """A submission: a model as its submitter describes it."""

    name: CheckpointName
    """Its name on the hub, or a checkpoint that this workflow makes of one."""
    revision: str | None = Field(None, pattern=r"^[0-9a-f]{40}$")
    """The commit; null is the one in the hub folder."""
    precision: Precision
    """Dtype of the model; 8bit and 4bit are weights quantised by bitsandbytes on a GPU."""
    weight_type: Literal["original", "adapter", "delta"] = "original"
    """original: complete weights; adapter: LoRA adapters; delta: weights to be added to those of
    base."""
    base: HubName | None = None
    """The model on the hub that a delta is added to when it is loaded."""
    model_type: Literal[
        "pretrained", "continuously pretrained", "fine-tuned", "chat", "merged", "chunked"
    ]
    """The kind of model."""
    note: str | None = Field(None, max_length=1_000)
    """A note for readers."""

    def find_contradictions(self) -> Iterator[str]:
        is_unchanged_model = self.name == self.checkpoint.model
        if (self.checkpoint.plan is not None) != (self.model_type == "chunked"):
            yield f"model_type is {self.model_type!r}; expected 'chunked' for chunk plans and no others."
        if self.revision is not None and (self.is_local or not is_unchanged_model):
            yield "revision is set; expected null for checkpoints of this workflow and folders."
        if (self.weight_type == "delta") != (self.base is not None):
            yield f"base is {self.base!r}; expected a model with weight_type 'delta', and null otherwise."
        if self.base and self.base.startswith(GENERATED) != self.name.startswith(GENERATED):
            yield f"base is {self.base!r}; expected a model of the same source as {self.name}."
        if self.precision in QUANTIZED and self.weight_type != "original":
            yield f"precision is {self.precision!r}; quantised weights are not merged."
        if self.base and not is_unchanged_model:
            yield "weight_type is 'delta'; expected 'original' for chunked models."

    @property
    def is_local(self) -> bool:
        return self.name.startswith(f"{LOCAL}/")

    @property
    def checkpoint(self) -> CheckpointId:
        return CheckpointId.parse(self.name)

    @property
    def row(self) -> str:
        """Return the name of the row in paths: checkpoint, precision and, if pinned, the commit's first digits."""
        pinned = f"~{self.revision[:12]}" if self.revision else ""
        return f"{self.checkpoint.path_name}~{self.precision}{pinned}"


def read_requests(
    folder: Path, source: str, checkpoints: Collection[str], local: Collection[str]
) -> tuple[dict[str, LeaderboardRequest], dict[str, str]]:
    """Read a folder: the valid requests by file, and the reasons for refusing the other files.

    Requests for the demo's models are skipped if the source is the hub. `checkpoints` are those that this
    config builds, `local` the only local folders that an untrusted request may name.
    """
    requests, refused = {}, {}
    for path in sorted(folder.glob("*.y*ml")):
        try:
            request = _read_request(path)
            if source == "miniature" or not request.name.startswith(GENERATED):
                if expected := _describe_available(request, source, checkpoints, local):
                    raise UserError(f"name is {request.name!r}; expected {expected}.")
                requests[path.name] = request
        except (UserError, OSError) as error:
            refused[clean_line(path.name)] = shorten_text(str(error))
    return requests, refused


def _describe_available(
    request: LeaderboardRequest, source: str, checkpoints: Collection[str], local: Collection[str]
) -> str | None:
    """Describe the models that a request may name if this config does not have the requested one; else return None."""
    if request.is_local:
        if request.checkpoint.model in local:
            return None
        return "a folder that suite.local_models of the config names"
    if source == "miniature" and not request.name.startswith(GENERATED):
        return "a model of the demo, as this config's source is miniature"
    if request.name in (request.checkpoint.model, *checkpoints):
        return None
    return "a checkpoint that chunking.checkpoints or training.models of the config names"


def _read_request(path: Path) -> LeaderboardRequest:
    """Read a request, refusing links: the target could be any file, and the error message would quote it."""
    if not _FILE_NAME.fullmatch(path.name):
        raise UserError("its file name may have only letters, digits and the characters . _ @ + -.")
    if path.is_symlink() or not path.is_file():
        raise UserError("it is a link or not a regular file.")
    with path.open("rb") as file:
        content = file.read(MAX_REQUEST_BYTES + 1)
    if len(content) > MAX_REQUEST_BYTES:
        raise UserError(f"it has more than {MAX_REQUEST_BYTES} bytes.")
    return validate(LeaderboardRequest, parse_yaml(content, "it"))
