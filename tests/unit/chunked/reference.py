"""A chunked model written out plainly, from a base model's own layers and a bag of new weights.

No cache, no stacking, one row at a time and without its padding: slow, and hard to get wrong.
"""

import torch
import torch.nn.functional as F
from transformers.activations import ACT2FN

import workflow_scripts.chunked  # noqa: F401 (registers the chunked classes)
from tests.tiny_models import VOCABULARY
from workflow_scripts.core.plan import chunk_plan

# Of the largest logit: rounding grows with what is added up, and inputs are fresh each time.
EXACT = 1e-5


def assert_equal(ours, reference, real=None):
    """Where the mask `real` says that a token stands."""
    real = torch.ones(ours.shape[:2], dtype=torch.bool) if real is None else real.bool()
    scale = max(1.0, float(reference.abs().max()))
    assert float((ours - reference)[real].abs().max()) <= EXACT * scale


def added_weights(chunked) -> dict[str, torch.Tensor]:
    """What chunking adds, by its names inside of the wrapper."""
    return {
        name.removeprefix("model.wrapped_chunk_layers."): parameter
        for name, parameter in chunked.named_parameters()
        if "wrapped_chunk_layers" in name
    }


def reference_logits(base, chunked, ids: torch.Tensor, mask: torch.Tensor | None = None):
    """Logits of each row as if it stood alone; zeros at its padding."""
    mask = torch.ones_like(ids) if mask is None else mask
    new, rows = added_weights(chunked), []
    for row, real in zip(ids, mask.bool(), strict=True):
        logits = torch.zeros(len(row), base.config.vocab_size)
        logits[real] = _logits(base, _states(base, chunked.config, new, row[real]))
        rows.append(logits)
    return torch.stack(rows)


def reference_loss(base, config, new, ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Of the language model, and of what it learns from itself unchunked, row by row."""
    number, total = int((labels[:, 1:] != -100).sum()), 0.0
    for row, wanted in zip(ids, labels[:, 1:], strict=True):
        counts = wanted != -100
        states = _states(base, config, new, row)
        logits = _logits(base, states)[:-1][counts]
        total = total + F.cross_entropy(logits, wanted[counts], reduction="sum")
        with torch.no_grad():
            taught = _states(base, None, {}, row)
        if config.distillation:
            behind = taught[-1 - len(config.plan().end) :]
            cosines = [
                F.cosine_similarity(ours, theirs, dim=-1)[0, :-1][counts]
                for ours, theirs in zip(states[-len(behind) :], behind, strict=True)
            ]
            total = total + sum(((1 - one) ** 2).sum() for one in cosines) / len(cosines)
        if config.logits_distillation:
            t = config.temperature
            p = F.softmax(_logits(base, taught)[:-1][counts].detach() / t, dim=-1)
            q = F.softmax(logits / t, dim=-1)
            total = total + t**2 * (p * (p / q).log()).sum()
    return total / number


def published_loss(base, config, new, ids, labels, mask) -> torch.Tensor:
    """As the published code takes it: every position counts, those of prompts and padding too."""
    with torch.no_grad():
        taught = base(ids, attention_mask=mask, output_hidden_states=True)
    hidden, soft, wanted = 0.0, 0.0, []
    for at, real in enumerate(mask.bool()):
        states = _states(base, config, new, ids[at], real)
        logits, t = _logits(base, states), config.temperature
        states = [*states[:-1], base.model.norm(states[-1])]
        behind = (
            len(config.plan().end) + 1
        )  # what goes into each layer behind the chunks, and the last
        for ours, theirs in zip(states[-behind:], taught.hidden_states[-behind:], strict=True):
            cosine = (ours[0] * theirs[at]).sum(-1) / ours[0].norm(dim=-1) / theirs[at].norm(dim=-1)
            hidden = hidden + (cosine - 1).pow(2).sum()
        p, q = (F.softmax(one / t, dim=-1) for one in (taught.logits[at], logits))
        soft = soft + t**2 * (p * (p / q).log()).sum()
        counts = labels[at, 1:] != -100
        wanted.append(
            F.cross_entropy(logits[:-1][counts], labels[at, 1:][counts], reduction="none")
        )
    total = torch.cat(wanted).mean()
    if config.distillation:
        total = total + hidden / ids.numel() / len(taught.hidden_states)
    return total + soft / ids.numel() if config.logits_distillation else total


def _logits(base, states: list[torch.Tensor]) -> torch.Tensor:
    return base.lm_head(base.model.norm(states[-1]))[0]


def _mask(config, number: int, tokens: int) -> torch.Tensor:
    """What a layer may not see: what comes later, and what its window does not reach."""
    kinds = getattr(config, "layer_types", None)
    slides = kinds is None or kinds[number] == "sliding_attention"
    window = getattr(config, "sliding_window", None) if slides else None
    apart = torch.arange(tokens)[:, None] - torch.arange(tokens)
    hidden = (apart < 0) | (apart >= (window or tokens))
    return torch.zeros(tokens, tokens).masked_fill(hidden, torch.finfo(torch.float32).min)


def _states(base, config, new, row: torch.Tensor, real=None) -> list[torch.Tensor]:
    """Of the main stream, behind each shared layer and behind all chunks; without a config, unchunked.

    `real` says where a row that is padded behind has tokens; the others are seen by none.
    """
    plan = (
        chunk_plan(base.config.num_hidden_layers, "uniform", 0) if config is None else config.plan()
    )
    tokens = len(row)
    positions = torch.arange(tokens)[None]
    x = base.model.embed_tokens(row[None])
    rotary = base.model.rotary_emb(x, positions)

    def layer(number: int, x: torch.Tensor) -> torch.Tensor:
        mask = _mask(base.config, number, tokens)[None, None].to(x.dtype)
        if real is not None:
            mask = mask.masked_fill(~real, torch.finfo(torch.float32).min)
        return base.model.layers[number](x, attention_mask=mask, position_embeddings=rotary)

    def adapter(number: int, x: torch.Tensor) -> torch.Tensor:
        if not config.use_adapters:
            return x
        up, down = (new[f"adapters.{number}.{name}_proj.weight"] for name in ("up", "down"))
        return x + ACT2FN[config.hidden_act](x @ up.T) @ down.T

    states = [x]
    for number in plan.start:
        states.append(layer(number, states[-1]))
    outputs = []
    for chunk in plan.chunks:
        y = states[-1]
        for number in chunk:
            y = layer(number, adapter(number, y))
        outputs.append(y)
    if outputs:
        states.append(_aggregate(config, new, outputs, states[-1]))
    for number in plan.end:
        states.append(layer(number, states[-1]))
    return states


def _aggregate(config, new, outputs, shared):
    total = shared + sum(output - shared for output in outputs)
    mean = sum(outputs) / len(outputs)
    if config.aggregation_mode == "mean":
        return mean
    if config.aggregation_mode == "last":
        return outputs[-1]
    if config.aggregation_mode == "residual":
        return total
    x = torch.cat(outputs, dim=-1) @ new["aggregation.proj.weight"].T
    x = x + new.get("aggregation.proj.bias", 0)
    gate, up = (x @ new[f"aggregation.{name}_proj.weight"].T for name in ("gate", "up"))
    x = (ACT2FN[config.hidden_act](gate) * up) @ new["aggregation.down_proj.weight"].T
    return x + {"residual": total, "mean": mean, "none": 0}[config.aggregation_base]


def fresh_ids(rows: int, tokens: int) -> torch.Tensor:
    return torch.randint(3, VOCABULARY, (rows, tokens))


def padded(tokens: int, side: str) -> torch.Tensor:
    """A mask of three rows of different lengths, padded on one side."""
    mask = torch.ones(3, tokens, dtype=torch.long)
    for row, gap in enumerate((0, 2, tokens - 3)):
        if side == "left":
            mask[row, :gap] = 0
        elif gap:
            mask[row, -gap:] = 0
    return mask
