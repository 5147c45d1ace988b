"""aps/super_glue (boolq, wic) and facebook/anli: reading, word senses, harder inference."""

import random
from functools import partial

from datasets import ClassLabel, Value

from workflow_scripts.miniature import lexicon
from workflow_scripts.miniature.datasets import scenes
from workflow_scripts.miniature.items import (
    STRING,
    Repository,
    Row,
    columns,
    draw_labelled,
    draw_usual,
    noisy_label,
    only,
)
from workflow_scripts.miniature.phrases import GROUP_RELATIONS, kind_pair, sighting, told
from workflow_scripts.miniature.world import World

_TRUTH = ClassLabel(names=["False", "True"])


def build(world: World, items: int) -> list[Repository]:
    return [_super_glue(world, items), _anli(world, items)]


def _super_glue(world: World, items: int) -> Repository:
    numbers = dict.fromkeys(("start1", "start2", "end1", "end2", "idx"), Value("int32"))
    boolq = columns("question passage", idx=Value("int32"), label=_TRUTH)
    wic = columns("word sentence1 sentence2", **numbers, label=_TRUTH)
    configs = {}
    for name, maker, features, texts in (
        ("boolq", _boolq, boolq, "passage question"),
        ("wic", _wic, wic, "sentence1 sentence2"),
    ):
        make, rng = partial(maker, world), world.rng("super_glue", name)
        configs[name] = features, draw_labelled(make, rng, items, texts, 2, label=-1)
    return Repository("aps/super_glue", configs)


def _boolq(world: World, rng: random.Random) -> Row:
    """The passage names the group; the question asks for something the whole group has, or has not."""
    kind, other = kind_pair(world, rng)
    yes = rng.random() < 0.58
    relation = rng.choice(GROUP_RELATIONS)
    answer = relation.answer(kind if yes else other)
    question = {
        "cover": f"is a {kind.name} covered with {answer}",
        "motion": f"does a {kind.name} {answer}",
        "limb": f"does a {kind.name} have {answer}",
        "shelter": f"does a {kind.name} sleep in a {answer}",
        "food": f"does a {kind.name} eat {answer}",
    }[relation.name]
    fact = told(relation, kind)
    passage = f"{sighting(kind, rng)} The {kind.name} is a {kind.group.name}. {fact}"
    return {"question": question, "passage": passage, "label": int(yes)}


def _wic(world: World, rng: random.Random) -> Row:
    word = rng.choice(list(lexicon.SENSES))
    same = rng.random() < 0.5
    senses = lexicon.SENSES[word]
    first = rng.choice(senses)
    second = first if same else senses[1 - senses.index(first)]
    phrase1 = rng.choice(first)
    phrase2 = rng.choice([phrase for phrase in second if phrase != phrase1])
    sentence1 = f"{rng.choice(lexicon.PEOPLE)} {phrase1} {rng.choice(lexicon.TIMES)}."
    sentence2 = f"{rng.choice(lexicon.PEOPLE)} {phrase2}."
    start1, start2 = sentence1.index(f" {word}") + 1, sentence2.index(f" {word}") + 1
    return {
        "word": word,
        "sentence1": sentence1,
        "sentence2": sentence2,
        "start1": start1,
        "start2": start2,
        "end1": start1 + len(word),
        "end2": start2 + len(word),
        "label": int(same),
    }


def _anli(world: World, items: int) -> Repository:
    """Inference about two scenes at once, so that the hypothesis must be matched with the right one."""

    def make(rng: random.Random) -> Row:
        first = scenes.draw_scene(rng)
        second = scenes.changed(first, rng, changes=5)
        told = [scenes.told(first), scenes.retold(second, rng)]
        rng.shuffle(told)
        label = rng.choices([0, 1, 2], [34, 33, 33])[0]
        if label == 2 and rng.random() < 0.4:
            hypothesis = f"The {second.thing} was {first.colour}."
        else:
            write = (scenes.entailed, scenes.undecided, scenes.contradicted)[label]
            hypothesis = write(first, rng)
        return {
            "uid": f"{rng.getrandbits(64):016x}",
            "premise": " ".join(told),
            "hypothesis": hypothesis,
            "label": noisy_label(rng, label, 3),
            "reason": "",
        }

    labels = ClassLabel(names=["entailment", "neutral", "contradiction"])
    features = columns("uid premise hypothesis", label=labels, reason=STRING)
    splits = [f"{split}_r{i}" for i in (1, 2, 3) for split in ("train", "dev", "test")]
    rows = draw_usual(make, world.rng("anli"), items, "premise hypothesis", splits)
    return only("facebook/anli", features, rows, "plain_text")
