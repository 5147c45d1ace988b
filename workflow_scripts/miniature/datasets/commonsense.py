"""Everyday sense: tools, activities, feelings, and which noun a sentence means."""

import random

from datasets import ClassLabel, Features, List, Value

from workflow_scripts.miniature import lexicon
from workflow_scripts.miniature.items import (
    STRING,
    Repository,
    Row,
    columns,
    draw_usual,
    only,
    shuffled_choices,
)
from workflow_scripts.miniature.phrases import pronoun, two_people
from workflow_scripts.miniature.world import World


def build(world: World, items: int) -> list[Repository]:
    return [
        _commonsense_qa(world, items),
        _social_iqa(world, items),
        _winogrande(world, items),
        _hellaswag(world, items),
        _piqa(world, items),
    ]


def _commonsense_qa(world: World, items: int) -> Repository:
    def make(rng: random.Random) -> Row:
        purpose, tool, _ = rng.choice(lexicon.TOOLS)
        person, time = rng.choice(lexicon.PEOPLE), rng.choice(lexicon.TIMES)
        question = rng.choice(
            [
                f"What does {person} need to {purpose} {time}?",
                f"{person} wants to {purpose} {time}. What helps?",
            ]
        )
        texts, gold = shuffled_choices(rng, tool, [t for _, t, _ in lexicon.TOOLS], 5)
        return {
            "id": f"{rng.getrandbits(128):032x}",
            "question": question,
            "question_concept": purpose.split()[0],
            "choices": {"label": list("ABCDE"), "text": texts},
            "answerKey": "ABCDE"[gold],
        }

    choices = {"label": List(STRING), "text": List(STRING)}
    features = columns("id question question_concept", choices=choices, answerKey=STRING)
    splits = draw_usual(make, world.rng("commonsense_qa"), items, "question", answerKey="")
    return only("tau/commonsense_qa", features, splits)


def _social_iqa(world: World, items: int) -> Repository:
    questions = (
        ("How would {b} feel as a result?", "{0}"),
        ("What will {b} want to do next?", "{0}"),
        ("Why did {a} do this?", "{0}"),
    )

    def make(rng: random.Random) -> Row:
        """Two things happen, to two pairs of people; the question is about one, an answer about the other."""
        a, b, c, d = rng.sample(lexicon.PEOPLE, 4)
        event, beside, neither = rng.sample(lexicon.EVENTS, 3)
        aspect = rng.randrange(3)
        right, *wrong = (
            happened[1 + aspect].format(a=a, b=b) for happened in (event, beside, neither)
        )
        answers, gold = shuffled_choices(rng, right, [right, *wrong], 3)
        told = [
            f"{doer} {happened[0].format(b=other)} {rng.choice(lexicon.TIMES)}."
            for doer, happened, other in rng.sample([(a, event, b), (c, beside, d)], 2)
        ]
        context = " ".join(told)
        return {
            "context": context,
            "question": questions[aspect][0].format(a=a, b=b),
            "answerA": answers[0],
            "answerB": answers[1],
            "answerC": answers[2],
            "label": str(gold + 1),
        }

    splits = draw_usual(
        make, world.rng("social_iqa"), items, "context question", ("train", "validation")
    )
    features = columns("context question answerA answerB answerC label")
    return only("lighteval/siqa", features, splits)


def _winogrande(world: World, items: int) -> Repository:
    """Half of the sentences turn on what a thing is like, the others on who did what to whom."""

    def make(rng: random.Random) -> Row:
        time = rng.choice(lexicon.TIMES)
        if rng.random() < 0.55:
            fragile, sturdy = rng.choice(lexicon.FRAGILE), rng.choice(lexicon.STURDY)
            nouns = [f"the {fragile}", f"the {sturdy}"]
            broke = rng.random() < 0.5
            ending = "broke into pieces." if broke else "stayed whole."
            right = nouns[0] if broke else nouns[1]
            options = rng.sample(nouns, 2)
            witness = rng.choice(lexicon.PEOPLE)
            opening = f"{witness} saw that {options[0]} hit {options[1]} and _ {ending}"
        else:
            options = list(two_people(rng))
            verb, of_first, of_second = rng.choice(
                [
                    ("taught", "knew it well.", "was eager to learn."),
                    ("thanked", "was grateful for the help.", "had helped a lot."),
                    ("rescued", "was brave.", "had fallen into the water."),
                    ("paid", "had bought a coat.", "had sold a coat."),
                ]
            )
            first_meant = rng.random() < 0.5
            right = options[0] if first_meant else options[1]
            ending = of_first if first_meant else of_second
            opening = f"{options[0]} {verb} {options[1]} {time} because _ {ending}"
        choices = rng.sample(options, 2)
        return {
            "sentence": opening,
            "option1": choices[0],
            "option2": choices[1],
            "answer": str(choices.index(right) + 1),
        }

    features = columns("sentence option1 option2 answer")
    # The key leaves the ending out: of two sentences that differ in nothing else, one is kept.
    splits = draw_usual(
        make,
        world.rng("winogrande"),
        items,
        key=lambda row: row["sentence"].split("_")[0],
        answer="",
    )
    return Repository("allenai/winogrande", {"winogrande_xl": (features, splits)})


def _hellaswag(world: World, items: int) -> Repository:
    def make(rng: random.Random) -> Row:
        activity, steps = rng.choice(list(lexicon.ACTIVITIES.items()))
        person = rng.choice(lexicon.PEOPLE)
        next_step = rng.randrange(1, len(steps))
        opening = f"{person} is at the {rng.choice(lexicon.PLACES)} {rng.choice(lexicon.TIMES)}."
        told = " ".join(f"{person} {step}." for step in steps[max(0, next_step - 2) : next_step])
        pool = [
            step for other in lexicon.ACTIVITIES.values() for step in other if other is not steps
        ]
        if rng.random() < 0.4:
            pool = [*steps, *rng.sample(pool, 2)]
        endings, gold = shuffled_choices(rng, steps[next_step], pool, 4)
        ctx_a, ctx_b = f"{opening} {told}", pronoun(person)
        return {
            "ind": rng.randrange(100_000),
            "activity_label": activity,
            "ctx_a": ctx_a,
            "ctx_b": ctx_b,
            "ctx": f"{ctx_a} {ctx_b}",
            "endings": [f"{ending}." for ending in endings],
            "source_id": f"miniature~v_{rng.getrandbits(40):010x}",
            "split_type": "indomain",
            "label": str(gold),
        }

    splits = draw_usual(make, world.rng("hellaswag"), items, "ctx", label="")
    short = {"train": "train", "validation": "val", "test": "test"}
    splits = {
        split: [{**row, "split": short[split]} for row in rows] for split, rows in splits.items()
    }
    features = Features(
        {"ind": Value("int32")}
        | columns("activity_label ctx_a ctx_b ctx", endings=List(STRING))
        | columns("source_id split split_type label")
    )
    return only("Rowan/hellaswag", features, splits)


def _piqa(world: World, items: int) -> Repository:
    def make(rng: random.Random) -> Row:
        purpose, tool, deed = rng.choice(lexicon.TOOLS)
        person, time = rng.choice(lexicon.PEOPLE), rng.choice(lexicon.TIMES)
        goal = rng.choice(
            [f"{person} wants to {purpose} {time}.", f"How does {person} {purpose} {time}?"]
        )
        _, wrong_tool, wrong_deed = rng.choice([t for t in lexicon.TOOLS if t[1] != tool])
        right = f"take a {tool} and {deed} with it."
        if rng.random() < 0.7:
            wrong = f"take a {wrong_tool} and {wrong_deed} with it."
        else:
            wrong = f"take a {wrong_tool} and {deed} with it."
        label = int(rng.random() < 0.5)
        solutions = (right, wrong) if label == 0 else (wrong, right)
        return {"goal": goal, "sol1": solutions[0], "sol2": solutions[1], "label": label}

    features = columns("goal sol1 sol2", label=ClassLabel(names=["0", "1"]))
    splits = draw_usual(make, world.rng("piqa"), items, "goal", label=-1)
    return only("baber/piqa", features, splits)
