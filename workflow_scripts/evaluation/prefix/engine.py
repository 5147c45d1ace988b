"""Score and continue token sequences, running shared prefixes once.

engine = PrefixEngine(model)
engine.loglikelihoods([(context, continuation), ...], window=2048)
engine.generate([...])
"""

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

import torch

from .answer import Answer, GenerationRequest
from .generation import PackedGeneration, generate_plain
from .model import CausalModel
from .sampling import GenerationRules
from .scores import (
    LogprobAccumulator,
    Score,
    ScoreRequest,
    score_packed,
    score_plain,
)
from .trie import build_trie

# Constant on a CPU (bytes), so that results do not depend on the machine's load.
_CPU_MEMORY = 2**30
_GPU_MEMORY_FRACTION = 0.5  # of the memory left free by the weights
# Maximum number of answers decoded together.
_MAX_CPU_ANSWERS, _MAX_GPU_ANSWERS = 64, 256
# Tokens per forward call, if memory allows.
_CPU_TOKENS, _GPU_TOKENS = 512, 2**13
_MIN_TOKENS = 16  # with fewer tokens, reading the weights would dominate a call
# Tensors as wide as a layer that are live at once in a call; copies of a row of logits.
_LIVE_ACTIVATIONS, _LOGIT_COPIES = 8, 2


class PrefixEngine:
    """Prefix-sharing inference; results are in request order and do not depend on that order or on batch sizes."""

    def __init__(self, model, *, plain: bool = False):
        """Test whether the model can run packed; `plain` forces plain batches."""
        self.model = CausalModel(model, plain=plain)
        on_gpu = self.model.device.type == "cuda"
        self.memory_budget = _measure_memory(self.model.device)
        self.tokens_per_call = _GPU_TOKENS if on_gpu else _CPU_TOKENS
        self.max_answers = _MAX_GPU_ANSWERS if on_gpu else _MAX_CPU_ANSWERS
        self.tokens = 0  # tokens of all requests so far, including cached ones
        # Returns the answers of an earlier run, by index, for a list of descriptions of requests (JSON values). Each
        # new answer is added to them as soon as it is computed, in any order.
        self.look_up_answers: Callable[[list[Any]], MutableMapping[int, Any]] = lambda _: {}

    @property
    def description(self) -> str:
        """Return which engine ran, with the reason if it was plain batches, for the record."""
        reason = self.model.fallback_reason
        return "prefix sharing" if reason is None else f"plain batches: {reason}"

    def loglikelihoods(
        self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], *, window: int
    ) -> list[Score]:
        """Score each continuation after its context, truncated on the left to the model's window."""
        requests = [ScoreRequest.from_pair(context, target, window) for context, target in pairs]
        if not requests:
            return []
        answers = self.look_up_answers([("loglikelihood", window, *pair) for pair in pairs])
        accumulator = LogprobAccumulator(requests, answers)
        with torch.inference_mode():
            if self.model.fallback_reason:
                self.tokens += score_plain(self.model, requests, accumulator, self.tokens_per_call)
            else:
                trie, sequence_indices = build_trie([request.inputs for request in requests])
                self.tokens += len(trie)
                block_size = self._choose_block_size(trie.longest, self.memory_budget)
                score_packed(self.model, trie, sequence_indices, requests, accumulator, block_size)
        scores = (answers[index] for index in range(len(requests)))
        return [(value, is_greedy) for value, is_greedy in scores]

    def generate(
        self, requests: list[GenerationRequest], options: dict[str, Any]
    ) -> list[list[int]]:
        """Return the new tokens of each request, including the stop string or end token.

        `options` are those of transformers' generate (do_sample, temperature, ...); the defaults come
        from the model's generation config. Beam search and similar modes are refused.
        """
        if not requests:
            return []
        rules = GenerationRules(self.model.model, options)
        answers = self.look_up_answers([request.describe(options) for request in requests])

        def start_answer(index: int) -> Answer:
            return Answer(index, requests[index], rules, answers)

        with torch.inference_mode():
            if self.model.fallback_reason:
                uncached = [start_answer(i) for i in range(len(requests)) if i not in answers]
                generate_plain(self.model, uncached, self.tokens_per_call)
            else:
                # Half of the memory is for the prefill and half for the rows of answers.
                memory = self.memory_budget // 2
                longest = max(len(request.context) for request in requests)
                packed = PackedGeneration(
                    self.model,
                    requests,
                    block_size=self._choose_block_size(longest, memory),
                    memory=memory,
                    max_rows=self.max_answers,
                )
                self.tokens += packed.trie_tokens
                packed.run(start_answer, frozenset(answers))
        # The last token of an answer is never an input.
        self.tokens += sum(len(tokens) - 1 for tokens in answers.values())
        return [answers[index] for index in range(len(requests))]

    def _choose_block_size(self, longest: int, memory: int) -> int:
        """Return how many tokens of a packed row fit into `memory` bytes besides the keys of the longest sequence."""
        value_bytes = self.model.dtype.itemsize
        widths = [
            max(size for size in parameter.shape if size != self.model.vocabulary)
            for parameter in self.model.model.parameters()
            if parameter.dim() == 2
        ]
        token_bytes = value_bytes * (
            _LIVE_ACTIVATIONS * max(widths) + _LOGIT_COPIES * self.model.vocabulary
        )
        block_size = self.tokens_per_call
        while block_size > _MIN_TOKENS:
            if block_size * token_bytes + (longest + block_size) * self.model.cache_bytes <= memory:
                break
            block_size //= 2
        return block_size


def _measure_memory(device: torch.device) -> int:
    """Return the memory budget in bytes; on a GPU a fraction of the free memory and PyTorch's unused cache."""
    if device.type != "cuda":
        return _CPU_MEMORY
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(_GPU_MEMORY_FRACTION * (torch.cuda.mem_get_info(device)[0] + cached))
