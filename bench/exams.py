"""Exam questions of MMLU's shape in made-up words."""

import random

from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

VOCABULARY = 6144
_WORDS = 3000
_END = "<|end|>"
Pair = tuple[str, str]  # context and continuation


class Exams:
    """Prompts of some tokens each: examples that a subject's questions share, and a question."""

    def __init__(self, seed: int, tokens: int, questions: int):
        self._rng = random.Random(seed)
        syllables = [
            a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er")
        ]
        self._words = ["".join(self._rng.choices(syllables, k=self._rng.randint(1, 4)))
                       for _ in range(_WORDS)]  # fmt: skip
        self.tokenizer = self._trained()
        self._examples, self._questions = tokens - 80, questions

    def contexts(self, subjects: int) -> list[str]:
        found = []
        for _ in range(subjects):
            examples = ""
            while self._length(examples) < self._examples:
                examples += f"{self._question()} {self._rng.choice('ABCD')}\n\n"
            found += [examples + self._question() for _ in range(self._questions)]
        return found

    def letters(self, subjects: int) -> list[Pair]:
        return [(context, f" {letter}") for context in self.contexts(subjects) for letter in "ABCD"]

    def endings(self) -> list[Pair]:
        return [
            (context, " " + self._said(10, 40)) for context in self.contexts(1) for _ in range(4)
        ]

    def nothing_shared(self) -> list[Pair]:
        return [(self._said(40, 120), " " + self._said(5, 20)) for _ in range(128)]

    def encoded(self, texts: list[str]) -> list[list[int]]:
        return self.tokenizer(texts)["input_ids"]

    def _length(self, text: str) -> int:
        return len(self.tokenizer(text)["input_ids"])

    def _said(self, least: int, most: int) -> str:
        return " ".join(self._rng.choices(self._words, k=self._rng.randint(least, most)))

    def _question(self) -> str:
        choices = "\n".join(f"{letter}. {self._said(1, 6)}" for letter in "ABCD")
        return f"{self._said(10, 70)}?\n{choices}\nAnswer:"

    def _trained(self) -> PreTrainedTokenizerFast:
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
