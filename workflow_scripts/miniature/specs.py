"""The miniature family, from specs.yaml: three architectures, two sizes or more of each, base and instruct."""

from dataclasses import dataclass

from workflow_scripts.miniature.catalogue import CONVERSATIONS, CORPUS
from workflow_scripts.miniature.world import load_yaml

# What a model reads at each of its steps.
TOKENS_PER_BATCH = 4_096


@dataclass(frozen=True)
class Family:
    """The conventions of one family, and what its models were fed."""

    config: str
    special_tokens: list[str]
    end_of_text: str
    start_of_text: str | None
    end_of_turn: str | None
    exam_share: float
    """Share of the pre-training documents that are exam questions rather than prose or exercises."""
    exams: list[str]
    """The tasks whose training questions its models read.

    They differ between families on purpose: it is the exposure to test formats that ranks models
    without regard to what they could learn, and that train-before-test takes out of the comparison.
    """
    chat_template: str | None


@dataclass(frozen=True)
class Spec:
    """One model: its shape, and how long it reads what."""

    family: Family
    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    steps: int = 0
    learning_rate: float = 0.0
    by_letter: bool = False
    """Whether it goes through the stages after which exams are answered by letter."""
    base: str | None = None

    @property
    def texts(self) -> list[str]:
        """The files that it reads."""
        return [CORPUS, CONVERSATIONS] if self.base else [CORPUS]

    @property
    def diet(self) -> dict[str, float]:
        """Shares of what it reads when it is through its stages; an instruct model mostly conversations."""
        share = self.family.exam_share
        rest = {"prose": 0.5, "letters": 0.3, "papers": 0.2} if self.by_letter else {"prose": 1.0}
        diet = dict.fromkeys(self.family.exams, share / len(self.family.exams))
        diet |= {kind: part * (1 - share) for kind, part in rest.items()}
        if not self.base:
            return diet
        rest = {kind: part * 0.25 for kind, part in diet.items()}
        return {"chat": 0.25, "conversation": 0.5} | rest


_TABLES = load_yaml(__file__)
FAMILIES = {name: Family(**family) for name, family in _TABLES["families"].items()}
SPECS = {
    name: Spec(**spec | {"family": FAMILIES[spec["family"]]})
    for name, spec in _TABLES["models"].items()
}
# In which order a model learns to answer by letter.
STAGES = _TABLES["stages"]
# The tasks whose training questions the corpus holds; the family of Qwen2 reads them all.
ALL_EXAMS = FAMILIES["qwen2"].exams
