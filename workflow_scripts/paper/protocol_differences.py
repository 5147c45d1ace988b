"""List where a run's protocol differs from the published one (resources/published/protocols.yaml)."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.records import FailedRecord, Record, read_record_numbers
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.verdict import JUDGED, OTHER_PROTOCOL
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
# A record, and its task or prompt run; "" for MMLU over all subjects.
Cell = tuple[Record, str]


def select_cells(
    records: Iterable[Record | FailedRecord], checkpoints: Collection[str], runs: Mapping[str, str]
) -> Iterator[Cell]:
    """Select the cells that have a published number or script.

    `checkpoints` are the MMLU checkpoints with a published number, `runs` maps each published prompt run to ours.
    """
    names = {ours: name for name, ours in runs.items()}
    for record in records:
        if isinstance(record, FailedRecord):
            continue
        task = record.task.name
        match record.study:
            case "harmony" if record.protocol.name in (DIRECT, TRAINED) and task in TEST_ITEMS:
                yield record, task
            case "mmlu" if record.model.id in checkpoints:
                yield record, ""
            case "prompts" if task in names:
                yield record, f"run {names[task]}"
            case "suite" if task in LEADERBOARD_TASKS:
                yield record, task
            case "chunking" | "latency":
                yield record, task


def compute_differences(cells: Iterable[Cell], protocols: Mapping[str, Any]) -> pd.DataFrame:
    """Compute one row per difference of a cell from its study's published protocol."""
    rows = []
    for record, item in cells:
        values = _read_values(record)
        cell = {"study": record.study, "of": record.model.id, "item": item}
        cell["protocol"] = record.protocol.name
        for fact in protocols[record.study]["facts"]:
            key = fact.get("key", "study")
            if values[key.partition(".")[0]] is None or item not in fact.get("only", [item]):
                continue
            published = fact["is"]
            for name, value in fact.get("differing", {}).items():
                if name == item or record.model.id.startswith(name):
                    published = value
            ours = fact.get("ours", _get_value(values, key))
            if published != ours:
                texts = {"published": _format_value(published), "ours": _format_value(ours)}
                rows.append(fact | cell | texts)
    # A model measured in several precisions has the same differences in each.
    table = pd.DataFrame(rows, columns=_COLUMNS).drop_duplicates(ignore_index=True)
    return table.assign(decides=table["decides"].map({False: "no"}).fillna("yes")).fillna("")


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


def _get_value(values: Any, path: str) -> Any:
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
    rows = rows.copy()
    for index, row in rows[rows["verdict"].isin(JUDGED)].iterrows():
        study = studies[row["source"]]
        affects = decisive["study"] == study
        if study == "harmony":
            affects &= decisive["protocol"] == (DIRECT if row["metric"] == DIRECT else TRAINED)
        # A rank depends on the whole grid; MMLU's differences apply to all subjects and have no item.
        if row["metric"] != "rank":
            affects &= decisive["item"].isin([row["item"], ""]) & (decisive["of"] == row["of"])
        if affects.any():
            rows.loc[index, ["error", "z", "farthest", "smallest"]] = np.nan
            because = "; ".join(texts[affects].unique())
            rows.loc[index, ["verdict", "because"]] = OTHER_PROTOCOL, because
    return rows


def read_protocols(path: Path) -> dict[str, Any]:
    """Read the published protocols by study; each key of a fact with several becomes a fact."""
    protocols = yaml.safe_load(path.read_text(encoding="utf-8"))
    for protocol in protocols.values():
        facts = []
        for fact in protocol["facts"]:
            for name, value in fact.get("each", {}).items():
                part = {"what": f"{fact['what']}: {name}", "key": f"{fact['key']}.{name}"}
                facts.append(fact | part | {"is": value})
            if "each" not in fact:
                facts.append(fact)
        protocol["facts"] = facts
    return protocols


def format_columns(table: pd.DataFrame) -> ShownColumns:
    keys = ["study", "what", "published", "ours", "decides", "because", "known_from"]
    counts = table.groupby(keys, sort=False).size().rename("cells").reset_index()
    return {
        "Study": counts["study"],
        "What": counts["what"].str.replace("_", " "),
        "Published": counts["published"],
        "Ours": counts["ours"],
        "Cells": counts["cells"].map("{:,d}".format),
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
