"""Configure chunked variants of models: k parallel chunks of m layers."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.names import ModelName
from workflow_scripts.settings.plan_measures import (
    Counts,
    LatencyMeasures,
    PerplexityMeasures,
    WrittenMeasures,
)
from workflow_scripts.settings.section import (
    Count,
    Listed,
    NonNegative,
    Section,
    refuse_repeated,
)
from workflow_scripts.settings.tables import ModelRow


class MeasuredPlans(Section):
    """Chunk plans for the measurements of a model."""

    sequential_chunks: Counts
    """Numbers of chunks of the sequential plans whose perplexity is measured; a number that does
    not divide the layers is skipped."""
    aggregations: Listed[Literal["mean", "last", "residual"]] = Field(min_length=1)
    """Aggregations to compare, untrained."""
    pruned: Listed[Counts]
    """Sets of layers to prune, counted from 1; a set with a layer that the model does not have is
    skipped."""
    latency_chunks: Count
    """Chunks (k) in the latency grid."""
    latency_layers: Listed[NonNegative]
    """Layers per chunk (m) in the latency grid; 0 is the unchanged model."""
    latency_aggregation: Literal["residual", "mean"]
    """Aggregation of the plans in the latency grid; mean is the published one."""
    latency_models: Listed[ModelName] | None
    """Models whose latency is measured; null takes the base models of the checkpoints."""

    def build_perplexity_plans(self, row: ModelRow) -> tuple[Checkpoint, ...]:
        """Return the sequential and pruned plans that are possible for a model."""
        sequential = [
            Checkpoint(
                model=row.model,
                mode="sequential",
                num_layers_per_chunk=row.layers // chunks,
                aggregation_mode=aggregation,
                use_adapters=False,
            )
            for chunks in self.sequential_chunks
            if chunks > 1 and row.layers % chunks == 0
            for aggregation in self.aggregations
        ]
        return _select_possible([*sequential, *self._list_pruned_plans(row.model)], row.layers)

    def build_latency_plans(
        self, row: ModelRow, checkpoints: Iterable[Checkpoint]
    ) -> tuple[Checkpoint, ...]:
        """Return the possible plans of the latency grid without adapters, the plans of `checkpoints` with their
        aggregation and adapters, and the pruned plans.

        Further pruned plans are timed only for models with checkpoints, because their latency is shown with perplexity.
        """
        variants = [entry.timed_variant for entry in checkpoints if entry.model == row.model]
        grid = [
            Checkpoint(
                model=row.model,
                num_chunks=self.latency_chunks,
                num_layers_per_chunk=m,
                aggregation_mode=self.latency_aggregation,
                use_adapters=False,
            )
            for m in self.latency_layers
        ]
        chunked = [variant for variant in variants if variant.build_plan(row.layers).chunks]
        pruned = [variant for variant in variants if variant.mode == "prune"]
        pruned += self._list_pruned_plans(row.model) if variants else []
        return _select_possible([*grid, *chunked, *pruned], row.layers)

    def _list_pruned_plans(self, model: str) -> list[Checkpoint]:
        return [
            Checkpoint(model=model, mode="prune", layers_to_prune=layers) for layers in self.pruned
        ]


def _select_possible(plans: list[Checkpoint], layers: int) -> tuple[Checkpoint, ...]:
    """Select the plans that are possible with `layers` layers; of plans with the same id, one is kept."""
    possible = {}
    for plan in plans:
        with suppress(UserError):
            possible[plan.build_id(layers)] = plan
    return tuple(possible.values())


class Measures(WrittenMeasures, PerplexityMeasures, LatencyMeasures, MeasuredPlans):
    """Measurements of each model that a checkpoint names, in plans of its own, untrained."""


class Chunking(Section):
    checkpoints: Listed[Checkpoint]
    """Chunked variants to make, train and measure; an empty list for none."""
    measures: Measures
    """Measurements of the checkpoints' base models before any training."""

    @property
    def models(self) -> list[str]:
        """List the base models of the checkpoints, without duplicates."""
        return list(dict.fromkeys(checkpoint.model for checkpoint in self.checkpoints))

    @property
    def timed_models(self) -> list[str]:
        """List the models for the latency measurement."""
        models = self.measures.latency_models
        return self.models if models is None else list(models)

    @model_validator(mode="after")
    def _check_models(self, info: ValidationInfo) -> Self:
        if info.context is not None:
            rows = info.context.models
            ids = (str(entry.build_id(rows[entry.model].layers)) for entry in self.checkpoints)
            refuse_repeated(tuple(ids))
            for model in self.timed_models:
                if not self.measures.build_latency_plans(rows[model], self.checkpoints):
                    raise ValueError(
                        f"measures.latency_layers has no plan for the {rows[model].layers} layers of {model!r}"
                    )
        return self
