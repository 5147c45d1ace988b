"""Describe a prompt run: how questions are rendered, decoded, parsed and judged."""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from workflow_scripts.settings.compute import Dtype
from workflow_scripts.settings.prompts.templates import Template
from workflow_scripts.settings.section import (
    Count,
    Listed,
    NonEmptyText,
    NonNegative,
    Positive,
    Section,
)

DATASETS = {"mmlu": "cais/mmlu", "vendor": "meta-llama/Llama-3.2-1B-Instruct-evals"}

Parser = Literal[
    "whole",
    "json_text",
    "not_json",
    "answer_line",
    "letter",
    "leading_letter",
    "best_answer_line",
    "best_answer_at_start",
]
# These parsers return a letter, the others a text.
LETTER_PARSERS = ("letter", "leading_letter", "best_answer_line", "best_answer_at_start")
CorrectnessRule = Literal["equal", "occurs", "letter"]
ChoicesStyle = Literal["python_list", "single_quoted_list", "lettered_lines"]


class Message(Section):
    role: Literal["system", "user", "assistant"]
    """Role of this turn."""
    content: Template
    """Content of the turn, a Jinja2 template."""
    for_each_shot: bool = False
    """Repeat this message for each few-shot example, available to the template as `shot`.
    Adjacent messages with this mark are repeated together, as turns of a conversation."""


class Example(Section):
    question: NonEmptyText
    """Text of the question."""
    choices: Listed[NonEmptyText] = Field(min_length=2)
    """Texts of the choices."""
    answer: NonEmptyText
    """The correct choice, word for word."""

    def find_contradictions(self) -> Iterator[str]:
        if self.answer not in self.choices:
            yield f"answer is {self.answer!r}; expected one of the choices, word for word."


class Shots(Section):
    """The few-shot examples before the question."""

    source: Literal["none", "hand_made", "fixed_dev", "subject_dev", "vendor"] = "none"
    """Source of the examples: none; hand_made, the examples below; fixed_dev, sampled once from
    MMLU's dev questions of all subjects; subject_dev, the first dev questions of the question's
    own subject; vendor, already in the vendor's prompt."""
    number: int = 0
    """Number of examples."""
    seed: NonNegative = 0
    """Seed by which fixed_dev samples."""
    examples: Listed[Example] = ()
    """The hand-made examples."""

    def find_contradictions(self) -> Iterator[str]:
        limits = {"none": 0, "hand_made": len(self.examples), "subject_dev": 5}
        limit = limits.get(self.source, 285)
        if not min(1, limit) <= self.number <= limit:
            yield (
                f"number is {self.number}; expected {f'1 to {limit}' if limit else 0} with the source"
                f" {self.source}."
            )


class Decoding(Section):
    """How the model's answer is decoded."""

    method: Literal["greedy", "sample", "likelihood"]
    """greedy: the likeliest token at each step; sample: sampled with a seed per question;
    likelihood: nothing is generated, the likeliest letter is the answer."""
    temperature: Positive | None = None
    """Sampling temperature; null is the model's generation config."""
    top_p: float | None = Field(None, gt=0, le=1)
    """Nucleus sampling: cumulative probability; null is the model's generation config."""
    top_k: NonNegative | None = None
    """Number of likeliest tokens to sample from, 0 for all; null is the model's generation config."""
    seed: NonNegative = 0
    """Sampling seed, combined with the config's seed."""
    new_tokens: Count | None = None
    """Maximum number of new tokens; null with likelihood only."""
    continuation: Template = " {{ letter }}"
    """With likelihood: the template of what is scored after the prompt."""

    def find_contradictions(self) -> Iterator[str]:
        if self._sampling and self.method != "sample":
            yield f"{next(iter(self._sampling))} is set; expected null with the method {self.method}."
        if (self.new_tokens is None) != (self.method == "likelihood"):
            yield (
                f"new_tokens is {self.new_tokens}; expected null with the method likelihood, which"
                " generates nothing, and a number with the others."
            )

    def get_options(self) -> dict[str, Any]:
        """Return the options of transformers' generate; others come from the model's generation config."""
        if self.method != "sample":
            return {"do_sample": False}
        return {"do_sample": True} | self._sampling

    @property
    def _sampling(self) -> dict[str, float]:
        return self.model_dump(include={"temperature", "top_p", "top_k"}, exclude_none=True)


class AnswerParser(Section):
    """A parser, with the rule that judges its answers."""

    parser: Parser
    """Parser of the output."""
    right: CorrectnessRule
    """When the answer is correct: equal, it is the correct choice's text, ignoring case; occurs,
    it contains that text; letter, it is the correct choice's letter."""

    def find_contradictions(self) -> Iterator[str]:
        if (self.parser in LETTER_PARSERS) != (self.right == "letter"):
            yield (
                f"parser is {self.parser!r} and right {self.right!r}; expected 'letter' with parsers that"
                " read a letter and no others."
            )


class AnswerParsing(Section):
    """How outputs are parsed and judged; a change rescores the outputs without running the model."""

    format: Parser | None = None
    """The parser that accepts exactly the format that the prompt requests. It decides whether the
    format was met and what strict parsing would have counted."""
    answers: Listed[AnswerParser] = Field(min_length=1)
    """Parsers in the order in which they are tried; the first that finds an answer decides."""


class PromptSpec(Section):
    """All keys that the model's output depends on."""

    questions: Literal["mmlu", "vendor"] = "mmlu"
    """Source of the questions: mmlu, the test split of cais/mmlu; vendor, the details of the
    vendor's evaluation, which hold complete prompts."""
    first: Count | None = None
    """Use the first n questions of the dataset only; null uses all."""
    choices: ChoicesStyle = "python_list"
    """Format of `choices` in templates: a Python list, the same with single quotes for all double
    ones, or one choice per line after its letter."""
    messages: Listed[Message] | None = Field(None, min_length=1)
    """The conversation for the model's chat template; exclusive with text."""
    text: Template | None = None
    """A template of the raw text that the model continues; exclusive with messages."""
    date: NonEmptyText = "26 Jul 2024"
    """Date for chat templates that state one (Llama 3.2's); today's date would change the prompt
    every day."""
    shots: Shots = Shots()
    """Few-shot examples before the question."""
    decoding: Decoding
    """How the model's answer is decoded."""
    dtype: Dtype | None = None
    """Dtype of the model; null is compute.dtype."""

    @property
    def datasets(self) -> list[str]:
        """List the datasets this run reads, by their names on the hub."""
        dev = [DATASETS["mmlu"]] if self.shots.source in ("fixed_dev", "subject_dev") else []
        return list(dict.fromkeys([DATASETS[self.questions], *dev]))


class PromptRun(PromptSpec):
    """A prompt run, as its file defines it."""

    extends: NonEmptyText | None = None
    """Another run to inherit from; mappings are merged key by key, lists are replaced, and null
    unsets a value."""
    changed: NonEmptyText
    """What differs from the run before, for the tables."""
    after: NonEmptyText | None = None
    """The run to compare with, question by question; null is the one it extends."""
    published: NonEmptyText | None = None
    """Its name in resources/published/prompt_runs.csv, if it is published."""
    read: AnswerParsing
    """How outputs are parsed and judged."""

    def find_contradictions(self) -> Iterator[str]:
        if (self.messages is None) == (self.text is None):
            yield "expected either messages or text."
        if self.shots.source == "vendor" != self.questions:
            yield "shots.source is 'vendor'; expected the questions to be the vendor's too."
        parsers = [link.parser for link in self.read.answers]
        if self.decoding.method == "likelihood":
            if self.read.format is not None or parsers != ["letter"]:
                yield "with the method likelihood, expected the parser letter alone, and no read.format."
        elif self.read.format is None:
            yield "read.format is null; expected a parser with methods that generate."


# Keys about a run's relation to other runs, which a run that extends it must not inherit.
NOT_INHERITED = ("extends", "changed", "after", "published")
