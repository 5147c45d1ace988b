"""What one job needs, and what it asks of the cluster for that."""

import math
from dataclasses import dataclass

from workflow_scripts.settings.cluster import Cluster


@dataclass(frozen=True)
class Need:
    seconds: float
    mem_mb: int
    gpus: int = 0
    gpu_mb: int = 0  # of one GPU
    disk_mb: int = 0  # what it leaves there
    download_mb: int = 0
    tokens: int = 0
    is_guess: bool = False  # the model's size is not known

    def asked_minutes(self, attempt: int, cluster: Cluster) -> int:
        """Twice as long each time it is tried again, up to what the cluster grants."""
        expected = self.seconds * cluster.reserve / 60 + 10
        return min(math.ceil(expected * 2 ** (attempt - 1)), cluster.longest_hours * 60)

    def asked_mem_mb(self, attempt: int, cluster: Cluster) -> int:
        """Half as much more each time it is tried again, up to what a node has."""
        return min(int(self.mem_mb * (1 + attempt) / 2), cluster.node_memory_gb * 1_000)
