"""Configure the grid of models and tasks: rankings before and after fine-tuning on each task."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from workflow_scripts.core.errors import format_suggestion
from workflow_scripts.settings.names import CheckpointName, CsvFile, LmEvalTaskName, TextFile
from workflow_scripts.settings.section import Count, Listed, NonNegative, Section
from workflow_scripts.settings.training_keys import TrainingKeys

Protocol = Literal["direct", "few_shot", "train_before_test"]
Draws = Literal["own", "published"]


class TaskRecipe(TrainingKeys):
    """Recipe by which a model is trained on a task before its test."""

    max_training_items: Count | None = 50_000
    """Maximum number of training items, sampled as harmony.draws says; null takes all."""
    max_validation_items: Count | None = 1_000
    """Maximum number of validation items, which select the epoch, sampled as harmony.draws says;
    null takes all."""
    val_fraction: float = Field(0.2, gt=0, lt=1)
    """Fraction of the training items held out for validation, for tasks without separate validation
    and test splits."""
    select_on_test: bool = False
    """Select the epoch on test items if a task has one split for both validation and test, as the
    published code does on medmcqa; false holds out training items instead."""
    loss_on: Literal["all", "completion"] = "all"
    """Tokens in the loss: all of the text, or the completion (the answer) alone."""
    training_text: Literal["as_tested", "published"] = "as_tested"
    """Text of a training item: as_tested, the evaluator's request for the item, with the correct
    answer; published, as in the published code, the question, a space and every accepted answer,
    without the task's description."""

    @property
    def protocol_keys(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude=set(TrainingKeys.model_fields))


class Harmony(Section):
    models: Listed[CheckpointName]
    """Models to rank, by name, or by folder (./my-checkpoint), and checkpoints that chunking and
    training make, such as miniature/Qwen2-1M-Instruct@k2m12+cpt. An empty list measures none:
    imported scores are then a study of their own, and without any there is none."""
    tasks: Listed[LmEvalTaskName] = Field(min_length=1)
    """Tasks to rank the models on, by name. Tasks without a training split have only the protocol
    direct. If `models` is empty, imported scores are ranked on all tasks that they have."""
    protocols: Listed[Protocol] = Field(min_length=1)
    """direct: zero-shot, without training; few_shot: with `shots` examples before each item;
    train_before_test: zero-shot, after training on the task with `recipe`."""
    max_test_items: Count | None
    """Maximum number of test items of a task, sampled as `draws` says; null takes all."""
    draws: Draws
    """How training, validation and test items are sampled. own: by the seed, the task's name and
    the split; published: as in the published code, by numpy's permutation under seed 0 for each
    sample, whatever the seed."""
    shots: Count
    """Number of examples in the protocol few_shot."""
    chat_template: bool
    """Apply the model's chat template to every item, in training and test."""
    recipe: str | None
    """Name of the recipe that trains before the test; null is published, or miniature in the
    miniature world."""
    recipes: dict[str, TaskRecipe]
    """Recipes for training before a test, by name. Add your own as a new entry; to change one of
    these, set only the keys that differ."""
    panel: CsvFile | None
    """Reference models, among which the ranks of other models are predicted: a CSV file with the
    columns of imported_scores and a score of each model on all tasks. Null is
    resources/published/harmony_leaderboard.csv."""
    seeds: Listed[NonNegative]
    """Train each cell once with each of these seeds; tables show the mean. An empty list trains
    once, with the config's seed."""
    imported_scores: Listed[CsvFile]
    """CSV files of external scores to rank with ours: columns model, task, protocol (direct,
    few_shot or train_before_test), metric, value and, if known, stderr and n.
    resources/published/harmony_leaderboard.csv is accepted too."""
    corpora: dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$")], TextFile]
    """Your text files by name; measured are the bits per byte of their last tenth, before and after
    training on their first eight tenths."""
    num_bootstrap: int = Field(ge=10)
    """Number of bootstrap samples for each interval of agreement, components and ranks."""

    def find_contradictions(self) -> Iterator[str]:
        if self.recipe is not None and self.recipe not in self.recipes:
            near = format_suggestion(self.recipe, self.recipes)
            yield f"recipe is {self.recipe!r}; expected one of the recipes.{near}"
