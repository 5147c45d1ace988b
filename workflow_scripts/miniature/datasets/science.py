"""Knowledge of the world: creatures (arc, openbookqa, sciq) and illnesses (headqa, medmcqa)."""

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
from workflow_scripts.miniature.phrases import (
    GROUP_RELATIONS,
    RELATIONS,
    question_about,
    sighting,
    told,
)
from workflow_scripts.miniature.world import World

_LETTERED = {"label": List(STRING), "text": List(STRING)}


def build(world: World, items: int) -> list[Repository]:
    return [
        _arc(world, items),
        _openbookqa(world, items),
        _sciq(world, items),
        _headqa(world, items),
        _medmcqa(world, items),
    ]


def _arc(world: World, items: int) -> Repository:
    def easy(rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
        kind, relation = rng.choice(world.kinds), rng.choice(GROUP_RELATIONS)
        return (
            f"{sighting(kind, rng)} {question_about(relation, kind, rng)}",
            relation.answer(kind),
            relation.answers,
        )

    def challenge(rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
        """The other direction: from what a creature has to the creature, among one of each group."""
        relation = rng.choice(GROUP_RELATIONS)
        one_of_each = [
            rng.choice([kind for kind in world.kinds if kind.group == group])
            for group in lexicon.GROUPS
        ]
        kind = rng.choice(one_of_each)
        person, time = rng.choice(lexicon.PEOPLE), rng.choice(lexicon.TIMES)
        clue = {
            "cover": f"something with {relation.answer(kind)}",
            "motion": f"something that can {relation.answer(kind)}",
            "limb": f"something with strong {relation.answer(kind)}",
            "shelter": f"something asleep in a {relation.answer(kind)}",
            "food": f"something that eats {relation.answer(kind)}",
        }[relation.name]
        question = f"{time.capitalize()} {person} looks for {clue}. What could it be?"
        return question, f"a {kind.name}", tuple(f"a {other.name}" for other in one_of_each)

    features = columns("id question", choices=_LETTERED, answerKey=STRING)
    configs = {}
    for name, maker in (("ARC-Easy", easy), ("ARC-Challenge", challenge)):

        def make(rng: random.Random, maker=maker) -> Row:
            question, right, pool = maker(rng)
            # As in the original, a few questions have three or five choices, a few are numbered.
            count = rng.choices([3, 4, 5], [3, 94, 3])[0]
            texts, gold = shuffled_choices(rng, right, pool, count)
            labels = list("12345" if rng.random() < 0.05 else "ABCDE")[:count]
            return {
                "id": f"miniature_{rng.getrandbits(32):08x}",
                "question": question,
                "choices": {"text": texts, "label": labels},
                "answerKey": labels[gold],
            }

        splits = draw_usual(make, world.rng(name), items, "question")
        configs[name] = (features, splits)
    return Repository("allenai/ai2_arc", configs)


def _openbookqa(world: World, items: int) -> Repository:
    stems = {
        "cover": "the body of a {k} is kept dry by its",
        "motion": "a {k} is made to",
        "limb": "a {k} moves with the help of its",
        "shelter": "a {k} can be found asleep in a",
        "food": "a {k} stays alive by taking in",
    }

    def make(rng: random.Random) -> Row:
        kind, relation = rng.choice(world.kinds), rng.choice(GROUP_RELATIONS)
        time, place = rng.choice(lexicon.TIMES), rng.choice(lexicon.HOMES + lexicon.PLACES)
        texts, gold = shuffled_choices(rng, relation.answer(kind), relation.answers, 4)
        stem = stems[relation.name].format(k=kind.name)
        return {
            "id": f"{rng.getrandbits(32):08x}",
            "question_stem": f"{time} near the {place}, {stem}",
            "choices": {"text": texts, "label": list("ABCD")},
            "answerKey": "ABCD"[gold],
        }

    features = columns("id question_stem", choices=_LETTERED, answerKey=STRING)
    splits = draw_usual(make, world.rng("openbookqa"), items, "question_stem")
    return only("allenai/openbookqa", features, splits, "main")


def _sciq(world: World, items: int) -> Repository:
    """The support names the answer, among other things that are true of the same kind."""

    def make(rng: random.Random) -> Row:
        kind = rng.choice(world.kinds)
        relation, *others = rng.sample(RELATIONS, 3)
        support = [told(r, kind) for r in (relation, *others)]
        rng.shuffle(support)
        right = relation.answer(kind)
        wrong = rng.sample([answer for answer in relation.answers if answer != right], 3)
        return {
            "question": question_about(relation, kind, rng),
            "distractor3": wrong[0],
            "distractor1": wrong[1],
            "distractor2": wrong[2],
            "correct_answer": right,
            "support": f"{sighting(kind, rng)} {' '.join(support)}",
        }

    splits = draw_usual(make, world.rng("sciq"), items, "support question")
    features = columns("question distractor3 distractor1 distractor2 correct_answer support")
    return only("allenai/sciq", features, splits)


def medical_question(world: World, rng: random.Random) -> tuple[str, str, tuple[str, ...], str]:
    """A question about an illness, its answer, all answers of that sort, and the sort itself."""
    ailment = rng.choice(world.ailments)
    person, place, time = (
        rng.choice(lexicon.PEOPLE),
        rng.choice(lexicon.PLACES),
        rng.choice(lexicon.TIMES),
    )
    opening = f"{person} from the {place} has {ailment.name} {time}."
    question, answer, pool, sort = rng.choice(
        [
            ("Which remedy should be given?", ailment.remedy, lexicon.REMEDIES.values(), "remedy"),
            ("Which symptom is expected?", ailment.symptom, lexicon.SYMPTOMS.values(), "symptom"),
            ("Which organ should be examined?", ailment.organ, lexicon.ORGANS, "organ"),
        ]
    )
    return f"{opening} {question}", answer, tuple(pool), sort


def _headqa(world: World, items: int) -> Repository:
    def make(rng: random.Random) -> Row:
        question, right, pool, sort = medical_question(world, rng)
        texts, gold = shuffled_choices(rng, right, pool, 4)
        return {
            "name": f"miniature_{rng.choice([2014, 2015, 2016])}",
            "year": str(rng.choice([2014, 2015, 2016])),
            "category": "nursery" if sort == "remedy" else "medicine",
            "qid": rng.randrange(1, 230),
            "qtext": question,
            "ra": gold + 1,
            "answers": [{"aid": i + 1, "atext": text} for i, text in enumerate(texts)],
        }

    number = Value("int32")
    answers = List({"aid": number, "atext": STRING})
    features = columns("name year category", qid=number, qtext=STRING, ra=number, answers=answers)
    splits = draw_usual(make, world.rng("headqa"), items, "qtext")
    return Repository("EleutherAI/headqa", {"en": (features, splits)})


def _medmcqa(world: World, items: int) -> Repository:
    def make(rng: random.Random) -> Row:
        question, right, pool, sort = medical_question(world, rng)
        texts, gold = shuffled_choices(rng, right, pool, 4)
        return {
            "id": f"{rng.getrandbits(128):032x}",
            "question": f"Case {rng.randrange(2, 10)}: {question}",
            **dict(zip(("opa", "opb", "opc", "opd"), texts, strict=True)),
            "cop": gold,
            "choice_type": "single",
            "exp": f"The {sort} is {right}.",
            "subject_name": "Medicine",
            "topic_name": sort,
        }

    features = Features(
        columns("id question opa opb opc opd", cop=ClassLabel(names=["a", "b", "c", "d"]))
        | columns("choice_type exp subject_name topic_name")
    )
    splits = draw_usual(make, world.rng("medmcqa"), items, "question", cop=-1)
    return only("openlifescienceai/medmcqa", features, splits)
