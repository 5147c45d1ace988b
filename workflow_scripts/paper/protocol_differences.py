"""List where the protocol of a run's records is not the published one (resources/published/protocols.yaml)."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
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
# Of the Open LLM Leaderboard.
LEADERBOARD_TASKS = ["arc_challenge", "hellaswag", "truthfulqa_mc2", "mmlu", "winogrande", "gsm8k"]
NOTE = (
    "What the records of this run say of its protocol, where the published one is known to be another, or not"
    " known. Cells: measurements of this run that it concerns; the CSV names each. Decides: whether a published"
    " number that it touches gets no verdict, but 'other protocol' in the table reproduction. What does not"
    " decide says why. What is not listed is as published."
)
MAX_CHARACTERS = 100  # of a value, in the tables
_COLUMNS = ["study", "of", "item", "protocol", "what", "published", "ours", "decides", "because"]
_COLUMNS += ["known_from"]
_TITLES = {
    "harmony": "Train before test",
    "mmlu": "MMLU of chunked models",
    "chunking": "Perplexity of chunk plans",
    "latency": "Time of chunk plans",
    "prompts": "Prompt runs",
    "suite": "Leaderboard",
}


Cell = tuple[Record, str | None, dict[str, Any]]


def make_cell(record: Record, item: str | None) -> Cell:
    """Return a record with its task or prompt run (none of all subjects of MMLU) and the values that it holds."""
    values = record.model_dump(mode="json")
    values["stages"] = CheckpointId.parse(record.model.id).stages or None
    if record.study in ("harmony", "suite"):
        (values["request"]["task"],) = record.request["tasks"].values()
    if record.training and record.training.keys.get("precision") == "auto":
        # On a CPU nothing was decided while it ran: it is float32 there.
        precision = (record.training.ran or {}).get("precision", "float32")
        values["training"]["keys"]["precision"] = precision
    return record, item, values


def read_cells(
    records: Iterable[Path],
    checkpoints: Collection[str] = (),
    runs: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Cell]:
    """Read the cells that have a published number, or a published script.

    `checkpoints` are the models of MMLU with one, `runs` names the published run of each prompt run.
    """
    for path in records:
        record = read_record_numbers(path)
        if isinstance(record, FailedRecord):
            continue
        task = record.task.name
        match record.study:
            case "harmony" if record.protocol.name in (DIRECT, TRAINED) and task in TEST_ITEMS:
                yield make_cell(record, task)
            case "mmlu" if record.model.id in checkpoints:
                yield make_cell(record, None)
            case "prompts" if task in runs:
                yield make_cell(record, f"run {runs[task]}")
            case "suite" if task in LEADERBOARD_TASKS:
                yield make_cell(record, task)
            case "chunking" | "latency":
                yield make_cell(record, task)


def compute_differences(cells: Iterable[Cell], protocols: Mapping[str, Any]) -> pd.DataFrame:
    """Compute a row for each difference of each cell from the published protocol of its study."""
    rows = []
    for record, item, values in cells:
        cell = {"study": record.study, "of": record.model.id, "item": item}
        cell["protocol"] = record.protocol.name
        for fact in protocols[record.study]["facts"]:
            reasons = {key: fact.get(key) for key in ("because", "known_from")}
            reasons["decides"] = "yes" if fact.get("decides", True) else "no"
            for difference in _compare_fact(fact, record.model.id, item, values):
                rows.append(cell | reasons | difference)
    return pd.DataFrame(rows, columns=_COLUMNS).fillna("").drop_duplicates(ignore_index=True)


def _compare_fact(
    fact: dict[str, Any], model: str, item: str | None, values: dict[str, Any]
) -> Iterator[dict[str, str]]:
    key = fact.get("key", "")
    root = key.partition(".")[0]
    if (root and values.get(root) is None) or item not in fact.get("only", [item]):
        return
    published = fact.get("is")
    for name, value in fact.get("differing", {}).items():
        if name == item or model.startswith(name):
            published = value
    facts = [(fact["what"], key, published)]
    if "each" in fact:
        each = fact["each"].items()
        facts = [(f"{fact['what']}: {name}", f"{key}.{name}", value) for name, value in each]
    for what, path, value in facts:
        ours = fact["ours"] if "ours" in fact else get_value(values, path)
        if ours != value:
            shown = {"published": value, "ours": ours}
            yield {"what": what} | {name: _format_value(one) for name, one in shown.items()}


def get_value(values: Any, path: str) -> Any:
    """Get a value of a record by its keys, parted by points."""
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
    """Replace the verdict of what a difference that decides touches by that difference."""
    study_of = {source: study for study in protocols for source in protocols[study]["sources"]}
    decisive = differences[differences["decides"] == "yes"]
    shown = decisive["ours"] + " here, " + decisive["published"] + " there"
    decisive = decisive.assign(text=decisive["what"].str.replace("_", " ") + " (" + shown + ")")
    changed = []
    for row in rows.to_dict("records"):
        if row["verdict"] in JUDGED:
            texts = decisive.loc[_find_touching(decisive, row, study_of[row["source"]]), "text"]
            if len(texts):
                row |= NOTHING | {"difference": row["difference"], "verdict": OTHER_PROTOCOL}
                row["because"] = "; ".join(texts.unique())
        changed.append(row)
    return pd.DataFrame(changed, columns=rows.columns).astype(rows.dtypes)


def _find_touching(differences: pd.DataFrame, row: Mapping[str, Any], study: str) -> pd.Series:
    touching = differences["study"] == study
    if study == "harmony":
        touching &= differences["protocol"] == (DIRECT if row["metric"] == DIRECT else TRAINED)
        if row["item"] in ("rank", "PC1"):  # of the whole grid
            return touching
    # All subjects of MMLU were asked in one way, and stand without an item.
    of_item = differences["item"].isin([row["item"], ""])
    return touching & of_item & (differences["of"] == row["of"])


def read_protocols(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def format_columns(table: pd.DataFrame) -> ShownColumns:
    keys = ["study", "what", "published", "ours", "decides", "because", "known_from"]
    counts = table.groupby(keys, sort=False).size().rename("cells").reset_index()
    decides = counts["decides"].where(counts["decides"] == "yes", "no: " + counts["because"])
    return {
        "Of": counts["study"].map(_TITLES),
        "What": counts["what"].str.replace("_", " "),
        "Published": counts["published"],
        "Ours": counts["ours"],
        "Cells": numbers(counts["cells"], ",d"),
        "Decides": decides,
        "Known from": counts["known_from"],
    }


def main(
    records: list[Path],
    protocols: Path,
    table: list[Path],
    checkpoints: Collection[str] = (),
    runs: Mapping[str, str] = MappingProxyType({}),
) -> None:
    cells = read_cells(records, checkpoints, runs)
    results = compute_differences(cells, read_protocols(protocols))
    title = "Where this run's protocol is not the published one"
    write_table(results, table, title=title, note=NOTE, shown=format_columns(results))


if "snakemake" in globals():
    run_job(main, snakemake)
