"""How to call a causal language model: packed with a cache, or in plain padded batches.

Whether a model can be run packed is found out by trying, not by its name: a small trie is run both
ways and the logits are compared. A model without a cache, with a recurrent state, with positions of
its own or with an attention that takes no mask does not pass, and is run in plain batches. One that
passes is tried with attention branch by branch (attention.py), which makes nothing of the size of tokens
times keys; a model that leaves out the attention given to it keeps its masks.
"""

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch

from workflow_scripts.evaluation.prefix.attention import (
    NAME,
    NO_MASK,
    START,
    Cascade,
    attending,
)
from workflow_scripts.evaluation.prefix.sight import Sight

# Of the device, whatever is tried on it: another way of running the model would not help.
_OF_THE_DEVICE = (torch.OutOfMemoryError, torch.AcceleratorError)
_TRUSTED_ATTENTION = ("sdpa", "eager")
_FLASH = "flash_attention_2"  # by the package flash-attn, which takes no mask
_PROBE = ([3, 1, 4, 1, 5, 9, 2, 6], [3, 1, 4, 1, 5, 3, 5], [3, 1, 7])
# Relative to the largest logit: rounding is far below it, a wrong mask or position far above.
_TOLERANCE = {torch.float64: 1e-4, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}


def text_config(model):
    config: Any = getattr(model, "config", None)
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def get_attention(model) -> str | None:
    """Return the name of the attention that runs, as transformers has it."""
    return getattr(getattr(model, "config", None), "_attn_implementation", None)


class CausalModel:
    """One model; counts the tokens that run through it, padding included."""

    def __init__(self, model, *, by_branch: bool | None = None, plain: bool = False):
        """`by_branch` says how packed tokens attend; left out, eager attention on a CPU keeps its masks.

        With `plain` nothing is packed, and the model keeps the attention that it has.
        """
        self.model = model
        parameter = next(model.parameters())
        self.device = getattr(model, "device", None) or parameter.device
        self.dtype = parameter.dtype
        self.tokens_run = 0
        self.records_steps = True  # of generation as CUDA graphs, until that has failed
        self.attention = own = get_attention(model)
        self._attending_plainly: Callable[[], AbstractContextManager] = nullcontext
        if not plain:
            self._trust_masks()
        self._read_windows()
        self.selects_logits, self.selects_by_row = False, False
        self.cache_bytes = 0  # of one token, all layers
        with torch.inference_mode():
            self.vocabulary = self._learn_logits()
            self.by_branch, self.why_not_by_branch = False, None
            self.why_not_packed = "as asked" if plain else self._why_not_packed()
            wished = self._may_run_by_branch() if by_branch is None else by_branch
            if wished and not self.why_not_packed:
                self.by_branch = True
                self.why_not_by_branch = self._why_not_packed()
                self.by_branch = not self.why_not_by_branch
        if own == _FLASH and not plain:  # plain batches need no masks of ours
            self._attending_plainly = partial(attending, model, _FLASH)
            shared = "" if self.why_not_packed else f"{self.attention}, in plain batches "
            self.attention = shared + _FLASH
        self.tokens_run = 0

    def packed(self, tokens, positions, sight: Sight, cache, wanted) -> torch.Tensor:
        """Run one row of tokens; the logits of the wanted ones."""
        if not self.by_branch:
            near = sight.mask(self.device, self._window)[None, None] if self._window else None
            masks = self._masks(sight.mask(self.device)[None, None], near)
            return self._run(tokens, positions, cache, wanted, attention_mask=masks)
        masks = NO_MASK.to(self.device)
        if self._by_layer_type:
            masks = {"full_attention": masks, "sliding_attention": masks}
        with attending(self.model, NAME):
            return self._run(
                tokens, positions, cache, wanted, attention_mask=masks,
                cascade=Cascade(sight, self.device),
            )  # fmt: skip

    def _run(self, tokens, positions, cache, wanted, **seen) -> torch.Tensor:
        ids = torch.from_numpy(tokens)[None].to(self.device)
        rows = torch.from_numpy(wanted).to(self.device)
        arguments = {
            "position_ids": torch.from_numpy(positions)[None].to(self.device),
            "past_key_values": cache,
            "use_cache": True,
        }
        if self.selects_logits:
            # A model takes no empty choice of rows; one row costs nothing.
            arguments["logits_to_keep"] = rows if len(rows) else rows.new_zeros(1)
        logits = self.model(input_ids=ids, **arguments, **seen).logits[0]
        self.tokens_run += ids.numel()
        return logits[: len(rows)] if self.selects_logits else logits[rows]

    def one_more(self, ids, positions, visible, depths, cache, shares_start: bool) -> torch.Tensor:
        """Run the next token of several rows, each of which has keys of its own; their logits.

        With `shares_start` the cache, an AnswerCache, has keys before those of the rows. `visible` says
        which keys a token sees, `depths` where in the row they stand. Nothing here waits for the device.
        """
        near = None
        if self._window:
            near = visible & (positions[:, None] - depths < self._window)
            near = near[:, None, None]
        arguments: dict[str, Any] = {"answers": cache} if shares_start else {}
        with attending(self.model, START) if shares_start else nullcontext():
            return self.model(
                input_ids=ids[:, None],
                attention_mask=self._masks(visible[:, None, None], near),
                position_ids=positions[:, None],
                past_key_values=cache,
                use_cache=True,
                **arguments,
            ).logits[:, -1]

    def plain(self, ids: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        """Run padded rows and return the logits where `wanted` is true, row by row."""
        chosen = wanted.to(self.device)
        arguments = {"logits_to_keep": chosen} if self.selects_by_row else {}
        with self._attending_plainly():
            logits = self._call(ids.to(self.device), **arguments)
        self.tokens_run += ids.numel()
        return logits if self.selects_by_row else logits[chosen]

    def _call(self, ids: torch.Tensor, **arguments) -> torch.Tensor:
        return self.model(ids, **self._no_cache, **arguments).logits

    def _masks(self, seen: torch.Tensor, near: torch.Tensor | None):
        """What transformers takes: of all layers, or by their type; `near` is for those with a window."""
        if near is None or not self._by_layer_type:
            return self._additive(seen if near is None else near)
        return {"full_attention": self._additive(seen), "sliding_attention": self._additive(near)}

    def _additive(self, seen: torch.Tensor) -> torch.Tensor:
        """As eager attention needs it; attention kernels would convert a boolean one."""
        mask = torch.zeros(seen.shape, dtype=self.dtype, device=self.device)
        return mask.masked_fill_(~seen, torch.finfo(self.dtype).min)

    def _trust_masks(self) -> None:
        """Kernels without custom masks would ignore the tree: use PyTorch's own instead."""
        switch = getattr(self.model, "set_attn_implementation", None)
        if self.attention not in (*_TRUSTED_ATTENTION, None) and switch:
            switch("eager" if self._caps_scores else "sdpa")
        self.attention = get_attention(self.model)

    def _may_run_by_branch(self) -> bool:
        on_cpu = torch.device(self.device).type == "cpu"
        # Kernels for GPUs cap no scores; in steps, one segment after another takes longer than masks.
        if self._caps_scores and not on_cpu:
            return False
        return self.attention == "sdpa" or (self.attention == "eager" and not on_cpu)

    @property
    def _caps_scores(self) -> bool:
        return bool(getattr(text_config(self.model), "attn_logit_softcapping", None))

    def _read_windows(self) -> None:
        config = text_config(self.model)
        kinds = set(getattr(config, "layer_types", None) or ())
        self._by_layer_type = "sliding_attention" in kinds
        self._window = getattr(config, "sliding_window", None) or 0
        if kinds and not self._by_layer_type:
            self._window = 0
        self._other_layers = kinds - {"full_attention", "sliding_attention"}

    def _learn_logits(self) -> int:
        """Which choices of logits the model offers: without one, all of them are computed."""
        base = getattr(self.model, "get_base_model", lambda: self.model)()
        known = inspect.signature(base.forward).parameters
        self._no_cache = {"use_cache": False} if "use_cache" in known else {}
        ids = torch.tensor([_PROBE[0][:3], _PROBE[0][2:5]], device=self.device)
        full = self._call(ids)
        if "logits_to_keep" in known:
            self.selects_logits = True
            wanted = torch.tensor([[True, False, True], [False, True, False]], device=self.device)
            try:
                some = self._call(ids, logits_to_keep=wanted)
                self.selects_by_row = some.shape == (3, full.shape[-1]) and self._agree(
                    some, full[wanted]
                )
            except _OF_THE_DEVICE:
                raise
            except (IndexError, TypeError, RuntimeError):
                self.selects_by_row = False
        return full.shape[-1]

    def _why_not_packed(self) -> str | None:
        # Here, because packed runs are made of calls of this class.
        from workflow_scripts.evaluation.prefix.packed import PackedRun
        from workflow_scripts.evaluation.prefix.trie import build_trie

        if len(places := set((getattr(self.model, "hf_device_map", None) or {}).values())) > 1:
            return f"its layers lie on {len(places)} devices"
        if self._other_layers:
            return f"its layers of type {', '.join(sorted(self._other_layers))} keep no such cache"
        trie, _ = build_trie(_PROBE)
        expected = [self._call(torch.tensor([row.tolist()], device=self.device))[0, -1:]
                    for row in trie.sequences]  # fmt: skip
        try:
            run = PackedRun(self, trie, capacity=trie.tokens)
            # Cut where a prefix has been run and two of its branches have not.
            cut = 4
            last = run.order.starts[1:] - 1
            found = []
            for start, end in ((0, cut), (cut, trie.tokens)):
                run.forget_before(start)
                inside = last[(last >= start) & (last < end)]
                found.append(run.run(start, end, inside))
        except _OF_THE_DEVICE:
            raise
        except Exception as error:  # any model, any reason: plain batches need none of this
            print(f"The model is not run packed: {error!r}", flush=True)
            return f"it cannot be called with a cache and a tree mask ({type(error).__name__})"
        if not run.cache.used:
            return "it fills in no cache"
        if not self._agree(torch.cat(found), torch.cat(expected)):
            return "with a cache and a tree mask its logits differ"
        self.cache_bytes = run.cache.bytes // run.cache.capacity
        return None

    def _agree(self, found: torch.Tensor, expected: torch.Tensor) -> bool:
        if found.shape != expected.shape:
            return False
        scale = expected.abs().max().clamp(min=1e-6)
        return bool((found - expected).abs().max() <= _TOLERANCE[self.dtype] * scale)
