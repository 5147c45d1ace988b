"""Compute the perplexity of a long text in overlapping windows, and of responses to prompts.

Each window is as long as the model allows and scores only its last tokens, those not scored by an earlier
window, so that each token is predicted from a long context (published runs: window 4,096, stride 256).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from workflow_scripts.core.files import hash_json
from workflow_scripts.core.items import Item
from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.core.records import Metric
from workflow_scripts.evaluation.record_parts import build_metric
from workflow_scripts.hub.bos_token import get_bos_tokens
from workflow_scripts.settings.compute import FLASH
from workflow_scripts.settings.plan_measures import PerplexityMean


@dataclass(frozen=True)
class Scored:
    """The loss of one window or one response, summed over its scored tokens, in nats."""

    nats: float
    tokens: int
    bytes: int


def compute_perplexity_metrics(
    pieces: Sequence[Scored],
    condition: Condition | None = None,
    over: PerplexityMean = "tokens",
) -> tuple[Metric, ...]:
    """Compute perplexity and bits per byte; the mean loss is over tokens, or over the means of the pieces."""
    losses = [(p.nats, p.tokens) if over == "tokens" else (p.nats / p.tokens, 1) for p in pieces]
    n, total = len(pieces), sum(tokens for _, tokens in losses)
    mean = sum(nats for nats, _ in losses) / total
    perplexity, stderr = math.exp(mean), None
    if n > 1:  # the delta method, for a ratio of two sums and its exponential
        spread = sum((nats - mean * tokens) ** 2 for nats, tokens in losses) / (n - 1)
        stderr = perplexity * (math.sqrt(spread * n) / total)
    bits = sum(p.nats for p in pieces) / math.log(2) / sum(p.bytes for p in pieces)
    return (
        build_metric("perplexity", perplexity, n, condition, stderr),
        build_metric("bits_per_byte", bits, n, condition),
    )


def build_perplexity_items(
    task: str,
    pieces: Sequence[Scored],
    condition: Condition | None = None,
    texts: Sequence[str] | None = None,
) -> list[Item]:
    """Build an item per piece; `texts` are the pieces if the model generated them."""
    return [
        Item(
            item=f"{format_label(task, condition)}/{index}",
            condition=condition,
            prompt_sha256=hash_json([task, index]),
            prediction=texts[index] if texts else None,
            scores=vars(piece),
        )
        for index, piece in enumerate(pieces)
    ]


def format_label(task: str, condition: Condition | None) -> str:
    """Join the task and the condition: magpie/k2m12-sequential/mean/easy."""
    varied = condition.model_dump(exclude_none=True).values() if condition else ()
    return "/".join([task, *map(str, varied)])


def list_windows(tokens: int, window: int, stride: int) -> Iterator[tuple[int, int, int]]:
    """Yield (window start, first scored token, end); every token but the first is scored exactly once.

    The first window scores all but its first token; each later window scores its last `stride` tokens.
    """
    # If the stride equals the window, one token of the window remains as context.
    step = min(stride, window - 1)
    scored = 1
    while scored < tokens:
        end = min(window if scored == 1 else scored + step, tokens)
        yield max(0, end - window), scored, end
        scored = end


def score_text(
    model, tokenizer, text: str, *, window: int, stride: int, most_tokens: int | None = None
) -> list[Scored]:
    """Score one long text, or its first `most_tokens` tokens, window by window.

    If the tokenizer adds a start token, each window begins with it, as the model was trained with it.
    The text's first token is then scored too.
    """
    encoded = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False, verbose=False)
    start = get_bos_tokens(tokenizer)
    ids = [*start, *encoded["input_ids"][:most_tokens]]
    ends = [*[0] * len(start), *(end for _, end in encoded["offset_mapping"][:most_tokens])]
    spans = list(list_windows(len(ids), window, stride))
    nats = compute_nll(
        model,
        [
            ([*start, *ids[first + len(start) : end]], scored - first)
            for first, scored, end in spans
        ],
    )
    # Count bytes from the end of the token before the scored ones to the end of the last: without a
    # start token, the text's first token is not counted.
    return [
        Scored(loss, end - scored, len(text[ends[scored - 1] : ends[end - 1]].encode()))
        for loss, (_, scored, end) in zip(nats, spans, strict=True)
    ]


def score_instruction_responses(
    model, tokenizer, pairs: Iterable[tuple[str, str]], *, window: int
) -> list[Scored]:
    """Score responses to instructions in the tokenizer's chat template; the instruction is not scored.

    Without a template the two are concatenated. A response longer than the window is truncated on the right, and then
    a conversation longer than the model's context on the left.
    """
    rows, start = [], get_bos_tokens(tokenizer)
    for instruction, response in pairs:
        prompt = encode_chat_prompt(tokenizer, instruction, start)
        answer = tokenizer(response, add_special_tokens=False)["input_ids"][: window - 1]
        rows.append((prompt + answer, len(prompt)))
    return score_rows(model, tokenizer, rows)


def score_rows(model, tokenizer, rows: list[tuple[list[int], int]]) -> list[Scored]:
    """Score each row of tokens from the given index to its end."""
    return [
        Scored(loss, len(row) - first, max(1, len(tokenizer.decode(row[first:]).encode())))
        for loss, (row, first) in zip(compute_nll(model, rows), rows, strict=True)
    ]


def encode_chat_prompt(tokenizer, instruction: str, start: list[int]) -> list[int]:
    """Tokenise an instruction as a user's turn; a chat template adds the start token itself if it uses one."""
    if tokenizer.chat_template is None:
        return [*start, *tokenizer(instruction + "\n", add_special_tokens=False)["input_ids"]]
    turns = [{"role": "user", "content": instruction}]
    encoded = tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=True)
    return encoded["input_ids"]


def compute_nll(model, rows: list[tuple[list[int], int]]) -> list[float]:
    """Compute each row's negative log-likelihood from the given index; only those logits are computed.

    With flash-attn all rows run in plain batches, so that all use the same attention.
    """
    from workflow_scripts.evaluation.prefix.engine import PrefixEngine
    from workflow_scripts.evaluation.prefix.model import get_attention

    pairs = [(row[:first], row[first:]) for row, first in rows]
    engine = PrefixEngine(model, plain=get_attention(model) == FLASH)
    scores = engine.loglikelihoods(pairs, window=model.config.max_position_embeddings)
    return [-value for value, _ in scores]
