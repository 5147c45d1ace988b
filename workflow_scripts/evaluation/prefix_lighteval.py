"""Run lighteval's TransformersModel on the prefix-sharing engine.

    model = PrefixTransformersModel.from_model(model, TransformersModelConfig(...))
    Pipeline(..., model=model)

Importing this module imports lighteval, which takes seven seconds and turns autograd off for the process; never import
it together with lm-eval. lighteval's own code makes prompts and tokens, truncates, and postprocesses generated text.
Its response cache is not used, because it ignores changes of the weights. lighteval also runs rolling log-likelihoods
and sampled answers. The maximum length of an answer depends on its own prompt; lighteval limits all answers of a batch
to the tokens that the longest prompt leaves.
"""

from itertools import pairwise

import numpy as np
from lighteval.data import GenerativeTaskDataset
from lighteval.models.model_output import ModelResponse
from lighteval.models.transformers.transformers_model import TransformersModel
from lighteval.tasks.requests import Doc

from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.sampling import StopStrings
from workflow_scripts.evaluation.score_cache import Answers, ScoreCache
from workflow_scripts.evaluation.tokenizer_cache import TokenizerCache

# lighteval searches a stop string in as many last tokens as the stop string has.
_LOOKBACK = 0


class PrefixTransformersModel(TransformersModel):
    """TransformersModel with requests run by the prefix engine."""

    engine: PrefixEngine

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
        self.tokenizer_cache = TokenizerCache(self.tokenizer)
        return self

    def cleanup(self) -> None:
        super().cleanup()
        self.engine.model.model = None

    def loglikelihood(self, docs: list[Doc]) -> list[ModelResponse]:
        if self.engine.model.why_not_packed:
            self._count_prompts(docs)
            return super().loglikelihood(docs)
        encoded = [
            self.tok_encode_pair(
                self.prompt_manager.prepare_prompt(doc), doc.choices, pairwise=True
            )
            for doc in docs
        ]
        pairs = [pair for doc_pairs in encoded for pair in zip(*doc_pairs, strict=True)]
        settings = {"window": self.max_length}
        stored = Answers(self.scored_items, [("loglikelihood", pair, settings) for pair in pairs])
        scores = self.engine.loglikelihoods(
            pairs,
            window=self.max_length - 1,  # lighteval's input includes the last token
            cached=stored.cached,
            on_scored=stored.store,
        )
        edges = np.cumsum([0, *(len(choices) for _, choices in encoded)])
        return [
            ModelResponse(
                logprobs=[value for value, _ in scores[start:end]],
                argmax_logits_eq_gold=[is_greedy for _, is_greedy in scores[start:end]],
                # Lists, because lighteval hashes the repr, and the repr of a tensor is slow.
                input_tokens=contexts[0],
                output_tokens=[[*c, *[-1] * (max(map(len, choices)) - len(c))] for c in choices],
            )
            for (contexts, choices), (start, end) in zip(encoded, pairwise(edges), strict=True)
        ]

    def greedy_until(self, docs: list[Doc]) -> list[ModelResponse]:
        if self.engine.model.why_not_packed or self.generation_config_dict["temperature"] > 0:
            self._count_prompts(docs)
            return super().greedy_until(docs)
        options = self.generation_config_dict | {
            "pad_token_id": self.tokenizer.pad_token_id or self.tokenizer.eos_token_id,
            "eos_token_id": self.tokenizer.eos_token_id,
            "renormalize_logits": True,
            "do_sample": False,
        }
        options.pop("max_new_tokens", None)
        dataset = GenerativeTaskDataset(requests=docs, num_dataset_splits=self.DATASET_SPLITS)
        responses: list[ModelResponse] = []
        for split in dataset.splits_iterator():  # a split shares stop strings and generation sizes
            responses += self._generate_split(list(split), options)
        return dataset.get_original_order(responses)

    def _count_prompts(self, docs: list[Doc]) -> None:
        """Count the tokens of the prompts that lighteval runs itself."""
        prompts = [self.prompt_manager.prepare_prompt(doc) for doc in docs]
        self.engine.tokens += sum(map(len, self.tokenizer_cache.encode(prompts, None)))

    def _generate_split(self, docs: list[Doc], options: dict) -> list[ModelResponse]:
        stops = [self.tokenizer.eos_token]
        if not self.use_chat_template:  # a chat answer ends only with the end token
            stops += docs[0].stop_sequences
        stop = StopStrings(self.tokenizer, tuple(stops), _LOOKBACK)
        contexts = self._encode_contexts(docs)
        questions, requests = [], []
        for doc, context in zip(docs, contexts, strict=True):
            new_tokens = self.max_length - len(context)
            if doc.generation_size is not None:
                new_tokens = min(new_tokens, doc.generation_size)
            requests.append(GenerationRequest(context, max(1, new_tokens), stop))
            settings = {"options": options, "stops": stops, "new_tokens": max(1, new_tokens)}
            settings |= {"seed": self.seed, "sample": 0}
            questions.append(("generation", (context,), settings))
        stored = Answers(self.scored_items, questions)
        answers = self.engine.generate(
            requests, options, cached=stored.cached, on_generated=stored.store
        )
        return [
            ModelResponse(
                text=[self._cut_text(tokens, stops)], output_tokens=[tokens], input_tokens=context
            )
            for tokens, context in zip(answers, contexts, strict=True)
        ]

    def _encode_contexts(self, docs: list[Doc]) -> list[list[int]]:
        """Encode prompts; the tokenizer truncates to lighteval's limit, set by the first prompt of the split."""
        prompts = [self.prompt_manager.prepare_prompt(doc) for doc in docs]
        contexts = self.tokenizer_cache.encode(prompts, self.add_special_tokens)
        limit = self.max_length
        if docs[0].generation_size is not None:
            first = self.tokenizer(prompts[0])["input_ids"]
            limit = min(limit, len(first) + docs[0].generation_size)
        options = {"add_special_tokens": self.add_special_tokens, "max_length": limit}
        return [
            context
            if len(context) <= limit
            else self.tokenizer(prompt, truncation="longest_first", **options)["input_ids"]
            for prompt, context in zip(prompts, contexts, strict=True)
        ]

    def tok_encode(self, str_to_encode, add_special_tokens: bool | None = None):
        if not isinstance(str_to_encode, str):
            return super().tok_encode(str_to_encode, add_special_tokens)
        special = self.add_special_tokens if add_special_tokens is None else add_special_tokens
        return self.tokenizer_cache.encode([str_to_encode], special)[0]

    def _cut_text(self, tokens: list[int], stops: list[str]) -> str:
        text = self.tok_decode([tokens])[0]
        for stop in stops:
            text = text.split(stop)[0]
        return text
