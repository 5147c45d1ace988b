"""Generate tasks of commonsense and arithmetic: tools, activities, feelings, winogrande, gsm8k and math_qa."""

from random import Random

from workflow_scripts.miniature.phrases import draw_people, get_pronoun
from workflow_scripts.miniature.tables import Values, shuffle_choices
from workflow_scripts.miniature.world import EVENTS, PEOPLE, POOLS, TOOLS, draw


def make_commonsense_qa(rng: Random) -> Values:
    (purpose, tool, _), person, time = draw(rng, "tool person time")
    question = rng.choice(
        [
            f"What does {person} need to {purpose} {time}?",
            f"{person} wants to {purpose} {time}. What helps?",
        ]
    )
    texts, gold = shuffle_choices(rng, tool, [name for _, name, _ in TOOLS], 5)
    choices = {"label": list("ABCDE"), "text": texts}
    id = f"{rng.getrandbits(128):032x}"
    return id, question, purpose.split()[0], choices, "ABCDE"[gold]


def make_social_iqa(rng: Random) -> Values:
    """Sample a context of two events with different people, a question about one, and a distractor from the other."""
    a, b, c, d = rng.sample(PEOPLE, 4)
    events = rng.sample(EVENTS, 3)
    aspect = rng.randrange(3)
    pool = [event[1 + aspect].format(a=a, b=b) for event in events]
    answers, gold = shuffle_choices(rng, pool[0], pool, 3)
    context = [
        f"{doer} {action.format(b=other)} {rng.choice(POOLS['time'])}."
        for doer, action, other in rng.sample([(a, events[0][0], b), (c, events[1][0], d)], 2)
    ]
    questions = (
        f"How would {b} feel as a result?",
        f"What will {b} want to do next?",
        f"Why did {a} do this?",
    )
    return " ".join(context), questions[aspect], *answers, str(gold + 1)


def make_winogrande(rng: Random) -> Values:
    """Sample a sentence that is resolved by a property of a thing (55%) or by who did what to whom."""
    (time,) = draw(rng, "time")
    is_accident = rng.random() < 0.55
    if is_accident:
        nouns = [f"the {noun}" for noun in draw(rng, "fragile sturdy")]
        endings = ["broke into pieces.", "stayed whole."]
    else:
        nouns = draw_people(rng)
        ((verb, *endings),) = draw(rng, "mutual_action")
    subject = int(rng.random() >= 0.5)
    options = nouns
    if is_accident:
        options = rng.sample(nouns, 2)
        opening = f"{rng.choice(PEOPLE)} saw that {options[0]} hit {options[1]} and"
    else:
        opening = f"{nouns[0]} {verb} {nouns[1]} {time} because"
    choices = rng.sample(options, 2)
    answer = str(choices.index(nouns[subject]) + 1)
    return f"{opening} _ {endings[subject]}", *choices, answer


def make_hellaswag(rng: Random) -> Values:
    activity, person = draw(rng, "activity person")
    steps = POOLS["activity"][activity]
    following = rng.randrange(1, len(steps))
    place, time = draw(rng, "place time")
    before = [f"{person} {step}." for step in steps[max(0, following - 2) : following]]
    pool = [step for name, other in POOLS["activity"].items() if name != activity for step in other]
    if rng.random() < 0.4:
        pool = [*steps, *rng.sample(pool, 2)]
    endings, gold = shuffle_choices(rng, steps[following], pool, 4)
    ctx_a = " ".join([f"{person} is at the {place} {time}.", *before])
    ctx_b = get_pronoun(person)
    return (
        rng.randrange(100_000),
        activity,
        ctx_a,
        ctx_b,
        f"{ctx_a} {ctx_b}",
        [f"{ending}." for ending in endings],
        f"miniature~v_{rng.getrandbits(40):010x}",
        str(gold),
    )


def make_piqa(rng: Random) -> Values:
    (purpose, tool, action), person, time = draw(rng, "tool person time")
    goal = rng.choice(
        [f"{person} wants to {purpose} {time}.", f"How does {person} {purpose} {time}?"]
    )
    _, wrong_tool, wrong_action = rng.choice([other for other in TOOLS if other[1] != tool])
    if rng.random() >= 0.7:
        wrong_action = action
    solutions = [
        f"take a {tool} and {action} with it.",
        f"take a {wrong_tool} and {wrong_action} with it.",
    ]
    label = int(rng.random() < 0.5)
    return goal, solutions[label], solutions[1 - label], label


def make_gsm8k(rng: Random) -> Values:
    """Sample a problem of one step (80%) or two, with the calculator annotations of gsm8k."""
    a, b = draw_people(rng)
    goods, place = draw(rng, "goods place")
    first, second = rng.randint(1, 9), rng.randint(1, 9)
    if rng.random() < 0.6:
        story = f"{a} has {first} {goods}. At the {place} {b} gives {a} {second} more."
        total, sign = first + second, "+"
    else:
        first, second = max(first, second) + 1, min(first, second)
        story = f"{a} has {first} {goods}. At the {place} {a} gives {second} to {b}."
        total, sign = first - second, "-"
    answer = (
        f"{a} has {first} {sign} {second} = <<{first}{sign}{second}={total}>>{total} {goods}.\n"
    )
    if rng.random() < 0.2:
        more = rng.randint(1, 5)
        story += f" Then {a} finds {more}."
        answer += f"Then {total} + {more} = <<{total}+{more}={total + more}>>{total + more}.\n"
        total += more
    question = f"{story} How many {goods} does {a} have now?"
    return question, f"{answer}#### {total}"


def make_math_qa(rng: Random) -> Values:
    person, goods, place = draw(rng, "person goods place")
    first, second = rng.randint(2, 20), rng.randint(2, 9)
    if rng.random() < 0.5:
        action, name, sign = f"buys {second} at the {place} . how many in all ?", "add", "+"
        result = first + second
    else:
        action, name, sign = f"sells {second} at the {place} . how many remain ?", "subtract", "-"
        result = first
        first += second
    numbers = {result}
    while len(numbers) < 5:
        numbers.add(rng.randint(1, 30))
    options = rng.sample(sorted(numbers), 5)
    letter = "abcde"[options.index(result)]
    return (
        f"{person} has {first} {goods} and {action}",
        f'" {first} {sign} {second} = {result} . answer : {letter} "',
        "a ) {} , b ) {} , c ) {} , d ) {} , e ) {}".format(*options),
        letter,
        f"{name}({first}, {second})",
        f"{name}(n0,n1)|",
    )
