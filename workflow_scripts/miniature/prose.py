"""Text about the world: what an encyclopaedia, a diary or a handbook of it would say."""

from random import Random

from workflow_scripts.miniature.lexicon import POOLS, CreatureGroup
from workflow_scripts.miniature.phrases import RELATIONS, draw_people, get_pronoun
from workflow_scripts.miniature.scenes import draw_scene, entail
from workflow_scripts.miniature.world import Ailment, Kind, Town, draw


def write_paragraph(rng: Random) -> str:
    """Write a few sentences on one subject."""
    subject = rng.choices(
        ["kind", "group", "town", "ailment", "daily life"], weights=[30, 8, 12, 10, 40]
    )[0]
    if subject == "daily life":
        return " ".join(rng.choice(_DAILY_LIFE)(rng))
    (drawn,) = draw(rng, subject)
    describe = describe_kind if subject == "kind" else describe_others
    return " ".join(describe(rng, drawn))


def describe_kind(rng: Random, kind: Kind) -> list[str]:
    facts = [relation.tell(kind) for relation in rng.sample(RELATIONS, rng.randint(2, 5))]
    return [f"The {kind.name} is a {kind.size} {kind.group.name}.", *facts]


def describe_others(rng: Random, drawn: CreatureGroup | Town | Ailment) -> list[str]:
    description = POOLS["descriptions"][type(drawn).__name__]
    facts = [text.format(drawn) for text in description["facts"]]
    return rng.sample(facts, rng.randint(description["min"], len(facts)))


def _tell_tool(rng: Random) -> list[str]:
    (purpose, tool, deed), person = draw(rng, "tool person")
    use = f"So {get_pronoun(person)} took a {tool}, because one can {deed} with it."
    return [f"{person} wanted to {purpose}.", use]


def _tell_event(rng: Random) -> list[str]:
    a, b = draw_people(rng)
    event, time = draw(rng, "event time")
    deed, feeling, next_wish, reason = (part.format(a=a, b=b) for part in event)
    sentences = [
        f"{a} {deed} {time}.",
        f"{b} was {feeling}.",
        f"{b} wanted to {next_wish}.",
        f"{a} did it {reason}.",
    ]
    return sentences[: rng.randint(2, 4)]


def _tell_activity(rng: Random) -> list[str]:
    activity, person = draw(rng, "activity person")
    first, *steps = POOLS["activity"][activity]
    pronoun = get_pronoun(person).capitalize()
    following = [f"{pronoun} {step}." for step in steps[: rng.randint(1, 4)]]
    return [f"{activity}: {person} {first}.", *following]


def _tell_accident(rng: Random) -> list[str]:
    fragile, sturdy = draw(rng, "fragile sturdy")
    return [
        f"The {fragile} fell down with the {sturdy}.",
        f"The {fragile} broke into pieces, the {sturdy} stayed whole.",
    ]


def _tell_sum(rng: Random) -> list[str]:
    first, second = rng.randint(1, 20), rng.randint(1, 9)
    if rng.random() < 0.5:
        return [f"{first} + {second} = {first + second}."]
    return [f"{first + second} - {second} = {first}."]


def _tell_word(rng: Random) -> list[str]:
    word, sense, person = draw(rng, "opposites senses person")
    phrase = rng.choice(rng.choice(POOLS["senses"][sense]))
    return [f"The opposite of {word} is {POOLS['opposites'][word]}.", f"{person} {phrase}."]


def _tell_review(rng: Random) -> list[str]:
    verdict = rng.choice(["positive", "negative"])
    first, second = rng.sample(POOLS[verdict], 2)
    (work,) = draw(rng, "reviewed")
    return [f"The {work} was {first} and {second}.", f"The review was {verdict}."]


def _tell_scene(rng: Random) -> list[str]:
    scene = draw_scene(rng)
    return [str(scene), entail(scene, rng)]


_DAILY_LIFE = (
    _tell_tool, _tell_event, _tell_activity, _tell_accident, _tell_sum, _tell_word, _tell_review,
    _tell_scene,
)  # fmt: skip
