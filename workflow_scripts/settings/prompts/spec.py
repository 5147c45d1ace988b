"""What a prompt run is: how questions are asked, and how answers are read and judged."""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from workflow_scripts.settings.section import Count, Listed, NonNegative, Positive, Section, Words

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
# These give a letter, the others a text.
LETTER_PARSERS = ("letter", "leading_letter", "best_answer_line", "best_answer_at_start")
Rightness = Literal["equal", "occurs", "letter"]
ChoicesStyle = Literal["python_list", "single_quoted_list", "lettered_lines"]


class Message(Section):
    role: Literal["system", "user", "assistant"]
    """Whose turn this is."""
    content: Words
    """What is said: a Jinja2 template."""
    for_each_shot: bool = False
    """Repeat this message for each few-shot example, which the template then knows as shot.
    Neighbouring messages with this mark are repeated together, as turns of a conversation."""


class Example(Section):
    question: Words
    """The question."""
    choices: Listed[Words] = Field(min_length=2)
    """Its choices, as text."""
    answer: Words
    """The right one of the choices, word for word."""

    def contradictions(self) -> Iterator[str]:
        if self.answer not in self.choices:
            yield f"answer is {self.answer!r}; expected one of the choices, word for word."


class Shots(Section):
    """Worked examples in front of the question."""

    source: Literal["none", "hand_made", "fixed_dev", "subject_dev", "vendor"] = "none"
    """Where they come from: none; hand_made, the examples below; fixed_dev, drawn once from MMLU's
    dev questions of all subjects; subject_dev, the first dev questions of the question's own
    subject; vendor, already in the vendor's prompt."""
    number: int = Field(0, ge=0, le=285)
    """How many there are."""
    seed: NonNegative = 0
    """Seed of the fixed examples, which are drawn."""
    examples: Listed[Example] = ()
    """The hand-made examples."""

    def contradictions(self) -> Iterator[str]:
        limits = {"none": 0, "hand_made": len(self.examples), "subject_dev": 5}
        limit = limits.get(self.source, 285)
        if not min(1, limit) <= self.number <= limit:
            yield (
                f"number is {self.number}; expected {f'1 to {limit}' if limit else 0} with the source"
                f" {self.source}."
            )


class Decoding(Section):
    """How the model's answer is got."""

    method: Literal["greedy", "sample", "likelihood"]
    """greedy: the likeliest token each time; sample: drawn, with a seed of its own for each
    question; likelihood: nothing is generated, the likeliest letter is the answer."""
    temperature: Positive | None = None
    """Temperature of sampling; null is the model's generation config."""
    top_p: float | None = Field(None, gt=0, le=1)
    """Share of probability to draw from; null is the model's generation config."""
    top_k: NonNegative | None = None
    """Tokens to draw from, 0 for all; null is the model's generation config."""
    seed: NonNegative = 0
    """Seed of sampling, beside the config's own."""
    new_tokens: Count | None = None
    """Tokens to generate at most; null with likelihood only."""
    stop: Listed[Words] = ()
    """Wordss that end an answer, besides the model's own end of a turn."""
    continuation: Words = " {{ letter }}"
    """With likelihood: the template of what is scored behind the prompt."""

    def contradictions(self) -> Iterator[str]:
        drawn = [
            name for name in ("temperature", "top_p", "top_k") if getattr(self, name) is not None
        ]
        if drawn and self.method != "sample":
            yield f"{drawn[0]} is set; expected null with the method {self.method}."
        if (self.new_tokens is None) != (self.method == "likelihood"):
            yield (
                f"new_tokens is {self.new_tokens}; expected null with the method likelihood, which"
                " generates nothing, and a number with the others."
            )

    def options(self) -> dict[str, Any]:
        """Return the settings of transformers' generate; what is left out is the model's generation config."""
        if self.method != "sample":
            return {"do_sample": False}
        drawn = {"temperature": self.temperature, "top_p": self.top_p, "top_k": self.top_k}
        return {"do_sample": True} | {k: v for k, v in drawn.items() if v is not None}


class Link(Section):
    parser: Parser
    """Reads an answer from the output, or finds none."""
    right: Rightness
    """When that answer is right: equal, it is the right choice's text, upper or lower case; occurs,
    that text is somewhere in it; letter, it is the right choice's letter."""

    def contradictions(self) -> Iterator[str]:
        if (self.parser in LETTER_PARSERS) != (self.right == "letter"):
            yield (
                f"parser is {self.parser!r} and right {self.right!r}; expected 'letter' with parsers that"
                " read a letter and no others."
            )


class Reading(Section):
    """How an output becomes right or wrong. Changing it scores again and runs no model."""

    format: Parser | None = None
    """The parser that reads answers in the format that the prompt asks for, and nothing else. It
    decides whether the format was met and what a strict reading would have counted."""
    answers: Listed[Link] = Field(min_length=1)
    """Parsers in the order in which they are tried; the first that reads one decides."""


class Asking(Section):
    """All that the model's output depends on."""

    questions: Literal["mmlu", "vendor"] = "mmlu"
    """Where the questions come from: mmlu, the test split of cais/mmlu; vendor, the details of the
    vendor's evaluation, which hold finished prompts."""
    first: Count | None = None
    """Ask the first n questions of the dataset only; null asks all."""
    choices: ChoicesStyle = "python_list"
    """What choices means in a template: a list as Python writes it, the same with single quotes for
    all double ones, or one choice a line behind its letter."""
    messages: Listed[Message] | None = Field(None, min_length=1)
    """The conversation, put into the model's chat template; or else text."""
    text: Words | None = None
    """A template of the raw text the model continues; or else messages."""
    date: Words = "26 Jul 2024"
    """The date for chat templates that state one (Llama 3.2's); today's would make another prompt
    every day."""
    shots: Shots = Shots()
    """Worked examples in front of the question."""
    decoding: Decoding
    """How the model's answer is got."""
    dtype: Literal["float32", "bfloat16", "float16"] | None = None
    """Number format of the model; null is compute.dtype."""

    @property
    def datasets(self) -> list[str]:
        """List the datasets this run reads, by their names on the hub."""
        dev = [DATASETS["mmlu"]] if self.shots.source in ("fixed_dev", "subject_dev") else []
        return list(dict.fromkeys([DATASETS[self.questions], *dev]))


class PromptRun(Asking):
    """One run, as its file says it."""

    extends: Words | None = None
    """Another run, whose keys hold where this file does not set them; mappings are merged key by
    key, lists are replaced, and null takes a value back."""
    changed: Words
    """What is different from the run before, for the tables."""
    after: Words | None = None
    """The run that it is compared with, question by question; null: what it extends."""
    published: Words | None = None
    """Its name in resources/published/prompt_runs.csv, where it is in it."""
    read: Reading
    """How answers are read and judged."""

    def contradictions(self) -> Iterator[str]:
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


# What says what a run is among others, and would be wrong of the run that extends it.
NOT_INHERITED = ("extends", "changed", "after", "published")
