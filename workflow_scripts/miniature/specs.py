"""Define the demo's models from specs.yaml: three architectures, two or more sizes each, base and instruct."""

from dataclasses import dataclass

from workflow_scripts.miniature.catalogue import CONVERSATIONS, CORPUS
from workflow_scripts.miniature.world import load_yaml

TOKENS_PER_BATCH = 4_096


@dataclass(frozen=True)
class Family:
    """The tokenizer conventions and training data of a model family."""

    config: str
    special_tokens: list[str]
    end_of_text: str
    start_of_text: str | None
    end_of_turn: str | None
    exam_share: float
    """Share of the pre-training documents that are exam questions rather than prose or exercises."""
    exams: list[str]
    """Tasks with training questions in the training data of its models.

    Families have different tasks on purpose: exposure to test formats biases a zero-shot ranking, and
    train-before-test removes this bias.
    """
    chat_template: str | None


@dataclass(frozen=True)
class Spec:
    """The specification of one model: shape, training data and number of steps."""

    family: Family
    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    steps: int = 0
    learning_rate: float = 0.0
    by_letter: bool = False
    """Whether it is trained with the curriculum for answering by letter."""
    base: str | None = None

    @property
    def texts(self) -> list[str]:
        """Return the files of the training data."""
        return [CORPUS, CONVERSATIONS] if self.base else [CORPUS]

    @property
    def mixture(self) -> dict[str, float]:
        """Return the data mixture after the curriculum, as fractions; 75% conversations for an instruct model."""
        share = self.family.exam_share
        rest = {"prose": 0.5, "letters": 0.3, "papers": 0.2} if self.by_letter else {"prose": 1.0}
        mixture = dict.fromkeys(self.family.exams, share / len(self.family.exams))
        mixture |= {kind: part * (1 - share) for kind, part in rest.items()}
        if not self.base:
            return mixture
        rest = {kind: part * 0.25 for kind, part in mixture.items()}
        return {"chat": 0.25, "conversation": 0.5} | rest


_TABLES = load_yaml(__file__)
FAMILIES = {name: Family(**family) for name, family in _TABLES["families"].items()}
SPECS = {
    name: Spec(**spec | {"family": FAMILIES[spec["family"]]})
    for name, spec in _TABLES["models"].items()
}
# The curriculum for answering by letter, in order.
STAGES = _TABLES["stages"]
# All tasks with training questions in the corpus; the Qwen2 family is trained on all of them.
ALL_EXAMS = FAMILIES["qwen2"].exams
