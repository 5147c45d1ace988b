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
    """Number of MMLU questions for the latency measurement; as published, they have no choices and
    are in the model's chat template."""
    new_tokens: int = Field(ge=2)
    """Number of tokens generated for each question."""
    repeats: int = Field(ge=3)
    """Rounds of the latency grid; its variants take turns in each."""
    devices: Counts = Field(min_length=1)
    """Numbers of devices that the chunks are spread over, each of which is timed: GPUs of one node,
    or on a CPU equal parts of compute.threads. A plan uses at most one device per chunk."""

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
    """Maximum number of tokens that each untrained plan generates for the published prompt, sampled
    by the model's generation config. As published, the unchanged model scores their perplexity.
    Null measures none; published is 1024."""


class PerplexityMeasures(Section):
    """Settings of perplexity."""

    window: int = Field(ge=2)
    """Length of a perplexity window in tokens, at most the model's context."""
    stride: Count
    """Number of tokens that each window scores, at its end."""
    text_tokens: int | None = Field(ge=2)
    """Number of tokens for perplexity, from the start of wikitext's validation split; null takes
    all, about 290,000."""
    responses: Count
    """Number of Magpie responses to score for each difficulty."""
    difficulties: Listed[str] = Field(min_length=1)
    """Difficulties of those responses, as the dataset names them."""
    perplexity_mean: PerplexityMean
    """What the loss is averaged over before the exponential: all tokens, or windows (of Magpie,
    responses), each by the mean of its tokens, as published."""

    def find_contradictions(self) -> Iterator[str]:
        yield from super().find_contradictions()
        if self.stride > self.window:
            yield (
                f"stride is {self.stride}, more than window, {self.window}; tokens between two"
                " windows would not be scored."
            )
