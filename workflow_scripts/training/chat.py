"""Read conversations, render them with the tokenizer's chat template, and find the spans in the loss.

The loss is over the assistant's turns, from the end of the generation prompt to the token that ends the turn, which is
the text that a model has to generate. Templates do not mark these spans, so they are found by rendering the
conversation up to a turn with the generation prompt, and up to the end of the turn.
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
    """A conversation that cannot be trained on; the first argument is the reason."""


def read_messages(turns: Any, system: str | None) -> list[dict[str, str]]:
    """Read turns as {role, content}, also from ShareGPT's {from, value}; refuse invalid conversations.

    `system` is the system message of conversations that have none.
    """
    try:
        messages = [
            {
                "role": ROLES[turn.get("role") or turn["from"]],
                "content": turn.get("content") or turn["value"],
            }
            for turn in turns
        ]
    except (AttributeError, KeyError, TypeError):
        raise BadConversation("not a list of turns with a known role and a text") from None
    if any(not isinstance(m["content"], str) or not m["content"].strip() for m in messages):
        raise BadConversation("a turn without text")
    has_system = bool(messages) and messages[0]["role"] == "system"
    roles = [message["role"] for message in messages[has_system:]]
    if not roles or roles != ["user", "assistant"] * (len(roles) // 2):
        raise BadConversation("turns that do not alternate, with an answer at the end")
    if system and not has_system:
        messages.insert(0, {"role": "system", "content": system})
    return messages


def render_conversation(
    tokenizer, messages: list[dict[str, str]]
) -> tuple[str, list[tuple[int, int]]]:
    """Return the whole conversation as text, and the character spans (start, end) that are in the loss."""
    whole = _apply_template(tokenizer, messages)
    spans = []
    for index, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        prompt = _apply_template(tokenizer, messages[:index], add_generation_prompt=True)
        if not whole.startswith(prompt):
            raise BadConversation("the template rewrites earlier turns")
        # Some templates render a turn differently if others follow (Qwen3's omits the reasoning); then search its end
        # in the whole conversation.
        up_to_turn = _apply_template(tokenizer, messages[: index + 1])
        text = up_to_turn if whole.startswith(up_to_turn) else whole
        end = _find_turn_end(tokenizer, text, len(prompt), message["content"])
        spans.append((len(prompt), end))
    return whole, spans


def _apply_template(tokenizer, messages: list[dict[str, str]], **options) -> str:
    try:
        return tokenizer.apply_chat_template(messages, tokenize=False, **options)
    except TemplateError as error:  # for example Gemma's template rejects a system turn
        raise BadConversation(f"refused by the template: {error}") from None


def _find_turn_end(tokenizer, text: str, start: int, content: str) -> int:
    """Find the end of the special token that closes the turn at `start`, or of its content if there is none."""
    content = content.strip()
    end = text.find(content, start)
    if end < 0:
        raise BadConversation("the template changes what was said")
    end += len(content)
    tokens = {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}
    ends = [text.find(token, end) + len(token) for token in tokens if token in text[end:]]
    return min(ends, default=end)
