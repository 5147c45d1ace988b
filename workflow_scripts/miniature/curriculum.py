"""In which order a model reads: short lists first, then questions by letter, then everything.

Read all at once, four-choice questions stay at chance. Each stage is left when it has been learned, or
when its share of the steps is over.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

# A stage counts as learned by the answers of so many documents, the last ones.
WATCHED = 400

Diet = Mapping[str, float]


@dataclass(frozen=True)
class Stage:
    """What is read, by kind of document; which share of its answers is to be right; for how long at most."""

    diet: Diet
    right: float
    share: float


LETTERS = (
    Stage({"asked_behind": 1.0}, right=0.93, share=0.1),
    Stage({"asked_in_front": 1.0}, right=0.9, share=0.3),
    Stage({"asked_in_many_ways": 1.0}, right=0.9, share=0.2),
    Stage({"asked_in_many_ways": 0.2, "letters": 0.6, "plain": 0.2}, right=0.9, share=0.25),
)


@dataclass
class Curriculum:
    """The stages that a model goes through, and everything after them."""

    stages: tuple[Stage, ...]
    everything: Diet
    steps: int
    at: int = 0
    steps_here: int = 0
    answers: deque[bool] = field(default_factory=lambda: deque(maxlen=WATCHED))

    @property
    def is_through(self) -> bool:
        return self.at == len(self.stages)

    @property
    def diet(self) -> Diet:
        return self.everything if self.is_through else self.stages[self.at].diet

    def saw(self, right: list[bool]) -> None:
        """Take in which answers of a step were right; go on to the next stage where it is time."""
        self.answers.extend(right)
        self.steps_here += 1
        if self.is_through:
            return
        stage = self.stages[self.at]
        is_learned = len(self.answers) == WATCHED and sum(self.answers) >= stage.right * WATCHED
        if is_learned or self.steps_here >= stage.share * self.steps:
            share = sum(self.answers) / len(self.answers)
            print(
                f"stage {self.at + 1} left after {self.steps_here} steps, {share:.2f} right",
                flush=True,
            )
            self.at += 1
            self.steps_here = 0
            self.answers.clear()
