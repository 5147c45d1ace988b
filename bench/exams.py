"""Generate exam questions with the shape of MMLU's from random words."""

import random

from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

VOCABULARY = 6144
_WORDS = 3000
_END = "<|end|>"
Pair = tuple[str, str]  # context and continuation


class Exams:
    """A generator of prompts of about `tokens` tokens: examples shared within a subject, and a question."""

    def __init__(self, seed: int, tokens: int, questions: int):
        self._rng = random.Random(seed)
        syllables = [
            a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er")
        ]
        self._words = ["".join(self._rng.choices(syllables, k=self._rng.randint(1, 4)))
                       for _ in range(_WORDS)]  # fmt: skip
        self.tokenizer = self._train_tokenizer()
        self._examples, self._questions = tokens - 80, questions

    def make_contexts(self, subjects: int) -> list[str]:
        contexts = []
        for _ in range(subjects):
            examples = ""
            while self._count_tokens(examples) < self._examples:
                examples += f"{self._make_question()} {self._rng.choice('ABCD')}\n\n"
            contexts += [examples + self._make_question() for _ in range(self._questions)]
        return contexts

    def make_letters(self, subjects: int) -> list[Pair]:
        return [
            (context, f" {letter}") for context in self.make_contexts(subjects) for letter in "ABCD"
        ]

    def make_endings(self) -> list[Pair]:
        return [
            (context, " " + self._make_words(10, 40))
            for context in self.make_contexts(1)
            for _ in range(4)
        ]

    def make_unshared(self) -> list[Pair]:
        return [(self._make_words(40, 120), " " + self._make_words(5, 20)) for _ in range(128)]

    def encode(self, texts: list[str]) -> list[list[int]]:
        return self.tokenizer(texts)["input_ids"]

    def _count_tokens(self, text: str) -> int:
        return len(self.tokenizer(text)["input_ids"])

    def _make_words(self, minimum: int, maximum: int) -> str:
        return " ".join(self._rng.choices(self._words, k=self._rng.randint(minimum, maximum)))

    def _make_question(self) -> str:
        choices = "\n".join(f"{letter}. {self._make_words(1, 6)}" for letter in "ABCD")
        return f"{self._make_words(10, 70)}?\n{choices}\nAnswer:"

    def _train_tokenizer(self) -> PreTrainedTokenizerFast:
        core = Tokenizer(models.BPE())
        core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        core.train_from_iterator(
            [" ".join(self._words)],
            trainers.BpeTrainer(
                vocab_size=VOCABULARY,
                special_tokens=[_END],
                initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                show_progress=False,
            ),
        )
        return PreTrainedTokenizerFast(
            tokenizer_object=core, bos_token=_END, eos_token=_END, pad_token=_END
        )
