"""What is trained on of a task's items: their texts, and the tokens that the evaluator makes of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.encoding import Encoder
from workflow_scripts.hub.tasks import published_pair, training_pair
from workflow_scripts.settings.harmony import TaskRecipe
from workflow_scripts.training.chat import BadConversation, render
from workflow_scripts.training.samples import BadSamples, Sample, batches
from workflow_scripts.training.tokenization import cut_sample, make_pair_sample

# The system turn of the published code's conversations.
_PUBLISHED_SYSTEM = {"role": "system", "content": "You are helpful"}


@dataclass(frozen=True)
class TrainingText:
    prompt: str
    answer: str
    ends: bool = True  # whether the tokenizer's end of text stands behind it

    @property
    def whole(self) -> str:
        return self.prompt + self.answer


class TrainingTexts:
    """Of one task, for one tokenizer; call it inside `mirror`."""

    def __init__(self, task: Any, encoder: Encoder, recipe: TaskRecipe, *, chat: bool):
        self._task, self._encoder, self._recipe, self._chat = task, encoder, recipe, chat
        self._published = recipe.training_text == "published"
        # As published, a generated answer is text like any other.
        self._kind = "loglikelihood" if self._published else task.OUTPUT_TYPE
        self._end = encoder.tokenizer.eos_token_id
        if self._end is None:
            raise UserError("The tokenizer has no end of text to put behind each answer.")

    def samples(self, documents: Iterable[dict], bad: BadSamples) -> Iterator[Sample]:
        """Yield a sample of each document; one without an answer is counted as bad."""
        length, counted = self._recipe.max_length, self._recipe.loss_on
        texts = (self.text(document) for document in documents)
        for batch in batches(texts):
            answered = [text for text in batch if text.answer.strip()]
            bad["empty"] += len(batch) - len(answered)
            encoded = self.tokens(answered)
            for prompt, answer in encoded:
                yield from cut_sample(make_pair_sample(prompt, answer, counted), length, bad)

    def text(self, document: dict) -> TrainingText:
        if not self._published:
            template = self._encoder.apply_chat_template if self._chat else None
            return TrainingText(*training_pair(self._task, document, template))
        question, answer = published_pair(self._task, document)
        if not self._chat:
            return TrainingText(question, answer)
        return self._published_chat(question, answer.removeprefix(" "))

    def tokens(self, texts: list[TrainingText]) -> list[tuple[list[int], list[int]]]:
        """Of each the prompt's tokens and the answer's, with the end of text."""
        encoded = self._encoder.encoded(self._kind, [(text.prompt, text.answer) for text in texts])
        return [
            (prompt, [*answer, self._end] if text.ends else answer)
            for text, (prompt, answer) in zip(texts, encoded, strict=True)
        ]

    def _published_chat(self, question: str, answer: str) -> TrainingText:
        """The template closes the last turn, so that no end of text is due."""
        turns = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        try:
            whole, ((start, _),) = render(self._encoder.tokenizer, [_PUBLISHED_SYSTEM, *turns])
        except BadConversation:  # such as Gemma's, which knows no system turn
            whole, ((start, _),) = render(self._encoder.tokenizer, turns)
        return TrainingText(whole[:start], whole[start:], ends=False)
