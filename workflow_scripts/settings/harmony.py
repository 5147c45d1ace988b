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
    """Training items, drawn as harmony.draws says; null takes all of them."""
    max_validation_items: Count | None = 1_000
    """Items to choose the epoch on, drawn as harmony.draws says; null takes all of them."""
    val_fraction: float = Field(0.2, gt=0, lt=1)
    """Share of the training items held out to choose on, for tasks without a validation split
    beside their test split."""
    select_on_test: bool = False
    """Choose the epoch on items of the test where a task names one split for both, as the published
    code does on medmcqa; false holds out training items instead."""
    loss_on: Literal["all", "completion"] = "all"
    """What counts in the loss: the whole text, or the answer alone."""
    training_text: Literal["as_tested", "published"] = "as_tested"
    """What is trained on: as_tested, the request that the evaluator makes of an item, with the
    right answer; published, the question, a space and the answer as the published code puts them,
    without the task's description, and with every accepted answer where there are several."""

    @property
    def protocol_keys(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude=set(TrainingKeys.model_fields))


class Harmony(Section):
    models: Listed[CheckpointName]
    """Models to rank, by name, or by folder (./my-checkpoint), and checkpoints that chunking and
    training make, such as miniature/Qwen2-1M-Instruct@k2m12+cpt. An empty list measures none:
    imported scores are then a study of their own, and without any there is none."""
    tasks: Listed[LmEvalTaskName] = Field(min_length=1)
    """Tasks to rank them on, by name. Those without a training split are measured directly only.
    Imported scores without models of ours are ranked on all tasks that they have."""
    protocols: Listed[Protocol] = Field(min_length=1)
    """direct: as the model is, zero-shot; few_shot: `shots` examples in front of each item;
    train_before_test: after training on the task, by `recipe`."""
    max_test_items: Count | None
    """Test items of a task, drawn as `draws` says; null takes all of them."""
    draws: Draws
    """How items are drawn: for the test, for training, to hold out and to choose on. own, by the
    seed, the task's name and the purpose; published, by numpy's permutation under seed 0, anew for
    each draw and whatever the seed, as the published code draws."""
    shots: Count
    """Worked examples in the protocol few_shot."""
    chat_template: bool
    """Put every item, in training and test, into the model's chat template."""
    recipe: str | None
    """Which of the recipes trains before the test; null is published, or miniature in the miniature
    world."""
    recipes: dict[str, TaskRecipe]
    """Ways to train before a test, by name. One of your own is one more entry; of one that is here,
    write what differs."""
    panel: CsvFile | None
    """Models with scores on all tasks, among which others are placed: a CSV file in the columns of
    imported_scores; null is resources/published/harmony_leaderboard.csv."""
    seeds: Listed[NonNegative]
    """Train each cell once with each of these seeds; tables show the mean. Empty: once, with the
    seed of the config."""
    imported_scores: Listed[CsvFile]
    """CSV files of other people's scores to rank beside ours: columns model, task, protocol
    (direct, few_shot or train_before_test), metric, value and, where known, stderr and n;
    resources/published/harmony_leaderboard.csv is read as it is."""
    corpora: dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$")], TextFile]
    """Text files of your own, by name: bits per byte of their last tenth, before and after training
    on their first eight."""
    num_bootstrap: int = Field(ge=10)
    """Draws behind each interval of agreement, components and ranks."""

    def find_contradictions(self) -> Iterator[str]:
        if self.recipe is not None and self.recipe not in self.recipes:
            near = format_suggestion(self.recipe, self.recipes)
            yield f"recipe is {self.recipe!r}; expected one of the recipes.{near}"
