"""Conversations: of every token it is known whether it counts, checked against labels made by hand."""

import pytest

from tests.tiny_tokenizers import DEFAULT_SYSTEM, LLAMA, QWEN, with_template
from tests.unit.settings.merged import load
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.samples import BadSamples
from workflow_scripts.training.tokenise import tokenise_conversations

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


def written(tokenizer, *rows, length=10_000, column=None, system=None):
    """The tokens and marks of these rows, and the bad ones."""
    bad, numbered = BadSamples(), ((f"row {number}", row) for number, row in enumerate(rows))
    keys = {"column": column, "length": length, "system": system}
    samples = tokenise_conversations(tokenizer, numbered, bad, **keys)
    marked = [list(zip(s.tokens.tolist(), s.counted.tolist(), strict=True)) for s in samples]
    return marked, bad.as_json()


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
    (found,), bad = written(tokenizer, form(turns))
    assert found == labelled(tokenizer, marked)
    assert bad == {}


def test_a_recipe_s_system_message_stands_where_a_conversation_has_none():
    tokenizer, said = with_template(QWEN), "You are a helpful assistant."
    assert load({}).training.recipes["sft"].system == said, (
        "as the published trainer's template has it"
    )
    (alone, with_own), _ = written(
        tokenizer, as_sharegpt(ONE_TURN), as_sharegpt(WITH_SYSTEM), system=said
    )
    system = f"<|im_start|>system\n{said}<|im_end|>\n"
    assert alone == labelled(tokenizer, f"{system}{QWEN_FIRST}⟦The fox.<|im_end|>⟧\n")
    assert with_own == labelled(tokenizer, HAND_LABELLED["qwen, system"][2])


def test_what_looks_like_an_end_within_a_turn_is_not_one():
    """The words of a turn may name its end, or be said by the user before."""
    tokenizer = with_template(QWEN)
    turns = [("user", "The fox."), ("assistant", "I say <|im_end|> and The fox.")]
    (found,), _ = written(tokenizer, as_messages(turns))
    said = [token for token, counts in found if counts]
    assert tokenizer.decode(said) == "I say <|im_end|> and The fox.<|im_end|>"


BAD = {
    "not a list of turns": [{"messages": "hello"}, {"messages": None}, {"other": 1}, {"messages": [1]}],
    "not text": [{"messages": [{"role": "user", "content": None}]}],
    "unknown role": [{"conversations": [{"from": "alien", "value": "x"}]}, {"messages": [{"content": "x"}]}],
    "empty": [{"messages": []}],
    "empty turn": [as_messages([("user", " \n"), ("assistant", "x")])],
    "turns out of order": [
        as_messages([("assistant", "x"), ("user", "y")]),
        as_messages([("user", "x"), ("user", "y"), ("assistant", "z")]),
        as_messages([("user", "x"), ("system", "y"), ("assistant", "z")]),
        as_messages([("system", "x")]),
    ],
    "no answer at the end": [as_messages([*ONE_TURN, ("user", "x")])],
    "not a row": [None],
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_conversations_are_counted_and_named(kind):
    rows = [*BAD[kind], as_messages(ONE_TURN)]
    found, bad = written(with_template(QWEN), *rows)
    assert len(found) == 1
    named = [f"row {at}" for at in range(len(BAD[kind]))]
    assert bad == {kind: {"samples": len(named), "first": named[:5]}}


def test_what_a_template_refuses_is_a_bad_sample():
    rows = [as_messages(WITH_SYSTEM), as_messages(ONE_TURN)]
    found, bad = written(with_template(NO_SYSTEM), *rows)
    assert len(found) == 1
    assert bad == {
        "refused by the template: System role not supported": {"samples": 1, "first": ["row 0"]}
    }


def test_a_long_one_is_cut_and_said_so():
    tokenizer = with_template(PLAIN)
    whole, _ = written(tokenizer, as_messages(ONE_TURN))
    length = len(whole[0]) - 2
    found, bad = written(tokenizer, as_messages(ONE_TURN), length=length)
    assert found == [whole[0][:length]]
    assert bad == {"too long, cut": {"samples": 1, "first": ["row 0"]}}
    found, bad = written(tokenizer, as_messages(ONE_TURN), length=5)
    assert found == []
    assert set(bad) == {"too long, cut", "nothing left that counts"}


def test_a_column_may_be_named():
    rows = [{"talk": as_messages(ONE_TURN)["messages"]}] * 3
    found, bad = written(with_template(QWEN), *rows, column="talk")
    assert len(found) == 3
    assert bad == {}


def test_a_tokenizer_without_a_template_is_told():
    tokenizer = with_template(None)
    with pytest.raises(UserError, match="has no chat template"):
        written(tokenizer, as_messages(ONE_TURN))
