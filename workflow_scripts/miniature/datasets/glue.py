"""nyu-mll/glue: acceptability, sentiment, inference and paraphrase."""

import random
from functools import partial

from datasets import ClassLabel, Value

from workflow_scripts.miniature import lexicon
from workflow_scripts.miniature.datasets import scenes
from workflow_scripts.miniature.items import USUAL_SPLITS, Repository, Row, columns, draw_labelled
from workflow_scripts.miniature.phrases import RELATIONS, kind_pair, question_about, told
from workflow_scripts.miniature.world import World

_INFERENCE = ["entailment", "neutral", "contradiction"]
_BINARY_INFERENCE = ["entailment", "not_entailment"]


def build(world: World, items: int) -> list[Repository]:
    makers = {
        "cola": (_cola, "sentence", ["unacceptable", "acceptable"]),
        "mnli": (_mnli, "premise hypothesis", _INFERENCE),
        "mrpc": (_mrpc, "sentence1 sentence2", ["not_equivalent", "equivalent"]),
        "qnli": (_qnli, "question sentence", _BINARY_INFERENCE),
        "qqp": (_qqp, "question1 question2", ["not_duplicate", "duplicate"]),
        "rte": (_rte, "sentence1 sentence2", _BINARY_INFERENCE),
        "sst2": (_sst2, "sentence", ["negative", "positive"]),
    }
    configs = {}
    for name, (maker, texts, labels) in makers.items():
        splits = list(USUAL_SPLITS)
        if name == "mnli":
            splits = ["train"] + [
                f"{s}_{d}" for s in ("validation", "test") for d in ("matched", "mismatched")
            ]
        withheld = {} if name == "mrpc" else {"label": -1}  # MRPC alone publishes its test labels
        make, rng = partial(maker, world), world.rng("glue", name)
        rows = draw_labelled(make, rng, items, texts, len(labels), splits, **withheld)
        features = columns(texts, label=ClassLabel(names=labels), idx=Value("int32"))
        configs[name] = features, rows
    return [Repository("nyu-mll/glue", configs)]


def _cola(world: World, rng: random.Random) -> Row:
    plural = rng.random() < 0.5
    kind = rng.choice(world.kinds)
    determiner = rng.choice(
        ["these", "many", "all", "two"] if plural else ["this", "every", "one", "that"]
    )
    verb = kind.group.motion + ("" if plural else "s")
    words = [
        determiner,
        rng.choice([*lexicon.COLOURS, *lexicon.SIZES]),
        kind.plural if plural else kind.name,
        verb,
        rng.choice(["near", "behind", "around"]),
        "the",
        rng.choice(lexicon.HOMES + lexicon.PLACES),
        *rng.choice(lexicon.TIMES).split(),
    ]
    acceptable = rng.random() < 0.55
    if not acceptable:
        fault = rng.choice(["agreement", "order", "doubled", "missing"])
        if fault == "agreement":
            words[3] = kind.group.motion + ("s" if plural else "")
        elif fault == "order":
            words[4], words[5] = words[5], words[4]
        elif fault == "doubled":
            words.insert(4, words[3])
        else:
            del words[rng.choice([3, 4])]
    return {"sentence": " ".join(words).capitalize() + ".", "label": int(acceptable)}


def _sst2(world: World, rng: random.Random) -> Row:
    positive = rng.random() < 0.53
    same, other = lexicon.POSITIVE, lexicon.NEGATIVE
    if not positive:
        same, other = other, same
    work = rng.choice(lexicon.REVIEWED)
    word, second = rng.sample(same, 2)
    opposite = rng.choice(other)
    person = rng.choice(lexicon.PEOPLE)
    third = rng.choice(other)
    plain = (
        f"a {word} and {second} {work}",
        f"a {word} {work} from {person}",
        f"{person} made a {word} {work} , {second} to the end",
        f"this {work} is {word} and {person} is {second} in it",
        f"{person} calls the {work} {word} , even {second}",
    )
    contrasting = (
        f"the {work} by {person} looks {opposite} at first but turns out {word} and {second}",
        f"{person} finds this {work} not {opposite} but {word}",
        f"neither {opposite} nor {third} , the {work} by {person} is {word}",
        f"{person} expected a {opposite} and {third} {work} and found it {word}",
    )
    sentence = rng.choice(contrasting if rng.random() < 0.5 else plain)
    return {"sentence": sentence + " ", "label": int(positive)}


def _mnli(world: World, rng: random.Random) -> Row:
    scene = scenes.draw_scene(rng)
    label = rng.choices([0, 1, 2], [35, 32, 33])[0]
    write = (scenes.entailed, scenes.undecided, scenes.contradicted)[label]
    return {"premise": scenes.told(scene), "hypothesis": write(scene, rng), "label": label}


def _rte(world: World, rng: random.Random) -> Row:
    scene = scenes.draw_scene(rng)
    label = rng.choices([0, 1], [52, 48])[0]
    write = scenes.entailed if label == 0 else rng.choice([scenes.undecided, scenes.contradicted])
    return {"sentence1": scenes.retold(scene, rng), "sentence2": write(scene, rng), "label": label}


def _mrpc(world: World, rng: random.Random) -> Row:
    scene = scenes.draw_scene(rng)
    same = rng.random() < 0.6
    second = scene if same else scenes.changed(scene, rng, rng.choice([1, 2, 2]))
    return {
        "sentence1": scenes.told(scene),
        "sentence2": scenes.retold(second, rng),
        "label": int(same),
    }


def _qqp(world: World, rng: random.Random) -> Row:
    kind, other = kind_pair(world, rng)
    relation = rng.choice(RELATIONS)
    same = rng.random() < 0.42
    first, second = relation.questions if rng.random() < 0.5 else relation.questions[::-1]
    if same:
        second = second.format(k=kind.name)
    elif rng.random() < 0.75:
        second = question_about(rng.choice([r for r in RELATIONS if r != relation]), kind, rng)
    else:
        second = second.format(k=other.name)
    place = rng.choice(lexicon.PLACES)
    return {
        "question1": f"At the {place}: {first.format(k=kind.name)}",
        "question2": second,
        "label": int(same),
    }


def _qnli(world: World, rng: random.Random) -> Row:
    kind, other = kind_pair(world, rng)
    relation = rng.choice(RELATIONS)
    answers = rng.random() < 0.5
    if answers:
        sentence = told(relation, kind)
    elif rng.random() < 0.75:
        sentence = told(rng.choice([r for r in RELATIONS if r != relation]), kind)
    else:
        sentence = told(relation, other)
    person, time = rng.choice(lexicon.PEOPLE), rng.choice(lexicon.TIMES)
    return {
        "question": question_about(relation, kind, rng),
        "sentence": f"{person} wrote {time}: {sentence}",
        "label": 0 if answers else 1,
    }
