"""What training is asked: plain values there and back, and nothing that does not decide the outcome."""

import pytest

from tests.unit.settings.merged import load
from tests.unit.training.small import drawn_samples, keys_of
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.training import Recipe, SampleKeys
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.checkpoint_stage import refuse_too_few
from workflow_scripts.training.lesson import Lesson
from workflow_scripts.training.requests import SamplesRequest, StageRequest


def stage_of(recipe: Recipe) -> StageRequest:
    return StageRequest(
        id="org/net@k2m12+cpt",
        recipe="own",
        keys=TrainingKeys.part_of(recipe),
        validation=recipe.validation,
        seed=0,
        device="auto",
        attention="auto",
        threads=1,
    )


def samples_of(recipe: Recipe) -> SamplesRequest:
    return SamplesRequest(hub="hub", keys=SampleKeys.part_of(recipe), max_length=recipe.max_length)


def test_how_to_train_leaves_the_samples_as_they_are_and_their_source_the_training():
    recipe = load({}).training.recipes["cpt"]
    other_rate = recipe.model_copy(update={"learning_rate": 1e-4})
    assert samples_of(recipe) == samples_of(other_rate)
    assert stage_of(recipe).sha256 != stage_of(other_rate).sha256
    other_split = recipe.model_copy(update={"split": "validation"})
    assert samples_of(recipe) != samples_of(other_split)
    assert stage_of(recipe) == stage_of(other_split)
    longer = recipe.model_copy(update={"max_length": 4096})
    assert samples_of(recipe) != samples_of(longer)


def test_the_keys_of_a_recipe_are_those_of_its_two_parts_and_the_held_out_share():
    parts = [*TrainingKeys.model_fields, *SampleKeys.model_fields]
    assert list(Recipe.model_fields) == [*parts, "validation"]


def test_more_tokens_than_the_samples_have_are_refused():
    keys = keys_of(max_steps=14, batch_size=4)
    request = stage_of(load({}).training.recipes["cpt"]).model_copy(update={"keys": keys})
    lesson = Lesson(drawn_samples(40), keys, seed=0, belongs_to={})
    refuse_too_few(lesson, request)
    longer = request.model_copy(update={"id": "org/net@k2m12+cpt.2k"})
    with pytest.raises(UserError, match=r"14 steps of 4 samples.* enough for 10 in 1 epoch;"):
        refuse_too_few(lesson, longer)
