"""A token after another at batch 1: chunked models beside the one they are cut from, launched one kernel after
another, and as a CUDA graph.
"""

from collections.abc import Callable

import torch
from transformers import StaticCache

from bench.chunks import CACHED, VOCABULARY, variants
from bench.gpu_setting import Setting, Table

# (hidden size, inner size as a multiple of it); 24 layers each, the last is Qwen2.5-0.5B's.
_SHAPES = ((256, 4), (896, 5))
_COMPARED = ("unchanged", "k2m12", "k4m6")
WANTED = 1.5  # k2m12 over unchanged, in graphs
_STEPS = 20


def run(setting: Setting) -> list[Table]:
    table = Table(
        "Chunked decoding",
        f"Milliseconds a token at batch 1 behind {CACHED} tokens, with a cache of fixed size, and how many times faster"
        f" than the unchanged model. Wanted of k2m12 in a graph: {WANTED:g}.",
        ("shape", "variant", "eager ms", "faster", "graph ms", "faster in a graph"),
    )
    for hidden, ratio in ((128, 2),) if setting.small else _SHAPES:
        first: tuple[float, float | None] | None = None
        for name, model in variants(hidden, ratio).items():
            if name not in _COMPARED:
                continue
            step = _step(model.to(setting.device, setting.dtype), setting)
            eager = setting.median(step, _STEPS)
            graph, why = _in_graph(step, setting)
            first = first or (eager, graph)
            quicker = first[1] / graph if graph and first[1] else None
            row = (f"{hidden} x 24", name, 1_000 * eager, first[0] / eager)
            table.rows.append((*row, 1_000 * graph if graph else why, quicker))
    return [table]


@torch.inference_mode()
def _step(model, setting: Setting) -> Callable[[], None]:
    """One token on the same cache again and again, into the same place."""
    config = model.config
    cache = StaticCache(config=config, max_cache_len=CACHED + 1)
    ids = torch.randint(VOCABULARY, (1, CACHED), device=setting.device)
    model(ids, past_key_values=cache, use_cache=True)
    token = torch.randint(VOCABULARY, (1, 1), device=setting.device)
    place = torch.tensor([[CACHED]], device=setting.device)
    kept = [layer.cumulative_length.clone() for layer in cache.layers]

    @torch.inference_mode()
    def run() -> None:
        model(token, past_key_values=cache, position_ids=place, use_cache=True)
        for layer, length in zip(cache.layers, kept, strict=True):
            layer.cumulative_length.copy_(length)

    return run


def _in_graph(step: Callable[[], None], setting: Setting) -> tuple[float | None, str]:
    """Seconds, or why there are none: what was measured before is not lost with them."""
    if setting.device != "cuda":
        return None, "-"
    stream = torch.cuda.current_stream()
    try:
        return setting.median(_graph(step), _STEPS), ""
    except RuntimeError as error:
        return None, str(error).splitlines()[0]
    finally:  # a recording that fails leaves its own
        torch.cuda.set_stream(stream)


def _graph(step: Callable[[], None]) -> Callable[[], None]:
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):  # what is made at the first call must not be made in the graph
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay
