"""List where a run's protocol differs from the published one (resources/published/protocols.yaml)."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.records import FailedRecord, Record, read_record_numbers
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import numbers
from workflow_scripts.render.verdict import JUDGED, NOTHING, OTHER_PROTOCOL
from workflow_scripts.scores.published_leaderboard import TEST_ITEMS
from workflow_scripts.studies.ranking.frame import DIRECT, TRAINED

NOT_RECORDED = "not recorded"
# The Open LLM Leaderboard's tasks.
LEADERBOARD_TASKS = ["arc_challenge", "hellaswag", "truthfulqa_mc2", "mmlu", "winogrande", "gsm8k"]
NOTE = (
    "Differences between this run's protocol, read from its records, and the published ones, as far as these are"
    " known. Cells: number of measurements affected, named in the CSV. Decides: whether affected numbers get"
    " 'other protocol' in place of a verdict in the table reproduction; if not, why. Everything else is as published."
)
MAX_CHARACTERS = 100  # of a value in the tables
_COLUMNS = ["study", "of", "item", "protocol", "what", "published", "ours", "decides", "because"]
_COLUMNS += ["known_from"]
# A record, and its task or prompt run; None for MMLU over all subjects.
Cell = tuple[Record, str | None]


def select_cells(
    records: Iterable[Record | FailedRecord], checkpoints: Collection[str], runs: Mapping[str, str]
) -> Iterator[Cell]:
    """Select the cells that have a published number or script.

    `checkpoints` are the MMLU checkpoints with a published number, `runs` maps each prompt run to the published run.
    """
    for record in records:
        if isinstance(record, FailedRecord):
            continue
        task, protocol = record.task.name, record.protocol.name
        is_published, item = {
            "harmony": (protocol in (DIRECT, TRAINED) and task in TEST_ITEMS, task),
            "mmlu": (record.model.id in checkpoints, None),
            "prompts": (task in runs, f"run {runs.get(task)}"),
            "suite": (task in LEADERBOARD_TASKS, task),
        }.get(record.study, (record.study in ("chunking", "latency"), task))
        if is_published:
            yield record, item


def compute_differences(cells: Iterable[Cell], protocols: Mapping[str, Any]) -> pd.DataFrame:
    """Compute one row per difference of a cell from its study's published protocol."""
    rows = [
        (
            *(record.study, record.model.id, item, record.protocol.name, fact["what"]),
            *(_format_value(fact["is"]), _format_value(ours)),
            *("yes" if fact.get("decides", True) else "no", fact.get("because")),
            fact["known_from"],
        )
        for record, item in cells
        for fact, ours in _list_facts(record, item, protocols[record.study]["facts"])
        if fact["is"] != ours
    ]
    return pd.DataFrame(rows, columns=_COLUMNS).fillna("").drop_duplicates(ignore_index=True)


def _list_facts(
    record: Record, item: str | None, facts: list[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield each published fact that concerns a cell, with our value."""
    values = _read_values(record)
    for fact in facts:
        key = fact.get("key", "")
        root = key.partition(".")[0]
        if (root and values.get(root) is None) or item not in fact.get("only", [item]):
            continue
        for name, published in fact.get("each", {}).items():
            part = {"what": f"{fact['what']}: {name}", "is": published}
            yield fact | part, get_value(values, f"{key}.{name}")
        if "each" not in fact:
            published = fact["is"]
            for name, value in fact.get("differing", {}).items():
                if name == item or record.model.id.startswith(name):
                    published = value
            ours = fact["ours"] if "ours" in fact else get_value(values, key)
            yield fact | {"is": published}, ours


def _read_values(record: Record) -> dict[str, Any]:
    """Return a record's values, with its training stages and the parameters of its task."""
    values = record.model_dump(mode="json")
    values["stages"] = CheckpointId.parse(record.model.id).stages or None
    if record.study in ("harmony", "suite"):
        (values["request"]["task"],) = record.request["tasks"].values()
    if record.training and record.training.keys.get("precision") == "auto":
        # Training on a CPU records no precision, as it runs in float32.
        precision = (record.training.ran or {}).get("precision", "float32")
        values["training"]["keys"]["precision"] = precision
    return values


def get_value(values: Any, path: str) -> Any:
    """Return the value of a record at a dotted path of keys."""
    for key in path.split("."):
        if not isinstance(values, dict) or key not in values:
            return NOT_RECORDED
        values = values[key]
    return values


def _format_value(value: Any) -> str:
    words = {"None": "none", "True": "yes", "False": "no"}
    return words.get(str(value), str(value)[:MAX_CHARACTERS])


def withhold_verdicts(
    rows: pd.DataFrame, differences: pd.DataFrame, protocols: Mapping[str, Any]
) -> pd.DataFrame:
    """Replace verdicts that a decisive protocol difference affects by OTHER_PROTOCOL and that difference."""
    studies = {source: study for study in protocols for source in protocols[study]["sources"]}
    decisive = differences[differences["decides"] == "yes"]
    values = decisive["ours"] + " here, " + decisive["published"] + " there"
    texts = decisive["what"].str.replace("_", " ") + " (" + values + ")"
    changed = []
    for row in rows.to_dict("records"):
        study = studies[row["source"]]
        affects = decisive["study"] == study
        if study == "harmony":
            protocol = DIRECT if row["metric"] == DIRECT else TRAINED
            affects &= decisive["protocol"] == protocol
        # Ranks and PC1 depend on the whole grid; MMLU's differences apply to all subjects and have no item.
        if study != "harmony" or row["item"] not in ("rank", "PC1"):
            affects &= decisive["item"].isin([row["item"], ""]) & (decisive["of"] == row["of"])
        if row["verdict"] in JUDGED and affects.any():
            row |= NOTHING | {"difference": row["difference"], "verdict": OTHER_PROTOCOL}
            row["because"] = "; ".join(texts[affects].unique())
        changed.append(row)
    return pd.DataFrame(changed, columns=rows.columns).astype(rows.dtypes)


def read_protocols(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def format_columns(table: pd.DataFrame) -> ShownColumns:
    keys = ["study", "what", "published", "ours", "decides", "because", "known_from"]
    counts = table.groupby(keys, sort=False).size().rename("cells").reset_index()
    return {
        "Study": counts["study"],
        "What": counts["what"].str.replace("_", " "),
        "Published": counts["published"],
        "Ours": counts["ours"],
        "Cells": numbers(counts["cells"], ",d"),
        "Decides": counts["decides"].where(counts["decides"] == "yes", "no: " + counts["because"]),
        "Known from": counts["known_from"],
    }


def main(
    records: list[Path],
    protocols: Path,
    table: list[Path],
    checkpoints: Collection[str],
    runs: Mapping[str, str],
) -> None:
    cells = select_cells(map(read_record_numbers, records), checkpoints, runs)
    results = compute_differences(cells, read_protocols(protocols))
    title = "Where this run's protocol is not the published one"
    write_table(results, table, title=title, note=NOTE, shown=format_columns(results))


if "snakemake" in globals():
    run_job(main, snakemake)
