"""Send requests to a model server: PrefixEngine's methods, implemented by lm-eval's `local-completions` client."""

import asyncio
from collections.abc import Callable, MutableMapping, Sequence
from types import SimpleNamespace
from typing import Any

import aiohttp
from lm_eval.models.openai_completions import LocalCompletionsAPI

from workflow_scripts.core.hardware_errors import HardwareError
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.scores import Score
from workflow_scripts.hub.served import ServedModel

_BATCH = 128  # requests between two writes to the answer cache
# Generation settings that refer to local token ids or that the server controls.
_NOT_SENT = {"do_sample", "pad_token_id", "eos_token_id", "use_cache", "renormalize_logits"}


class ServedEngine:
    """Send token ids to a server; answers come in the order of the requests."""

    def __init__(self, model: ServedModel, tokenizer: Any):
        server = model.server
        self._tokenizer = tokenizer
        self.model = SimpleNamespace(fallback_reason=None, attention=None)
        self.description = f"served: {server.name} at {server.endpoint}"
        self.tokens = 0
        self.look_up_answers: Callable[[list[Any]], MutableMapping[int, Any]] = (
            lambda descriptions: {}
        )
        self._client = LocalCompletionsAPI(
            base_url=f"{server.endpoint}/completions",
            model=server.name,
            tokenizer_backend=None,
            num_concurrent=server.max_concurrency,
        )
        self._client.tokenized_requests = True

    def loglikelihoods(
        self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], *, window: int
    ) -> list[Score]:
        """Score as PrefixEngine does."""

        def send_batch(indices: list[int]) -> list[Score]:
            batch = [pairs[index] for index in indices]
            prompts = [[*context, *target][-window - 1 :] for context, target in batch]
            lengths = [len(p) - len(t) for p, (_, t) in zip(prompts, batch, strict=True)]
            return self._send(prompts, generate=False, ctxlens=lengths)

        self.tokens += sum(len(context) + len(target) for context, target in pairs)
        descriptions = [("loglikelihood", window, *pair) for pair in pairs]
        return self._answer_in_batches(descriptions, _BATCH, send_batch)

    def generate(self, requests: list[GenerationRequest], options: dict[str, Any]) -> list[str]:
        """Generate as PrefixEngine does, but return texts; all requests share `max_new_tokens` and `stop`."""
        is_sampling = options["do_sample"]

        def send_batch(indices: list[int]) -> list[str]:
            first = requests[indices[0]]
            gen_kwargs: dict[str, Any] = {
                "max_gen_toks": first.max_new_tokens,
                "until": list(first.stop.strings) if first.stop else [],
                "temperature": 0,
                "seed": first.seed % 2**31 if is_sampling else 0,
            }
            if is_sampling:
                gen_kwargs |= {
                    key: value
                    for key, value in options.items()
                    if value is not None and key not in _NOT_SENT
                }
            prompts = [list(requests[index].context) for index in indices]
            return self._send(prompts, generate=True, gen_kwargs=gen_kwargs)

        # With sampling each request has its own seed, so batches have size 1.
        descriptions = [request.describe(options) for request in requests]
        texts = self._answer_in_batches(descriptions, 1 if is_sampling else _BATCH, send_batch)
        self.tokens += sum(len(request.context) for request in requests)
        self.tokens += sum(map(len, self._tokenizer(texts)["input_ids"]))
        return texts

    def _answer_in_batches(
        self, descriptions: list[Any], size: int, send_batch: Callable[[list[int]], list]
    ) -> list:
        """Send the requests without a cached answer, `size` at a time, and cache their answers; return all answers."""
        answers = self.look_up_answers(descriptions)
        uncached = [index for index in range(len(descriptions)) if index not in answers]
        for start in range(0, len(uncached), size):
            indices = uncached[start : start + size]
            for index, answer in zip(indices, send_batch(indices), strict=True):
                answers[index] = answer
        return [answers[index] for index in range(len(descriptions))]

    def _send(self, prompts: list[list[int]], **options: Any) -> list[Any]:
        address = self._client.base_url
        cache_keys = [None] * len(prompts)
        try:
            batches = asyncio.run(self._client.get_batched_requests(prompts, cache_keys, **options))
        except (aiohttp.ClientError, OSError) as error:
            raise HardwareError(f"{address}: {error!r}") from error
        return [answer for batch in batches for answer in batch]
