"""lighteval's TransformersModel on the prefix-sharing engine.

    model = PrefixTransformersModel.from_model(model, TransformersModelConfig(...))
    Pipeline(..., model=model)

Importing this imports lighteval: seven seconds, autograd switched off for the process, and never
beside lm-eval. Prompts, tokenisation, truncation and what is done to generated text are lighteval's
own. Its response cache is not used: it does not notice other weights. Rolling log-likelihoods stay
lighteval's own altogether, since they read the logits in another way than everyone else. An answer's length
depends on its own prompt; lighteval itself cuts all answers of a batch to what its longest leaves.
"""

from collections.abc import Callable
from functools import lru_cache

from lighteval.data import GenerativeTaskDataset
from lighteval.models.model_output import ModelResponse
from lighteval.models.transformers.transformers_model import TransformersModel
from lighteval.tasks.requests import Doc

from workflow_scripts.core.files import canonical_json
from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.sampling import StopStrings, UnsupportedGeneration
from workflow_scripts.evaluation.score_cache import Answers, ScoreCache
from workflow_scripts.evaluation.tokenizer_cache import TokenizerCache

# lighteval looks for a stop string in just as many tokens as it has.
_LOOKBACK = 0
# Texts that are kept: lighteval asks for a context again with each of its choices.
_CACHED_TEXTS = 1_024


class PrefixTransformersModel(TransformersModel):
    engine: PrefixEngine
    _fell_back: str | None
    _encode_cached: Callable[[str, bool], list[int]]

    @classmethod
    def from_model(
        cls,
        model,
        config,
        accelerator=None,
        *,
        seed: int = 1234,
        scored_items: ScoreCache | None = None,
    ) -> "PrefixTransformersModel":
        self = super().from_model(model, config, accelerator)
        self.engine = PrefixEngine(self.model)
        self.seed, self.scored_items = seed, scored_items
        self._fell_back = None
        self.tokenizer_cache = TokenizerCache(self.tokenizer)
        self._encode_cached = lru_cache(_CACHED_TEXTS)(
            lambda text, special: self.tokenizer_cache.encode([text], special)[0]
        )
        return self

    @property
    def engine_used(self) -> str:
        return self._fell_back or self.engine.description

    @property
    def tokens(self) -> int | None:
        """Those that the requests so far take, interrupted or not; None where lighteval ran any."""
        return None if self._plain or self._fell_back else self.engine.tokens

    @property
    def _plain(self) -> bool:
        return bool(self.engine.model.why_not_packed)

    def cleanup(self) -> None:
        super().cleanup()
        self.engine.model.model = None

    # Without the decorator that reads and writes the response cache.
    def loglikelihood(self, docs: list[Doc]) -> list[ModelResponse]:
        return self._loglikelihood_tokens(docs)

    def loglikelihood_rolling(self, docs: list[Doc]) -> list[ModelResponse]:
        return self._loglikelihood_tokens(docs, rolling=True)

    def greedy_until(self, docs: list[Doc]) -> list[ModelResponse]:
        if self._plain:
            return self._padded_greedy_until(docs)
        dataset = GenerativeTaskDataset(requests=docs, num_dataset_splits=self.DATASET_SPLITS)
        responses: list[ModelResponse] = []
        for split in dataset.splits_iterator():  # alike in stop strings and lengths asked for
            try:
                responses.extend(self._generate_alike(list(split)))
            except UnsupportedGeneration as why:  # beam search: transformers' own loop
                self._fell_back = f"plain batches: {why}"
                return self._padded_greedy_until(docs)
        return dataset.get_original_order(responses)

    def _loglikelihood_tokens(self, docs: list[Doc], rolling: bool = False) -> list[ModelResponse]:
        if rolling or self._plain:
            return super()._loglikelihood_tokens(docs, rolling=rolling)
        encoded = [
            self.tok_encode_pair(
                self.prompt_manager.prepare_prompt(doc), doc.choices, pairwise=True
            )
            for doc in docs
        ]
        pairs = [pair for of_doc in encoded for pair in zip(*of_doc, strict=True)]
        settings = {"window": self.max_length}
        stored = Answers(self.scored_items, [("loglikelihood", pair, settings) for pair in pairs])
        found = self.engine.loglikelihoods(
            pairs,
            window=self._window,
            known={at: (value, greedy) for at, (value, greedy) in stored.known.items()},
            on_scored=stored.store,
        )
        scores = iter(found)
        responses = []
        for contexts, continuations in encoded:
            of_doc = [next(scores) for _ in continuations]
            longest = max(map(len, continuations))
            responses.append(
                ModelResponse(
                    logprobs=[value for value, _ in of_doc],
                    argmax_logits_eq_gold=[greedy for _, greedy in of_doc],
                    # Lists: lighteval hashes what these print, and a tensor is long in printing.
                    input_tokens=contexts[0],
                    output_tokens=[[*t, *[-1] * (longest - len(t))] for t in continuations],
                )
            )
        return responses

    @property
    def _window(self) -> int:
        """lighteval reads the last token of a continuation too, so its window holds one less."""
        return self.max_length - 1

    def tok_encode(self, str_to_encode, add_special_tokens: bool | None = None):
        if not isinstance(str_to_encode, str):
            return super().tok_encode(str_to_encode, add_special_tokens)
        special = self.add_special_tokens if add_special_tokens is None else add_special_tokens
        return self._encode_cached(str_to_encode, special)

    def _generate_alike(self, docs: list[Doc]) -> list[ModelResponse]:
        first = docs[0]
        stops = [self.tokenizer.eos_token]
        if not self.use_chat_template:  # a chat ends with the end token alone
            stops += first.stop_sequences
        stop = StopStrings(self.tokenizer, tuple(stops), _LOOKBACK)
        options = self.generation_config_dict | {
            "pad_token_id": self.tokenizer.pad_token_id or self.tokenizer.eos_token_id,
            "eos_token_id": self.tokenizer.eos_token_id,
            "renormalize_logits": True,
        }
        options.pop("max_new_tokens", None)
        if options["temperature"] == 0:
            options["do_sample"] = False
        room = self._room(first)
        contexts = self._contexts(docs, room)
        requests, questions = [], []
        for doc, context in zip(docs, contexts, strict=True):
            new = self._new(doc, context)
            described = {"options": options, "stops": stops, "new_tokens": new}
            for sample in range(doc.num_samples):
                draw = {"seed": self.seed, "sample": sample}
                questions.append(("generation", (context,), described | draw))
                seed = derive_seed(self.seed, context, canonical_json(described), sample)
                requests.append(GenerationRequest(context, new, stop, seed))
        stored = Answers(self.scored_items, questions)
        found = iter(
            self.engine.generate(requests, options, known=stored.known, on_generated=stored.store)
        )
        responses = []
        for doc, context in zip(docs, contexts, strict=True):
            outputs = [next(found) for _ in range(doc.num_samples)]
            responses.append(
                ModelResponse(
                    text=[self._text(tokens, stops) for tokens in outputs],
                    output_tokens=outputs,
                    input_tokens=context,
                )
            )
        return responses

    def _room(self, first: Doc) -> int:
        """How many tokens lighteval leaves of a prompt; `first` is the longest of its kind."""
        if self.generation_config_dict.get("max_new_tokens") is not None:
            return self.generation_config_dict["max_new_tokens"]
        if first.generation_size is None:
            return self.max_length
        longest = len(self.tokenizer(self.prompt_manager.prepare_prompt(first))["input_ids"])
        return min(longest + first.generation_size, self.max_length)

    def _contexts(self, docs: list[Doc], room: int) -> list[list[int]]:
        """Prompts that leave too little room are cut by the tokenizer itself, as in lighteval."""
        prompts = [self.prompt_manager.prepare_prompt(doc) for doc in docs]
        found = self.tokenizer_cache.encode(prompts, self.add_special_tokens)
        long = [at for at, ids in enumerate(found) if len(ids) > room]
        cut = self.tokenizer_cache.encode(
            [prompts[at] for at in long],
            self.add_special_tokens,
            truncation="longest_first",
            max_length=room,
        )
        for at, ids in zip(long, cut, strict=True):
            found[at] = ids
        return found

    def _new(self, doc: Doc, context: list[int]) -> int:
        left = self.max_length - len(context)
        return max(1, left if doc.generation_size is None else min(left, doc.generation_size))

    def _text(self, tokens: list[int], stops: list[str]) -> str:
        text = self.tok_decode([tokens])[0]
        for stop in stops:
            text = text.split(stop)[0]
        return text
