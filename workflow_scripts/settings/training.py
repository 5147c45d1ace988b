"""Training: what of a model is trained, on what, and how; the same keys for every kind of it."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from workflow_scripts.settings.names import DataFile
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.settings.section import Section, contradiction, unlike
from workflow_scripts.settings.sentences import hint

Names = Annotated[tuple[str, ...], Field(strict=False)]

# What `trains` may say besides a pattern of parameter names.
WRAPPER, CHUNKED_LAYERS = "wrapper", "chunked_layers"
LAYERS = re.compile(r"layers (\d+)(?: to (\d+))?")
LAST_LAYERS = re.compile(r"last (\d+) layers")


def _known_part(part: str) -> str:
    numbered = LAYERS.fullmatch(part) or LAST_LAYERS.fullmatch(part)
    if part in (WRAPPER, CHUNKED_LAYERS) or numbered or re.search(r"[.*]", part):
        return part
    raise unlike(
        "wrapper, chunked_layers, 'layers 6 to 17', 'last 16 layers' or a pattern with a dot or a star"
        f" in it{hint(part, (WRAPPER, CHUNKED_LAYERS))}"
    )


Parts = Annotated[tuple[Annotated[str, AfterValidator(_known_part)], ...], Field(strict=False)]


class TrainingKeys(Section):
    """How to train; shared by stages of checkpoints and by the training before a test."""

    method: Literal["full", "freeze", "lora"] = Field(
        "full",
        description=(
            "full: all parameters; freeze: those that `trains` names; lora: low-rank adapters in"
            " `lora_targets`, and in full what `trains` names."
        ),
    )
    trains: Parts = Field(
        (),
        description=(
            "What is trained in full: wrapper (adapters and aggregation of a chunked model),"
            " chunked_layers (the layers inside its chunks), 'layers 6 to 17' (counted from 0), 'last 16"
            " layers', or a pattern of parameter names such as '*.mlp.*'."
        ),
    )
    lora_rank: int = Field(8, ge=1, description="Rank of the low-rank adapters.")
    lora_alpha: float = Field(16.0, gt=0, description="Their scale is this over the rank.")
    lora_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout in front of them.")
    lora_targets: Names = Field(
        ("all-linear",),
        min_length=1,
        description=(
            "Linear layers that get one, by the last part of their names; all-linear is all but the"
            " output layer, usual those that PEFT takes for the architecture."
        ),
    )
    lora_output: Literal["merged", "adapter"] = Field(
        "merged", description="Whether a checkpoint holds the sum, or the base and the adapter."
    )

    learning_rate: float = Field(1e-5, gt=0, description="Its peak.")
    schedule: Literal["constant", "linear", "cosine"] = Field(
        "cosine", description="How the rate falls after the warm-up."
    )
    warm_up: float = Field(
        0.1, ge=0, lt=1, description="Share of the steps in which the rate rises."
    )
    weight_decay: float = Field(0.0, ge=0, description="AdamW's weight decay.")
    max_gradient_norm: float = Field(1.0, gt=0, description="Longer gradients are cut to this.")

    epochs: int = Field(1, ge=1, description="Passes over the training samples.")
    max_steps: int | None = Field(
        None, ge=1, description="At most so many steps; the epochs may be over earlier."
    )
    batch_size: int = Field(16, ge=1, description="Samples of one optimiser step, over all GPUs.")
    micro_batch_size: int | None = Field(
        None,
        ge=1,
        description=(
            "Samples that go through the model at once; null is up to 8. Halved when memory runs out;"
            " a step keeps its samples."
        ),
    )
    max_length: int = Field(2048, ge=2, description="Tokens of one sample; a longer one is cut.")
    packing: bool = Field(
        True,
        description=(
            "Put samples into one row without padding, none seeing another; false pads them, as the"
            " published code does."
        ),
    )

    evaluate_every: int | None = Field(
        None, ge=1, description="Evaluate after each so many steps; null is after each epoch."
    )
    select: Literal["best", "last"] = Field(
        "last", description="Which state is kept: the best of the evaluations, or the last."
    )
    keep_last: bool = Field(
        False, description="Where the best is kept: save the last state too, in its folder `last`."
    )
    save_every: int = Field(
        500, ge=1, description="Keep a state to go on from after each so many steps."
    )

    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto",
        description=(
            "Of the calculations; what is trained is kept in float32. auto is bfloat16 on GPUs that"
            " have it."
        ),
    )
    gradient_checkpointing: Literal["auto", "yes", "no"] = Field(
        "auto",
        description="Calculate twice to save memory; auto: on a GPU, from 3 billion parameters on.",
    )
    compile: bool = Field(False, description="Compile the model with torch.compile.")
    gpus: int = Field(1, ge=1, description="GPUs that train side by side.")
    sharded: bool = Field(
        False, description="Share the weights out among them (FSDP), for models too large for one."
    )
    tensorboard: bool = Field(
        False, description="Write TensorBoard files too; needs the package tensorboard."
    )

    @model_validator(mode="after")
    def _goes_together(self) -> "TrainingKeys":
        if self.method == "freeze" and not self.trains:
            raise contradiction("method is 'freeze' and trains is empty; nothing would be trained.")
        if self.method == "full" and self.trains:
            raise contradiction(
                "method is 'full' and trains is not empty; expected none of it, because all is trained."
            )
        if self.micro_batch_size and self.batch_size % self.micro_batch_size:
            raise contradiction(
                f"micro_batch_size is {self.micro_batch_size} and batch_size {self.batch_size}; expected"
                " a size that divides it."
            )
        if self.batch_size % self.gpus:
            raise contradiction(
                f"gpus is {self.gpus} and batch_size {self.batch_size}; expected a number that"
                " divides it."
            )
        if self.sharded and self.gpus == 1:
            raise contradiction("sharded is true and gpus is 1; expected 2 or more to share among.")
        return self


class SampleKeys(Section):
    """What is trained on, but for the length of its samples."""

    data: Literal["text", "chat"] = Field(
        description="text: running text in blocks of max_length; chat: conversations."
    )
    dataset: str | None = Field(None, description="A dataset of the hub; or else `files`.")
    subset: str | None = Field(None, description="The dataset's configuration.")
    split: str = Field("train", description="Its split.")
    files: Annotated[tuple[DataFile, ...], Field(strict=False)] = Field(
        (), description="Text files (.txt), or rows (.jsonl, .parquet), instead of a dataset."
    )
    column: str | None = Field(
        None,
        description=(
            "The column that holds it; null looks for text, conversations (ShareGPT) or messages."
        ),
    )
    document: Literal["row", "all"] = Field(
        "row",
        description=(
            "Whether each row of a text is a document, ended by the tokenizer's end of text, or all"
            " rows together are one."
        ),
    )
    max_samples: int | None = Field(
        None, ge=1, description="Take the first so many blocks or conversations."
    )

    @model_validator(mode="after")
    def _reads_something(self) -> "SampleKeys":
        if (self.dataset is None) == (not self.files):
            raise contradiction(
                f"dataset is {self.dataset!r} and files is {list(self.files)}; expected exactly one of"
                " them."
            )
        return self


class Recipe(SampleKeys, TrainingKeys):
    """How one stage of a checkpoint is trained, and on what."""

    validation: float = Field(
        0.1, ge=0, lt=1, description="Share of the samples held out for evaluation, by seed."
    )

    @property
    def needs_chunks(self) -> bool:
        """Whether it trains what only a chunked model has."""
        return any(
            part in (WRAPPER, CHUNKED_LAYERS) or "wrapped_chunk_layers" in part
            for part in self.trains
        )

    @model_validator(mode="after")
    def _can_choose(self) -> "Recipe":
        if self.select == "best" and not self.validation:
            raise contradiction(
                "select is 'best' and validation is 0; expected a share to choose the best on."
            )
        return self


class SamplesRequest(StepRequest):
    """What tokenising a recipe's data is asked, once for all checkpoints of a model."""

    hub: str
    keys: SampleKeys
    max_length: int


class StageRequest(StepRequest):
    """What one stage of a checkpoint's training is asked: nothing that does not decide its outcome."""

    id: str
    recipe: str
    keys: TrainingKeys
    validation: float
    seed: int
    device: str
    attention: str
    threads: int


_WIKITEXT = {"data": "text", "dataset": "Salesforce/wikitext", "subset": "wikitext-103-v1"}
_MAGPIE = {
    "data": "chat",
    "dataset": "Magpie-Align/Magpie-Qwen2.5-Pro-1M-v0.1",
    "max_samples": 100_000,
}
_OFTEN = {"evaluate_every": 500}

RECIPES: Mapping[str, Recipe] = {
    # As published: Qwen2.5-0.5B-Instruct, 2,048 tokens, 16 samples a step, one epoch.
    "cpt": Recipe(**_WIKITEXT, **_OFTEN, method="freeze", trains=(WRAPPER,), learning_rate=1e-3),
    "cpt-last-16-layers": Recipe(
        **_WIKITEXT,
        **_OFTEN,
        method="freeze",
        trains=("last 16 layers", "*.wrapped_chunk_layers.aggregation.*"),
        learning_rate=1e-3,
    ),
    "sft": Recipe(
        **_MAGPIE, **_OFTEN, method="freeze", trains=(CHUNKED_LAYERS, WRAPPER), learning_rate=1e-5
    ),
    "sft-full": Recipe(**_MAGPIE, **_OFTEN, learning_rate=1e-5),
    "sft-lora": Recipe(**_MAGPIE, **_OFTEN, method="lora", trains=(WRAPPER,), learning_rate=1e-4),
    # The same for the miniature world, where a run takes seconds.
    "miniature-cpt": Recipe(
        **_WIKITEXT | {"subset": "wikitext-103-raw-v1"},
        method="freeze",
        trains=(WRAPPER,),
        learning_rate=1e-3,
        max_length=128,
        max_steps=40,
        evaluate_every=10,
        save_every=10,
    ),
    "miniature-sft": Recipe(
        **_MAGPIE | {"max_samples": 1_000},
        method="freeze",
        trains=(CHUNKED_LAYERS, WRAPPER),
        learning_rate=1e-3,
        max_length=256,
        max_steps=40,
        evaluate_every=10,
        save_every=10,
    ),
}


USUAL = "usual"


class Training(Section):
    """The stages of training that chunked checkpoints go through."""

    cpt: str | None = Field(
        USUAL,
        description=(
            "Recipe of the continued pre-training that makes @k2m12+cpt of @k2m12; usual is cpt, or"
            " miniature-cpt in the miniature world; null for none."
        ),
    )
    sft: str | None = Field(
        USUAL,
        description=(
            "Recipe of the supervised fine-tuning that makes @k2m12+cpt+sft of that; usual is sft, or"
            " miniature-sft in the miniature world; null for none."
        ),
    )
    recipes: dict[str, Recipe] = Field(
        dict(RECIPES),
        description=(
            "Ways to train, by name. A recipe of your own is one more entry; of one that is here, write"
            " what differs."
        ),
    )

    @model_validator(mode="after")
    def _recipes_are_known(self) -> "Training":
        for stage in ("cpt", "sft"):
            name = getattr(self, stage)
            if name not in (None, USUAL, *self.recipes):
                raise contradiction(
                    f"{stage} is {name!r}; expected one of the recipes{hint(name, self.recipes)}."
                )
        if self.sft and not self.cpt:
            raise contradiction(
                "sft is set and cpt is null; the sft of a checkpoint goes on from its cpt."
            )
        return self

    def recipe_name(self, stage: str, source: str) -> str | None:
        """The recipe's name; `usual` is the one that fits where models come from."""
        name = getattr(self, stage)
        if name != USUAL:
            return name
        return f"miniature-{stage}" if source == "miniature" else stage

    def stages(self, has_chunks: bool, source: str) -> tuple[tuple[str, ...], ...]:
        """What a checkpoint exists as: untrained, and after each stage that can train it."""
        made: list[tuple[str, ...]] = [()]
        for stage in ("cpt", "sft"):
            name = self.recipe_name(stage, source)
            if name is None or (self.recipes[name].needs_chunks and not has_chunks):
                break
            made.append((*made[-1], stage))
        return tuple(made)

    def unpublished(self, source: str) -> dict[str, str]:
        """By stage the name of its recipe, where that trains otherwise than the published one."""
        names = {stage: self.recipe_name(stage, source) for stage in ("cpt", "sft")}
        return {
            stage: name
            for stage, name in names.items()
            if name is not None and self.recipes[name] != RECIPES[stage]
        }
