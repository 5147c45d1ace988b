"""lm-eval's HFLM on the prefix-sharing engine: `--model prefix`, or PrefixLM(pretrained=...).

Tokenisation, the split of context and continuation, empty contexts, windows and what is done to
generated text are HFLM's own; only how the model is run is not, and no string is encoded twice. Where
the engine has nothing better than plain batches (see `engine_used`), HFLM's own are used. Log-probabilities
are taken in float32 whatever the model's dtype, where HFLM takes them in that dtype unless it is told
otherwise.
"""

import contextlib
from collections import Counter
from typing import Any

import torch
from lm_eval import utils
from lm_eval.api.registry import register_model
from lm_eval.models.utils import (
    handle_stop_sequences,
    normalize_gen_kwargs,
    postprocess_generated_text,
)
from tqdm import tqdm

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import canonical_json
from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.evaluation.encoding import CachedHFLM
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.sampling import StopStrings, UnsupportedGeneration
from workflow_scripts.evaluation.score_cache import Answers, ScoreCache

# HFLM looks for a stop string in as many tokens as it has and two more.
_LOOKBACK = 2


@register_model("prefix")
class PrefixLM(CachedHFLM):
    def __init__(
        self,
        *args,
        seed: int = 1234,
        scored_items: ScoreCache | None = None,
        engine: Any = None,
        **kwargs,
    ):
        """As HFLM, whose `batch_size` is for plain batches only.

        `seed` is for generation that draws tokens; `scored_items` keeps what a killed job computed; `engine` is
        another that runs the model, such as a server's.
        """
        super().__init__(*args, **kwargs)
        self.seed, self.scored_items = seed, scored_items
        self._fell_back: str | None = None
        if self.backend != "causal":
            raise UserError("The prefix engine runs causal language models only.")
        with self._autocast():
            self.engine = engine or PrefixEngine(self.model)

    @property
    def engine_used(self) -> str:
        return self._fell_back or self.engine.description

    @property
    def tokens(self) -> int | None:
        """Those that the requests so far take, interrupted or not; None where HFLM ran any."""
        return None if self._plain or self._fell_back else self.engine.tokens

    @property
    def _plain(self) -> bool:
        return bool(self.engine.model.why_not_packed)

    def _autocast(self):
        if self.mixed_precision_dtype is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=self.mixed_precision_dtype)

    def _loglikelihood_tokens(self, requests, disable_tqdm: bool = False, override_bs=None):
        if self._plain:
            return super()._loglikelihood_tokens(requests, disable_tqdm, override_bs)
        stored = self._answers(
            [("loglikelihood", (context, target), {}) for _, context, target in requests]
        )
        known = {at: (value, greedy) for at, (value, greedy) in stored.known.items()}
        with self._progress("loglikelihood", len(requests), len(known), disable_tqdm) as bar:

            def keep(at: int, answer: tuple[float, bool]) -> None:
                stored.store(at, answer)
                bar.update(1)

            with self._autocast():
                answers = self.engine.loglikelihoods(
                    [request[1:] for request in requests],
                    window=self.max_length,
                    known=known,
                    on_scored=keep,
                )
        for (texts, *_), answer in zip(requests, answers, strict=True):
            if texts is not None:  # windows of a rolling log-likelihood have no text of their own
                self.cache_hook.add_partial("loglikelihood", texts, answer)
        return answers

    def loglikelihood_rolling(self, requests, disable_tqdm: bool = False) -> list[float]:
        if self._plain:
            return super().loglikelihood_rolling(requests, disable_tqdm)
        windows = [
            [
                (None, *utils.make_disjoint_window(window))
                for window in utils.get_rolling_token_windows(
                    token_list=self.tok_encode(request.args[0]),
                    prefix_token=self.prefix_token_id,
                    max_seq_len=self.max_length,
                    context_len=1,
                )
            ]
            for request in requests
        ]
        # All windows in one call, where HFLM makes a call of each batch.
        scores = iter(self._loglikelihood_tokens([w for of in windows for w in of], disable_tqdm))
        totals = [sum(next(scores)[0] for _ in of_request) for of_request in windows]
        for request, total in zip(requests, totals, strict=True):
            self.cache_hook.add_partial("loglikelihood_rolling", request.args, total)
        return totals

    def generate_until(self, requests, disable_tqdm: bool = False) -> list[str]:
        if self._plain:
            return super().generate_until(requests, disable_tqdm)
        answers = [""] * len(requests)
        by_settings: dict[str, list[int]] = {}
        for at, request in enumerate(requests):
            by_settings.setdefault(repr(request.args[1]), []).append(at)
        with self._progress("generate_until", len(requests), 0, disable_tqdm) as bar:
            for chosen in by_settings.values():
                try:
                    texts = self._generate_alike([requests[at].args for at in chosen], bar)
                except UnsupportedGeneration as why:  # beam search: transformers' own loop
                    self._fell_back = f"plain batches: {why}"
                    texts = super().generate_until([requests[at] for at in chosen], True)
                for at, text in zip(chosen, texts, strict=True):
                    answers[at] = text
                    self.cache_hook.add_partial("generate_until", requests[at].args, text)
        return answers

    def _generate_alike(self, requests: list[tuple[str, dict]], bar: tqdm) -> list[str]:
        """Requests with the same settings."""
        options = dict(normalize_gen_kwargs(requests[0][1], self.max_gen_toks))
        eos = self.tok_decode(self.eot_token_id, skip_special_tokens=False)
        until = handle_stop_sequences(options.pop("until", None), eos=eos)
        new_tokens = options.pop("max_gen_toks")
        if "max_length" in options:  # counts the padding of HFLM's batch as well
            raise UnsupportedGeneration("The generation setting max_length depends on the batch.")
        if new_tokens >= self.max_length:
            raise UserError(
                f"max_gen_toks is {new_tokens}; expected is less than the model's window of"
                f" {self.max_length} tokens."
            )
        if options["do_sample"] is False:
            options.pop("temperature", None)
        contexts = self.encode_contexts(
            [text for text, _ in requests], self.max_length - new_tokens
        )
        described = {"options": options, "until": until, "new_tokens": new_tokens}
        repeats: Counter[tuple[int, ...]] = Counter()
        questions, seeds = [], []
        for context in contexts:
            again = repeats[tuple(context)]
            repeats[tuple(context)] += 1
            draw = {"seed": self.seed, "repeat": again} if options["do_sample"] else {}
            questions.append(("generation", (context,), described | draw))
            seeds.append(derive_seed(self.seed, context, canonical_json(described), again))

        stored = self._answers(questions)
        bar.update(len(stored.known))

        def keep(at: int, tokens: list[int]) -> None:
            stored.store(at, tokens)
            bar.update(1)

        stop = StopStrings(self.tokenizer, tuple(until), _LOOKBACK)
        with self._autocast():
            answers = self.engine.generate(
                [
                    GenerationRequest(context, new_tokens, stop, seed)
                    for context, seed in zip(contexts, seeds, strict=True)
                ],
                options | {"pad_token_id": self.tokenizer.pad_token_id},
                known=stored.known,
                on_generated=keep,
            )
        return [self._text(tokens, until) for tokens in answers]

    def _text(self, tokens: list[int] | str, until: list[str]) -> str:
        """What HFLM makes of generated tokens, or of a server's text."""
        end = self.think_end_token
        if isinstance(tokens, str):
            text = tokens
        else:
            if isinstance(end, int) and end in tokens:
                tokens = tokens[len(tokens) - tokens[::-1].index(end) :]
            text = self.tok_decode(tokens)
        if isinstance(end, int):
            text = text.lstrip()
        return postprocess_generated_text(
            generation=text, stop=until, think_end_token=end if isinstance(end, str) else None
        )

    def _progress(self, what: str, total: int, known: int, disable: bool) -> tqdm:
        return tqdm(total=total, initial=known, disable=disable, desc=f"Running {what} requests")

    def _answers(self, questions: list[tuple[str, tuple, dict[str, Any]]]) -> Answers:
        settings = {"window": self.max_length}
        return Answers(
            self.scored_items,
            [(kind, tokens, settings | of_it) for kind, tokens, of_it in questions],
        )
