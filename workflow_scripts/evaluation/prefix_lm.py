"""Run lm-eval's HFLM on the prefix-sharing engine.

HFLM's own code tokenizes, splits context and continuation, handles empty contexts and windows, and postprocesses
generated text; only the forward passes differ, and no string is encoded twice. HFLM itself generates what the engine
cannot: beam search, for example, or any text of a model that cannot run packed (see `engine_used`). Log-probabilities
are computed in float32 for any model dtype, whereas HFLM computes them in the model's dtype by default.
"""

from collections import Counter, defaultdict
from typing import Any

from lm_eval.models.utils import (
    handle_stop_sequences,
    normalize_gen_kwargs,
    postprocess_generated_text,
)

from workflow_scripts.core.files import format_canonical_json
from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.evaluation.encoding import CachedHFLM
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.sampling import StopStrings, UnsupportedGeneration

# HFLM searches a stop string in as many of the last tokens as the stop string has, plus two.
_LOOKBACK = 2


class PrefixLM(CachedHFLM):
    """HFLM with requests run by an engine; `batch_size` is only for generation in HFLM's own batches."""

    def __init__(self, *args, seed: int = 1234, engine: Any = None, **kwargs):
        """Extend HFLM's arguments.

        `seed` is for generation by sampling; `engine` replaces the prefix engine, for example by a server.
        """
        super().__init__(*args, **kwargs)
        self.seed = seed
        self.engine = engine or PrefixEngine(self.model)
        self.engine_used = self.engine.description

    def _loglikelihood_tokens(self, requests, disable_tqdm: bool = False, override_bs=None):
        pairs = [(context, target) for _, context, target in requests]
        return self.engine.loglikelihoods(pairs, window=self.max_length)

    def generate_until(self, requests, disable_tqdm: bool = False) -> list[str]:
        groups = defaultdict(list)
        for index, request in enumerate(requests):
            groups[repr(request.args[1])].append(index)
        answers: dict[int, str] = {}
        for indices in groups.values():
            group = [requests[index] for index in indices]
            try:
                texts = self._generate_group([request.args for request in group])
            except UnsupportedGeneration as error:  # e.g. beam search, run by transformers itself
                self.engine_used = f"plain batches: {error}"
                texts = super().generate_until(group, disable_tqdm)
                for request, text in zip(group, texts, strict=True):
                    self.engine.tokens += len(self.tok_encode(request.args[0] + text))
            answers |= zip(indices, texts, strict=True)
        return [answers[index] for index in range(len(requests))]

    def _generate_group(self, requests: list[tuple[str, dict]]) -> list[str]:
        """Generate for requests with the same settings."""
        if self.engine.model.fallback_reason:
            # HFLM's plain batches have a cache, those of the engine have none.
            raise UnsupportedGeneration(self.engine.model.fallback_reason)
        options = dict(normalize_gen_kwargs(requests[0][1], self.max_gen_toks))
        eos = self.tok_decode(self.eot_token_id, skip_special_tokens=False)
        until = handle_stop_sequences(options.pop("until", None), eos=eos)
        new_tokens = options.pop("max_gen_toks")
        is_too_long = new_tokens >= self.max_length  # HFLM rejects this
        if is_too_long or "max_length" in options or self.think_end_token is not None:
            raise UnsupportedGeneration("max_length, think_end_token or a large max_gen_toks.")
        if options["do_sample"] is False:
            options.pop("temperature", None)
        settings = format_canonical_json(
            {"options": options, "until": until, "new_tokens": new_tokens}
        )
        stop = StopStrings(self.tokenizer, tuple(until), _LOOKBACK)
        repeats: Counter[tuple[int, ...]] = Counter()
        generation_requests = []
        for text, _ in requests:
            context = self.encode_context(text, self.max_length - new_tokens)
            # Samples of one prompt get different seeds.
            repeat = repeats[tuple(context)]
            repeats[tuple(context)] += 1
            seed = derive_seed(self.seed, context, settings, repeat)
            generation_requests.append(GenerationRequest(context, new_tokens, stop, seed))
        options["pad_token_id"] = self.tokenizer.pad_token_id
        answers = self.engine.generate(generation_requests, options)
        return [
            postprocess_generated_text(
                # A server returns texts.
                generation=answer if isinstance(answer, str) else self.tok_decode(answer),
                stop=until,
                think_end_token=None,
            )
            for answer in answers
        ]
