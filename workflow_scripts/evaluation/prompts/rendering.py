"""Render a question into the exact text and tokens that a model reads, as a run's file says."""

import random
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from jinja2 import TemplateError as JinjaError

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.evaluation.prompts.questions import LETTERS, Question
from workflow_scripts.settings.prompts.spec import Asking
from workflow_scripts.settings.prompts.templates import render


@dataclass(frozen=True)
class Prompt:
    """What is sent for one question."""

    text: str
    tokens: list[int]
    # With the method likelihood: the tokens of each letter behind the prompt.
    continuations: list[list[int]]
    truncated: bool  # on the left, to fit into the model's window


class Renderer:
    """Render the questions of one run for one tokenizer."""

    def __init__(self, asking: Asking, tokenizer: Any, dev: list[Question], window: int):
        self._asking, self._tokenizer, self._window = asking, tokenizer, window
        self._dev, shots = dev, asking.shots
        if shots.source == "hand_made":
            self._dev = [
                Question(
                    "", "", example.question, example.choices, example.choices.index(example.answer)
                )
                for example in shots.examples
            ]
        elif shots.source == "fixed_dev":
            rng = random.Random(derive_seed(shots.seed, "prompt shots", "fixed_dev"))
            self._dev = [dev[index] for index in sorted(rng.sample(range(len(dev)), shots.number))]
        elif shots.source != "subject_dev":
            self._dev = []

    def prompt(self, question: Question) -> Prompt:
        """Render one question; a prompt that is too long loses its beginning."""
        decoding = self._asking.decoding
        try:
            text = self._render(question)
        # Jinja's: no chat template, or a role that it does not take.
        except (ValueError, TypeError, JinjaError) as error:
            raise UserError(f"Question {question.id}: the template {error}") from None
        tokens = self._encode(text)
        continuations = []
        new_tokens = decoding.new_tokens or 0
        if decoding.method == "likelihood":
            continuations = self._continuations(text, tokens, question)
            new_tokens = max(map(len, continuations)) - 1  # the last one is not read
        window = self._window - new_tokens
        if window < 1:
            raise UserError(
                f"decoding.new_tokens is {new_tokens}; expected less than the model's {self._window}."
            )
        return Prompt(text, tokens[-window:], continuations, truncated=len(tokens) > window)

    def _render(self, question: Question) -> str:
        asking = self._asking
        values = self._values(question)
        shots = [
            self._values(shot) | {"answer": shot.answer, "letter": LETTERS[shot.gold]}
            for shot in self._shots(question)
        ]
        if asking.shots.source not in ("none", "vendor"):
            values["shots"] = shots
        if question.prompt is not None:
            # As the dataset has it, a list of one; it prints as an array of one does.
            values |= {"prompt": question.prompt, "prompts": [question.prompt]}
        if asking.text is not None:
            return render(asking.text, values)
        turns = []
        for repeated, messages in groupby(asking.messages or (), key=lambda m: m.for_each_shot):
            group = list(messages)
            for more in [{"shot": shot} for shot in shots] if repeated else [{}]:
                for message in group:
                    content = render(message.content, values | more)
                    turns.append({"role": message.role, "content": content})
        return self._tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True, date_string=asking.date
        )

    def _values(self, question: Question) -> dict[str, Any]:
        choices = str(list(question.choices))
        if self._asking.choices == "single_quoted_list":
            choices = choices.replace('"', "'")
        elif self._asking.choices == "lettered_lines":
            pairs = zip(LETTERS, question.choices, strict=False)
            choices = "\n".join(f"{letter}. {choice}" for letter, choice in pairs)
        return {
            "question": question.text,
            "choices": choices,
            "choice_list": list(question.choices),
            "subject": question.subject,
        }

    def _shots(self, question: Question) -> list[Question]:
        shots = self._asking.shots
        if shots.source != "subject_dev":
            return self._dev[: shots.number]
        return [dev for dev in self._dev if dev.subject == question.subject][: shots.number]

    def _encode(self, text: str) -> list[int]:
        """Encode with the start token, unless the text has it already, as chat templates do."""
        start = self._tokenizer.bos_token
        adds = self._asking.text is not None and not (start and text.startswith(start))
        return self._tokenizer(text, add_special_tokens=adds)["input_ids"]

    def _continuations(self, text: str, tokens: list[int], question: Question) -> list[list[int]]:
        continuations = []
        for letter in LETTERS[: len(question.choices)]:
            continuation = render(self._asking.decoding.continuation, {"letter": letter})
            whole = self._encode(text + continuation)
            if whole[: len(tokens)] != tokens or len(whole) == len(tokens):
                raise UserError(
                    f"The continuation {continuation!r} melts into the last token of the prompt of question"
                    f" {question.id}; expected it to begin with a space or a new line."
                )
            continuations.append(whole[len(tokens) :])
        return continuations
