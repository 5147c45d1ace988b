"""Define the demo's models from specs.yaml: three architectures, two or more sizes each, base and instruct."""

from dataclasses import dataclass

from workflow_scripts.miniature.catalogue import CONVERSATIONS, CORPUS, MODELS

TOKENS_PER_BATCH = 4_096


@dataclass(frozen=True)
class Spec:
    """The specification of one model: its family's tokenizer conventions and training data, shape and steps."""

    config: str
    special_tokens: list[str]
    end_of_text: str
    start_of_text: str | None
    end_of_turn: str | None
    exam_share: float
    """Share of the pre-training documents that are exam questions rather than prose or exercises."""
    exams: list[str]
    """Tasks with training questions in the training data.

    Families have different tasks on purpose: exposure to test formats biases a zero-shot ranking, and
    train-before-test removes this bias.
    """
    chat_template: str | None
    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    steps: int
    learning_rate: float
    by_letter: bool = False
    """Whether it is trained with the curriculum for answering by letter."""
    base: str | None = None

    @property
    def texts(self) -> list[str]:
        """Return the files of the training data."""
        return [CORPUS, CONVERSATIONS] if self.base else [CORPUS]

    @property
    def mixture(self) -> dict[str, float]:
        """Return the weights of the data mixture after the curriculum; 75% conversations for an instruct model."""
        rest = {"prose": 0.5, "letters": 0.3, "papers": 0.2} if self.by_letter else {"prose": 1.0}
        mixture = dict.fromkeys(self.exams, self.exam_share / len(self.exams))
        mixture |= {kind: part * (1 - self.exam_share) for kind, part in rest.items()}
        return {"chat": 1.0, "conversation": 2.0} | mixture if self.base else mixture


SPECS = {name: Spec(**spec) for name, spec in MODELS.items()}
# All tasks with training questions in the corpus; the Qwen2 family is trained on all of them.
ALL_EXAMS = SPECS["Qwen2-1M"].exams
