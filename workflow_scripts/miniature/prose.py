"""Write prose about the world in the style of an encyclopaedia, a diary or a handbook."""

from random import Random

from workflow_scripts.miniature.phrases import (
    RELATIONS,
    draw_people,
    draw_scene,
    get_pronoun,
    write_entailment,
)
from workflow_scripts.miniature.world import POOLS, Ailment, CreatureGroup, Kind, Town, draw


def write_paragraph(rng: Random) -> str:
    """Write a few sentences on one subject."""
    subjects = {"kind": 30, "group": 8, "town": 12, "ailment": 10, "daily life": 40}
    subject = rng.choices(list(subjects), list(subjects.values()))[0]
    if subject == "daily life":
        return rng.choice(_DAILY_LIFE)(rng)
    (topic,) = draw(rng, subject)
    return describe_kind(rng, topic) if subject == "kind" else describe_topic(rng, topic)


def describe_kind(rng: Random, kind: Kind) -> str:
    facts = [
        relation.write_statement(kind) for relation in rng.sample(RELATIONS, rng.randint(2, 5))
    ]
    return " ".join([f"The {kind.name} is a {kind.size} {kind.group.name}.", *facts])


def describe_topic(rng: Random, topic: CreatureGroup | Town | Ailment) -> str:
    least, *facts = POOLS["descriptions"][type(topic).__name__]
    facts = rng.sample(facts, rng.randint(least, len(facts)))
    return " ".join(facts).format(topic)


def _write_tool(rng: Random) -> str:
    (purpose, tool, action), person = draw(rng, "tool person")
    use = f"So {get_pronoun(person)} took a {tool}, because one can {action} with it."
    return f"{person} wanted to {purpose}. {use}"


def _write_event(rng: Random) -> str:
    a, b = draw_people(rng)
    event, time = draw(rng, "event time")
    action, feeling, next_wish, reason = (part.format(a=a, b=b) for part in event)
    sentences = [
        f"{a} {action} {time}.",
        f"{b} was {feeling}.",
        f"{b} wanted to {next_wish}.",
        f"{a} did it {reason}.",
    ]
    return " ".join(sentences[: rng.randint(2, 4)])


def _write_activity(rng: Random) -> str:
    activity, person = draw(rng, "activity person")
    first, *steps = POOLS["activity"][activity]
    pronoun = get_pronoun(person).capitalize()
    following = [f" {pronoun} {step}." for step in steps[: rng.randint(1, 4)]]
    return f"{activity}: {person} {first}." + "".join(following)


def _write_accident(rng: Random) -> str:
    words = draw(rng, "fragile sturdy")
    return (
        "The {0} fell down with the {1}. The {0} broke into pieces, the {1} stayed whole.".format(
            *words
        )
    )


def _write_sum(rng: Random) -> str:
    first, second = rng.randint(1, 20), rng.randint(1, 9)
    if rng.random() < 0.5:
        return f"{first} + {second} = {first + second}."
    return f"{first + second} - {second} = {first}."


def _write_word(rng: Random) -> str:
    word, sense, person = draw(rng, "opposites senses person")
    phrase = rng.choice(rng.choice(POOLS["senses"][sense]))
    return f"The opposite of {word} is {POOLS['opposites'][word]}. {person} {phrase}."


def _write_review(rng: Random) -> str:
    verdict = rng.choice(["positive", "negative"])
    first, second = rng.sample(POOLS[verdict], 2)
    (work,) = draw(rng, "reviewed")
    return f"The {work} was {first} and {second}. The review was {verdict}."


def _write_scene(rng: Random) -> str:
    scene = draw_scene(rng)
    return f"{scene} {write_entailment(scene, rng)}"


_DAILY_LIFE = (
    _write_tool, _write_event, _write_activity, _write_accident, _write_sum, _write_word, _write_review,
    _write_scene,
)  # fmt: skip
