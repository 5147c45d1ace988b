"""Compute a reference for chunked models from a base model's layers and a dictionary of added weights.

It has no cache and no stacking, and computes one row at a time without padding: slow but simple.
"""

import torch
import torch.nn.functional as F
from transformers.activations import ACT2FN

import workflow_scripts.chunked  # noqa: F401 (registers the chunked classes)
from tests.tiny_models import VOCABULARY
from workflow_scripts.core.chunk_plan import build_chunk_plan

# Relative to the largest logit, because rounding errors grow with it; inputs are random in each run.
EXACT = 1e-5


def assert_equal(values, expected, mask=None, tolerance=EXACT):
    """Compare values at the unmasked tokens; `tolerance` is relative to the largest expected value."""
    mask = torch.ones(values.shape[:2], dtype=torch.bool) if mask is None else mask.bool()
    scale = max(1.0, float(expected.abs().max()))
    assert float((values - expected)[mask].abs().max()) <= tolerance * scale


def get_added_weights(chunked) -> dict[str, torch.Tensor]:
    """Return the weights that chunking adds, keyed by their names inside the wrapper."""
    return {
        name.removeprefix("model.wrapped_chunk_layers."): parameter
        for name, parameter in chunked.named_parameters()
        if "wrapped_chunk_layers" in name
    }


def compute_reference_logits(base, chunked, ids: torch.Tensor, mask: torch.Tensor | None = None):
    """Compute the logits of each row separately; padding has zeros."""
    mask = torch.ones_like(ids) if mask is None else mask
    added, rows = get_added_weights(chunked), []
    for row, real in zip(ids, mask.bool(), strict=True):
        logits = torch.zeros(len(row), base.config.vocab_size)
        logits[real] = compute_logits(base, compute_states(base, chunked.config, added, row[real]))
        rows.append(logits)
    return torch.stack(rows)


def compute_reference_loss(base, config, added, ids: torch.Tensor, labels: torch.Tensor, mask=None):
    """Compute the language-model loss and the distillation loss against the unchunked model, row by row.

    `added` holds the weights that chunking adds.

    The published loss is over every position, including prompts and padding; ours is over positions with a label.
    """
    is_published, t = config.distillation_loss == "published", config.temperature
    num_compared, num_states = len(config.plan().end) + 1, base.config.num_hidden_layers + 1
    mask = torch.ones_like(ids) if mask is None else mask
    label_losses, hidden_losses, logits_losses = [], [], []
    for row, targets, real in zip(ids, labels[:, 1:], mask.bool(), strict=True):
        in_loss = targets != -100
        student = compute_states(base, config, added, row, real)
        logits = compute_logits(base, student)
        label_losses.append(
            F.cross_entropy(logits[:-1][in_loss], targets[in_loss], reduction="none")
        )
        with torch.no_grad():
            teacher = compute_states(base, None, {}, row, real)
            teacher_logits = compute_logits(base, teacher)
        if is_published:
            in_loss = slice(None)
            student[-1], teacher[-1] = base.model.norm(student[-1]), base.model.norm(teacher[-1])
        else:
            in_loss = torch.cat([in_loss, torch.tensor([False])])
        cosines = [
            F.cosine_similarity(state, target, dim=-1)[0][in_loss]
            for state, target in zip(student[-num_compared:], teacher[-num_compared:], strict=True)
        ]
        hidden_losses.append((1 - torch.stack(cosines)).square().sum(0))
        p, q = (F.softmax(x[in_loss] / t, dim=-1) for x in (teacher_logits, logits))
        logits_losses.append(t**2 * (p * (p / q).log()).sum(-1))
    total = torch.cat(label_losses).mean()
    if config.distillation:
        total += torch.cat(hidden_losses).mean() / (num_states if is_published else num_compared)
    return total + torch.cat(logits_losses).mean() if config.logits_distillation else total


def compute_logits(base, states: list[torch.Tensor]) -> torch.Tensor:
    return base.lm_head(base.model.norm(states[-1]))[0]


def _make_mask(config, number: int, tokens: int) -> torch.Tensor:
    """Mask later tokens and tokens outside a layer's sliding window."""
    kinds = getattr(config, "layer_types", None)
    slides = kinds is None or kinds[number] == "sliding_attention"
    window = getattr(config, "sliding_window", None) if slides else None
    distance = torch.arange(tokens)[:, None] - torch.arange(tokens)
    hidden = (distance < 0) | (distance >= (window or tokens))
    return torch.zeros(tokens, tokens).masked_fill(hidden, torch.finfo(torch.float32).min)


def compute_states(base, config, added, row: torch.Tensor, real=None) -> list[torch.Tensor]:
    """Compute the hidden states after each shared layer and after all chunks; config=None means unchunked.

    `real` is the mask of a right-padded row: True for tokens.
    """
    plan = (
        build_chunk_plan(base.config.num_hidden_layers, "uniform", 0)
        if config is None
        else config.plan()
    )
    tokens = len(row)
    positions = torch.arange(tokens)[None]
    x = base.model.embed_tokens(row[None])
    rotary = base.model.rotary_emb(x, positions)

    def run_layer(number: int, x: torch.Tensor) -> torch.Tensor:
        mask = _make_mask(base.config, number, tokens)[None, None].to(x.dtype)
        if real is not None:
            mask = mask.masked_fill(~real, torch.finfo(torch.float32).min)
        return base.model.layers[number](x, attention_mask=mask, position_embeddings=rotary)

    def run_adapter(number: int, x: torch.Tensor) -> torch.Tensor:
        if not config.use_adapters:
            return x
        up, down = (added[f"adapters.{number}.{name}_proj.weight"] for name in ("up", "down"))
        return x + ACT2FN[config.hidden_act](x @ up.T) @ down.T

    states = [x]
    for number in plan.start:
        states.append(run_layer(number, states[-1]))
    outputs = []
    for chunk in plan.chunks:
        y = states[-1]
        for number in chunk:
            y = run_layer(number, run_adapter(number, y))
        outputs.append(y)
    if outputs:
        states.append(_aggregate(config, added, outputs, states[-1]))
    for number in plan.end:
        states.append(run_layer(number, states[-1]))
    return states


def _aggregate(config, added, outputs, shared):
    total = shared + sum(output - shared for output in outputs)
    mean = sum(outputs) / len(outputs)
    if config.aggregation_mode == "mean":
        return mean
    if config.aggregation_mode == "last":
        return outputs[-1]
    if config.aggregation_mode == "residual":
        return total
    x = torch.cat(outputs, dim=-1) @ added["aggregation.proj.weight"].T
    x = x + added.get("aggregation.proj.bias", 0)
    gate, up = (x @ added[f"aggregation.{name}_proj.weight"].T for name in ("gate", "up"))
    x = (ACT2FN[config.hidden_act](gate) * up) @ added["aggregation.down_proj.weight"].T
    return x + {"residual": total, "mean": mean, "none": 0}[config.aggregation_base]


def fresh_ids(rows: int, tokens: int) -> torch.Tensor:
    return torch.randint(3, VOCABULARY, (rows, tokens))


def make_padding_mask(tokens: int, side: str) -> torch.Tensor:
    """Make a mask of three rows of different lengths, padded on one side."""
    mask = torch.ones(3, tokens, dtype=torch.long)
    for row, gap in enumerate((0, 2, tokens - 3)):
        if side == "left":
            mask[row, :gap] = 0
        elif gap:
            mask[row, -gap:] = 0
    return mask
