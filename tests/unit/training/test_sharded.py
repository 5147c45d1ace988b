"""Processes that share the weights out train what one does, are killed, and go on in another number."""

import os
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.elastic.utils.distributed import get_free_port
from transformers import AutoModelForCausalLM

from tests.tiny_models import tiny_model
from tests.unit.training.jobs import SERVER, outcome, outcome_of, written
from tests.unit.training.small import drawn_samples, keys_of, train_small
from tests.waiting import wait_until
from workflow_scripts.training.state import step_of

# Plain steps, as far as AdamW has them: rounding must not decide their direction.
USUAL = {"batch_size": 4, "learning_rate": 1e-4, "warm_up": 0.5, "epochs": 2, "save_every": 2}
LORA = {"method": "lora", "lora_rank": 2}
VARIANTS: dict[str, tuple[str, dict[str, Any], int]] = {
    "full": ("qwen2", {}, 4),
    "checkpointed": ("llama", {"gradient_checkpointing": "yes", "micro_batch_size": 1}, 2),
    "tied": ("tied", {"select": "best"}, 2),
    "padded": ("gpt_neox", {"packing": False}, 2),
    "lora": ("llama", LORA, 2),
    "lora beside layers": ("qwen2", LORA | {"trains": ["layers 1", "*norm*"]}, 2),
    "chunked": ("fused", {"method": "freeze", "trains": ["wrapper", "chunked_layers"]}, 2),
    "distilled": ("distilled", {}, 2),
    "distilled in part": (
        "distilled",
        {
            "method": "freeze",
            "trains": ["wrapper", "chunked_layers"],
            "gradient_checkpointing": "yes",
        },
        2,
    ),
}


def one_of_them(folder: Path, base: Path, changes: dict[str, Any], rank: int, port: int) -> None:
    """What each process does, started as the rule's script starts them."""
    keys = keys_of(**USUAL | changes)
    os.environ |= {
        **{"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank)},
        **dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), str(keys.gpus)),
        "LOCAL_RANK": str(rank),
    }
    from workflow_scripts.training.sharded import sharing

    shared = sharing(keys, "cpu")

    def load(dtype):
        given = {} if shared is None else {"distributed_config": shared}
        return AutoModelForCausalLM.from_pretrained(base, dtype=getattr(torch, dtype), **given)

    def work():
        trained = train_small(
            folder / "state", load=load, samples=drawn_samples(18), held_out=drawn_samples(5, seed=1),
            **USUAL | changes,
        )  # fmt: skip
        held = [getattr(p, "to_local", lambda p=p: p)().numel() for p in trained.model.parameters()]
        return outcome_of(trained) | {"held": sum(held), "of": trained.report["parameters"]}

    own = folder if rank == 0 else folder / f"process{rank}"
    own.mkdir(exist_ok=True)
    written(own, work)


class Training:
    """Of one model in a folder, by as many processes as its keys say."""

    def __init__(self, folder: Path, kind: str, **changes: Any):
        self.folder, self._changes, self._base = folder, changes, folder / "base"
        tiny_model(kind, layers=3).save_pretrained(self._base)

    def start(self, gpus: int = 1, **changes: Any) -> list:
        changes = self._changes | {"gpus": gpus, "sharded": gpus > 1} | changes
        port = get_free_port()
        started = [
            SERVER.Process(target=one_of_them, args=(self.folder, self._base, changes, rank, port))
            for rank in range(gpus)
        ]
        for process in started:
            process.start()
        return started

    def run(self, gpus: int = 1, **changes: Any) -> dict[str, Any]:
        codes = [process.join() or process.exitcode for process in self.start(gpus, **changes)]
        assert codes == [0] * gpus, self.said
        return outcome(self.folder)

    def killed(self, seconds: float, gpus: int) -> None:
        """So long after it has saved one more state."""
        before, started = self.saved, self.start(gpus)
        wait_until(lambda: self.saved > before or not started[0].is_alive(), "it saves")
        started[0].join(seconds)
        for process in started:
            process.kill()
            process.join()

    @property
    def saved(self) -> int:
        """The step of the last state."""
        seals = (self.folder / "state").glob("checkpoint-*/seal.json")
        return max((step_of(seal.parent) for seal in seals), default=0)

    @property
    def said(self) -> str:
        return "\n".join(path.read_text() for path in self.folder.rglob("log.txt"))


def assert_same(one: dict[str, Any], other: dict[str, Any], within: float = 1e-4) -> None:
    """The curve, the state that was selected and its weights; both began with the same."""
    assert one["selected"]["step"] == other["selected"]["step"]
    for ours, theirs in zip(one["history"], other["history"], strict=True):
        assert ours.keys() == theirs.keys()
        for name, value in ours.items():
            assert value == pytest.approx(theirs[name], rel=1e-3, abs=within), (ours, theirs)
    assert one["parameters"].keys() == other["parameters"].keys()
    for name, values in one["parameters"].items():
        assert values == pytest.approx(other["parameters"][name], abs=within), name


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_they_train_what_one_trains_and_each_holds_its_part(name, tmp_path):
    kind, changes, gpus = VARIANTS[name]
    alone = Training(tmp_path / "alone", kind, **changes).run()
    together = Training(tmp_path / "together", kind, **changes).run(gpus)
    assert_same(together, alone)
    assert alone["held"] == alone["of"]
    whole = 0 if changes.get("method") != "lora" else 2_000  # of adapters
    assert together["held"] <= 1.1 * together["of"] / gpus + whole


@pytest.mark.slow
@pytest.mark.parametrize("name", ["full", "lora"])
def test_killed_at_random_moments_they_go_on_in_another_number(name, tmp_path):
    kind, changes, _ = VARIANTS[name]
    changes = changes | {"epochs": 4}
    alone = Training(tmp_path / "alone", kind, **changes).run()
    killed = Training(tmp_path / "killed", kind, **changes)
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for gpus in (2, 4):
        killed.killed(rng.uniform(0, 1), gpus)
    assert_same(killed.run(2), alone)
    assert "Going on from checkpoint" in killed.said
