"""Chunked variants of models: k chunks of m layers that run side by side."""

from typing import Annotated

from pydantic import Field, ValidationInfo, model_validator

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.plan import DEFAULT_MODE, ChunkPlan, Mode, chunk_plan
from workflow_scripts.settings.names import Known, ModelName
from workflow_scripts.settings.section import Section, contradiction

_STUDY = "miniature/Qwen2-1M-Instruct"


class Checkpoint(Section):
    """One chunked variant of a model."""

    model: ModelName = Field(
        description="Model to cut into chunks, by its name in the models table."
    )
    num_chunks: int | None = Field(
        None,
        ge=0,
        description=(
            "k, the chunks that run side by side. Null means 2 in the modes that share a start and an"
            " end; elsewhere it follows from the other numbers. 0 with num_layers_per_chunk 0 is the"
            " unchanged model."
        ),
    )
    num_layers_per_chunk: int | None = Field(
        None, ge=0, description="m, the layers of one chunk; every mode but prune needs it."
    )
    mode: Mode = Field(
        DEFAULT_MODE,
        description=(
            "sequential: consecutive layers make a chunk; uniform: every n-th layer does; the rest of"
            " the name says which layers all chunks share; prune: no chunks, some layers are left out."
        ),
    )
    layers_to_prune: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(strict=False)] = (
        Field((), description="Layers to leave out, counted from 1; only with the mode prune.")
    )

    def plan(self, layers: int) -> ChunkPlan:
        return chunk_plan(
            layers, self.mode, self.num_layers_per_chunk, self.num_chunks, self.layers_to_prune
        )

    def id(self, layers: int) -> CheckpointId:
        chunks = self.plan(layers).chunks
        size = len(chunks[0]) if chunks else 0
        unchanged = not chunks and self.mode != "prune"
        mode = None if unchanged or self.mode == DEFAULT_MODE else self.mode
        return CheckpointId(self.model, f"k{len(chunks)}m{size}", mode)

    @model_validator(mode="after")
    def _plan_fits(self, info: ValidationInfo) -> "Checkpoint":
        known: Known | None = info.context
        if known is None or known.models is None:
            return self
        if self.mode == "prune" and (self.num_chunks or self.num_layers_per_chunk):
            raise contradiction(
                f"num_chunks is {self.num_chunks} and num_layers_per_chunk is"
                f" {self.num_layers_per_chunk}; expected neither with the mode prune, which makes no"
                " chunks."
            )
        if self.mode == "prune" and not self.layers_to_prune:
            raise contradiction(
                "layers_to_prune is empty; the mode prune needs at least one layer."
            )
        try:
            self.plan(known.models[self.model].layers)
        except UserError as error:
            raise contradiction(f"for {self.model}, {error}") from None
        return self


class Chunking(Section):
    checkpoints: Annotated[tuple[Checkpoint, ...], Field(strict=False)] = Field(
        (
            Checkpoint(model=_STUDY, num_chunks=2, num_layers_per_chunk=12),
            Checkpoint(model=_STUDY, num_chunks=2, num_layers_per_chunk=6),
            Checkpoint(model=_STUDY, num_chunks=0, num_layers_per_chunk=0),
        ),
        description="Chunked variants to make, train and measure; an empty list for none.",
    )

    @model_validator(mode="after")
    def _ids_are_unique(self, info: ValidationInfo) -> "Chunking":
        known: Known | None = info.context
        if known is None or known.models is None:
            return self
        positions: dict[str, int] = {}
        for position, checkpoint in enumerate(self.checkpoints):
            name = str(checkpoint.id(known.models[checkpoint.model].layers))
            if name in positions:
                raise contradiction(
                    f"checkpoints[{position}] is {name!r}, as checkpoints[{positions[name]}] is;"
                    " expected each variant once."
                )
            positions[name] = position
        return self
