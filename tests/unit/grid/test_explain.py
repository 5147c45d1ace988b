"""A training item as trained on beside a test item: what a person reads is what the trainer gets."""

import re

import pytest

from tests.tiny_tokenizers import tokenizer_like
from tests.unit.conftest import placed
from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.encoding import Encoder
from workflow_scripts.evaluation.shown_tokens import with_texts
from workflow_scripts.grid.explain import explain_training
from workflow_scripts.grid.requests import ExplainTrainingRequest
from workflow_scripts.grid.splits import load_splits
from workflow_scripts.grid.training_texts import TrainingTexts
from workflow_scripts.hub.load import load_tokenizer
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.settings.harmony import TaskRecipe
from workflow_scripts.training.samples import BadSamples

RECIPE = TaskRecipe(max_training_items=24)


@pytest.fixture(scope="module")
def manifests(world, model_manifest):
    return [placed(world, "Llama-0.3M"), model_manifest]  # the first has a chat template


@pytest.fixture
def explain(world, manifests, tmp_path, monkeypatch):
    """By model what was written of it; no weights can be loaded for it."""
    from transformers import AutoModelForCausalLM

    monkeypatch.delattr(AutoModelForCausalLM, "from_pretrained")

    def explain(task, number, recipe=RECIPE, chat=False):
        asked = ExplainTrainingRequest(
            task=task, number=number, recipe=recipe, chat_template=chat, seed=0
        )
        explain_training(manifests, world, tmp_path / "explained.txt", asked)
        head, *parts = (tmp_path / "explained.txt").read_text().split("\n==== ")
        assert head.startswith(f"task          {task}\ntraining item {number} of 24")
        return dict(zip(manifests, parts, strict=True))

    return explain


def columns(part: str) -> tuple[list[tuple[bool, int]], list[tuple[bool, int]]]:
    """Whether each token is in the answer, and its number: as trained on, and as tested."""
    lines = part.split("---- tokens")[1].splitlines()[1:]
    sides = [[], []]
    for line in lines:
        for side, cell in zip(sides, (line[:45], line[46:]), strict=True):
            if found := re.match(r" ?([> ]) +(\d+) ['\"]", cell):
                side.append((found[1] == ">", int(found[2])))
    return tuple(sides)


@pytest.mark.parametrize("name", ["sst2", "winogrande", "nq_open", "wikitext"])
def test_the_tokens_shown_are_those_of_the_sample(world, manifests, explain, name):
    parts = explain(name, 3)
    with mirror(world):
        splits = load_splits(name, RECIPE, seed=0)
        for manifest, part in parts.items():
            from transformers import AutoConfig

            tokenizer = load_tokenizer(manifest)
            encoder = Encoder(tokenizer, AutoConfig.from_pretrained(manifest.parent))
            texts = TrainingTexts(splits.test, encoder, RECIPE, chat=False)
            (sample,) = texts.samples([splits.training[3]], BadSamples())
            trained, tested = columns(part)
            assert [token for _, token in trained] == sample.tokens.tolist()
            assert texts.text(splits.training[3]).whole in part
            assert trained[-1] == (True, tokenizer.eos_token_id)
            starts = tokenizer("a")["input_ids"][0] == tokenizer.bos_token_id
            assert (trained[0][1] == tested[0][1] == tokenizer.bos_token_id) or not starts
            generated = splits.test.OUTPUT_TYPE == "generate_until"
            assert any(marked for marked, _ in tested) != generated, "of a generated answer none"


def test_in_a_chat_a_model_without_template_is_told_and_stops_no_other(manifests, explain):
    chat, base = manifests
    parts = explain("gsm8k", 0, chat=True)
    assert "this model has no chat template" in parts[base]
    assert "<|start_header_id|>assistant<|end_header_id|>" in parts[chat]


def test_what_is_cut_is_shown_cut(manifests, explain):
    recipe = RECIPE.model_copy(update={"max_length": 9})
    for part in explain("sst2", 0, recipe).values():
        assert re.search(r"Cut to max_length, 9 of \d+ tokens\.", part)
        assert len(columns(part)[0]) == 9


def test_an_item_that_is_not_there_is_a_sentence(explain):
    with pytest.raises(
        UserError, match=r"training item 24 of sst2; expected a number from 0 to 23\."
    ):
        explain("sst2", 24)


def test_a_task_without_training_items_is_a_sentence(explain):
    with pytest.raises(UserError, match="has no training split"):
        explain("truthfulqa_mc2", 0)


@pytest.mark.parametrize("family", ["qwen", "llama_2", "gemma"])
def test_the_texts_of_tokens_are_the_text(family):
    tokenizer = tokenizer_like(family)
    text = "The fox sees the dog."
    shown = with_texts(tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer)
    assert "".join(one for _, one in shown).removeprefix(" ") == text
