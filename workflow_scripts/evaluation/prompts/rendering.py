"""From a run's file and a question to the exact text and tokens that a model reads."""

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from jinja2 import TemplateError as JinjaError

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.evaluation.prompts.questions import LETTERS, Question
from workflow_scripts.settings.prompts.spec import Asking, Shots
from workflow_scripts.settings.prompts.templates import TemplateError, render

_STYLES: dict[str, Callable[[tuple[str, ...]], str]] = {
    "python_list": lambda choices: str(list(choices)),
    "single_quoted_list": lambda choices: str(list(choices)).replace('"', "'"),
    "lettered_lines": lambda choices: "\n".join(
        f"{letter}. {choice}" for letter, choice in zip(LETTERS, choices, strict=False)
    ),
}


@dataclass(frozen=True)
class Prompt:
    """What is sent for one question."""

    text: str
    tokens: list[int]
    # With the method likelihood: the tokens of each letter behind the prompt.
    continuations: list[list[int]]
    truncated: bool  # on the left, to fit into the model's window


class Renderer:
    """Renders the questions of one run for one tokenizer."""

    def __init__(self, asking: Asking, tokenizer: Any, dev: list[Question], window: int):
        self._asking, self._tokenizer, self._window = asking, tokenizer, window
        self._fixed_shots = _fixed_shots(asking.shots, dev)
        self._dev_by_subject: dict[str, list[Question]] = defaultdict(list)
        for question in dev:
            self._dev_by_subject[question.subject].append(question)

    def prompt(self, question: Question) -> Prompt:
        """Render one question; a prompt that is too long loses its beginning."""
        decoding = self._asking.decoding
        try:
            text = self._render(question)
        except TemplateError as problem:
            raise UserError(f"Question {question.id}: the template {problem}") from None
        tokens, continuations = self._encode(text), []
        new_tokens = decoding.new_tokens or 0
        if decoding.method == "likelihood":
            continuations = self._continuations(text, tokens, question)
            new_tokens = max(map(len, continuations)) - 1  # the last one is not read
        room = self._window - new_tokens
        if room < 1:
            raise UserError(
                f"decoding.new_tokens is {decoding.new_tokens}; expected less than the model's window"
                f" of {self._window} tokens."
            )
        return Prompt(text, tokens[-room:], continuations, truncated=len(tokens) > room)

    def _render(self, question: Question) -> str:
        asking = self._asking
        values = self._values(question)
        shots = []
        for shot in self._shots(question):
            answer = {"answer": shot.answer, "letter": LETTERS[shot.gold]}
            shots.append(self._values(shot) | answer)
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
        try:
            return self._tokenizer.apply_chat_template(
                turns, tokenize=False, add_generation_prompt=True, date_string=asking.date
            )
        # No template, or a role that it does not take.
        except (ValueError, TypeError, JinjaError) as error:
            raise UserError(f"The messages do not fit the model's chat template: {error}") from None

    def _values(self, question: Question) -> dict[str, Any]:
        return {
            "question": question.text,
            "choices": _STYLES[self._asking.choices](question.choices),
            "choice_list": list(question.choices),
            "subject": question.subject,
        }

    def _shots(self, question: Question) -> list[Question]:
        if self._asking.shots.source != "subject_dev":
            return self._fixed_shots
        if question.subject not in self._dev_by_subject:
            raise UserError(f"The dev split has no examples of the subject {question.subject!r}.")
        return self._dev_by_subject[question.subject][: self._asking.shots.number]

    def _encode(self, text: str) -> list[int]:
        """Encode with the start token, unless the text has it already, as chat templates do."""
        start = self._tokenizer.bos_token
        adds = self._asking.text is not None and not (start and text.startswith(start))
        return self._tokenizer(text, add_special_tokens=adds)["input_ids"]

    def _continuations(self, text: str, tokens: list[int], question: Question) -> list[list[int]]:
        continuations = []
        for letter in LETTERS[: len(question.choices)]:
            more = render(self._asking.decoding.continuation, {"letter": letter})
            whole = self._encode(text + more)
            if whole[: len(tokens)] != tokens or len(whole) == len(tokens):
                raise UserError(
                    f"The continuation {more!r} melts into the last token of the prompt of question"
                    f" {question.id}; expected a prompt that ends before a space or a new line, and"
                    " a continuation that begins with it."
                )
            continuations.append(whole[len(tokens) :])
        return continuations


def _fixed_shots(shots: Shots, dev: list[Question]) -> list[Question]:
    """Make the examples that all questions share."""
    if shots.source == "hand_made":
        return [
            Question("", "", one.question, one.choices, one.choices.index(one.answer))
            for one in shots.examples[: shots.number]
        ]
    if shots.source == "fixed_dev":
        rng = random.Random(derive_seed(shots.seed, "prompt shots", "fixed_dev"))
        return [dev[index] for index in sorted(rng.sample(range(len(dev)), shots.number))]
    return []
