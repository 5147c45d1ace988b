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
        self.model = SimpleNamespace(why_not_packed=None, attention=None)
        self.description = f"served: {server.name} at {server.endpoint}"
        self.tokens = 0
        self.look_up: Callable[[list[Any]], MutableMapping[int, Any]] = lambda questions: {}
        self._client = LocalCompletionsAPI(
            base_url=f"{server.endpoint}/completions",
            model=server.name,
            tokenizer_backend=None,
            num_concurrent=server.max_concurrency,
        )
        self._client.tokenized_requests = True

    def loglikelihoods(
        self, requests: Sequence[tuple[Sequence[int], Sequence[int]]], *, window: int
    ) -> list[Score]:
        """Score as PrefixEngine does."""

        def score(batch: list[int]) -> list[Score]:
            pairs = [requests[index] for index in batch]
            prompts = [[*context, *target][-window - 1 :] for context, target in pairs]
            lengths = [len(p) - len(t) for p, (_, t) in zip(prompts, pairs, strict=True)]
            return self._send(prompts, generate=False, ctxlens=lengths)

        self.tokens += sum(len(context) + len(target) for context, target in requests)
        questions = [("loglikelihood", window, *request) for request in requests]
        return self._ask(questions, _BATCH, score)

    def generate(self, requests: list[GenerationRequest], options: dict[str, Any]) -> list[str]:
        """Generate as PrefixEngine does, but return texts; all requests share `new_tokens` and `stop`."""
        samples = options["do_sample"]

        def generate(batch: list[int]) -> list[str]:
            first = requests[batch[0]]
            sent: dict[str, Any] = {
                "max_gen_toks": first.new_tokens,
                "until": list(first.stop.strings) if first.stop else [],
                "temperature": 0,
                "seed": first.seed % 2**31 if samples else 0,
            }
            if samples:
                sent |= {
                    key: value
                    for key, value in options.items()
                    if value is not None and key not in _NOT_SENT
                }
            prompts = [list(requests[index].context) for index in batch]
            return self._send(prompts, generate=True, gen_kwargs=sent)

        # With sampling each request has its own seed, so batches have size 1.
        questions = [request.describe(options) for request in requests]
        texts = self._ask(questions, 1 if samples else _BATCH, generate)
        self.tokens += sum(len(request.context) for request in requests)
        self.tokens += sum(map(len, self._tokenizer(texts)["input_ids"]))
        return texts

    def _ask(self, questions: list[Any], size: int, send: Callable[[list[int]], list]) -> list:
        """Send the requests whose questions have no stored answer, batch by batch, and store their answers."""
        answers = self.look_up(questions)
        unknown = [index for index in range(len(questions)) if index not in answers]
        for start in range(0, len(unknown), size):
            batch = unknown[start : start + size]
            for index, answer in zip(batch, send(batch), strict=True):
                answers[index] = answer
        return [answers[index] for index in range(len(questions))]

    def _send(self, prompts: list[list[int]], **options: Any) -> list[Any]:
        address = self._client.base_url
        cache_keys = [None] * len(prompts)
        try:
            batches = asyncio.run(self._client.get_batched_requests(prompts, cache_keys, **options))
        except (aiohttp.ClientError, OSError) as error:
            raise HardwareError(f"{address}: {error!r}") from error
        return [answer for batch in batches for answer in batch]
