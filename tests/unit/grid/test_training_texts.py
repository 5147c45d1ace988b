"""Test that training texts have exactly the tokens that the evaluator uses in the test."""

from functools import cache

import lm_eval
import pytest

from tests.tiny_models import make_tiny_model
from tests.tiny_tokenizers import FAMILIES, tokenizer_like
from tests.unit.grid.test_splits import TASKS
from tests.unit.watched import make_watched_model
from workflow_scripts.evaluation.encoding import Encoder
from workflow_scripts.grid.training_texts import TrainingTextBuilder
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.hub.tasks import load_tasks
from workflow_scripts.settings.harmony import TaskRecipe
from workflow_scripts.training.samples import BadSamples

ITEMS = 3
RECIPE = TaskRecipe(max_length=10_000)


@cache
def load_task(name):
    (task,) = load_tasks([name]).values()
    return task


@cache
def get_encoder(family):
    tokenizer = tokenizer_like(family)
    return Encoder(tokenizer, make_tiny_model("qwen2", len(tokenizer)).config)


def make_texts(task, recipe, *, chat, family="llama_3"):
    return TrainingTextBuilder(task, get_encoder(family), recipe, chat=chat)


def evaluate(task, documents, family, *, chat):
    """Evaluate the training items as test items of the task with lm-eval."""
    task.set_config("num_fewshot", 0)
    task.set_config("test_split", task.config.training_split)
    assert list(task.eval_docs)[: len(documents)] == documents
    model, name = make_watched_model(tokenizer_like(family)), task.config.task
    lm_eval.evaluate(
        lm=model,
        task_dict={"tasks": {name: task}},
        samples={name: list(range(len(documents)))},
        apply_chat_template=chat,
        bootstrap_iters=0,
    )
    return model


def make_samples(task, documents, family, *, chat, recipe=RECIPE):
    texts, bad = make_texts(task, recipe, chat=chat, family=family), BadSamples()
    samples = list(texts.build_samples(documents, bad))
    assert not +bad
    return [
        (texts.build_text(d), s.tokens.tolist()) for d, s in zip(documents, samples, strict=True)
    ]


@pytest.mark.parametrize("name", TASKS)
def test_training_tokens_equal_test(world, name):
    """Compare all tokens, including BOS, spaces and template; each task covers a third of the tokenizer families."""
    with mirror(world):
        task = load_task(name)
        documents = list(task.training_docs())[:ITEMS]
        cells = [(family, chat) for family in FAMILIES for chat in (False, True)]
        for family, chat in cells[TASKS.index(name) % 3 :: 3]:
            tokenizer, starts = tokenizer_like(family), FAMILIES[family]
            samples = make_samples(task, documents, family, chat=chat)
            test = evaluate(task, documents, family, chat=chat)
            for text, (*tokens, end) in samples:
                assert end == tokenizer.eos_token_id
                if task.OUTPUT_TYPE == "generate_until":
                    (context,) = (
                        prompt for prompt in test.generated_from if prompt == tokens[: len(prompt)]
                    )
                    answer = tokenizer.decode([*context[-1:], *tokens[len(context) :]])
                    assert answer.endswith(text.answer.strip())
                else:
                    context, continuation = test.scored[text.prompt, text.answer]
                    assert tokens == [*context, *continuation]
                start = tokenizer.bos_token_id
                assert tokens.count(start) == starts and (not starts or tokens[0] == start)


SYSTEM = "<|start_header_id|>system<|end_header_id|>\n\nYou are helpful<|eot_id|>"  # Llama 3's
PUBLISHED = RECIPE.model_copy(update={"training_text": "published"})


def build_published_pair(task, row):
    """Build prompt and answer from the description in resources/published/README.md."""
    question, target = task.doc_to_text(row), task.doc_to_target(row)
    if task.config.task == "winogrande":
        beginning, ending = row["sentence"].split("_")
        return beginning + row[f"option{row['answer']}"], ending.strip()
    if isinstance(target, list):
        return question, " ".join(row["answer"])
    if isinstance(target, int):
        target = task.doc_to_choice(row)[target]
    return question, target


@pytest.mark.parametrize("name", TASKS)
def test_published_text(world, name):
    with mirror(world):
        task = load_task(name)
        plain, chat = (make_texts(task, PUBLISHED, chat=chat) for chat in (False, True))
        for row in list(task.training_docs())[:10]:
            question, answer = build_published_pair(task, row)
            assert plain.build_text(row).full_text == f"{question} {answer}"
            rendered = chat.build_text(row)
            user = f"<|start_header_id|>user<|end_header_id|>\n\n{question.strip()}<|eot_id|>"
            assistant = "<|start_header_id|>assistant<|end_header_id|>\n\n"
            assert rendered.full_text == (
                f"<|begin_of_text|>{SYSTEM}{user}{assistant}{answer.strip()}<|eot_id|>"
            )
            assert rendered.answer == f"{answer.strip()}<|eot_id|>"


@pytest.mark.parametrize("family", FAMILIES)
def test_published_text_tokens(world, family):
    """Tokenize like TRL: with BOS, and with EOS unless a chat template ends the turn."""
    tokenizer = tokenizer_like(family)
    with mirror(world):
        task = load_task("nq_open")
        rows = list(task.training_docs())[:ITEMS]
        for chat in (False, True):
            for text, tokens in make_samples(task, rows, family, chat=chat, recipe=PUBLISHED):
                end = [] if chat else [tokenizer.eos_token_id]
                adds = not text.full_text.startswith(tokenizer.bos_token or "\0")
                assert (
                    tokens == tokenizer(text.full_text, add_special_tokens=adds)["input_ids"] + end
                )
                assert tokens.count(tokenizer.bos_token_id) == FAMILIES[family]
