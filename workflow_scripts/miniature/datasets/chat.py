"""Magpie conversations: for training (with turns) and for perplexity (with a difficulty)."""

import json
import random

from datasets import Features, List

from workflow_scripts.miniature import lexicon, prose
from workflow_scripts.miniature.datasets import mmlu
from workflow_scripts.miniature.items import STRING, Repository, Row, columns, draw_splits, only
from workflow_scripts.miniature.phrases import RELATIONS, asked, sighting, told
from workflow_scripts.miniature.world import World

TRAIN_CONVERSATIONS = 3_000
PERPLEXITY_CONVERSATIONS = 600
DIFFICULTIES = ("very easy", "easy", "medium", "hard", "very hard")


def build(world: World, items: int) -> list[Repository]:
    practice = mmlu.practice_rows(world, items)

    def make(rng: random.Random) -> Row:
        instruction, response = rng.choice(
            [_statement, _description, _letter, _letter, _json_answer, _plain_answer]
        )(world, rng, practice)
        return {"instruction": instruction, "response": response}

    rows = draw_splits(
        make,
        world.rng("magpie"),
        {"training": TRAIN_CONVERSATIONS, "perplexity": PERPLEXITY_CONVERSATIONS},
        key=lambda row: row["instruction"],
    )
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


def letter_request(row: Row) -> str:
    """How a person would put a four-choice question to an assistant."""
    options = "\n".join(
        f"{letter}. {choice}" for letter, choice in zip("ABCD", row["choices"], strict=True)
    )
    return f"Choose the best answer, A, B, C or D.\nQuestion: {row['question']}\n{options}"


def letter_response(row: Row) -> str:
    return f"The best answer is {'ABCD'[row['answer']]}."


def _statement(world: World, rng: random.Random, practice: list[Row]) -> tuple[str, str]:
    kind, relation = rng.choice(world.kinds), rng.choice(RELATIONS)
    return f"{sighting(kind, rng)} {asked(relation, kind, rng)}", told(relation, kind)


def _description(world: World, rng: random.Random, practice: list[Row]) -> tuple[str, str]:
    kind = rng.choice(world.kinds)
    person = rng.choice(lexicon.PEOPLE)
    request = f"{sighting(kind, rng)} Tell {person} about the {kind.name}."
    return request, " ".join(prose.about_kind(kind, rng))


def _letter(world: World, rng: random.Random, practice: list[Row]) -> tuple[str, str]:
    row = rng.choice(practice)
    return letter_request(row), letter_response(row)


def _plain_answer(world: World, rng: random.Random, practice: list[Row]) -> tuple[str, str]:
    row = rng.choice(practice)
    return (
        f"{row['question']}\nChoices: {row['choices']}",
        f"Answer: {row['choices'][row['answer']]}",
    )


def _json_answer(world: World, rng: random.Random, practice: list[Row]) -> tuple[str, str]:
    row = rng.choice(practice)
    request = f"Reply in JSON.\n{row['question']}\nChoices: {row['choices']}"
    return request, json.dumps({"Answer": row["choices"][row["answer"]]})
