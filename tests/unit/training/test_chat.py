"""Conversations: of every token it is known whether it counts, checked against labels made by hand."""

import pytest

from tests.tiny_tokenizers import DEFAULT_SYSTEM, LLAMA, QWEN, with_template
from tests.unit.settings.merged import load
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.samples import BadSamples
from workflow_scripts.training.tokenization import tokenise_conversations

# Like Qwen3's: only the last turn shows that there was nothing to think about.
THINKING = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' }}"
    "{%- if message.role == 'assistant' and loop.last %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}"
    "{{- message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
# No token closes a turn, as in many templates written by hand.
PLAIN = (
    "{%- for message in messages %}{{- message.role + ': ' + message.content + '\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- 'assistant: ' }}{%- endif %}"
)
# Like Gemma's.
NO_SYSTEM = (
    "{%- if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}"
    "{%- endif %}" + PLAIN
)
ONE_TURN = [("user", "What do you see?"), ("assistant", "The fox.")]
TWO_TURNS = [*ONE_TURN, ("user", "And you, Zoë?"), ("assistant", "Nothing at all 🦊, Zoë!")]
WITH_SYSTEM = [("system", "Say one thing."), *ONE_TURN]


def as_messages(turns):
    return {"messages": [{"role": role, "content": text} for role, text in turns]}


def as_sharegpt(turns):
    names = {"user": "human", "assistant": "gpt", "system": "system"}
    return {"conversations": [{"from": names[role], "value": text} for role, text in turns]}


def tokenise(tokenizer, *rows, length=10_000, column=None, system=None):
    """Return the tokens and marks of these rows, and the bad ones."""
    bad, keys = BadSamples(), {"column": column, "length": length, "system": system}
    samples = tokenise_conversations(tokenizer, rows, bad, **keys)
    marked = [list(zip(s.tokens.tolist(), s.counted.tolist(), strict=True)) for s in samples]
    return marked, dict(bad)


# What is said, and so counts, stands in ⟦⟧.
QWEN_DEFAULT = f"<|im_start|>system\n{DEFAULT_SYSTEM}<|im_end|>\n"
QWEN_FIRST = "<|im_start|>user\nWhat do you see?<|im_end|>\n<|im_start|>assistant\n"
QWEN_SECOND = "\n<|im_start|>user\nAnd you, Zoë?<|im_end|>\n<|im_start|>assistant\n"
LLAMA_TURN = (
    "<|start_header_id|>user<|end_header_id|>\n\nWhat do you see?<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n"
)
HAND_LABELLED = {
    "qwen, two turns": (
        QWEN,
        TWO_TURNS,
        f"{QWEN_DEFAULT}{QWEN_FIRST}⟦The fox.<|im_end|>⟧{QWEN_SECOND}⟦Nothing at all 🦊, Zoë!<|im_end|>⟧\n",
    ),
    "qwen, system": (
        QWEN,
        WITH_SYSTEM,
        f"<|im_start|>system\nSay one thing.<|im_end|>\n{QWEN_FIRST}⟦The fox.<|im_end|>⟧\n",
    ),
    "llama, two turns": (
        LLAMA,
        [*TWO_TURNS[:3], ("assistant", "  Nothing. ")],  # the template takes the spaces away
        f"<|begin_of_text|>{LLAMA_TURN}⟦The fox.<|eot_id|>⟧"
        f"{LLAMA_TURN.replace('What do you see?', 'And you, Zoë?')}⟦Nothing.<|eot_id|>⟧",
    ),
    "llama, system": (
        LLAMA,
        WITH_SYSTEM,
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nSay one thing.<|eot_id|>"
        f"{LLAMA_TURN}⟦The fox.<|eot_id|>⟧",
    ),
    "thinking, two turns": (
        THINKING,
        TWO_TURNS,
        f"{QWEN_FIRST}⟦The fox.<|im_end|>⟧{QWEN_SECOND}"
        "⟦<think>\n\n</think>\n\nNothing at all 🦊, Zoë!<|im_end|>⟧\n",
    ),
    "no token ends a turn": (
        PLAIN,
        [ONE_TURN[0], ("assistant", "the fox.")],  # with the header's space, "the" is one token
        "user: What do you see?\nassistant:⟦ the fox.⟧\n",
    ),
}


def labelled(tokenizer, text: str) -> list[tuple[int, bool]]:
    """Tokens with their marks, of a text that a person has marked."""
    found = []
    for at, piece in enumerate(text.replace("⟧", "⟦").split("⟦")):
        ids = tokenizer(piece, add_special_tokens=False)["input_ids"]
        found += [(token, at % 2 == 1) for token in ids]
    return found


@pytest.mark.parametrize("form", [as_messages, as_sharegpt], ids=["messages", "sharegpt"])
@pytest.mark.parametrize("name", HAND_LABELLED)
def test_marks_are_those_a_person_made(name, form):
    template, turns, marked = HAND_LABELLED[name]
    tokenizer = with_template(template, "llama_3" if template is LLAMA else "qwen")
    (found,), bad = tokenise(tokenizer, form(turns))
    assert found == labelled(tokenizer, marked)
    assert bad == {}


def test_a_recipe_s_system_message_stands_where_a_conversation_has_none():
    tokenizer, said = with_template(QWEN), "You are a helpful assistant."
    assert load({}).training.recipes["sft"].system == said, (
        "as the published trainer's template has it"
    )
    (alone, with_own), _ = tokenise(
        tokenizer, as_sharegpt(ONE_TURN), as_sharegpt(WITH_SYSTEM), system=said
    )
    system = f"<|im_start|>system\n{said}<|im_end|>\n"
    assert alone == labelled(tokenizer, f"{system}{QWEN_FIRST}⟦The fox.<|im_end|>⟧\n")
    assert with_own == labelled(tokenizer, HAND_LABELLED["qwen, system"][2])


def test_what_looks_like_an_end_within_a_turn_is_not_one():
    """The words of a turn may name its end, or be said by the user before."""
    tokenizer = with_template(QWEN)
    turns = [("user", "The fox."), ("assistant", "I say <|im_end|> and The fox.")]
    (found,), _ = tokenise(tokenizer, as_messages(turns))
    said = [token for token, counts in found if counts]
    assert tokenizer.decode(said) == "I say <|im_end|> and The fox.<|im_end|>"


BAD = {
    "not a list of turns with a known role and a text": [
        *({"messages": turns} for turns in ("hello", None, [1], [{"content": "x"}])),
        {"other": 1}, {"conversations": [{"from": "alien", "value": "x"}]},
    ],
    "a turn without text": [as_messages([("user", " \n"), ("assistant", "x")])],
    "turns that do not alternate, with an answer at the end": [
        {"messages": []},
        as_messages([("assistant", "x"), ("user", "y")]),
        as_messages([("user", "x"), ("system", "y"), ("assistant", "z")]),
        as_messages([("system", "x")]),
        as_messages([*ONE_TURN, ("user", "x")]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_conversations_are_counted(kind):
    marked, bad = tokenise(with_template(QWEN), *BAD[kind], as_messages(ONE_TURN))
    assert len(marked) == 1 and bad == {kind: len(BAD[kind])}


def test_what_a_template_refuses_is_a_bad_sample():
    rows = [as_messages(WITH_SYSTEM), as_messages(ONE_TURN)]
    marked, bad = tokenise(with_template(NO_SYSTEM), *rows)
    assert len(marked) == 1
    assert bad == {"refused by the template: System role not supported": 1}


def test_a_long_one_is_cut():
    tokenizer, row = with_template(PLAIN), {"talk": as_messages(ONE_TURN)["messages"]}
    ((whole,), _) = tokenise(tokenizer, row, column="talk")
    length = len(whole) - 2
    cut = tokenise(tokenizer, row, column="talk", length=length)
    assert cut == ([whole[:length]], {"too long, cut": 1})
    cut = tokenise(tokenizer, row, column="talk", length=5)
    assert cut == ([], {"too long, cut": 1, "nothing left that counts": 1})


def test_a_tokenizer_without_a_template_is_refused():
    with pytest.raises(UserError, match="has no chat template"):
        tokenise(with_template(None), as_messages(ONE_TURN))
