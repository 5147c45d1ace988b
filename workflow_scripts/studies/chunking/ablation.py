"""What each choice of a chunked checkpoint buys: every variant beside the usual one of its layers.

One row per checkpoint and measure: the perplexity of each text, and MMLU read in three ways. Both
checkpoints of a comparison answered the same questions and read the same windows, so that each test is
of pairs.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import Record, sort_records
from workflow_scripts.core.training_record import TrainingRecord, read_training_record
from workflow_scripts.render.frames import Cells, cells, checkpoint_of, columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import Table, read_table
from workflow_scripts.render.text import (
    is_known,
    millisecond,
    number,
    numbers,
    perplexity,
    shown,
    with_errors,
)
from workflow_scripts.stats.paired import paired_means
from workflow_scripts.stats.significance import holm, mcnemar
from workflow_scripts.studies.chunking.choices import what_differs
from workflow_scripts.studies.chunking.requests import AblatedCheckpoints
from workflow_scripts.studies.chunking.summary import times_of_a_token
from workflow_scripts.studies.mmlu.by_subject import METRICS, MICRO
from workflow_scripts.studies.training.stages import UNTRAINED, text_of

NOTE = (
    "Each checkpoint, and in brackets how far it is from the one that it is held against: in the same"
    " layers and after the same training the usual form (an mlp on top of what the chunks changed, with"
    " adapters, no distillation), which is itself held against the model as it is. Trained: tokens of"
    " all its stages. Texts: perplexity, lower is better, and the difference in nats per token (its"
    " exponential is the ratio of the two perplexities). MMLU: share of all questions right, by generated"
    " letter (em), after HELM's normalisation (qem), by the likeliest letter (acc), and the difference in"
    " percentage points. Both sides of a difference were asked the same: a * has p below 0.05, by"
    " McNemar's exact test or, of texts, Student's t over the pairs of windows or responses, corrected"
    " after Holm for all tests of its column: what other windows and questions would show too, and not"
    " what another training would. A score below its floor shows nothing, whatever it is"
    " compared with."
)
COLUMNS = columns(
    ("text", "model variant stage against changed"),
    ("whole", "trained_tokens"),
    ("text", "measure"),
    ("whole", "n"),
    ("number", "floor value stderr difference difference_stderr"),
    ("whole", "won lost"),
    ("number", "p p_holm token_seconds token_faster"),
)
SURE = 0.05  # of a corrected p, below which a difference is marked
# By checkpoint and task: what each question or piece gave.
Answers = dict[tuple[str, str], pd.DataFrame]


def read_answers(records: Iterable[Path]) -> Answers:
    """By checkpoint and measure, from the items of records; of broken ones nothing.

    Of a text the nats and tokens of each piece, each of one token where its perplexity is a mean over windows; of
    MMLU whether each question was right, and of the tasks of the grid what it scored.
    """
    found: Answers = {}
    for path, record in sort_records(records)[0]:
        items = read_items(path.with_name(record.items.file)).select(
            ["item", "scores", "condition"]
        )
        frame = items.to_pandas(maps_as_pydicts="strict").set_index("item")
        scores = pd.DataFrame(frame["scores"].to_list(), index=frame.index)
        if record.study == "mmlu":
            for metric in METRICS:
                found[record.model.id, metric] = scores[metric] == 1.0
            continue
        if record.study == "harmony":
            task, metric = task_of(record)
            if metric in scores:  # else it is one of all items together, such as a correlation
                found[record.model.id, task] = scores[metric].astype(float)
            continue
        read = [(condition or {}).get("difficulty") for condition in frame["condition"]]
        text = text_of(scores.assign(task=record.task.name, difficulty=pd.array(read, "string")))
        for name, pieces in scores.groupby(text):
            if record.protocol.generation.get("perplexity_mean") == "windows":
                pieces = pieces.assign(nats=pieces["nats"] / pieces["tokens"], tokens=1.0)
            found[record.model.id, name] = pieces[["nats", "tokens"]]
    return found


def task_of(record: Record) -> tuple[str, str]:
    """The task of a cell by the name that the config knows it by, and the metric that tables report of it."""
    ((task, about),) = record.request["tasks"].items()
    return task, about["metric"]


def chunking_ablation(
    request: AblatedCheckpoints,
    answers: Answers,
    trained: Iterable[TrainingRecord],
    *,
    stages: pd.DataFrame,
    mmlu: pd.DataFrame,
    latency: pd.DataFrame,
) -> pd.DataFrame:
    """One row per checkpoint and measure, in the order asked."""
    texts = {checkpoint_of(row): row for row in cells(stages)}
    scores = {checkpoint_of(row): row for row in cells(mmlu) if row["subject"] == MICRO}
    tokens = {record.trained.id: record.facts["tokens"] for record in trained}
    times = times_of_a_token(latency)
    rows = []
    for one in request.checkpoints:
        id = CheckpointId.parse(one.id)
        about: Cells = {
            "model": id.model,
            "variant": id.variant,
            "stage": id.stages[-1] if id.stages else UNTRAINED,
            "against": one.against,
            "changed": what_differs(id, CheckpointId.parse(one.against)),
            "trained_tokens": _tokens(id, tokens),
            **{k: v for k, v in times.get(str(id.timed_variant), {}).items() if k != "batch"},
        }
        text, score = texts.get(one.id, {}), scores.get(one.id, {})
        for name in request.texts:
            value = {"value": text.get(name), "stderr": text.get(f"{name} stderr")}
            pair = _of_text(one.id, one.against, name, answers)
            rows.append({**about, "measure": name, **value, **pair})
        for name in METRICS:
            value = {"value": score.get(name), "stderr": score.get(f"{name}_stderr")}
            floor = {"n": score.get("n"), "floor": score.get("floor")}
            pair = _of_questions(one.id, one.against, name, answers)
            rows.append({**about, "measure": name, **value, **floor, **pair})
    table = COLUMNS.typed(pd.DataFrame(rows, columns=list(COLUMNS.named)))
    of_one_measure = table.groupby("measure")["p"]
    return table.assign(p_holm=of_one_measure.transform(lambda p: holm(p.to_numpy())))


def of_choices(table: pd.DataFrame) -> pd.DataFrame:
    """Without the usual forms, which are held against the model as it is, at distances of another order."""
    chosen = table["against"].map(lambda name: bool(CheckpointId.parse(name).variant))
    return table[chosen.astype(bool)].dropna(subset=["difference"])


def _tokens(id: CheckpointId, tokens: dict[str, int]) -> int | None:
    """Of all its stages; none where it is untrained, unknown where a stage has no record."""
    stages = [replace(id, stages=id.stages[:at]) for at in range(1, len(id.stages) + 1)]
    if any(str(stage) not in tokens for stage in stages):
        return None
    return sum(tokens[str(stage)] for stage in stages)


def _of_text(id: str, against: str, name: str, answers: Answers) -> dict[str, Any]:
    if not {(id, name), (against, name)} <= set(answers):
        return {}
    here, there = answers[id, name].align(answers[against, name], join="inner", axis=0)
    test = paired_means(there["nats"], here["nats"], here["tokens"])
    return {
        "n": len(here),
        "difference": test.difference,
        "difference_stderr": test.stderr,
        "p": test.p,
    }


def _of_questions(id: str, against: str, name: str, answers: Answers) -> dict[str, Any]:
    if not {(id, name), (against, name)} <= set(answers):
        return {}
    there, here = answers[against, name].align(answers[id, name], join="inner")
    test, n = mcnemar(there.to_numpy(dtype=bool), here.to_numpy(dtype=bool)), len(here)
    difference = (test.c - test.b) / n
    return {
        "difference": difference,
        "difference_stderr": math.sqrt(max(0.0, (test.b + test.c) / n - difference**2) / n),
        "won": test.c,
        "lost": test.b,
        "p": test.p,
    }


def _show(table: pd.DataFrame, request: AblatedCheckpoints) -> pd.DataFrame:
    """A line a checkpoint, with its measures side by side."""
    keys = ["model", "variant"]
    first = table.drop_duplicates(keys).set_index(keys, drop=False)
    several = first["model"].nunique() > 1
    floors = table[table["measure"] == METRICS[0]].set_index(keys)["floor"]
    lines = {
        "Checkpoint": first["model"] + first["variant"] if several else first["variant"],
        "What is otherwise": first["changed"],
        "Trained": numbers(first["trained_tokens"], ",d"),
        "Token (ms)": shown(first["token_seconds"], millisecond),
        **{
            name.capitalize(): _values(_of(table, name, keys, first.index), perplexity, "+.3f", 1)
            for name in request.texts
        },
        "Floor": numbers(floors.reindex(first.index)),
        **{
            name: _values(_of(table, name, keys, first.index), number, "+.1f", 100)
            for name in METRICS
        },
    }
    return pd.DataFrame(lines, index=first.index).reset_index(drop=True)


def _of(table: pd.DataFrame, measure: str, keys: list[str], index: pd.Index) -> pd.DataFrame:
    return table[table["measure"] == measure].set_index(keys).reindex(index)


def _values(rows: pd.DataFrame, show, spec: str, times: float) -> list[str | None]:
    """`12.3 ± 0.4 (+0.012*)`"""
    values = with_errors(rows["value"], rows["stderr"], show)
    return [
        value
        if value is None or not is_known(row.difference)
        else f"{value} ({number(times * row.difference, spec)}{'*' if is_sure(row.p_holm) else ''})"
        for value, row in zip(values, rows.itertuples(), strict=True)
    ]


def is_sure(p: float | None) -> bool:
    return is_known(p) and p < SURE


def _make(inputs: Inputs, request: AblatedCheckpoints) -> pd.DataFrame:
    return chunking_ablation(
        request,
        read_answers(inputs["records"]),
        [read_training_record(path) for path in inputs["trained"]],
        **{name: read_table(inputs.one(name)) for name in ("stages", "mmlu", "latency")},
    )


TABLE = Table(
    name="chunking_ablation",
    title="What each choice of a chunked checkpoint buys",
    note=NOTE,
    columns=COLUMNS,
    asks=AblatedCheckpoints,
    make=_make,
    show=_show,
)
