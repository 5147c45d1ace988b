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
CPU_BUDGET = 2**30
GPU_SHARE = 0.5  # fraction of the memory left free by the weights
# Maximum number of answers decoded together.
CPU_ANSWERS, GPU_ANSWERS = 64, 256
# Tokens per forward call, if memory allows.
CPU_TOKENS, GPU_TOKENS = 512, 2**13
_MIN_TOKENS = 16  # with fewer tokens, reading the weights would dominate a call
# Layer-wide tensors that are live at once in a call; copies of a row of logits.
_LIVE_ACTIVATIONS, _LOGIT_COPIES = 8, 2


class PrefixEngine:
    """Prefix-sharing inference; results are in request order and do not depend on that order or on batch sizes."""

    def __init__(self, model, *, plain: bool = False):
        """Test whether the model can run packed; `plain` forces plain batches."""
        self.model = CausalModel(model, plain=plain)
        on_gpu = self.model.device.type == "cuda"
        self.memory_budget = _measure_memory(self.model.device)
        self.tokens_per_call = GPU_TOKENS if on_gpu else CPU_TOKENS
        self.max_answers = GPU_ANSWERS if on_gpu else CPU_ANSWERS
        self.tokens = 0  # tokens of all requests so far, including cached ones
        # Returns the answers of an earlier run by index, for a list of questions. Each new answer is added to them as
        # soon as it is computed, in any order.
        self.look_up: Callable[[list[Any]], MutableMapping[int, Any]] = lambda questions: {}

    @property
    def description(self) -> str:
        """Return which engine ran, with the reason if it was plain batches, for the record."""
        reason = self.model.why_not_packed
        return f"plain batches: {reason}" if reason else "prefix sharing"

    def loglikelihoods(
        self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], *, window: int
    ) -> list[Score]:
        """Score each continuation after its context, truncated on the left to the model's window."""
        requests = [ScoreRequest.from_pair(context, target, window) for context, target in pairs]
        if not requests:
            return []
        answers = self.look_up([("loglikelihood", window, *pair) for pair in pairs])
        accumulator = LogprobAccumulator(requests, answers)
        with torch.inference_mode():
            if self.model.why_not_packed:
                self.tokens += score_plain(self.model, requests, accumulator, self.tokens_per_call)
            else:
                trie, places = build_trie([request.read for request in requests])
                self.tokens += len(trie)
                block = self._get_block(trie.longest, self.memory_budget)
                score_packed(self.model, trie, places, requests, accumulator, block)
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
        answers = self.look_up([request.describe(options) for request in requests])

        def start_answer(index: int) -> Answer:
            return Answer(index, requests[index], rules, answers)

        with torch.inference_mode():
            if self.model.why_not_packed:
                unknown = [start_answer(i) for i in range(len(requests)) if i not in answers]
                generate_plain(self.model, unknown, self.tokens_per_call)
            else:
                # Half of the memory is for the prefill and half for the rows of answers.
                memory = self.memory_budget // 2
                longest = max(len(request.context) for request in requests)
                block = self._get_block(longest, memory)
                packed = PackedGeneration(
                    self.model, requests, block=block, memory=memory, rows=self.max_answers
                )
                self.tokens += packed.trie_tokens
                packed.run(start_answer, frozenset(answers))
        # The last token of an answer is never an input.
        self.tokens += sum(len(tokens) - 1 for tokens in answers.values())
        return [answers[index] for index in range(len(requests))]

    def _get_block(self, longest: int, memory: int) -> int:
        """Return how many tokens of a packed row fit into `memory` bytes besides the longest sequence."""
        value_bytes = self.model.dtype.itemsize
        widths = [
            max(size for size in parameter.shape if size != self.model.vocabulary)
            for parameter in self.model.model.parameters()
            if parameter.dim() == 2
        ]
        token_bytes = value_bytes * (
            _LIVE_ACTIVATIONS * max(widths) + _LOGIT_COPIES * self.model.vocabulary
        )
        block = self.tokens_per_call
        while block > _MIN_TOKENS:
            if block * token_bytes + (longest + block) * self.model.cache_bytes <= memory:
                break
            block //= 2
        return block


def _measure_memory(device: torch.device) -> int:
    """Return the memory budget in bytes; on a GPU a fraction of the free memory and PyTorch's unused cache."""
    if device.type != "cuda":
        return CPU_BUDGET
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(GPU_SHARE * (torch.cuda.mem_get_info(device)[0] + cached))
