"""Text about the world: what an encyclopaedia, a diary or a handbook of it would say."""

import random

from workflow_scripts.miniature import lexicon
from workflow_scripts.miniature.datasets import scenes
from workflow_scripts.miniature.phrases import RELATIONS, pronoun, told, two_people
from workflow_scripts.miniature.world import Ailment, Kind, Town, World


def about_kind(kind: Kind, rng: random.Random) -> list[str]:
    facts = [told(relation, kind) for relation in rng.sample(RELATIONS, rng.randint(2, 5))]
    return [f"The {kind.name} is a {kind.size} {kind.group.name}.", *facts]


def about_group(rng: random.Random) -> list[str]:
    g = rng.choice(lexicon.GROUPS)
    facts = [
        f"All {g.plural} have {g.cover if g.cover != 'shell' else 'a shell'}.",
        f"With their {g.limb}, {g.plural} {g.motion}.",
        f"They sleep in a {g.shelter} and feed on {g.food}.",
    ]
    return rng.sample(facts, rng.randint(1, 3))


def about_town(town: Town, rng: random.Random) -> list[str]:
    facts = [
        f"The town of {town.name} is ruled by {town.ruler}.",
        f"The river {town.river} flows through {town.name}.",
        f"{town.name} is known for its {town.craft}.",
    ]
    return rng.sample(facts, rng.randint(2, 3))


def about_ailment(ailment: Ailment, rng: random.Random) -> list[str]:
    facts = [
        f"{ailment.name.capitalize()} is an illness of the {ailment.organ}.",
        f"The first symptom of {ailment.name} is {ailment.symptom}.",
        f"Against {ailment.name}, {ailment.remedy} is the best remedy.",
    ]
    return rng.sample(facts, rng.randint(2, 3))


def about_tool(rng: random.Random) -> list[str]:
    purpose, tool, deed = rng.choice(lexicon.TOOLS)
    person = rng.choice(lexicon.PEOPLE)
    return [
        f"{person} wanted to {purpose}.",
        f"So {pronoun(person)} took a {tool}, because one can {deed} with it.",
    ]


def about_event(rng: random.Random) -> list[str]:
    a, b = two_people(rng)
    deed, feeling, next_wish, reason = rng.choice(lexicon.EVENTS)
    sentences = [
        f"{a} {deed.format(b=b)} {rng.choice(lexicon.TIMES)}.",
        f"{b} was {feeling}.",
        f"{b} wanted to {next_wish.format(a=a)}.",
        f"{a} did it {reason.format(b=b)}.",
    ]
    return sentences[: rng.randint(2, 4)]


def about_activity(rng: random.Random) -> list[str]:
    activity, steps = rng.choice(list(lexicon.ACTIVITIES.items()))
    person = rng.choice(lexicon.PEOPLE)
    told_steps = [f"{pronoun(person).capitalize()} {step}." for step in steps]
    return [f"{activity}: {person} {steps[0]}.", *told_steps[1 : rng.randint(2, 5)]]


def about_accident(rng: random.Random) -> list[str]:
    fragile, sturdy = rng.choice(lexicon.FRAGILE), rng.choice(lexicon.STURDY)
    return [
        f"The {fragile} fell down with the {sturdy}. The {fragile} broke into pieces, the {sturdy} stayed whole."
    ]


def about_sum(rng: random.Random) -> list[str]:
    first, second = rng.randint(1, 20), rng.randint(1, 9)
    if rng.random() < 0.5:
        return [f"{first} + {second} = {first + second}."]
    return [f"{first + second} - {second} = {first}."]


def about_word(rng: random.Random) -> list[str]:
    word, opposite = rng.choice(list(lexicon.OPPOSITES.items()))
    senses = rng.choice(list(lexicon.SENSES.values()))
    return [
        f"The opposite of {word} is {opposite}.",
        f"{rng.choice(lexicon.PEOPLE)} {rng.choice(rng.choice(senses))}.",
    ]


def about_review(rng: random.Random) -> list[str]:
    words, verdict = rng.choice([(lexicon.POSITIVE, "positive"), (lexicon.NEGATIVE, "negative")])
    first, second = rng.sample(words, 2)
    return [
        f"The {rng.choice(lexicon.REVIEWED)} was {first} and {second}.",
        f"The review was {verdict}.",
    ]


def about_scene(rng: random.Random) -> list[str]:
    scene = scenes.draw_scene(rng)
    return [scenes.told(scene), scenes.entailed(scene, rng)]


def paragraph(world: World, rng: random.Random) -> str:
    """A few sentences on one subject."""
    subject = rng.choices(
        ["kind", "group", "town", "ailment", "other"], weights=[30, 8, 12, 10, 40]
    )[0]
    if subject == "kind":
        sentences = about_kind(rng.choice(world.kinds), rng)
    elif subject == "group":
        sentences = about_group(rng)
    elif subject == "town":
        sentences = about_town(rng.choice(world.towns), rng)
    elif subject == "ailment":
        sentences = about_ailment(rng.choice(world.ailments), rng)
    else:
        sentences = rng.choice(_OF_DAILY_LIFE)(rng)
    return " ".join(sentences)


_OF_DAILY_LIFE = (
    about_tool, about_event, about_activity, about_accident, about_sum, about_word, about_review,
    about_scene,
)  # fmt: skip
