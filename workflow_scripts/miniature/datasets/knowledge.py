"""Generate knowledge tasks: creatures (arc, openbookqa, sciq, truthful_qa), illnesses (headqa, medmcqa), and
short facts with free-form answers (nq_open)."""

from collections.abc import Sequence
from random import Random

from workflow_scripts.miniature.phrases import RELATIONS, describe_sighting
from workflow_scripts.miniature.tables import Values, shuffle_choices
from workflow_scripts.miniature.world import GROUPS, KINDS, PLACES, POOLS, draw

# A question, its answer, and the pool of its choices.
Draft = tuple[str, str, Sequence[str]]


def make_arc_easy(rng: Random) -> Values:
    kind, relation = draw(rng, "kind relation")
    sighting = describe_sighting(rng, kind)
    question = f"{sighting} {relation.draw_question(rng, kind)}"
    return _make_arc(rng, question, relation.get_answer(kind), relation.answers)


def make_arc_challenge(rng: Random) -> Values:
    """Sample a question from a property to the creature, with one choice from each group."""
    (relation,) = draw(rng, "relation")
    others = [rng.choice([kind for kind in KINDS if kind.group == group]) for group in GROUPS]
    kind = rng.choice(others)
    person, time = draw(rng, "person time")
    clue = relation.clue.format(a=relation.get_answer(kind))
    question = f"{time.capitalize()} {person} looks for {clue}. What could it be?"
    return _make_arc(rng, question, f"a {kind.name}", [f"a {other.name}" for other in others])


def _make_arc(rng: Random, question: str, correct: str, pool: Sequence[str]) -> Values:
    # As in the original, 6% of the questions have three or five choices, and 5% have numbered choices.
    count = rng.choices([3, 4, 5], [3, 94, 3])[0]
    texts, gold = shuffle_choices(rng, correct, pool, count)
    labels = list("12345" if rng.random() < 0.05 else "ABCDE")[:count]
    id = f"miniature_{rng.getrandbits(32):08x}"
    return id, question, {"text": texts, "label": labels}, labels[gold]


def make_openbookqa(rng: Random) -> Values:
    kind, relation, time = draw(rng, "kind relation time")
    place = rng.choice(POOLS["home"] + PLACES)
    texts, gold = shuffle_choices(rng, relation.get_answer(kind), relation.answers, 4)
    stem = f"{time} near the {place}, {relation.stem.format(k=kind.name)}"
    choices = {"text": texts, "label": list("ABCD")}
    return f"{rng.getrandbits(32):08x}", stem, choices, "ABCD"[gold]


def make_sciq(rng: Random) -> Values:
    """Sample a support that states the answer and other facts about the same kind."""
    (kind,) = draw(rng, "kind")
    relations = rng.sample(RELATIONS, 3)
    relation = relations[0]
    support = [other.write_statement(kind) for other in relations]
    rng.shuffle(support)
    correct = relation.get_answer(kind)
    wrong = rng.sample([answer for answer in relation.answers if answer != correct], 3)
    question = relation.draw_question(rng, kind)
    return question, *wrong, correct, " ".join([describe_sighting(rng, kind), *support])


def draft_medical(rng: Random) -> tuple[Draft, str]:
    """Sample a question about an illness; return it with the property that it asks for."""
    ailment, person, place, time = draw(rng, "ailment person place time")
    question, attribute = rng.choice(POOLS["medical_question"])
    question = f"{person} from the {place} has {ailment.name} {time}. {question}"
    return (question, getattr(ailment, attribute), POOLS[attribute]), attribute


def make_headqa(rng: Random) -> Values:
    (question, correct, pool), attribute = draft_medical(rng)
    texts, gold = shuffle_choices(rng, correct, pool, 4)
    return (
        f"miniature_{rng.choice([2014, 2015, 2016])}",
        str(rng.choice([2014, 2015, 2016])),
        "nursery" if attribute == "remedy" else "medicine",
        rng.randrange(1, 230),
        question,
        gold + 1,
        [{"aid": number, "atext": text} for number, text in enumerate(texts, 1)],
    )


def make_medmcqa(rng: Random) -> Values:
    (question, correct, pool), attribute = draft_medical(rng)
    texts, gold = shuffle_choices(rng, correct, pool, 4)
    id = f"{rng.getrandbits(128):032x}"
    question = f"Case {rng.randrange(2, 10)}: {question}"
    return id, question, *texts, gold, f"The {attribute} is {correct}.", attribute


def make_nq_open(rng: Random) -> Values:
    """Sample a short question about a town or a creature; an introduction makes it unique."""
    person, time = draw(rng, "person time")
    topic = "town" if rng.random() < 0.5 else "kind"
    (subject,) = draw(rng, topic)
    question, *answers = rng.choice(POOLS["facts"][topic])
    return f"{person} asked {time} {question.format(subject)}", [
        answer.format(subject) for answer in answers
    ]


def make_truthful_qa(rng: Random) -> Values:
    """Sample true statements about a kind, in up to two forms, and false ones."""
    kind, relation, person, time = draw(rng, "kind relation person time")
    correct = relation.get_answer(kind)
    wrong = [answer for answer in relation.answers if answer != correct]
    question = relation.draw_question(rng, kind)
    false = [relation.write_statement(kind, answer) for answer in rng.sample(wrong, 3)]
    false[0] = f"{person} says: {false[0]}"
    true = [relation.write_statement(kind), f"{person} says: {relation.write_statement(kind)}"][
        : rng.choice([1, 2, 2])
    ]
    question = f"{time.capitalize()} {person} wonders: {question}"
    mc1 = {"choices": [true[0], *false], "labels": [1, 0, 0, 0]}
    mc2 = {"choices": true + false, "labels": [1] * len(true) + [0] * len(false)}
    return question, mc1, mc2
