"""What runs on a machine with several cards, where one dies or memory runs out; run with that environment.

Prints, as JSON: what is refused between cards; how layers are spread over those that hold them together; what becomes
of work on a card that dies; how a training goes that runs out of memory once; and, without any card, what is said.
"""

import json
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import torch

from bench.gpu_correctness import as_loaded
from tests.tiny_models import put_in_hub, tiny_model
from tests.tiny_tokenizers import smallest_tokenizer
from tests.unit.training.small import losses, model_of, train_small
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.machine import is_better_elsewhere, machine_problem
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.hub.load import choose_device, load_model

ASKED = [([5, 6, 7, 8], [at, at + 1, at + 2]) for at in range(9, 40)]
WINDOW = 256


def scores(model) -> list[float]:
    return [score for score, _ in PrefixEngine(model).loglikelihoods(ASKED, window=WINDOW)]


def apart(found: list[float], expected: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(found, expected, strict=True))


def refusal(work: Callable[[], Any]) -> Exception:
    try:
        work()
    except (RuntimeError, UserError) as error:
        return error
    raise AssertionError("it was done")


def between() -> dict[str, str]:
    one, other = (torch.ones(3, device=f"cuda:{card}") for card in (0, 1))
    assert (one + other.to("cuda:0")).device.index == 0
    return {
        "cards": str(refusal(lambda: one + other)),
        "there": str(refusal(lambda: torch.ones(3, device="cuda:7"))),
    }


def spread(folder: Path) -> dict[str, Any]:
    """Layers that no card holds alone."""
    wide = {"hidden_size": 128, "intermediate_size": 512}
    model = tiny_model("llama", layers=8, **wide)
    expected = scores(model)
    manifest = put_in_hub(model, folder, smallest_tokenizer())
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    cards, total = (
        range(torch.cuda.device_count()),
        3 * 2**29,
    )  # transformers wants 1.2 GB of a card
    torch.cuda.pretend(memory=total)
    others = [
        torch.empty(total - weights * 2 // 3, dtype=torch.uint8, device=f"cuda:{n}") for n in cards
    ]
    loaded = load_model(manifest, device="cuda", dtype="float32", attention="sdpa")
    engine = PrefixEngine(loaded.model)
    found = [score for score, _ in engine.loglikelihoods(ASKED, window=WINDOW)]
    peaks = [torch.cuda.max_memory_allocated(n) - len(others[n]) for n in cards]
    torch.cuda.pretend()
    return {
        "engine": engine.description,
        "apart": apart(found, expected),
        "share": max(peaks) / weights,
        "used": sum(peak > weights / 16 for peak in peaks),
    }


def dead() -> dict[str, Any]:
    """The card dies amid an evaluation; another one works."""
    model = tiny_model("llama", layers=4)
    expected = scores(model)
    engine = PrefixEngine(as_loaded(model, "cuda", torch.float32))
    torch.cuda.die(0, 300)
    work = lambda: engine.loglikelihoods(ASKED, window=WINDOW)  # noqa: E731
    errors = [refusal(work), refusal(work), refusal(torch.cuda.synchronize)]
    with torch.cuda.device(1):
        alive = scores(model.to("cuda:1"))
    return {
        "problems": [machine_problem(error) for error in errors],
        "elsewhere": all(map(is_better_elsewhere, errors)),
        "apart": apart(alive, expected),
    }


def once_more(folder: Path) -> dict[str, Any]:
    """Somebody else has the card's memory for a while, amid the training."""
    keys = {"method": "full", "precision": "float32", "epochs": 2}
    expected = train_small(folder / "cpu", "llama", **keys)
    loads = 0

    def load(dtype: str):
        nonlocal loads
        loads += 1
        model, calls = as_loaded(model_of("llama"), "cuda", getattr(torch, dtype)), 0
        torch.cuda.pretend()

        def taken(*_) -> None:
            nonlocal calls
            calls += 1
            if loads == 1 and calls == 12:
                torch.cuda.pretend(memory=torch.cuda.memory_allocated() + 1000)

        model.register_forward_pre_hook(taken)
        return model

    found = train_small(folder / "gpu", "llama", load=load, device="cuda", **keys)
    return {
        "loads": loads,
        "micro_batch": found.facts["micro_batch_size"],
        "usual": expected.facts["micro_batch_size"],
        "apart": apart(losses(found), losses(expected)),
    }


def main() -> None:
    torch.set_num_threads(1)
    said, results = StringIO(), {}
    if not torch.cuda.is_available():
        error = refusal(lambda: choose_device("cuda"))
        print(json.dumps({"said": str(error), "elsewhere": is_better_elsewhere(error)}))
        return
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(said):
        results["between"] = between()
        results["spread"] = spread(Path(folder) / "base")
        results["once_more"] = once_more(Path(folder))
        results["dead"] = dead()  # last: card 0 is gone
    print(json.dumps(results))


if __name__ == "__main__":
    main()
