"""Questions with free answers (nq_open) and with tempting false ones (truthful_qa)."""

import random

from datasets import List, Value

from workflow_scripts.miniature import lexicon
from workflow_scripts.miniature.items import STRING, Repository, Row, columns, draw_usual, only
from workflow_scripts.miniature.phrases import GROUP_RELATIONS, question_about, told
from workflow_scripts.miniature.world import World


def build(world: World, items: int) -> list[Repository]:
    return [_nq_open(world, items), _truthful_qa(world, items)]


def _nq_open(world: World, items: int) -> Repository:
    """Short facts about towns and creatures; a trailing remark makes each question one of a kind."""

    def make(rng: random.Random) -> Row:
        remark = f"{rng.choice(lexicon.PEOPLE)} asked {rng.choice(lexicon.TIMES)}"
        if rng.random() < 0.5:
            town = rng.choice(world.towns)
            name = town.name
            question, answers = rng.choice(
                [
                    (f"who rules the town of {name}", [town.ruler, f"{town.ruler} of {name}"]),
                    (f"which river flows through {name}", [town.river, f"the {town.river}"]),
                    (f"what is made in the town of {name}", [town.craft]),
                ]
            )
        else:
            kind = rng.choice(world.kinds)
            group = kind.group.name
            question, answers = rng.choice(
                [
                    (f"where does the {kind.name} live", [kind.home, f"near the {kind.home}"]),
                    (f"what colour is the {kind.name}", [kind.colour]),
                    (f"what sort of creature is the {kind.name}", [group, f"a {group}"]),
                ]
            )
        return {"question": f"{remark} {question}", "answer": answers}

    splits = draw_usual(make, world.rng("nq_open"), items, "question", ("train", "validation"))
    features = columns("question", answer=List(STRING))
    return only("google-research-datasets/nq_open", features, splits, "nq_open")


def _truthful_qa(world: World, items: int) -> Repository:
    """What is true of a kind, told in two forms, against what is true of others."""

    def make(rng: random.Random) -> Row:
        kind, relation = rng.choice(world.kinds), rng.choice(GROUP_RELATIONS)
        person, time = rng.choice(lexicon.PEOPLE), rng.choice(lexicon.TIMES)
        right = relation.answer(kind)
        wrong = [answer for answer in relation.answers if answer != right]
        question = question_about(relation, kind, rng)
        true = [told(relation, kind), f"{person} says: {told(relation, kind)}"]
        false = [told(relation, kind, answer) for answer in rng.sample(wrong, 3)]
        false[0] = f"{person} says: {false[0]}"
        true = true[: rng.choice([1, 2, 2])]
        return {
            "question": f"{time.capitalize()} {person} wonders: {question}",
            "mc1_targets": {"choices": [true[0], *false], "labels": [1, 0, 0, 0]},
            "mc2_targets": {
                "choices": [*true, *false],
                "labels": [1] * len(true) + [0] * len(false),
            },
        }

    targets = {"choices": List(STRING), "labels": List(Value("int32"))}
    features = columns("question", mc1_targets=targets, mc2_targets=targets)
    generation = columns(
        "type category question best_answer",
        correct_answers=List(STRING),
        incorrect_answers=List(STRING),
        source=STRING,
    )
    splits = draw_usual(make, world.rng("truthful_qa"), items, "question", ("validation",))
    free = [
        {
            "type": "Adversarial",
            "category": "Creatures",
            "question": row["question"],
            "best_answer": row["mc1_targets"]["choices"][0],
            "correct_answers": _labelled(row, 1),
            "incorrect_answers": _labelled(row, 0),
            "source": "miniature",
        }
        for row in splits["validation"]
    ]
    return Repository(
        "truthfulqa/truthful_qa",
        {"generation": (generation, {"validation": free}), "multiple_choice": (features, splits)},
    )


def _labelled(row: Row, label: int) -> list[str]:
    targets = row["mc2_targets"]
    return [c for c, own in zip(targets["choices"], targets["labels"], strict=True) if own == label]
