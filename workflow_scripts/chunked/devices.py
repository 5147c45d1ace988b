"""Place each chunk of a chunked model on a device."""

from collections.abc import Sequence

from workflow_scripts.chunked.configuration import ChunkingKeys


def make_chunk_device_map(
    config: ChunkingKeys, devices: Sequence[str | int]
) -> dict[str, str | int]:
    """Map chunk i to device i, round-robin, and all that is shared to the first, as a `device_map`."""
    plan = config.plan()
    shared = ["model.embed_tokens", "model.norm", "model.rotary_emb", "lm_head"]
    shared += [f"model.layers.{number}" for number in (*plan.start, *plan.end)]
    if plan.chunks and config.aggregation_mode == "mlp":
        shared.append("model.wrapped_chunk_layers.aggregation")
    places = dict.fromkeys(shared, devices[0])
    for chunk, numbers in enumerate(plan.chunks):
        for number in numbers:
            device = devices[chunk % len(devices)]
            places[f"model.layers.{number}"] = device
            if config.use_adapters:
                places[f"model.wrapped_chunk_layers.adapters.{number}"] = device
    return places
