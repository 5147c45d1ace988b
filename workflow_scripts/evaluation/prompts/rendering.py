"""From a run's file and a question to the exact text and tokens that a model reads."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from jinja2 import TemplateError as JinjaError

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.evaluation.prompts.questions import LETTERS, Question
from workflow_scripts.settings.prompts.spec import Asking, Message, Shots
from workflow_scripts.settings.prompts.templates import TemplateError, render

_STYLES: dict[str, Callable[[tuple[str, ...]], str]] = {
    "python_list": lambda choices: str(list(choices)),
    "single_quoted_list": lambda choices: str(list(choices)).replace('"', "'"),
    "json_list": lambda choices: json.dumps(list(choices), ensure_ascii=False),
    "lettered_lines": lambda choices: "\n".join(
        f"{letter}. {choice}" for letter, choice in zip(LETTERS, choices, strict=False)
    ),
    "plain_lines": "\n".join,
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
        self._shots = _Shots(asking.shots, dev)

    def prompt(self, question: Question) -> Prompt:
        try:
            text = self._text(question)
        except TemplateError as problem:
            raise UserError(f"Question {question.id}: the template {problem}") from None
        tokens, likelihood = self._encode(text), self._asking.decoding.method == "likelihood"
        continuations = self._continuations(text, tokens, question) if likelihood else []
        # What is to come needs its place in the window too; of a letter the last token is not read.
        room = self._window - (
            max(map(len, continuations)) - 1
            if likelihood
            else self._asking.decoding.new_tokens or 0
        )
        if room < 1:
            raise UserError(
                f"decoding.new_tokens is {self._asking.decoding.new_tokens}; expected less than the"
                f" model's window of {self._window} tokens."
            )
        return Prompt(text, tokens[-room:], continuations, truncated=len(tokens) > room)

    def _text(self, question: Question) -> str:
        asking = self._asking
        shots = [self._values(shot) | _answer(shot) for shot in self._shots.of(question)]
        values = self._values(question)
        if asking.shots.source not in ("none", "vendor"):
            values["shots"] = shots
        if question.prompt is not None:
            # As the dataset has it, a list of one; it prints as an array of one does.
            values |= {"prompt": question.prompt, "prompts": [question.prompt]}
        if asking.text is not None:
            return render(asking.text, values)
        turns = []
        for repeated, messages in groupby(asking.messages or (), key=lambda m: m.for_each_shot):
            turns += _turns(list(messages), values, shots if repeated else [None])
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

    def _encode(self, text: str) -> list[int]:
        """With the tokenizer's start token, unless the text has it already, as chat templates do."""
        tokenizer = self._tokenizer
        start = tokenizer.bos_token
        adds = self._asking.text is not None and not (start and text.startswith(start))
        return tokenizer(text, add_special_tokens=adds)["input_ids"]

    def _continuations(self, text: str, tokens: list[int], question: Question) -> list[list[int]]:
        found = []
        for letter, _ in zip(LETTERS, question.choices, strict=False):
            more = render(self._asking.decoding.continuation, {"letter": letter})
            whole = self._encode(text + more)
            if whole[: len(tokens)] != tokens or len(whole) == len(tokens):
                raise UserError(
                    f"The continuation {more!r} melts into the last token of the prompt of question"
                    f" {question.id}; expected a prompt that ends before a space or a new line, and"
                    " a continuation that begins with it."
                )
            found.append(whole[len(tokens) :])
        return found


def _turns(
    messages: list[Message], values: dict[str, Any], shots: Sequence[dict[str, Any] | None]
) -> list[dict[str, str]]:
    return [
        {
            "role": message.role,
            "content": render(message.content, values if shot is None else values | {"shot": shot}),
        }
        for shot in shots
        for message in messages
    ]


def _answer(shot: Question) -> dict[str, Any]:
    return {"answer": shot.answer, "letter": LETTERS[shot.gold]}


class _Shots:
    """The few-shot examples of each question."""

    def __init__(self, spec: Shots, dev: list[Question]):
        self._spec = spec
        self._by_subject: dict[str, list[Question]] = {}
        for question in dev:
            self._by_subject.setdefault(question.subject, []).append(question)
        self._fixed: list[Question] = []
        if spec.source == "hand_made":
            self._fixed = [
                Question(
                    f"hand_made/{at}",
                    "hand_made",
                    example.question,
                    example.choices,
                    example.choices.index(example.answer),
                )
                for at, example in enumerate(spec.examples[: spec.number])
            ]
        elif spec.source == "fixed_dev":
            drawn = self._rng("fixed_dev").sample(range(len(dev)), min(spec.number, len(dev)))
            self._fixed = [dev[at] for at in sorted(drawn)]
        self._fixed = self._ordered(self._fixed, "fixed")

    def of(self, question: Question) -> list[Question]:
        if self._spec.source != "subject_dev":
            return self._fixed
        if question.subject not in self._by_subject:
            raise UserError(f"The dev split has no examples of the subject {question.subject!r}.")
        mine = self._by_subject[question.subject][: self._spec.number]
        return self._ordered(mine, question.subject)

    def _ordered(self, shots: list[Question], purpose: str) -> list[Question]:
        if self._spec.order == "reversed":
            return shots[::-1]
        if self._spec.order == "shuffled":
            return self._rng("order", purpose).sample(shots, len(shots))
        return shots

    def _rng(self, *names: str) -> random.Random:
        return random.Random(derive_seed(self._spec.seed, "prompt shots", *names))
