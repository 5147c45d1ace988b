"""What the keys of a prompt run must be together, as sentences about the run's file."""

from collections.abc import Iterator
from typing import Any, get_args

from workflow_scripts.settings.prompts.spec import (
    LETTER_PARSERS,
    Decoding,
    PromptRun,
    Rightness,
    Shots,
)
from workflow_scripts.settings.prompts.templates import template_problem


def contradictions(run: PromptRun) -> Iterator[str]:
    """What does not go together, and templates that do not work, each as a sentence."""
    yield from _shots_problems(run.shots, run.questions)
    yield from _decoding_problems(run.decoding)
    if (run.messages is None) == (run.text is None):
        both = "are both given" if run.text else "are both missing"
        yield f"messages and text {both}; expected one of them."
    yield from _template_problems(run)
    likelihood = run.decoding.method == "likelihood"
    if likelihood and run.read.format is not None:
        yield (
            f"read.format is {run.read.format!r}; expected null with the method likelihood, which"
            " leaves the model no way to miss a format."
        )
    if not likelihood and run.read.format is None:
        yield "read.format is missing; expected the parser of the format that the prompt asks for."
    for at, link in enumerate(run.read.answers):
        gives_letter = link.parser in LETTER_PARSERS or likelihood
        if gives_letter != (link.right == "letter"):
            fitting = ("letter",) if gives_letter else get_args(Rightness)[:-1]
            yield (
                f"read.answers[{at}].right is {link.right!r}; expected"
                f" {' or '.join(map(repr, fitting))}, as {link.parser!r} reads a"
                f" {'letter' if gives_letter else 'text'}."
            )
        if likelihood and link.parser != "letter":
            yield (
                f"read.answers[{at}].parser is {link.parser!r}; expected 'letter' with the method"
                " likelihood."
            )


def _shots_problems(shots: Shots, questions: str) -> Iterator[str]:
    if shots.source == "none" and shots.number:
        yield f"shots.number is {shots.number}; expected 0 with the source none."
    if shots.source != "none" and not shots.number:
        yield f"shots.number is 0; expected at least 1 with the source {shots.source}."
    if shots.source == "hand_made" and shots.number > len(shots.examples):
        yield (
            f"shots.number is {shots.number}; expected at most {len(shots.examples)}, the number of"
            " shots.examples."
        )
    if shots.source != "hand_made" and shots.examples:
        yield "shots.examples is a list; expected none but with the source hand_made."
    if shots.source == "subject_dev" and shots.number > 5:
        yield f"shots.number is {shots.number}; expected at most 5, all that a subject has in dev."
    if shots.source == "vendor" and questions != "vendor":
        yield "shots.source is 'vendor'; expected the questions to be the vendor's too."


def _decoding_problems(decoding: Decoding) -> Iterator[str]:
    if decoding.method != "sample":
        for name in ("temperature", "top_p", "top_k"):
            if getattr(decoding, name) is not None:
                yield (
                    f"decoding.{name} is {getattr(decoding, name)}; expected null with the method"
                    f" {decoding.method}, which draws nothing."
                )
    if decoding.method == "likelihood":
        if decoding.new_tokens is not None:
            yield (
                f"decoding.new_tokens is {decoding.new_tokens}; expected null with the method"
                " likelihood, which generates nothing."
            )
        if decoding.stop:
            yield "decoding.stop is a list; expected none with the method likelihood."
    elif decoding.new_tokens is None:
        yield "decoding.new_tokens is missing; expected a whole number of at least 1."


_SAMPLE_SHOT = {
    "question": "What is 1 + 1?",
    "choices": "['1', '2', '3', '4']",
    "choice_list": ["1", "2", "3", "4"],
    "answer": "2",
    "letter": "B",
    "subject": "elementary_mathematics",
}


def _template_problems(run: PromptRun) -> Iterator[str]:
    """Each template, rendered once on an example."""
    known: dict[str, Any] = {k: v for k, v in _SAMPLE_SHOT.items() if k not in ("answer", "letter")}
    if run.questions == "vendor":
        known |= {"prompt": "What is 1 + 1?", "prompts": ["What is 1 + 1?"]}
    own_shots = run.shots.source not in ("none", "vendor")
    if own_shots:
        known["shots"] = [_SAMPLE_SHOT] * min(run.shots.number, 5)
    for at, message in enumerate(run.messages or ()):
        key = f"messages[{at}]"
        if message.for_each_shot and not own_shots:
            yield f"{key}.for_each_shot is true; expected false where there are no shots of one's own."
            continue
        more = {"shot": _SAMPLE_SHOT} if message.for_each_shot else {}
        if problem := template_problem(message.content, known | more):
            yield f"{key}.content {problem}"
    if run.text is not None and (problem := template_problem(run.text, known)):
        yield f"text {problem}"
    if problem := template_problem(run.decoding.continuation, {"letter": "B"}):
        yield f"decoding.continuation {problem}"
