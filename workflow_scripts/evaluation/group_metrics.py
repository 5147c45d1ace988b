"""Average the metrics of the members of a group, such as MMLU's subjects, with their baselines."""

from dataclasses import dataclass

import numpy as np

from workflow_scripts.core.records import Metric
from workflow_scripts.evaluation.baselines import Baseline, average_baselines


@dataclass(frozen=True)
class MetricWithBaseline:
    """A metric of one task with its baseline."""

    task: str
    name: str
    value: float
    stderr: float | None
    n: int
    baseline: Baseline

    def to_metric(self, subset: str | None) -> Metric:
        return Metric(
            name=self.name,
            subset=subset,
            value=self.value,
            stderr=self.stderr,
            n=self.n,
            best_constant=self.baseline.best_constant,
            chance=self.baseline.chance,
        )


def add_group_averages(metrics: list[MetricWithBaseline]) -> tuple[Metric, ...]:
    """List the metrics of each member of a group, then the averages `<name>` (micro) and `<name>_macro`."""
    result = [metric.to_metric(metric.task) for metric in metrics]
    for name in dict.fromkeys(metric.name for metric in metrics):
        members = [metric for metric in metrics if metric.name == name]
        stderrs = [metric.stderr for metric in members]
        sizes = np.array([metric.n for metric in members], dtype=float)
        # Micro: equal weight per item. Macro: equal weight per member. The literature reports either.
        for average_name, weights in ((name, sizes), (f"{name}_macro", np.ones(len(members)))):
            weights = weights / weights.sum()
            average = MetricWithBaseline(
                task="",
                name=average_name,
                value=float(np.dot(weights, [metric.value for metric in members])),
                stderr=None if None in stderrs else float(np.linalg.norm(weights * stderrs)),
                n=int(sizes.sum()),
                baseline=average_baselines([metric.baseline for metric in members], weights),
            )
            result.append(average.to_metric(None))
    return tuple(result)
