"""Render a question to the exact text and tokens of the model's input, as the run's file describes."""

import random
from dataclasses import dataclass
from itertools import groupby, product
from pathlib import Path
from typing import Any

from jinja2 import TemplateError as JinjaError

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.evaluation.prompts.questions import LETTERS, Question, read_dev
from workflow_scripts.settings.prompts.spec import PromptSpec
from workflow_scripts.settings.prompts.templates import render


@dataclass(frozen=True)
class Prompt:
    """The model's input for one question."""

    text: str
    tokens: list[int]
    # For the method likelihood: the tokens of each letter after the prompt.
    continuations: list[list[int]]
    truncated: bool  # on the left, to fit into the model's window


class Renderer:
    """A renderer of the questions of one run, for one tokenizer."""

    def __init__(self, asking: PromptSpec, tokenizer: Any, config: Any, hub: Path):
        self._asking, self._tokenizer = asking, tokenizer
        self._window = config.max_position_embeddings
        shots = asking.shots
        self._shots = [
            Question("", "", shot.question, shot.choices, shot.choices.index(shot.answer))
            for shot in shots.examples
        ]
        if shots.source in ("fixed_dev", "subject_dev"):
            self._shots = read_dev(hub)
        if shots.source == "fixed_dev":
            rng = random.Random(derive_seed(shots.seed, "prompt shots", "fixed_dev"))
            indices = rng.sample(range(len(self._shots)), shots.number)
            self._shots = [self._shots[index] for index in sorted(indices)]

    def render(self, question: Question) -> Prompt:
        """Render one question; a prompt that is too long is truncated on the left."""
        decoding = self._asking.decoding
        try:
            text = self._render_text(question)
        # Jinja's error: there is no chat template, or the template rejects a role.
        except (ValueError, TypeError, JinjaError) as error:
            raise UserError(f"Question {question.id}: the template {error}") from None
        tokens = self._encode(text)
        continuations = []
        new_tokens = decoding.new_tokens or 0
        if decoding.method == "likelihood":
            letters = LETTERS[: len(question.choices)]
            continuations = [self._encode_letter(text, tokens, letter) for letter in letters]
            new_tokens = max(map(len, continuations)) - 1  # the last token is never an input
        window = self._window - new_tokens
        if window < 1:
            raise UserError(
                f"decoding.new_tokens is {new_tokens}; expected less than the model's {self._window}."
            )
        return Prompt(text, tokens[-window:], continuations, truncated=len(tokens) > window)

    def _render_text(self, question: Question) -> str:
        asking = self._asking
        values = self._get_values(question)
        shots = self._shots
        if asking.shots.source == "subject_dev":
            shots = [shot for shot in shots if shot.subject == question.subject]
        examples = [
            self._get_values(shot) | {"answer": shot.answer, "letter": LETTERS[shot.gold]}
            for shot in shots[: asking.shots.number]
        ]
        if asking.shots.source not in ("none", "vendor"):
            values["shots"] = examples
        if question.prompt is not None:
            # `prompts` is a list of length one, as in the dataset.
            values |= {"prompt": question.prompt, "prompts": [question.prompt]}
        if asking.text is not None:
            return render(asking.text, values)
        turns = []
        # Consecutive messages with `for_each_shot` are repeated together, once per example.
        for is_repeated, group in groupby(asking.messages or (), lambda turn: turn.for_each_shot):
            repeats = [{"shot": example} for example in examples] if is_repeated else [{}]
            for shot_values, message in product(repeats, group):
                content = render(message.content, values | shot_values)
                turns.append({"role": message.role, "content": content})
        return self._tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True, date_string=asking.date
        )

    def _get_values(self, question: Question) -> dict[str, Any]:
        """Return the variables of a question's template."""
        choices = str(list(question.choices))
        if self._asking.choices == "single_quoted_list":
            choices = choices.replace('"', "'")
        elif self._asking.choices == "lettered_lines":
            choices = "\n".join(map("{}. {}".format, LETTERS, question.choices))
        return {
            "question": question.text,
            "choices": choices,
            "choice_list": list(question.choices),
            "subject": question.subject,
        }

    def _encode(self, text: str) -> list[int]:
        """Encode with the BOS token; a chat template adds it itself, and raw text may begin with it."""
        bos = self._tokenizer.bos_token
        needs_bos = self._asking.text is not None and not (bos and text.startswith(bos))
        return self._tokenizer(text, add_special_tokens=needs_bos)["input_ids"]

    def _encode_letter(self, text: str, tokens: list[int], letter: str) -> list[int]:
        """Encode a letter as the tokens that follow the prompt's tokens."""
        continuation = render(self._asking.decoding.continuation, {"letter": letter})
        whole = self._encode(text + continuation)
        if whole[: len(tokens)] != tokens or len(whole) == len(tokens):
            raise UserError(
                f"decoding.continuation {continuation!r} merges with the last token of the prompt; expected it"
                " to begin with a space or a new line."
            )
        return whole[len(tokens) :]
