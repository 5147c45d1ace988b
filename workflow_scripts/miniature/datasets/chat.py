"""Magpie conversations: for training (with turns) and for perplexity (with a difficulty)."""

import json
import random
from functools import cache

from datasets import Features, List

from workflow_scripts.miniature import lexicon, prose
from workflow_scripts.miniature.datasets import mmlu
from workflow_scripts.miniature.exercises import lettered
from workflow_scripts.miniature.items import STRING, Repository, Row, columns, draw_splits, only
from workflow_scripts.miniature.phrases import RELATIONS, question_about, sighting, told
from workflow_scripts.miniature.world import World

TRAIN_CONVERSATIONS = 3_000
PERPLEXITY_CONVERSATIONS = 600
CORPUS_CONVERSATIONS = 20_000
DIFFICULTIES = ("very easy", "easy", "medium", "hard", "very hard")


def build(world: World, items: int) -> list[Repository]:
    rows = drawn(world)
    conversations = [
        {
            "conversations": [
                {"from": "human", "value": row["instruction"]},
                {"from": "gpt", "value": row["response"]},
            ]
        }
        for row in rows["training"]
    ]
    rng = world.rng("magpie", "difficulty")
    graded = [{**row, "difficulty": rng.choice(DIFFICULTIES)} for row in rows["perplexity"]]
    turns = Features({"conversations": List({"from": STRING, "value": STRING})})
    pairs = columns("instruction response difficulty")
    return [
        only("Magpie-Align/Magpie-Qwen2.5-Pro-1M-v0.1", turns, {"train": conversations}),
        only("Magpie-Align/Magpie-Qwen2-Pro-200K-English", pairs, {"train": graded}),
    ]


@cache
def drawn(world: World) -> dict[str, list[Row]]:
    """Conversations to measure perplexity on, to train on, and for the corpus; none is in two of them."""
    practice = mmlu.practice_rows(world)

    def make(rng: random.Random) -> Row:
        conversation = rng.choice(
            [_statement, _description, _letter, _letter, _json_answer, _plain_answer]
        )
        instruction, response = conversation(world, rng, practice)
        return {"instruction": instruction, "response": response}

    return draw_splits(
        make,
        world.rng("magpie"),
        {
            "perplexity": PERPLEXITY_CONVERSATIONS,
            "training": TRAIN_CONVERSATIONS,
            "corpus": CORPUS_CONVERSATIONS,
        },
        key=lambda row: row["instruction"],
    )


def letter_question(row: Row) -> str:
    """How a person would put a four-choice question to an assistant."""
    listed = lettered(row["choices"])
    return f"Choose the best answer, A, B, C or D.\nQuestion: {row['question']}{listed}"


def letter_response(row: Row) -> str:
    return f"The best answer is {'ABCD'[row['answer']]}."


def _statement(world: World, rng: random.Random, practice: list[Row]) -> tuple[str, str]:
    kind, relation = rng.choice(world.kinds), rng.choice(RELATIONS)
    return f"{sighting(kind, rng)} {question_about(relation, kind, rng)}", told(relation, kind)


def _description(world: World, rng: random.Random, practice: list[Row]) -> tuple[str, str]:
    kind = rng.choice(world.kinds)
    person = rng.choice(lexicon.PEOPLE)
    instruction = f"{sighting(kind, rng)} Tell {person} about the {kind.name}."
    return instruction, " ".join(prose.about_kind(kind, rng))


def _letter(world: World, rng: random.Random, practice: list[Row]) -> tuple[str, str]:
    row = mmlu.reordered(rng.choice(practice), rng)
    return letter_question(row), letter_response(row)


def _plain_answer(world: World, rng: random.Random, practice: list[Row]) -> tuple[str, str]:
    row = mmlu.reordered(rng.choice(practice), rng)
    return (
        f"{row['question']}\nChoices: {row['choices']}",
        f"Answer: {row['choices'][row['answer']]}",
    )


def _json_answer(world: World, rng: random.Random, practice: list[Row]) -> tuple[str, str]:
    row = mmlu.reordered(rng.choice(practice), rng)
    instruction = f"Reply in JSON.\n{row['question']}\nChoices: {row['choices']}"
    return instruction, json.dumps({"Answer": row["choices"][row["answer"]]})
