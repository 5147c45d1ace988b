"""Conversations: two forms to write one down in, one to read it in, and what of it counts.

The tokenizer's own chat template makes the text. What counts in the loss are the assistant's turns,
from behind the header that would make the model speak, to the token that ends the turn: what a model
has to say itself. Templates do not mark these, so they are found by rendering: up to a turn with the
header, and up to its end.
"""

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


def read_messages(turns: Any, system: str | None = None) -> list[dict[str, str]]:
    """Read ShareGPT's {from, value} or {role, content} as the latter; refuse what is no conversation.

    `system` is put in front of one without a system message.
    """
    if not isinstance(turns, list | tuple) or not all(isinstance(turn, dict) for turn in turns):
        raise BadConversation("not a list of turns")
    messages = [_read_message(turn) for turn in turns]
    if not messages:
        raise BadConversation("empty")
    if any(not message["content"].strip() for message in messages):
        raise BadConversation("empty turn")
    own_system = messages[0]["role"] == "system"
    roles = [message["role"] for message in messages[own_system:]]
    if not roles or roles != (["user", "assistant"] * len(roles))[: len(roles)]:
        raise BadConversation("turns out of order")
    if roles[-1] == "user":
        raise BadConversation("no answer at the end")
    if system is None or own_system:
        return messages
    return [{"role": "system", "content": system}, *messages]


def _read_message(turn: dict[str, Any]) -> dict[str, str]:
    role, content = turn.get("role", turn.get("from")), turn.get("content", turn.get("value"))
    if not isinstance(content, str):
        raise BadConversation("not text")
    if not isinstance(role, str) or role not in ROLES:
        raise BadConversation("unknown role")
    return {"role": ROLES[role], "content": content}


def render(tokenizer, messages: list[dict[str, str]]) -> tuple[str, list[tuple[int, int]]]:
    """Return the whole conversation as text, and the spans of characters that count."""
    whole = _apply_template(tokenizer, messages)
    spans = []
    for number, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        head = _apply_template(tokenizer, messages[:number], add_generation_prompt=True)
        if not whole.startswith(head):
            raise BadConversation("the template rewrites earlier turns")
        # The last turn ends where all does. Some templates write a turn differently when others follow
        # (Qwen3's leaves out what was thought): then it is looked for in the whole.
        upto = _apply_template(tokenizer, messages[: number + 1])
        text = upto if whole.startswith(upto) else whole
        spans.append((len(head), _end_of_turn(tokenizer, text, len(head), message["content"])))
    return whole, spans


def _apply_template(tokenizer, messages: list[dict[str, str]], **options) -> str:
    try:
        return tokenizer.apply_chat_template(messages, tokenize=False, **options)
    except TemplateError as error:  # such as Gemma's, of which a system turn is too much
        raise BadConversation(f"refused by the template: {error}") from None


def _end_of_turn(tokenizer, text: str, start: int, content: str) -> int:
    """Return the end of the special token that closes the turn; where the template has none, of the words."""
    spoken = text.find(content.strip(), start)
    if spoken < 0:
        raise BadConversation("the template changes what was said")
    spoken += len(content.strip())
    tokens = {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}
    ends = [text.find(token, spoken) + len(token) for token in tokens if token in text[spoken:]]
    return min(ends, default=spoken)
