"""Which device each part of a chunked model lies on when its chunks have one each."""

from collections.abc import Sequence

from workflow_scripts.chunked.configuration import ChunkingKeys


def chunk_device_map(config: ChunkingKeys, devices: Sequence[str | int]) -> dict[str, str | int]:
    """For `from_pretrained(device_map=...)`: chunk i on device i, all that is shared on the first.

    With fewer devices than chunks they take turns.
    """
    plan = config.plan()
    first = devices[0]
    shared = (*plan.start, *plan.end)
    places = dict.fromkeys(
        ("model.embed_tokens", "model.norm", "model.rotary_emb", "lm_head"), first
    )
    places |= {f"model.layers.{number}": first for number in shared}
    if plan.chunks and config.aggregation_mode == "mlp":
        places["model.wrapped_chunk_layers.aggregation"] = first
    for chunk, numbers in enumerate(plan.chunks):
        for number in numbers:
            device = devices[chunk % len(devices)]
            places[f"model.layers.{number}"] = device
            if config.use_adapters:
                places[f"model.wrapped_chunk_layers.adapters.{number}"] = device
    return places
