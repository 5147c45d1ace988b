"""Configure training: the stages of a checkpoint, their recipes and their data."""

from collections.abc import Iterator
from typing import Literal

from workflow_scripts.core.errors import format_suggestion
from workflow_scripts.core.ids import STAGES
from workflow_scripts.settings.names import DataFile, ModelName
from workflow_scripts.settings.section import Count, Fraction, Listed, NonEmptyText, Section
from workflow_scripts.settings.training_keys import CHUNKED_LAYERS, WRAPPER, TrainingKeys


class SampleKeys(Section):
    """Settings of training data, without the length of samples."""

    data: Literal["text", "chat"]
    """text: running text in blocks of max_length; chat: conversations."""
    dataset: str | None = None
    """A dataset on the hub; exclusive with `files`."""
    subset: str | None = None
    """The dataset's configuration."""
    split: str = "train"
    """The dataset's split."""
    files: Listed[DataFile] = ()
    """Text files (.txt), or rows (.jsonl, .parquet), instead of a dataset."""
    column: str | None = None
    """The column with the text or conversation; null looks for text, conversations (ShareGPT) or
    messages."""
    document: Literal["row", "all"] = "row"
    """row: each row of a text is a document, ended by the tokenizer's end-of-text token; all: all
    rows together are one document."""
    system: NonEmptyText | None = None
    """The system message of conversations that have none; null leaves it to the chat template. The
    default of Qwen2.5's template names the model's maker."""
    max_samples: Count | None = None
    """Maximum number of blocks or conversations, the first ones."""

    def find_contradictions(self) -> Iterator[str]:
        yield from super().find_contradictions()
        if (self.dataset is None) == (not self.files):
            yield "expected exactly one of dataset and files."


class Recipe(SampleKeys, TrainingKeys):
    """Recipe of one stage of a checkpoint, with its data."""

    validation: Fraction = 0.1
    """Fraction of the samples held out for evaluation, drawn by seed."""

    def find_contradictions(self) -> Iterator[str]:
        yield from super().find_contradictions()
        if self.select != "last" and not self.validation:
            yield "validation is 0; expected a fraction, on which the best checkpoint is selected."

    @property
    def needs_chunks(self) -> bool:
        """Return whether the recipe trains modules that only a chunked model has."""
        return any(
            part in (WRAPPER, CHUNKED_LAYERS) or "wrapped_chunk_layers" in part
            for part in self.trainable_modules
        )


USUAL = "usual"


class Training(Section):
    """The stages of training that chunked checkpoints go through, and models that are trained as they are."""

    cpt: str | None
    """Recipe of the continued pre-training that makes @k2m12+cpt of @k2m12; usual is cpt, or
    miniature-cpt in the miniature world; null for none."""
    cpt_tokens: Listed[Count]
    """Numbers of training tokens of the continued pre-training, in thousands; each is a separate
    training run with its own checkpoint, @k2m12+cpt.300k. With an empty list the recipe decides."""
    sft: str | None
    """Recipe of the supervised fine-tuning that makes @k2m12+cpt+sft of @k2m12+cpt; usual is sft,
    or miniature-sft in the miniature world; null for none."""
    models: Listed[ModelName]
    """Models of any architecture to train once without chunks, with the recipe `tuned`. The result,
    <model>+tuned, may be named in harmony.models, mmlu.models, prompts.models and requests."""
    tuned: str | None
    """Recipe for training.models."""
    recipes: dict[str, Recipe]
    """Training recipes by name. Add your own as a new entry; to change one of these, set only the
    keys that differ."""

    def find_contradictions(self) -> Iterator[str]:
        for stage in STAGES:
            name = getattr(self, stage)
            if name not in (None, USUAL, *self.recipes):
                yield f"{stage} is {name!r}; expected one of the recipes.{format_suggestion(name, self.recipes)}"
        if (self.sft or self.cpt_tokens) and not self.cpt:
            yield "sft or cpt_tokens is set and cpt is null; expected a recipe, which they build on."
        if self.models and self.tuned is None:
            yield "models are named and tuned is null; expected the recipe that they are trained by."
        if self.cpt in self.recipes and self.cpt_tokens and self.recipes[self.cpt].data != "text":
            yield f"cpt is {self.cpt!r}; expected a recipe of text, as cpt_tokens is not empty."
        if self.tuned in self.recipes and self.recipes[self.tuned].needs_chunks:
            yield f"tuned is {self.tuned!r}, which trains chunks; expected a recipe that trains none."
