"""Generate labelled sentences and pairs: nyu-mll/glue, aps/super_glue (boolq, wic) and facebook/anli."""

from random import Random

from workflow_scripts.miniature.phrases import (
    HYPOTHESES,
    RELATIONS,
    change_scene,
    describe_sighting,
    draw_kinds,
    draw_other_relation,
    draw_scene,
    paraphrase,
    write_entailment,
)
from workflow_scripts.miniature.tables import Values
from workflow_scripts.miniature.world import PLACES, POOLS, draw


def make_cola(rng: Random) -> Values:
    is_plural = rng.random() < 0.5
    number = "plural" if is_plural else "singular"
    kind, determiner = draw(rng, f"kind {number}_determiner")
    forms = [kind.group.motion, kind.group.motion + "s"]
    words = [
        determiner,
        rng.choice(POOLS["colour"] + POOLS["size"]),
        kind.name + "s" * is_plural,
        forms[not is_plural],
        *draw(rng, "preposition"),
        "the",
        rng.choice(POOLS["home"] + PLACES),
        *rng.choice(POOLS["time"]).split(),
    ]
    is_acceptable = rng.random() < 0.55
    if not is_acceptable:
        match rng.choice(["agreement", "order", "doubled", "missing"]):
            case "agreement":
                words[3] = forms[is_plural]
            case "order":
                words[4:6] = "the", words[4]
            case "doubled":
                words.insert(4, words[3])
            case "missing":
                del words[rng.choice([3, 4])]
    return " ".join(words).capitalize() + ".", int(is_acceptable)


def make_sst2(rng: Random) -> Values:
    is_positive = rng.random() < 0.53
    same, other = ("positive", "negative") if is_positive else ("negative", "positive")
    (work,) = draw(rng, "reviewed")
    word, second = rng.sample(POOLS[same], 2)
    opposite, person, third = draw(rng, f"{other} person {other}")
    plain = [
        f"a {word} and {second} {work} ",
        f"a {word} {work} from {person} ",
        f"{person} made a {word} {work} , {second} to the end ",
        f"this {work} is {word} and {person} is {second} in it ",
        f"{person} calls the {work} {word} , even {second} ",
    ]
    contrasting = [
        f"the {work} by {person} looks {opposite} at first but turns out {word} and {second} ",
        f"{person} finds this {work} not {opposite} but {word} ",
        f"neither {opposite} nor {third} , the {work} by {person} is {word} ",
        f"{person} expected a {opposite} and {third} {work} and found it {word} ",
    ]
    return rng.choice(contrasting if rng.random() < 0.5 else plain), int(is_positive)


def make_mnli(rng: Random) -> Values:
    scene = draw_scene(rng)
    label = rng.choices([0, 1, 2], [35, 32, 33])[0]
    return str(scene), HYPOTHESES[label](scene, rng), label


def make_rte(rng: Random) -> Values:
    scene = draw_scene(rng)
    label = rng.choices([0, 1], [52, 48])[0]
    write = rng.choice(HYPOTHESES[1:]) if label else write_entailment
    return paraphrase(scene, rng), write(scene, rng), label


def make_mrpc(rng: Random) -> Values:
    scene = draw_scene(rng)
    is_same = rng.random() < 0.6
    second = scene if is_same else change_scene(scene, rng, rng.choice([1, 2, 2]))
    return str(scene), paraphrase(second, rng), int(is_same)


def make_qqp(rng: Random) -> Values:
    kind, other = draw_kinds(rng)
    relation = rng.choice(RELATIONS)
    is_same = rng.random() < 0.42
    first, second = relation.questions if rng.random() < 0.5 else relation.questions[::-1]
    if is_same:
        second = second.format(k=kind.name)
    elif rng.random() < 0.75:
        second = draw_other_relation(rng, relation).draw_question(rng, kind)
    else:
        second = second.format(k=other.name)
    return f"At the {rng.choice(PLACES)}: {first.format(k=kind.name)}", second, int(is_same)


def make_qnli(rng: Random) -> Values:
    kind, other = draw_kinds(rng)
    relation = rng.choice(RELATIONS)
    is_answer = rng.random() < 0.5
    if is_answer:
        sentence = relation.write_statement(kind)
    elif rng.random() < 0.75:
        sentence = draw_other_relation(rng, relation).write_statement(kind)
    else:
        sentence = relation.write_statement(other)
    person, time = draw(rng, "person time")
    return (
        relation.draw_question(rng, kind),
        f"{person} wrote {time}: {sentence}",
        int(not is_answer),
    )


def make_boolq(rng: Random) -> Values:
    """Sample a passage that names the group of a kind, and a question about a property of the group."""
    kind, other = draw_kinds(rng)
    is_true = rng.random() < 0.58
    (relation,) = draw(rng, "relation")
    answer = relation.get_answer(kind if is_true else other)
    question = relation.yes_no.format(k=kind.name, a=answer)
    sighting = describe_sighting(rng, kind)
    passage = f"{sighting} The {kind.name} is a {kind.group.name}. {relation.write_statement(kind)}"
    return question, passage, int(is_true)


def make_wic(rng: Random) -> Values:
    (word,) = draw(rng, "senses")
    is_same = rng.random() < 0.5
    senses = POOLS["senses"][word]
    first = rng.choice(senses)
    second = first if is_same else senses[1 - senses.index(first)]
    phrase1 = rng.choice(first)
    phrase2 = rng.choice([phrase for phrase in second if phrase != phrase1])
    person, time, other = draw(rng, "person time person")
    sentences = [f"{person} {phrase1} {time}.", f"{other} {phrase2}."]
    starts = [sentence.index(f" {word}") + 1 for sentence in sentences]
    ends = [start + len(word) for start in starts]
    return word, *sentences, *starts, *ends, int(is_same)


def make_anli(rng: Random) -> Values:
    """Sample a premise of two scenes, so that the hypothesis must be matched with the right scene."""
    first = draw_scene(rng)
    second = change_scene(first, rng, 5)
    premises = [str(first), paraphrase(second, rng)]
    rng.shuffle(premises)
    label = rng.choices([0, 1, 2], [34, 33, 33])[0]
    if label == 2 and rng.random() < 0.4:
        hypothesis = f"The {second.thing} was {first.colour}."
    else:
        hypothesis = HYPOTHESES[label](first, rng)
    return f"{rng.getrandbits(64):016x}", " ".join(premises), hypothesis, label
