"""What each cut model keeps of the unchanged one's quality, and how much faster it writes.

One row per checkpoint and measure. Both sides of a ratio read the same windows and answered the same
questions, so that its error is of pairs.
"""

from collections.abc import Iterable
from math import sqrt
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.core.ids import UNCHANGED, CheckpointId
from workflow_scripts.core.records import sort_records
from workflow_scripts.core.training_record import TrainingRecord, read_training_record
from workflow_scripts.render.frames import Cells, cells, columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import Table
from workflow_scripts.render.text import millisecond, number, numbers, perplexity, with_errors
from workflow_scripts.stats.paired import paired_ratio
from workflow_scripts.studies.chunking.ablation import Answers, read_answers, task_of
from workflow_scripts.studies.chunking.frame import variants_of
from workflow_scripts.studies.chunking.latency import timed
from workflow_scripts.studies.chunking.requests import MeasuredModels
from workflow_scripts.studies.chunking.search import against
from workflow_scripts.studies.recovery.requests import MMLU, RecoveredCheckpoints, measure_of

NOTE = (
    "Tokens: those that the plan was trained on towards the unchanged model; 0 is the plan as it is cut."
    " Learns from: the unchanged model's logits, hidden states or both beside the text, or the text alone."
    " Faster: how many times as fast it writes a token, in answers of the length and the batches named in"
    " chunking.measures, the faster of its ways of running, median over rounds in which it takes turns with"
    " the unchanged model. Of a text the perplexity, of tasks and MMLU the share right or the"
    " task's own score, each ± standard error;"
    " in brackets what is kept of the unchanged model's, ± standard error of pairs: for a text its perplexity"
    " over this one's; nothing of a score that is of all items together, such as a correlation."
    " Floor: the better of a fixed and a random answer; a share that does not clear it by two"
    " standard errors shows nothing, whatever is kept. Where a plan stands in several forms, aggregation and adapters"
    " are behind its name, and what is usual has no mark. Untrained it stands once, whatever it learns from later."
    " A line named k0m0 is the unchanged model after the same"
    " training: what is kept above it is not the cut's."
)
COLUMNS = columns(
    ("text", "model variant kind plan learns_from"),
    ("whole", "tokens"),
    ("number", "token_seconds token_seconds_spread faster"),
    ("text", "measure"),
    ("whole", "n"),
    ("number", "value stderr floor kept kept_stderr"),
)
# By the mark of what a checkpoint is trained towards beside the text, if that is anything.
_LEARNS_FROM = {"distil.logits": "logits", "distil.hidden": "hidden states", "distil.both": "both"}
AS_IT_IS, CHUNKS, LEFT_OUT = "as it is", "chunks", "left out"
# By checkpoint and task: what its record says of all items, and the floor.
Reported = dict[tuple[str, str], Cells]


def kept_table(
    request: RecoveredCheckpoints,
    answers: Answers,
    reported: Reported,
    trained: Iterable[TrainingRecord],
    times: pd.DataFrame,
) -> pd.DataFrame:
    """In the order asked; what is broken, or was not timed, leaves its cells empty."""
    tokens = {record.trained.id: record.facts["tokens"] for record in trained}
    by_shape = _fastest(times)
    rows = []
    for name in request.checkpoints:
        id = CheckpointId.parse(name)
        about: Cells = {
            "model": id.model,
            "variant": id.variant,
            "kind": _kind(id),
            "plan": id.layout.variant.removeprefix("@") or UNCHANGED,
            "learns_from": _learns_from(id.distillation) if id.stages else None,
            "tokens": tokens.get(name) if id.stages else 0,
            **by_shape.get(str(id.timed_variant), {}),
        }
        if about["kind"] == AS_IT_IS:
            about["faster"] = 1.0
        for measure in request.measures:
            of = _of_measure(answers.get((name, measure)), answers.get((id.model, measure)))
            rows.append(about | {"measure": measure} | reported.get((name, measure), {}) | of)
    return COLUMNS.typed(pd.DataFrame(rows, columns=list(COLUMNS.named)))


def _learns_from(mark: str | None) -> str:
    """The temperature, where it is not the usual one, as in the mark."""
    kind = next((kind for kind in _LEARNS_FROM if mark and mark.startswith(kind)), None)
    return _LEARNS_FROM[kind] + (mark or "").removeprefix(kind) if kind else "text"


def form_of(id: CheckpointId) -> str:
    """Its aggregation and adapters, as in its name, where they are not the usual."""
    marks = (id.aggregation, id.adapters, id.adapter_init)
    return "-".join(mark for mark in marks if mark)


def _kind(id: CheckpointId) -> str:
    if id.plan in (None, UNCHANGED):
        return AS_IT_IS
    return LEFT_OUT if (id.plan or "").startswith("prune") else CHUNKS


def _fastest(times: pd.DataFrame) -> dict[str, Cells]:
    """Of each shape the faster way on one device, in the smallest batch: one user waits for one answer."""
    rows = times[(times["way"] != "unchanged") & (times["devices"] == 1)]
    rows = rows[rows["batch"] == rows["batch"].min()].sort_values("token_seconds")
    plain = rows["plan"].str.startswith("prune")
    rows = rows.assign(variant="@" + rows["plan"])
    rows.loc[~plain, "variant"] = variants_of(rows[~plain])
    columns = ["token_seconds", "token_seconds_spread", "token_faster"]
    found = rows.drop_duplicates(["model", "variant"])
    shown = found[columns].rename(columns={"token_faster": "faster"})
    return dict(zip(found["model"] + found["variant"], cells(shown), strict=True))


def _of_measure(ours: Any, theirs: Any) -> dict[str, float | None]:
    """Of pieces of a text their nats and tokens, of questions the score of each."""
    if ours is None:
        return {}
    of = _of_pieces(ours) if isinstance(ours, pd.DataFrame) else _of_questions(ours)
    if theirs is None:
        return of
    ours, theirs = ours.align(theirs, join="inner", axis=0)
    if isinstance(ours, pd.DataFrame):
        kept, error = against(theirs, ours)
    else:
        kept, error = paired_ratio(theirs, ours)
    return of | {"kept": kept, "kept_stderr": error}


def _of_pieces(pieces: pd.DataFrame) -> dict[str, float | None]:
    value, error = against(pieces, pieces.assign(nats=0.0))
    return {"n": len(pieces), "value": value, "stderr": error}


def _of_questions(scores: pd.Series) -> dict[str, float | None]:
    n = len(scores)
    stderr = float(scores.std(ddof=1)) / sqrt(n) if n > 1 else None
    return {"n": n, "value": float(scores.mean()), "stderr": stderr}


def _make(inputs: Inputs, request: RecoveredCheckpoints) -> pd.DataFrame:
    paths = inputs["records"]
    answers = {
        (id, MMLU if measure == "acc" else measure): found * 1.0
        for (id, measure), found in read_answers(paths).items()
    }
    models = list(dict.fromkeys(CheckpointId.parse(name).model for name in request.checkpoints))
    times = pd.read_parquet(inputs.one("times"))
    return kept_table(
        request,
        answers,
        _reported(paths),
        [read_training_record(path) for path in inputs["trained"]],
        timed(times, MeasuredModels(models=models, texts=())),
    )


def _reported(paths: Iterable[Path]) -> Reported:
    """Of each task by its own metric, of MMLU by that of the likeliest letter."""
    found: Reported = {}
    for _, record in sort_records(paths)[0]:
        if record.study == "training":
            continue
        is_mmlu = record.study == "mmlu"
        task, metric = task_of(record) if not is_mmlu else ("", "acc")
        measure = MMLU if is_mmlu else measure_of(task)
        for one in record.metrics:
            known = [floor for floor in (one.best_constant, one.chance) if floor is not None]
            if one.name == metric and one.subset is None:
                about: Cells = {"n": one.n, "value": one.value, "stderr": one.stderr}
                found[record.model.id, measure] = about | {"floor": max(known, default=None)}
    return found


def _show(table: pd.DataFrame, request: RecoveredCheckpoints) -> pd.DataFrame:
    """A line a checkpoint, with its measures side by side."""
    keys = ["model", "variant"]
    first = table.drop_duplicates(keys).set_index(keys, drop=False)
    several = first["model"].nunique() > 1
    lines: dict[str, Any] = {
        "Model": first["model"] if several else None,
        "Plan": _plans(first),
        "Learns from": first["learns_from"],
        "Tokens": numbers(first["tokens"], ",d"),
        "Token (ms)": with_errors(
            first["token_seconds"], first["token_seconds_spread"], millisecond
        ),
        "Faster": numbers(first["faster"], ".2f"),
    }
    for measure in request.measures:
        of = table[table["measure"] == measure].set_index(keys).reindex(first.index)
        is_score = of["value"].abs().max() <= 1  # no perplexity is below 1
        values = with_errors(of["value"], of["stderr"], number if is_score else perplexity)
        kept = with_errors(of["kept"], of["kept_stderr"], number)
        lines[_head(measure, of)] = [
            one and (f"{one} ({part})" if part else one)
            for one, part in zip(values, kept, strict=True)
        ]
    shown = pd.DataFrame(lines, index=first.index).reset_index(drop=True)
    return shown if several else shown.drop(columns="Model")


def _plans(lines: pd.DataFrame) -> pd.Series:
    """Each with its aggregation and adapters where it stands in several forms.

    Lines that would read alike even so, as of two lengths that come to the same tokens, have their whole names.
    """
    shapes = [CheckpointId.parse(f"{of}{variant}").shape for of, variant in lines.index]
    named = pd.Series([one.variant.removeprefix("@") for one in shapes], lines.index)
    forms = named.groupby([lines["model"].to_numpy(), lines["plan"].to_numpy()]).transform(
        "nunique"
    )
    plans = lines["plan"].mask(forms > 1, named)
    alike = lines.assign(plan=plans).duplicated(
        ["model", "plan", "learns_from", "tokens"], keep=False
    )
    return plans.mask(alike, lines["variant"].str.removeprefix("@"))


def _head(measure: str, rows: pd.DataFrame) -> str:
    """With the pieces or questions that it is of, and its floor, which are those of all checkpoints."""
    words = [measure.capitalize()]
    words += [f"n {', '.join(map(str, sorted(rows['n'].dropna().unique())))}"]
    words += [f"floor {number(one)}" for one in sorted(rows["floor"].dropna().unique())]
    return ", ".join(words)


TABLE = Table(
    name="recovery",
    title="What a cut costs, and what brings it back",
    note=NOTE,
    columns=COLUMNS,
    asks=RecoveredCheckpoints,
    make=_make,
    show=_show,
)
