"""The miniature family: three architectures, two sizes or more of each, base and instruct."""

from dataclasses import dataclass

from workflow_scripts.miniature.catalogue import CONVERSATIONS, CORPUS
from workflow_scripts.miniature.curriculum import LETTERS, Diet, Stage
from workflow_scripts.miniature.families import LLAMA, PYTHIA, QWEN2, Family

# What a model reads at each of its steps.
TOKENS_PER_BATCH = 4_096


@dataclass(frozen=True)
class Spec:
    """One model: its shape, and how long it reads what."""

    family: Family
    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    steps: int
    learning_rate: float
    by_letter: bool = False
    """Whether it goes through the curriculum after which exams are answered by letter."""
    base: str | None = None

    @property
    def stages(self) -> tuple[Stage, ...]:
        return LETTERS if self.by_letter and self.base is None else ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The files that it reads."""
        return (CORPUS,) if self.base is None else (CORPUS, CONVERSATIONS)

    @property
    def diet(self) -> Diet:
        """What it reads when it is through its stages; an instruct model mostly conversations."""
        exams = self.family.exam_share
        rest = {"prose": 0.5, "letters": 0.3, "papers": 0.2} if self.by_letter else {"prose": 1.0}
        diet = {
            **dict.fromkeys(self.family.exams, exams / len(self.family.exams)),
            **{kind: share * (1 - exams) for kind, share in rest.items()},
        }
        if self.base is None:
            return diet
        rest = {kind: share * 0.25 for kind, share in diet.items()}
        return {"chat": 0.25, "conversation": 0.5, **rest}


# Depth before width: choices are bound to their letters by six layers of 128 and not by three of 192.
SPECS = {
    "Llama-1.4M": Spec(LLAMA, 128, 384, 6, 4, 2, 2400, 4e-3, by_letter=True),
    "Llama-0.3M": Spec(LLAMA, 80, 160, 3, 2, 1, 250, 6e-3),
    "Qwen2-1M": Spec(QWEN2, 64, 128, 24, 2, 1, 1600, 4e-3, by_letter=True),
    "Qwen2-0.2M": Spec(QWEN2, 64, 128, 4, 2, 1, 200, 6e-3),
    "Pythia-1M": Spec(PYTHIA, 128, 512, 5, 4, 4, 1000, 4e-3, by_letter=True),
    "Pythia-0.1M": Spec(PYTHIA, 48, 192, 2, 2, 2, 250, 8e-3),
    "Llama-1.4M-Instruct": Spec(
        LLAMA, 128, 384, 6, 4, 2, 600, 1e-3, by_letter=True, base="Llama-1.4M"
    ),
    "Qwen2-1M-Instruct": Spec(
        QWEN2, 64, 128, 24, 2, 1, 1000, 2e-3, by_letter=True, base="Qwen2-1M"
    ),
}
