"""Convert a task's items to training texts, tokenized as in the evaluation."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.encoding import Encoder
from workflow_scripts.hub.tasks import build_published_pair, build_training_pair
from workflow_scripts.settings.harmony import TaskRecipe
from workflow_scripts.training.chat import BadConversation, render_conversation
from workflow_scripts.training.samples import BadSamples, Sample, iterate_batches
from workflow_scripts.training.tokenization import cut_sample, make_sample

# The system turn of the published code's conversations.
_PUBLISHED_SYSTEM = {"role": "system", "content": "You are helpful"}


@dataclass(frozen=True)
class TrainingText:
    """The prompt and the answer of a training item."""

    prompt: str
    answer: str
    add_end: bool = True  # whether the tokens have the end-of-text token at the end

    @property
    def full_text(self) -> str:
        return self.prompt + self.answer


class TrainingTextBuilder:
    """Build the training texts and samples of one task for one tokenizer; use it inside `mirror`."""

    def __init__(self, task: Any, encoder: Encoder, recipe: TaskRecipe, *, chat: bool):
        self._task, self._encoder, self._recipe, self._chat = task, encoder, recipe, chat
        if encoder.tokenizer.eos_token_id is None:
            raise UserError("The tokenizer has no end-of-text token to add to each answer.")

    @property
    def _is_published(self) -> bool:
        return self._recipe.training_text == "published"

    def build_samples(self, documents: Iterable[dict], bad_samples: BadSamples) -> Iterator[Sample]:
        """Yield a sample for each document; a document without an answer is counted as bad."""
        recipe = self._recipe
        for batch in iterate_batches(self.build_text(document) for document in documents):
            answered = [text for text in batch if text.answer.strip()]
            bad_samples["empty"] += len(batch) - len(answered)
            for prompt, answer in self.tokenize(answered):
                sample = make_sample(
                    prompt + answer, len(prompt) if recipe.loss_on == "completion" else 0
                )
                yield from cut_sample(sample, recipe.max_length, bad_samples)

    def build_text(self, document: dict) -> TrainingText:
        """Return the training text of a document."""
        if not self._is_published:
            template = self._encoder.apply_chat_template if self._chat else None
            return TrainingText(*build_training_pair(self._task, document, template))
        question, answer = build_published_pair(self._task, document)
        if not self._chat:
            return TrainingText(question, answer)
        return self._render_published(question, answer.removeprefix(" "))

    def tokenize(self, texts: list[TrainingText]) -> list[tuple[list[int], list[int]]]:
        """Return the tokens of each prompt, and of each answer with the end-of-text token."""
        # The published code encodes answers of generation tasks like any other text.
        kind = "loglikelihood" if self._is_published else self._task.OUTPUT_TYPE
        encoded = self._encoder.encode_pairs(kind, [(text.prompt, text.answer) for text in texts])
        end = self._encoder.tokenizer.eos_token_id
        return [
            (prompt, [*answer, end] if text.add_end else answer)
            for text, (prompt, answer) in zip(texts, encoded, strict=True)
        ]

    def _render_published(self, question: str, answer: str) -> TrainingText:
        """Render the conversation; the template closes the last turn, so no end-of-text token is added."""
        turns = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        try:
            whole, ((start, _),) = render_conversation(
                self._encoder.tokenizer, [_PUBLISHED_SYSTEM, *turns]
            )
        except BadConversation:  # some templates, such as Gemma's, reject a system turn
            whole, ((start, _),) = render_conversation(self._encoder.tokenizer, turns)
        return TrainingText(whole[:start], whole[start:], add_end=False)
