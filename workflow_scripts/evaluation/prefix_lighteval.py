"""Run lighteval's TransformersModel on the prefix-sharing engine.

    model = PrefixTransformersModel.from_model(model, TransformersModelConfig(...))
    model.greedy_until(docs)

Importing this module imports lighteval, which takes seven seconds and turns autograd off for the process; never import
it together with lm-eval. lighteval's own code makes prompts and tokens, truncates, and postprocesses generated text.
Its response cache is not used, because it ignores changes of the weights. The maximum length of an answer depends on
its own prompt; lighteval limits all answers of a batch to the tokens that the longest prompt leaves.
"""

from functools import cached_property

from lighteval.data import GenerativeTaskDataset
from lighteval.models.model_output import ModelResponse
from lighteval.models.transformers.transformers_model import TransformersModel
from lighteval.tasks.requests import Doc

from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.sampling import StopStrings
from workflow_scripts.evaluation.tokenizer_cache import TokenizerCache

# lighteval searches a stop string in as many of the last tokens as the stop string has.
_LOOKBACK = 0


class PrefixTransformersModel(TransformersModel):
    """TransformersModel with requests run by the prefix engine: choices, and greedy answers without a chat template."""

    @cached_property
    def engine(self) -> PrefixEngine:
        return PrefixEngine(self.model)

    @cached_property
    def tokenizer_cache(self) -> TokenizerCache:
        return TokenizerCache(self.tokenizer)

    def loglikelihood(self, docs: list[Doc]) -> list[ModelResponse]:
        encoded = [
            self.tok_encode_pair(
                self.prompt_manager.prepare_prompt(doc), doc.choices, pairwise=True
            )
            for doc in docs
        ]
        pairs = [pair for doc_pairs in encoded for pair in zip(*doc_pairs, strict=True)]
        # lighteval's window includes the last token, which is only a target.
        scores = iter(self.engine.loglikelihoods(pairs, window=self.max_length - 1))
        responses = []
        for contexts, choices in encoded:
            logprobs, is_greedy = zip(*(next(scores) for _ in choices), strict=True)
            responses.append(
                ModelResponse(
                    logprobs=[*logprobs],
                    argmax_logits_eq_gold=[*is_greedy],
                    input_tokens=contexts[0],
                    output_tokens=choices,
                )
            )
        return responses

    def greedy_until(self, docs: list[Doc]) -> list[ModelResponse]:
        dataset = GenerativeTaskDataset(requests=docs, num_dataset_splits=self.DATASET_SPLITS)
        responses: list[ModelResponse] = []
        for split in dataset.splits_iterator():  # a split shares stop strings and generation sizes
            responses += self._generate_split(list(split))
        return dataset.get_original_order(responses)

    def _generate_split(self, docs: list[Doc]) -> list[ModelResponse]:
        stops = [self.tokenizer.eos_token, *docs[0].stop_sequences]
        stop = StopStrings(self.tokenizer, tuple(stops), _LOOKBACK)
        contexts = self._encode_contexts(docs)
        requests = []
        for doc, context in zip(docs, contexts, strict=True):
            new_tokens = min(self.max_length - len(context), doc.generation_size)
            requests.append(GenerationRequest(context, max(1, new_tokens), stop))
        ends = {name: getattr(self.tokenizer, name) for name in ("eos_token_id", "pad_token_id")}
        answers = self.engine.generate(requests, {"do_sample": False, **ends})
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
        first = self.tokenizer(prompts[0])["input_ids"]
        limit = min(self.max_length, len(first) + docs[0].generation_size)
        options = {"add_special_tokens": self.add_special_tokens, "max_length": limit}
        return [
            context
            if len(context) <= limit
            else self.tokenizer(prompt, truncation="longest_first", **options)["input_ids"]
            for prompt, context in zip(prompts, contexts, strict=True)
        ]

    def tok_encode(self, str_to_encode, add_special_tokens=None) -> list[int]:
        return self.tokenizer_cache.encode([str_to_encode], add_special_tokens)[0]

    def _cut_text(self, tokens: list[int], stops: list[str]) -> str:
        text = self.tok_decode([tokens])[0]
        for stop in stops:
            text = text.split(stop)[0]
        return text
