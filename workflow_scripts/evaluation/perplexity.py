"""Perplexity: of a long text in overlapping windows, and of responses to prompts.

A window sees as much as the model may and scores its last tokens only, those that no window before
it scored, so that each token is predicted from a long context (the published runs: 4,096 and 256).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from workflow_scripts.core.conditions import Condition
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_json
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import Metric
from workflow_scripts.hub.start_token import start_of
from workflow_scripts.settings.compute import FLASH
from workflow_scripts.settings.plan_measures import PerplexityMean


@dataclass(frozen=True)
class Scored:
    """One window or one response: what its scored tokens cost, in nats."""

    nats: float
    tokens: int
    bytes: int

    @property
    def perplexity(self) -> float:
        return math.exp(self.nats / self.tokens)


def mean_loss(pieces: Sequence[Scored], over: PerplexityMean) -> tuple[float, float | None]:
    """Average the loss over all tokens, or over the pieces' own means, with its standard error."""
    tokens = [piece.tokens for piece in pieces]
    if over == "tokens":
        return nats_a_token([piece.nats for piece in pieces], tokens)
    return nats_a_token([piece.nats / piece.tokens for piece in pieces], [1] * len(pieces))


def nats_a_token(nats: Sequence[float], tokens: Sequence[int]) -> tuple[float, float | None]:
    """The mean over all tokens of some pieces, and its standard error from the spread between them."""
    pieces, whole = len(nats), sum(tokens)
    mean = sum(nats) / whole
    if pieces == 1:
        return mean, None
    # A ratio of two sums: the delta method.
    spread = sum((n - mean * t) ** 2 for n, t in zip(nats, tokens, strict=True)) / (pieces - 1)
    return mean, math.sqrt(spread * pieces) / whole


def perplexity_metrics(
    pieces: Sequence[Scored],
    condition: Condition | None = None,
    over: PerplexityMean = "tokens",
) -> tuple[Metric, ...]:
    """Of the pieces of one text: exp of the mean loss, and bits per byte."""
    mean, error = mean_loss(pieces, over)
    perplexity, n = math.exp(mean), len(pieces)
    stderr = None if error is None else perplexity * error  # through the exponential
    bits = sum(p.nats for p in pieces) / math.log(2) / sum(p.bytes for p in pieces)
    return (
        measure("perplexity", perplexity, n, condition, stderr=stderr),
        measure("bits_per_byte", bits, n, condition),
    )


def perplexity_items(
    task: str, pieces: Sequence[Scored], condition: Condition | None = None
) -> list[Item]:
    return [
        Item(
            item=f"{labelled(task, condition)}/{at}",
            condition=condition,
            prompt_sha256=sha256_json([task, at]),
            gold=None,
            prediction=None,
            scores={"nats": piece.nats, "tokens": piece.tokens, "bytes": piece.bytes},
        )
        for at, piece in enumerate(pieces)
    ]


def measure(
    name: str, value: float, n: int, condition: Condition | None, stderr: float | None = None
) -> Metric:
    """A quantity that no answer at random could have."""
    return Metric(
        name=name,
        condition=condition,
        value=value,
        stderr=stderr,
        n=n,
        best_constant=None,
        chance=None,
    )


def labelled(task: str, condition: Condition | None) -> str:
    """magpie/k2m12-sequential/mean/easy: the task, and what was varied."""
    varied = condition.model_dump(exclude_none=True).values() if condition else ()
    return "/".join([task, *map(str, varied)])


def windows(tokens: int, window: int, stride: int) -> Iterator[tuple[int, int, int]]:
    """(first seen, first scored, end): every token but the first is scored exactly once.

    The first window scores all that it sees but its first token, each later one its last `stride`.
    """
    if not 1 <= stride <= window or window < 2:
        raise UserError(
            f"The window is {window} and the stride {stride}; expected a window of at least 2 and a"
            " stride from 1 to the window."
        )
    # A window as long as its stride sees one token before what it scores.
    step = min(stride, window - 1)
    scored = 1
    while scored < tokens:
        end = min(window if scored == 1 else scored + step, tokens)
        yield max(0, end - window), scored, end
        scored = end


def text_perplexity(
    model, tokenizer, text: str, *, window: int, stride: int, most_tokens: int | None = None
) -> list[Scored]:
    """One long text, or so many of its first tokens, window by window.

    Where the tokenizer puts a start token in front of a text, each window begins with it: the model
    knows no text without. The text's first token is then scored too.
    """
    encoded = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False, verbose=False)
    if len(encoded["input_ids"]) < 2:
        found = len(encoded["input_ids"])
        raise UserError(f"A text of {found} tokens has no perplexity; expected at least 2.")
    start = start_of(tokenizer)
    ids = [*start, *encoded["input_ids"][:most_tokens]]
    offsets = [*[(0, 0)] * len(start), *encoded["offset_mapping"][:most_tokens]]
    spans = list(windows(len(ids), window, stride))
    rows = [
        ([*start, *ids[first + len(start) : end]], scored - first) for first, scored, end in spans
    ]
    nats = nats_of(model, rows)
    # Bytes from the end of the token before to the end of the last: where nothing stands in front of
    # the text, all of it but its first token.
    return [
        Scored(cost, end - scored, len(text[offsets[scored - 1][1] : offsets[end - 1][1]].encode()))
        for cost, (_, scored, end) in zip(nats, spans, strict=True)
    ]


def response_perplexity(
    model, tokenizer, pairs: Iterable[tuple[str, str]], *, window: int
) -> list[Scored]:
    """Responses to instructions in the tokenizer's chat template; the instruction is not scored.

    Without a template the two stand one after the other. A conversation longer than the window
    loses its beginning, but for a start token; a response longer than it, its end.
    """
    rows, sizes, start = [], [], start_of(tokenizer)
    for instruction, response in pairs:
        prompt = prompt_tokens(tokenizer, instruction, start)
        answer = tokenizer(response, add_special_tokens=False)["input_ids"][: window - 1]
        if not answer:
            raise UserError(f"The response to {instruction[:60]!r} is empty; nothing to score.")
        room = window - len(answer)
        if len(prompt) > room:
            lead = start if prompt[: len(start)] == start else []
            prompt = [*lead, *prompt[len(prompt) - room + len(lead) :]]
        rows.append((prompt + answer, len(prompt)))
        sizes.append(max(1, len(tokenizer.decode(answer).encode())))
    costs = nats_of(model, rows)
    return [
        Scored(cost, len(row) - first, size)
        for cost, (row, first), size in zip(costs, rows, sizes, strict=True)
    ]


def prompt_tokens(tokenizer, instruction: str, start: list[int]) -> list[int]:
    """Tokenise an instruction as a user's turn; a template writes the start token itself, where one is due."""
    if tokenizer.chat_template is None:
        return [*start, *tokenizer(instruction + "\n", add_special_tokens=False)["input_ids"]]
    turns = [{"role": "user", "content": instruction}]
    encoded = tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=True)
    return encoded["input_ids"]


def nats_of(model, rows: list[tuple[list[int], int]]) -> list[float]:
    """For each row its negative log-likelihood from the given token on; no logits but those are computed.

    Under flash-attn all of it runs in plain batches, so that the attention is one.
    """
    from workflow_scripts.evaluation.prefix.engine import PrefixEngine
    from workflow_scripts.evaluation.prefix.model import get_attention
    from workflow_scripts.evaluation.prefix.scores import ScoreRequest

    requests = [ScoreRequest(row[:-1], row[first:]) for row, first in rows]
    engine = PrefixEngine(model, plain=get_attention(model) == FLASH)
    return [-value for value, _ in engine.score(requests)]
