"""How a run measured chunk plans before any training, read off its records, in the words of protocols.yaml."""

from typing import Any

from workflow_scripts.core.records import Record
from workflow_scripts.paper.protocols.ours import Cell

_DECODING = "model_generation_config"
_WITHOUT_WEIGHTS = ("mean", "last", "residual")  # aggregations


def perplexity_cell(record: Record) -> tuple[Cell, dict[str, Any]]:
    plans = record.request["plans"]
    adapters = {"with" if plan["use_adapters"] else "without" for plan in _chunked(plans)}
    return _cell(record), {
        **_list_keys(record, "perplexity"),
        "adapters of the plans": sorted(adapters),
        "what is scored of a conversation": "the response",
        "conversations that are too long": "without their beginning",
        "decoding": "as the model's generation config says",
        "seed": record.protocol.seed,
    }


def latency_cell(record: Record) -> tuple[Cell, dict[str, Any]]:
    plans = _chunked(record.request["plans"])
    modes = {plan["aggregation_mode"] for plan in plans if not plan["use_adapters"]}
    return _cell(record), {
        **_list_keys(record, "latency"),
        "aggregation of the layers alone": sorted(modes.intersection(_WITHOUT_WEIGHTS)),
        "what is timed": "reading and each token by itself, the median of some rounds",
    }


def _cell(record: Record) -> Cell:
    return Cell(record.study, record.model.id, record.task.name, record.protocol.name)


def _chunked(plans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [plan for plan in plans if plan["mode"] != "prune"]


def _list_keys(record: Record, kind: str) -> dict[str, Any]:
    keys = {key: value for key, value in record.protocol.generation.items() if key != _DECODING}
    shown = {
        key: [*map(str, value)] if isinstance(value, list) else value for key, value in keys.items()
    }
    return {
        "number format": record.protocol.dtype,
        "attention": record.protocol.attention,
        **{f"{kind}: {key}": value for key, value in shown.items()},
    }
