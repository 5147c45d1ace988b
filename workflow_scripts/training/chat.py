"""Conversations: two forms to write one down in, one to read it in, and what of it counts.

The tokenizer's own chat template makes the text. What counts in the loss are the assistant's turns,
from behind the header that would make the model speak, to the token that ends the turn: what a model
has to say itself. Templates do not mark these, so they are found by rendering: up to a turn with the
header, and up to its end.
"""

from collections.abc import Iterable
from typing import Any

from jinja2.exceptions import TemplateError

ROLES = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "assistant", "model", "chatgpt", "bard"), "assistant"),
    "system": "system",
}
COLUMNS = ("messages", "conversations")


class BadConversation(ValueError):
    """Its kind is the first argument."""


def messages_of(turns: Any) -> list[dict[str, str]]:
    """ShareGPT's {from, value} or {role, content}, as the latter; refused when it is no conversation."""
    if not isinstance(turns, Iterable) or isinstance(turns, str | dict | bytes):
        raise BadConversation("not a list of turns")
    messages = []
    for turn in turns:
        if not isinstance(turn, dict):
            raise BadConversation("not a list of turns")
        role = turn.get("role", turn.get("from"))
        content = turn.get("content", turn.get("value"))
        if not isinstance(content, str):
            raise BadConversation("not text")
        if not isinstance(role, str) or role not in ROLES:
            raise BadConversation("unknown role")
        messages.append({"role": ROLES[role], "content": content})
    if not messages:
        raise BadConversation("empty")
    if any(not message["content"].strip() for message in messages):
        raise BadConversation("empty turn")
    spoken = messages[1:] if messages[0]["role"] == "system" else messages
    expected = ["user", "assistant"] * ((len(spoken) + 1) // 2)
    if not spoken or [message["role"] for message in spoken] != expected[: len(spoken)]:
        raise BadConversation("turns out of order")
    if spoken[-1]["role"] == "user":
        raise BadConversation("no answer at the end")
    return messages


def with_system(messages: list[dict[str, str]], system: str | None) -> list[dict[str, str]]:
    """With this system message in front, unless there is one, or none to put there."""
    if system is None or messages[0]["role"] == "system":
        return messages
    return [{"role": "system", "content": system}, *messages]


def rendered(tokenizer, messages: list[dict[str, str]]) -> tuple[str, list[tuple[int, int]]]:
    """The whole conversation as text, and the spans of characters that count."""
    whole = _render(tokenizer, messages)
    spans = []
    for at, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        head = _render(tokenizer, messages[:at], add_generation_prompt=True)
        if not whole.startswith(head):
            raise BadConversation("the template rewrites earlier turns")
        # The last turn ends where all does. Some templates write a turn differently when others follow
        # (Qwen3's leaves out what was thought): then it is looked for in the whole.
        upto = whole if at + 1 == len(messages) else _render(tokenizer, messages[: at + 1])
        text = upto if whole.startswith(upto) else whole
        spans.append((len(head), _end_of_turn(tokenizer, text, len(head), message["content"])))
    return whole, spans


def _render(tokenizer, messages: list[dict[str, str]], **options) -> str:
    try:
        return tokenizer.apply_chat_template(messages, tokenize=False, **options)
    except TemplateError as error:  # such as Gemma's, of which a system turn is too much
        raise BadConversation(f"refused by the template: {error}") from None


def _end_of_turn(tokenizer, text: str, start: int, content: str) -> int:
    """Behind the special token that closes the turn; where the template has none, behind the words."""
    spoken = text.find(content.strip(), start)
    if spoken < 0:
        raise BadConversation("the template changes what was said")
    spoken += len(content.strip())
    ends = [
        at + len(token)
        for token in {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}
        if (at := text.find(token, spoken)) >= 0
    ]
    return min(ends, default=spoken)
