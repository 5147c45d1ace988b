"""Configure how latency and perplexity of chunk plans are measured."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from workflow_scripts.settings.section import Count, Listed, Section

WIKITEXT = "Salesforce/wikitext"
MAGPIE = "Magpie-Align/Magpie-Qwen2-Pro-200K-English"
# Datasets for perplexity, by their names in records.
MEASURED_TEXTS = {"wikitext": WIKITEXT, "magpie": MAGPIE}

PerplexityMean = Literal["tokens", "windows"]
Counts = Listed[Count]


class LatencyMeasures(Section):
    """Settings of latency."""

    batch_sizes: Counts = Field(min_length=1)
    """Batch sizes of the grid."""
    questions: Count
    """MMLU questions that latency is measured on: as published, without their choices, in the
    model's chat template."""
    new_tokens: int = Field(ge=2)
    """Tokens generated for each of them."""
    repeats: int = Field(ge=3)
    """Rounds of the latency grid; its variants take turns in each."""
    devices: Counts = Field(min_length=1)
    """Over how many devices chunks are spread, each number timed: GPUs of one node, or on a
    processor shares of compute.threads. A plan is spread over as many as it has chunks at most."""

    def find_contradictions(self) -> Iterator[str]:
        yield from super().find_contradictions()
        if max(self.batch_sizes) > self.questions:
            yield (
                f"batch_sizes goes up to {max(self.batch_sizes)}, but questions is"
                f" {self.questions}; expected as many questions as the largest batch has rows."
            )


class WrittenMeasures(Section):
    """Settings of the texts that chunk plans generate and the unchanged model scores."""

    written_tokens: Count | None
    """Tokens that each untrained plan writes at most, in answer to the published prompt and drawn as
    the model's generation config says; their perplexity is taken under the unchanged model as
    published. Null measures none; published is 1024."""


class PerplexityMeasures(Section):
    """Settings of perplexity."""

    window: int = Field(ge=2)
    """Tokens that a perplexity window sees, at most the model's context."""
    stride: Count
    """Tokens that each window scores: its last ones."""
    text_tokens: int | None = Field(ge=2)
    """Tokens of wikitext's validation split that perplexity is taken of, its first ones; null takes
    all, some 290,000."""
    responses: Count
    """Magpie responses of each difficulty to score."""
    difficulties: Listed[str] = Field(min_length=1)
    """Difficulties of those responses, as the dataset says."""
    perplexity_mean: PerplexityMean
    """What the loss is averaged over before the exponential: all tokens, or windows (of Magpie,
    responses), each by the mean of its tokens, as published."""

    def find_contradictions(self) -> Iterator[str]:
        yield from super().find_contradictions()
        if self.stride > self.window:
            yield (
                f"stride is {self.stride}, more than window, {self.window}; tokens between two"
                " windows would be scored by none."
            )
