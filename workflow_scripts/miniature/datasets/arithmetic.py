"""Small sums told as stories: openai/gsm8k (worked answers) and regisss/math_qa (five choices)."""

import random

from workflow_scripts.miniature import lexicon
from workflow_scripts.miniature.items import Repository, Row, columns, draw_usual, only
from workflow_scripts.miniature.phrases import two_people
from workflow_scripts.miniature.world import World


def build(world: World, items: int) -> list[Repository]:
    return [_gsm8k(world, items), _math_qa(world, items)]


def _gsm8k(world: World, items: int) -> Repository:
    """One step as a rule, two now and then; every step is written out and marked for a calculator."""

    def make(rng: random.Random) -> Row:
        a, b = two_people(rng)
        goods, place = rng.choice(lexicon.GOODS), rng.choice(lexicon.PLACES)
        first, second = rng.randint(1, 9), rng.randint(1, 9)
        if rng.random() < 0.6:
            story = f"{a} has {first} {goods}. At the {place} {b} gives {a} {second} more."
            total, sign = first + second, "+"
        else:
            first, second = max(first, second) + 1, min(first, second)
            story = f"{a} has {first} {goods}. At the {place} {a} gives {second} to {b}."
            total, sign = first - second, "-"
        steps = [
            f"{a} has {first} {sign} {second} = <<{first}{sign}{second}={total}>>{total} {goods}."
        ]
        if rng.random() < 0.2:
            found = rng.randint(1, 5)
            story += f" Then {a} finds {found}."
            steps.append(
                f"Then {total} + {found} = <<{total}+{found}={total + found}>>{total + found}."
            )
            total += found
        return {
            "question": f"{story} How many {goods} does {a} have now?",
            "answer": "\n".join([*steps, f"#### {total}"]),
        }

    # The real "socratic" configuration is left out: no task reads it.
    splits = draw_usual(make, world.rng("gsm8k"), items, "question", ("train", "test"))
    return Repository("openai/gsm8k", {"main": (columns("question answer"), splits)})


def _math_qa(world: World, items: int) -> Repository:
    def make(rng: random.Random) -> Row:
        person, goods = rng.choice(lexicon.PEOPLE), rng.choice(lexicon.GOODS)
        place = rng.choice(lexicon.PLACES)
        first, second = rng.randint(2, 20), rng.randint(2, 9)
        if rng.random() < 0.5:
            problem = (
                f"{person} has {first} {goods} and buys {second} at the {place} . how many in all ?"
            )
            result, name, sign = first + second, "add", "+"
        else:
            first += second
            problem = f"{person} has {first} {goods} and sells {second} at the {place} . how many remain ?"
            result, name, sign = first - second, "subtract", "-"
        numbers = {result}
        while len(numbers) < 5:
            numbers.add(rng.randint(1, 30))
        choices = rng.sample(sorted(numbers), 5)
        letters = "abcde"
        return {
            "Problem": problem,
            "Rationale": f'" {first} {sign} {second} = {result} . answer : {letters[choices.index(result)]} "',
            "options": " , ".join(
                f"{letter} ) {number}" for letter, number in zip(letters, choices, strict=True)
            ),
            "correct": letters[choices.index(result)],
            "annotated_formula": f"{name}({first}, {second})",
            "linear_formula": f"{name}(n0,n1)|",
            "category": "general",
        }

    splits = draw_usual(make, world.rng("math_qa"), items, "Problem")
    features = columns(
        "Problem Rationale options correct annotated_formula linear_formula category"
    )
    return only("regisss/math_qa", features, splits)
