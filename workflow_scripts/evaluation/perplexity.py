"""Compute the perplexity of a long text in overlapping windows, and of responses to prompts.

Each window is as long as the model allows and scores only its last tokens, those not scored by an earlier
window, so that each token is predicted from a long context (published runs: window 4,096, stride 256).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_scripts.core.files import hash_json
from workflow_scripts.core.items import Item
from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.core.records import Metric, TaskFacts, write_record
from workflow_scripts.evaluation.record_parts import build_metric, describe_run, format_label
from workflow_scripts.hub.bos_token import get_bos_tokens
from workflow_scripts.hub.load import LoadedModel
from workflow_scripts.hub.record_fields import RunTracker
from workflow_scripts.settings.compute import FLASH
from workflow_scripts.settings.plan_measures import PerplexityMean


@dataclass(frozen=True)
class ScoredSpan:
    """The scored tokens of one window or of one response, and the sum of their losses in nats."""

    nats: float
    tokens: int
    bytes: int


def compute_perplexity_metrics(
    spans: Sequence[ScoredSpan],
    condition: Condition | None = None,
    mean_over: PerplexityMean = "tokens",
) -> tuple[Metric, ...]:
    """Compute perplexity and bits per byte; the mean loss is over tokens, or over the means of the spans."""
    # The sum of losses and the weight of each span.
    losses = [(span.nats, span.tokens) for span in spans]
    if mean_over != "tokens":
        losses = [(nats / tokens, 1) for nats, tokens in losses]
    n, total_weight = len(spans), sum(weight for _, weight in losses)
    mean = sum(nats for nats, _ in losses) / total_weight
    perplexity, stderr = math.exp(mean), None
    if n > 1:  # the delta method, for a ratio of two sums and its exponential
        variance = sum((nats - mean * weight) ** 2 for nats, weight in losses) / (n - 1)
        stderr = perplexity * (math.sqrt(variance * n) / total_weight)
    bits = sum(span.nats for span in spans) / math.log(2) / sum(span.bytes for span in spans)
    return (
        build_metric("perplexity", perplexity, n, condition, stderr),
        build_metric("bits_per_byte", bits, n, condition),
    )


def build_perplexity_items(
    task: str,
    spans: Sequence[ScoredSpan],
    condition: Condition | None = None,
    texts: Sequence[str] | None = None,
) -> list[Item]:
    """Build an item per span; `texts` are the texts of the spans if a model generated them."""
    return [
        Item(
            item=f"{format_label(task, condition)}/{index}",
            condition=condition,
            prompt_sha256=hash_json([task, index]),
            prediction=texts[index] if texts else None,
            scores=vars(span),
        )
        for index, span in enumerate(spans)
    ]


class PerplexityRecord:
    """The items and metrics of one text under each condition."""

    def __init__(self, task: TaskFacts):
        self._task = task
        self._items: list[Item] = []
        self._metrics: list[Metric] = []

    def add(
        self,
        spans: list[ScoredSpan],
        condition: Condition | None,
        mean_over: PerplexityMean = "tokens",
        texts: list[str] | None = None,
    ) -> None:
        """Add the scores of one condition; `texts` are the texts of the spans if a model generated them."""
        self._items += build_perplexity_items(self._task.name, spans, condition, texts)
        self._metrics += compute_perplexity_metrics(spans, condition, mean_over)

    def write(
        self,
        path: Path,
        request: Any,
        loaded: LoadedModel,
        tracker: RunTracker,
        study: str,
        generation: dict[str, Any],
    ) -> None:
        tokens = int(sum(item.scores["tokens"] for item in self._items))
        write_record(
            path,
            self._items,
            study=study,
            task=self._task,
            **describe_run(
                "perplexity",
                request,
                loaded,
                tracker,
                tokens,
                chat_template=loaded.tokenizer.chat_template is not None,
                generation=generation,
            ),
            metrics=tuple(self._metrics),
        )


def list_windows(tokens: int, window: int, stride: int) -> Iterator[tuple[int, int, int]]:
    """Yield (start, first scored token, end) of each window; every token but the first is scored exactly once.

    The first window scores all but its first token; each later window scores its last `stride` tokens.
    """
    # If the stride equals the window, one token of the window remains as context.
    step = min(stride, window - 1)
    first = 1
    while first < tokens:
        end = min(window if first == 1 else first + step, tokens)
        yield max(0, end - window), first, end
        first = end


def score_text(
    model, tokenizer, text: str, *, window: int, stride: int, max_tokens: int | None = None
) -> list[ScoredSpan]:
    """Score one long text, or its first `max_tokens` tokens, window by window.

    If the tokenizer adds a BOS token, each window begins with it, as the model was trained with it.
    The text's first token is then scored too.
    """
    encoded = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False, verbose=False)
    bos = get_bos_tokens(tokenizer)
    ids = [*bos, *encoded["input_ids"][:max_tokens]]
    # Of each token, the character after its last.
    text_ends = [*[0] * len(bos), *(end for _, end in encoded["offset_mapping"][:max_tokens])]
    windows = list(list_windows(len(ids), window, stride))
    rows = [([*bos, *ids[start + len(bos) : end]], first - start) for start, first, end in windows]
    # Count bytes from the end of the token before the scored ones to the end of the last: without a
    # BOS token, the text's first token is not counted.
    return [
        ScoredSpan(loss, end - first, len(text[text_ends[first - 1] : text_ends[end - 1]].encode()))
        for loss, (_, first, end) in zip(compute_nll(model, rows), windows, strict=True)
    ]


def score_instruction_responses(
    model, tokenizer, pairs: Iterable[tuple[str, str]], *, window: int
) -> list[ScoredSpan]:
    """Score responses to instructions in the tokenizer's chat template; the instruction is not scored.

    Without a template the two are concatenated. A response longer than the window is truncated on the right, and then
    a conversation longer than the model's context on the left.
    """
    rows, bos = [], get_bos_tokens(tokenizer)
    for instruction, response in pairs:
        prompt = encode_chat_prompt(tokenizer, instruction, bos)
        answer = tokenizer(response, add_special_tokens=False)["input_ids"][: window - 1]
        rows.append((prompt + answer, len(prompt)))
    return score_rows(model, tokenizer, rows)


def score_rows(model, tokenizer, rows: list[tuple[list[int], int]]) -> list[ScoredSpan]:
    """Score each row of tokens from the given index to its end."""
    return [
        ScoredSpan(loss, len(row) - first, max(1, len(tokenizer.decode(row[first:]).encode())))
        for loss, (row, first) in zip(compute_nll(model, rows), rows, strict=True)
    ]


def encode_chat_prompt(tokenizer, instruction: str, bos: list[int]) -> list[int]:
    """Tokenise an instruction as a user's turn; a chat template adds the BOS token itself if it uses one."""
    if tokenizer.chat_template is None:
        return [*bos, *tokenizer(instruction + "\n", add_special_tokens=False)["input_ids"]]
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
