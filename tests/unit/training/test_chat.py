"""Compare the loss mask of conversations with manual labels."""

import pytest

from tests.tiny_tokenizers import DEFAULT_SYSTEM, LLAMA, QWEN, with_template
from workflow_scripts.training.samples import BadSamples
from workflow_scripts.training.tokenization import tokenise_conversations

# Like Qwen3's: only the last turn has an empty thinking block.
THINKING = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' }}"
    "{%- if message.role == 'assistant' and loop.last %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}"
    "{{- message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
# No token ends a turn, as in many handwritten templates.
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


def to_messages(turns):
    return {"messages": [{"role": role, "content": text} for role, text in turns]}


def to_sharegpt(turns):
    names = {"user": "human", "assistant": "gpt", "system": "system"}
    return {"conversations": [{"from": names[role], "value": text} for role, text in turns]}


def tokenise(template, *rows, length=10_000, column=None, system=None):
    """Return the tokens of the rows with their loss mask, and the bad rows."""
    tokenizer = with_template(template, "llama_3" if template is LLAMA else "qwen")
    bad, keys = BadSamples(), {"column": column, "length": length, "system": system}
    samples = tokenise_conversations(tokenizer, rows, bad, **keys)
    marked = [list(zip(s.tokens.tolist(), s.loss_mask.tolist(), strict=True)) for s in samples]
    return marked, dict(bad)


# Tokens in ⟦⟧ have loss.
QWEN_DEFAULT = f"<|im_start|>system\n{DEFAULT_SYSTEM}<|im_end|>\n"
QWEN_FIRST = "<|im_start|>user\nWhat do you see?<|im_end|>\n<|im_start|>assistant\n"
QWEN_SECOND = "\n<|im_start|>user\nAnd you, Zoë?<|im_end|>\n<|im_start|>assistant\n"
QWEN_ONE = f"{QWEN_FIRST}⟦The fox.<|im_end|>⟧\n"
LLAMA_TURN = (
    "<|start_header_id|>user<|end_header_id|>\n\nWhat do you see?<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n"
)
LABELLED = {
    "qwen": (
        QWEN,
        TWO_TURNS,
        f"{QWEN_DEFAULT}{QWEN_FIRST}⟦The fox.<|im_end|>⟧{QWEN_SECOND}⟦Nothing at all 🦊, Zoë!<|im_end|>⟧\n",
    ),
    "qwen, system": (
        QWEN,
        WITH_SYSTEM,
        f"<|im_start|>system\nSay one thing.<|im_end|>\n{QWEN_ONE}",
    ),
    "llama": (
        LLAMA,
        [*TWO_TURNS[:3], ("assistant", "  Nothing. ")],  # the template strips the spaces
        f"<|begin_of_text|>{LLAMA_TURN}⟦The fox.<|eot_id|>⟧"
        f"{LLAMA_TURN.replace('What do you see?', 'And you, Zoë?')}⟦Nothing.<|eot_id|>⟧",
    ),
    "thinking": (
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
    # A turn may contain the text of an end token, or repeat the user's words.
    "an end within a turn": (
        QWEN,
        [("user", "The fox."), ("assistant", "I say <|im_end|> and The fox.")],
        f"{QWEN_DEFAULT}<|im_start|>user\nThe fox.<|im_end|>\n<|im_start|>assistant\n"
        "⟦I say <|im_end|> and The fox.<|im_end|>⟧\n",
    ),
}


def label(template, text: str) -> list[tuple[int, bool]]:
    """Return the tokens of a manually marked text with their loss mask."""
    tokenizer = with_template(template, "llama_3" if template is LLAMA else "qwen")
    tokens = []
    for number, piece in enumerate(text.replace("⟧", "⟦").split("⟦")):
        ids = tokenizer(piece, add_special_tokens=False)["input_ids"]
        tokens += [(token, number % 2 == 1) for token in ids]
    return tokens


@pytest.mark.parametrize("form", [to_messages, to_sharegpt])
@pytest.mark.parametrize("name", LABELLED)
def test_conversation_marks(name, form):
    template, turns, text = LABELLED[name]
    assert tokenise(template, form(turns)) == ([label(template, text)], {})


def test_recipe_system_message():
    """The recipe's system message is used if a conversation has none."""
    rows = to_sharegpt(ONE_TURN), to_sharegpt(WITH_SYSTEM)
    (without_own, with_own), _ = tokenise(QWEN, *rows, system="Be brief.")
    assert without_own == label(QWEN, f"<|im_start|>system\nBe brief.<|im_end|>\n{QWEN_ONE}")
    assert with_own == label(QWEN, LABELLED["qwen, system"][2])


BAD = {
    "not a list of turns with a known role and a text": [
        {"messages": "hello"}, {"other": 1}, {"conversations": [{"from": "alien", "value": "x"}]},
    ],
    "a turn without text": [to_messages([("user", " \n"), ("assistant", "x")])],
    "turns that do not alternate, with an answer at the end": [
        to_messages([("user", "x"), ("system", "y"), ("assistant", "z")]),
        to_messages([*ONE_TURN, ("user", "x")]),
    ],
    "refused by the template: System role not supported": [to_messages(WITH_SYSTEM)],
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_conversations_are_counted(kind):
    marked, bad = tokenise(NO_SYSTEM, *BAD[kind], to_messages(ONE_TURN))
    assert len(marked) == 1 and bad == {kind: len(BAD[kind])}
