"""What the engine says of random models on the GPU beside what it says on the CPU; run with that environment.

Prints, as JSON by kind of model, how far log-likelihoods and answers are apart, and how the GPU was used.
"""

import json
import sys

import torch

from bench.gpu_correctness import as_loaded
from tests.tiny_models import tiny_model
from tests.unit.evaluation.drawn import WINDOW, Requests
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.engine import PrefixEngine

NEW = 40
DRAWN = {"do_sample": True, "top_k": 5, "repetition_penalty": 1.3}


def compared(kind: str, dtype: torch.dtype, seed: int) -> dict[str, float | str]:
    model, draw = tiny_model(kind), Requests(seed)
    scored, contexts = draw.mixed(), draw.contexts(3, 6)
    exact = _scores(model, scored)
    rounded = _scores(as_loaded(model, "cpu", dtype), scored)
    on_gpu = as_loaded(model, "cuda", dtype)
    found = _scores(on_gpu, scored)
    asked = [GenerationRequest(context, NEW) for context in contexts]
    replayed = torch.cuda.graphs_replayed
    engine = PrefixEngine(on_gpu)
    answers = engine.generate(asked)
    replayed = torch.cuda.graphs_replayed - replayed
    expected = PrefixEngine(as_loaded(model, "cpu", dtype)).generate(asked)
    drawn = engine.generate(asked, DRAWN)
    expected_drawn = PrefixEngine(as_loaded(model, "cpu", dtype)).generate(asked, DRAWN)
    return {
        "engine": engine.description,
        "replayed": replayed,
        "from_exact": _apart(found, exact),
        "from_exact_on_cpu": _apart(rounded, exact),
        "other_answers": sum(a != b for a, b in zip(answers, expected, strict=True)),
        "other_draws": sum(a != b for a, b in zip(drawn, expected_drawn, strict=True)),
    }


def _scores(model, requests) -> list[float]:
    return [value for value, _ in PrefixEngine(model).loglikelihoods(requests, window=WINDOW)]


def _apart(found: list[float], expected: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(found, expected, strict=True))


if __name__ == "__main__":
    dtype, seed, *kinds = sys.argv[1:]
    torch.set_num_threads(1)
    print(json.dumps({k: compared(k, getattr(torch, dtype), int(seed)) for k in kinds}))
