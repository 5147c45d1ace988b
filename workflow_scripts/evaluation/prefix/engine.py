"""The engine: scores and continues token sequences, and reads what they share once.

engine = PrefixEngine(model)
engine.loglikelihoods([(context, continuation), ...], window=2048)
engine.generate([...])
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.prefix.answer import Answer, GenerationRequest
from workflow_scripts.evaluation.prefix.budget import Budget
from workflow_scripts.evaluation.prefix.choosing import GenerationRules
from workflow_scripts.evaluation.prefix.generation import (
    AtOnce,
    PackedGeneration,
    generate_plain,
)
from workflow_scripts.evaluation.prefix.loglikelihood import score
from workflow_scripts.evaluation.prefix.model import CausalModel
from workflow_scripts.evaluation.prefix.scores import Score, ScoreRequest, Tally
from workflow_scripts.evaluation.prefix.trie import build_trie
from workflow_scripts.planning.memory import GPU_SHARE, room_on

# On a CPU a constant, so that results do not depend on what else the machine is doing.
CPU_BUDGET = 2**30
# Answers that grow side by side.
CPU_ANSWERS, GPU_ANSWERS = 64, 256
# Tokens that they take before anybody looks at them: looking waits for the device.
CPU_STEPS, GPU_STEPS = 1, 8
# Tokens of one call, where memory is enough. Enough to keep the device busy; with masks of tokens and
# keys more only lengthens the rows attended to.
CPU_TOKENS, GPU_TOKENS, GPU_TOKENS_WITH_MASKS = 512, 2**16, 2**12


class PrefixEngine:
    """Results come in the order of the requests and do not depend on it, nor on batch sizes."""

    def __init__(
        self,
        model,
        *,
        memory_budget: int | None = None,
        tokens_per_call: int | None = None,
        by_branch: bool | None = None,
        plain: bool = False,
    ):
        self.model = CausalModel(model, by_branch=by_branch, plain=plain)
        on_gpu = torch.device(self.model.device).type == "cuda"
        if memory_budget is None:
            room = room_on(self.model.device)
            memory_budget = CPU_BUDGET if room is None else int(GPU_SHARE * room)
        self.budget = Budget.of(self.model, memory_budget)
        on_gpu_at_once = GPU_TOKENS if self.model.by_branch else GPU_TOKENS_WITH_MASKS
        self.at_once = AtOnce(
            tokens=tokens_per_call or (on_gpu_at_once if on_gpu else CPU_TOKENS),
            answers=GPU_ANSWERS if on_gpu else CPU_ANSWERS,
            steps=GPU_STEPS if on_gpu else CPU_STEPS,
            static=on_gpu,  # as CUDA graphs need it
        )
        self.trie_tokens = 0  # what running each shared stretch once comes to, so far
        self.tokens = 0  # what the requests so far take, also those that were known already

    @property
    def description(self) -> str:
        """For the record: which engine ran, and why not the better one."""
        if reason := self.model.why_not_packed:
            return f"plain batches: {reason}"
        reason = self.model.why_not_by_branch
        return (
            f"prefix sharing, with masks of tokens and keys: {reason}"
            if reason
            else "prefix sharing"
        )

    @property
    def tokens_run(self) -> int:
        return self.model.tokens_run

    def loglikelihoods(
        self, requests: Sequence[tuple[Sequence[int], Sequence[int]]], *, window: int, **options
    ) -> list[Score]:
        """Each continuation is scored after its context, cut on the left to the model's window."""
        return self.score(
            [ScoreRequest.of(context, target, window) for context, target in requests], **options
        )

    def score(
        self,
        requests: list[ScoreRequest],
        *,
        known: Mapping[int, Score] | None = None,
        on_scored: Callable[[int, Score], None] | None = None,
    ) -> list[Score]:
        """`known` are results of an earlier run of the same requests, by their place in the list.

        `on_scored` is called with each other result as soon as there is one, in whatever order they come.
        """
        if not requests:
            return []
        tally = Tally(requests, on_scored, known or {})
        trie, places = build_trie([request.read for request in requests])
        self.trie_tokens += trie.tokens
        with torch.inference_mode():
            self.tokens += score(
                self.model, trie, places, requests, tally, self.budget, self.at_once.tokens
            )
        return [tally.score(at) for at in range(len(requests))]

    def generate(
        self,
        requests: list[GenerationRequest],
        options: dict[str, Any] | None = None,
        *,
        known: Mapping[int, list[int]] | None = None,
        on_generated: Callable[[int, list[int]], None] | None = None,
    ) -> list[list[int]]:
        """The new tokens of each request, up to and with what ended it.

        `options` are those of transformers' generate (do_sample, temperature, ...); what they leave
        open is the model's own generation config. Beam search and the like are refused.
        """
        if not requests:
            return []
        if any(not request.context or request.new_tokens < 1 for request in requests):
            raise UserError(
                "A generation request has an empty context or new_tokens below 1; expected are at"
                " least one token to read and one to write."
            )
        rules = GenerationRules(self.model.model, options or {})
        known = known or {}
        found = dict(known)

        def keep(at: int, tokens: list[int]) -> None:
            if at not in found:
                found[at] = tokens
                if on_generated:
                    on_generated(at, tokens)

        def begin(at: int) -> Answer:
            return Answer(requests[at], rules, partial(keep, at))

        with torch.inference_mode():
            if self.model.why_not_packed:
                rows = partial(self.budget.plain_rows, preferred_tokens=self.at_once.tokens)
                generate_plain(self.model, requests, rows, begin, known)
            else:
                packed = PackedGeneration(self.model, requests, self.budget, self.at_once)
                self.trie_tokens += packed.trie_tokens
                self.tokens += packed.trie_tokens
                packed.run(begin, known)
        # The last token of an answer is not read.
        self.tokens += sum(len(tokens) - 1 for tokens in found.values())
        return [found[at] for at in range(len(requests))]
