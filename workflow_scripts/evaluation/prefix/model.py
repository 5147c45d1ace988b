"""Call a causal language model packed with a cache, or in plain padded batches.

A probe, not the model's name, decides whether the model can run packed: a small trie runs both ways and the logits are
compared. A model without a cache, with a recurrent state or with a custom attention fails the probe.
"""

import inspect

import torch
from torch.nn.utils.rnn import pad_sequence

from .attention import RowAttention, TrieAttention, use_attention
from .packed import PackedRun
from .trie import build_trie

# Device errors, for which plain batches would not help.
_DEVICE_ERRORS = (torch.OutOfMemoryError, torch.AcceleratorError)
_PROBE = ([3, 1, 4, 1, 5, 9, 2, 6], [3, 1, 4, 1, 5, 3, 5], [3, 1, 7])
# The tokens of the first of two blocks, which end after a shared prefix and before two of its branches.
_PROBE_BLOCK = 4
# Relative to the largest logit: rounding errors are far below, errors of mask or position far above.
_TOLERANCE = {torch.float64: 1e-4, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}


def get_attention(model) -> str | None:
    """Return transformers' name of the model's attention implementation."""
    return getattr(getattr(model, "config", None), "_attn_implementation", None)


class CausalModel:
    """A model with its calling convention and a count of the tokens it ran, including padding."""

    def __init__(self, model, *, plain: bool = False):
        """Test whether the model can run packed; `plain` forces plain batches."""
        self.model = model
        parameter = next(model.parameters())
        self.device = torch.device(getattr(model, "device", None) or parameter.device)
        self.dtype = parameter.dtype
        base = getattr(model, "get_base_model", lambda: model)()
        arguments = inspect.signature(base.forward).parameters
        self._plain_options = {"use_cache": False} if "use_cache" in arguments else {}
        self.cache_bytes = 0  # of one token in all layers
        with torch.inference_mode():
            self.fallback_reason = "as asked" if plain else self._probe()
        self.attention = get_attention(model) if self.fallback_reason else "sdpa"
        self.tokens_run = 0

    def run(
        self,
        ids: torch.Tensor,
        positions: torch.Tensor,
        attention: TrieAttention | RowAttention,
        cache,
        selected: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Run rows of tokens with a cache and return their logits, or those of the selected positions."""
        options = {}
        if selected is not None:
            # Models reject an empty selection; one position costs nothing.
            options["logits_to_keep"] = selected if len(selected) else selected.new_zeros(1)
        with use_attention(self.model):
            logits = self.model(
                input_ids=ids,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
                prefix_sharing=attention,
                **options,
            ).logits
        self.tokens_run += ids.numel()
        return logits if selected is None else logits[:, : len(selected)]

    def run_plain(self, sequences) -> torch.Tensor:
        """Run a batch padded on the right, which causal attention ignores, and return all logits."""
        rows = [torch.tensor([*sequence]) for sequence in sequences]
        ids = pad_sequence(rows, batch_first=True).to(self.device)
        self.tokens_run += ids.numel()
        # Prompt tuning puts virtual tokens before the sequence.
        return self.model(ids, **self._plain_options).logits[:, -ids.shape[1] :]

    def _probe(self) -> str | None:
        """Return the reason why the model cannot run packed, or None if it can."""
        devices = set((getattr(self.model, "hf_device_map", None) or {}).values())
        if len(devices) > 1:
            return f"its layers lie on {len(devices)} devices"
        self.tokens_run = 0
        expected = torch.cat([self.run_plain([sequence])[0, -1:] for sequence in sorted(_PROBE)])
        trie, _ = build_trie(_PROBE)
        self.vocabulary = expected.shape[-1]
        try:
            run = PackedRun(self, trie, len(trie))
            last = trie.last_nodes
            logits = [
                run.run_block(start, end, last[(start <= last) & (last < end)])
                for start, end in ((0, _PROBE_BLOCK), (_PROBE_BLOCK, len(trie)))
            ]
        except _DEVICE_ERRORS:
            raise
        except Exception as error:  # custom models fail in any way; plain batches still work
            print(f"The model is not run packed: {error!r}", flush=True)
            return f"it cannot be called with a cache and an attention of tries ({type(error).__name__})"
        if not run.cache.filled_layers:
            return "it fills in no cache"
        difference = (torch.cat(logits) - expected).abs().max()
        if not difference <= _TOLERANCE[self.dtype] * expected.abs().max().clamp(min=1e-6):
            return "with a cache and an attention of tries its logits differ"
        self.cache_bytes = run.cache.bytes // run.cache.capacity
        return None
