"""Run lm-eval's HFLM on the prefix-sharing engine: `--model prefix`, or PrefixLM(pretrained=...).

HFLM's own code tokenizes, splits context and continuation, handles empty contexts and windows, and postprocesses
generated text; only the forward passes differ, and no string is encoded twice. If the engine can only run plain batches
(see `engine_used`), HFLM runs its own. Log-probabilities are computed in float32 for any model dtype, whereas HFLM
computes them in the model's dtype by default.
"""

from collections import Counter, defaultdict
from typing import Any

from lm_eval import utils
from lm_eval.api.registry import register_model
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
from workflow_scripts.evaluation.score_cache import Answers, ScoreCache

# HFLM searches a stop string in as many last tokens as the stop string has, plus two.
_LOOKBACK = 2


@register_model("prefix")
class PrefixLM(CachedHFLM):
    """HFLM with requests run by an engine; `batch_size` is only for plain batches."""

    def __init__(
        self,
        *args,
        seed: int = 1234,
        scored_items: ScoreCache | None = None,
        engine: Any = None,
        **kwargs,
    ):
        """Extend HFLM's arguments.

        `seed` is for generation by sampling; `scored_items` stores answers so that a killed job can resume; `engine`
        replaces the prefix engine, for example by a server.
        """
        super().__init__(*args, **kwargs)
        self.seed, self.scored_items = seed, scored_items
        is_mixed = self.mixed_precision_dtype is not None
        self.engine = engine or PrefixEngine(self.model, plain=is_mixed)
        self._plain = bool(self.engine.model.why_not_packed)
        self.engine_used = self.engine.description

    def _loglikelihood_tokens(self, requests, disable_tqdm: bool = False, override_bs=None):
        if self._plain:
            self.engine.tokens += sum(len(context) + len(target) for _, context, target in requests)
            return super()._loglikelihood_tokens(requests, disable_tqdm, override_bs)
        pairs = [(context, target) for _, context, target in requests]
        settings = {"window": self.max_length}
        answers = Answers(
            self.scored_items,
            [("loglikelihood", pair, settings) for pair in pairs],
            None if disable_tqdm else "Running loglikelihood requests",
        )
        scores = self.engine.loglikelihoods(pairs, window=self.max_length, answers=answers)
        for (texts, *_), answer in zip(requests, scores, strict=True):
            if texts is not None:  # windows of a rolling log-likelihood have no text
                self.cache_hook.add_partial("loglikelihood", texts, answer)
        return scores

    def loglikelihood_rolling(self, requests, disable_tqdm: bool = False) -> list[float]:
        if self._plain:
            return super().loglikelihood_rolling(requests, disable_tqdm)
        windows, owners = [], []
        for index, request in enumerate(requests):
            for window in utils.get_rolling_token_windows(
                token_list=self.tok_encode(request.args[0]),
                prefix_token=self.prefix_token_id,
                max_seq_len=self.max_length,
                context_len=1,
            ):
                windows.append((None, *utils.make_disjoint_window(window)))
                owners.append(index)
        # One call for all windows, whereas HFLM makes a call per batch.
        totals = [0.0] * len(requests)
        scores = self._loglikelihood_tokens(windows, disable_tqdm)
        for index, (value, _) in zip(owners, scores, strict=True):
            totals[index] += value
        for request, total in zip(requests, totals, strict=True):
            self.cache_hook.add_partial("loglikelihood_rolling", request.args, total)
        return totals

    def generate_until(self, requests, disable_tqdm: bool = False) -> list[str]:
        if self._plain:
            return self._generate_plain(requests, disable_tqdm)
        groups = defaultdict(list)
        for index, request in enumerate(requests):
            groups[repr(request.args[1])].append(index)
        answers: dict[int, str] = {}
        for indices in groups.values():
            group = [requests[index] for index in indices]
            try:
                texts = self._generate_group([request.args for request in group], disable_tqdm)
            except UnsupportedGeneration as error:  # e.g. beam search, run by transformers itself
                self.engine_used = f"plain batches: {error}"
                texts = self._generate_plain(group, disable_tqdm)
            answers |= zip(indices, texts, strict=True)
            for request, text in zip(group, texts, strict=True):
                self.cache_hook.add_partial("generate_until", request.args, text)
        return [answers[index] for index in range(len(requests))]

    def _generate_plain(self, requests, disable_tqdm: bool) -> list[str]:
        texts = super().generate_until(requests, disable_tqdm)
        for request, text in zip(requests, texts, strict=True):
            self.engine.tokens += len(self.tok_encode(request.args[0] + text))
        return texts

    def _generate_group(self, requests: list[tuple[str, dict]], disable_tqdm: bool) -> list[str]:
        """Generate for requests with the same settings."""
        options = dict(normalize_gen_kwargs(requests[0][1], self.max_gen_toks))
        eos = self.tok_decode(self.eot_token_id, skip_special_tokens=False)
        until = handle_stop_sequences(options.pop("until", None), eos=eos)
        new_tokens = options.pop("max_gen_toks")
        is_too_long = new_tokens >= self.max_length  # HFLM rejects this
        if is_too_long or "max_length" in options or self.think_end_token is not None:
            raise UnsupportedGeneration("max_length, think_end_token or a large max_gen_toks.")
        if options["do_sample"] is False:
            options.pop("temperature", None)
        described = {"options": options, "until": until, "new_tokens": new_tokens}
        text_settings = format_canonical_json(described)
        stop = StopStrings(self.tokenizer, tuple(until), _LOOKBACK)
        repeats: Counter[tuple[int, ...]] = Counter()
        questions, generation_requests = [], []
        for text, _ in requests:
            context = self.encode_context(text, self.max_length - new_tokens)
            repeat = repeats[tuple(context)]
            repeats[tuple(context)] += 1
            draw = {"seed": self.seed, "repeat": repeat} if options["do_sample"] else {}
            questions.append(
                ("generation", (context,), {"window": self.max_length} | described | draw)
            )
            seed = derive_seed(self.seed, context, text_settings, repeat)
            generation_requests.append(GenerationRequest(context, new_tokens, stop, seed))
        progress = None if disable_tqdm else "Running generate_until requests"
        answers = self.engine.generate(
            generation_requests,
            options | {"pad_token_id": self.tokenizer.pad_token_id},
            answers=Answers(self.scored_items, questions, progress),
        )
        return [
            postprocess_generated_text(
                # A server returns texts.
                generation=answer if isinstance(answer, str) else self.tok_decode(answer),
                stop=until,
                think_end_token=None,
            )
            for answer in answers
        ]
