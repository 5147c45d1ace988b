"""Models that a server runs: the methods of PrefixEngine by lm-eval's `local-completions` client."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import aiohttp
from lm_eval.models.openai_completions import LocalCompletionsAPI

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.machine import ServerAway
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.scores import Score
from workflow_scripts.hub.served import ServedModel

_BATCH = 128  # requests between two writes to the answer cache
# Settings of a generation that name tokens of ours or that a server decides.
_NOT_SENT = {"do_sample", "pad_token_id", "eos_token_id", "use_cache", "renormalize_logits"}


class ServedEngine:
    """Send token ids to a server; answers come in the order of the requests."""

    def __init__(self, model: ServedModel, tokenizer: Any):
        self._facts, self._tokenizer = model.facts, tokenizer
        self.model = SimpleNamespace(why_not_packed=None, attention=None)
        self.description = f"served: {self._facts.name} at {self._facts.endpoint}"
        self.tokens = 0
        self._client = LocalCompletionsAPI(
            base_url=f"{self._facts.endpoint}/completions",
            model=self._facts.name,
            tokenizer_backend=None,
            num_concurrent=self._facts.at_once,
        )
        self._client.tokenized_requests = True

    def loglikelihoods(
        self,
        requests: Sequence[tuple[Sequence[int], Sequence[int]]],
        *,
        window: int,
        known: Mapping[int, Score] | None = None,
        on_scored: Callable[[int, Score], None] | None = None,
    ) -> list[Score]:
        """As PrefixEngine's."""
        scores = dict(known or {})
        self.tokens += sum(len(context) + len(target) for context, target in requests)
        unknown = [index for index in range(len(requests)) if index not in scores]
        for start in range(0, len(unknown), _BATCH):
            batch = unknown[start : start + _BATCH]
            prompts = [[*requests[index][0], *requests[index][1]][-window - 1 :] for index in batch]
            context_lengths = [
                len(prompt) - len(requests[index][1])
                for index, prompt in zip(batch, prompts, strict=True)
            ]
            answers = self._send(prompts, generate=False, ctxlens=context_lengths)
            for index, score in zip(batch, answers, strict=True):
                scores[index] = score
                if on_scored:
                    on_scored(index, score)
        return [scores[index] for index in range(len(requests))]

    def generate(
        self,
        requests: list[GenerationRequest],
        options: dict[str, Any] | None = None,
        *,
        known: Mapping[int, str] | None = None,
        on_generated: Callable[[int, str], None] | None = None,
    ) -> list[str]:
        """As PrefixEngine's, but the answers are texts."""
        texts, options = dict(known or {}), dict(options or {})
        samples = bool(options.get("do_sample"))
        settings: dict[str, Any] = {"temperature": 0}
        if samples:
            settings = {
                name: value
                for name, value in options.items()
                if value is not None and name not in _NOT_SENT
            }
        groups: dict[tuple, list[int]] = {}
        for index, request in enumerate(requests):
            if index not in texts:
                stop = tuple(getattr(request.stop, "strings", ()))
                seed = request.seed % 2**31 if samples else 0
                groups.setdefault((request.new_tokens, stop, seed), []).append(index)
        for (new_tokens, stop, seed), members in groups.items():
            gen_kwargs = settings | {"max_gen_toks": new_tokens, "until": list(stop), "seed": seed}
            for start in range(0, len(members), _BATCH):
                batch = members[start : start + _BATCH]
                prompts = [list(requests[index].context) for index in batch]
                answers = self._send(prompts, generate=True, gen_kwargs=gen_kwargs)
                for index, text in zip(batch, answers, strict=True):
                    texts[index] = text
                    if on_generated:
                        on_generated(index, text)
        self.tokens += sum(len(request.context) for request in requests)
        self.tokens += sum(len(self._tokenizer(text)["input_ids"]) for text in texts.values())
        return [texts[index] for index in range(len(requests))]

    def _send(self, prompts: list[list[int]], **options: Any) -> list[Any]:
        cache_keys = [None] * len(prompts)
        address = self._client.base_url
        try:
            batches = asyncio.run(self._client.get_batched_requests(prompts, cache_keys, **options))
        except aiohttp.ClientResponseError as error:
            is_away = error.status >= 500 or error.status in (408, 429)
            kind = ServerAway if is_away else UserError
            raise kind(f"{address} answers with HTTP {error.status}: {error.message}.") from error
        except (TimeoutError, OSError, aiohttp.ClientError) as error:
            raise ServerAway(f"{address} cannot be reached: {error!r}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"{address} answers with something else than log-likelihoods or texts ({error!r});"
                " expected a completions API that takes token ids, echo and logprobs."
            ) from error
        return [answer for batch in batches for answer in batch]
