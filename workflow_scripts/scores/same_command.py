"""The command of lm-eval or lighteval that measures what a record has, or the sentence why there is none."""

import json
import shlex
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from workflow_scripts.core.ids import LOCAL, CheckpointId
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import Record
from workflow_scripts.settings.requests import GENERATED

MOST_NAMED = 200  # items that were drawn, in a command
_ASKED_BY = {"lm_eval": "lm-eval", "lighteval": "lighteval"}
_PROTOCOLS = ("direct", "few_shot", "train_before_test")
_PRECISIONS = ("float32", "float16", "bfloat16")


class SameCommand(NamedTuple):
    """`said` is what the command must find, versions and commits; where there is none, why."""

    command: str | None
    said: str

    @property
    def line(self) -> str:
        """For a shell, which takes what is said as a comment."""
        return f"{self.command}  # {self.said}" if self.command else self.said


def same_command(path: Path, record: Record) -> SameCommand:
    if why := _why_none(record):
        return SameCommand(None, why)
    by_lm_eval = record.task.harness == "lm_eval"
    words = _lm_eval(path, record) if by_lm_eval else _lighteval(record)
    if words is None:
        return SameCommand(
            None,
            f"The {record.items.n} items were drawn from the task, more than a command can name; the file of items"
            " beside the record names each.",
        )
    packages = record.provenance.packages
    versions = [f"{_ASKED_BY[record.task.harness]} {record.task.harness_version}"]
    versions += [f"{one} {packages[one]}" for one in ("transformers", "torch") if one in packages]
    said = f"{', '.join(versions)}; {record.task.dataset} at {record.task.dataset_commit}"
    own = sorted(
        {one.name for one in record.metrics if one.name.endswith("_macro")}
        if by_lm_eval
        else {one.name for one in record.metrics} - {"em", "em_macro"}
    )
    if own:
        said += f"; {', '.join(own)} of the record: by Chorus, not printed by {versions[0]}"
    if not by_lm_eval:
        said += "; run by `python -m workflow_scripts.chunked` where it cannot import its tasks"
    if record.model.repository.startswith(GENERATED):
        said += "; model and data are generated (docs/sharing.md says where)"
    return SameCommand(shlex.join(words), said)


def _why_none(record: Record) -> str | None:
    if record.task.harness not in _ASKED_BY or record.protocol.name not in _PROTOCOLS:
        return "This is measured by code of Chorus, not by a task of lm-eval or lighteval."
    if record.training is not None or record.protocol.name == "train_before_test":
        return (
            "The model was trained on the task before its test, which no command of a harness does."
        )
    if CheckpointId.parse(record.model.id).variant:
        return "The checkpoint was built by this run, and a harness alone can neither find nor load it."
    if (record.protocol.engine or "").startswith("served"):
        return "A server answered for the model, and its commit is not known to a harness."
    if record.model.repository.startswith(f"{LOCAL}/"):
        return "The model is a folder on the machine of this run, which no other machine has."
    if record.request.get("base"):
        return "The weights are a difference that this run added to those of a base model."
    if record.task.harness == "lighteval" and record.request.get("prompt") == "published":
        return "The prompt is that of an earlier lighteval (mmlu.prompt), which the installed one does not write."
    if record.protocol.dtype not in _PRECISIONS:
        return f"The weights were loaded in {record.protocol.dtype}, in a way that no harness's command names."
    return None


def _lm_eval(path: Path, record: Record) -> list[str] | None:
    asked = record.protocol
    about = {
        "pretrained": record.model.repository,
        "revision": record.model.commit,
        "dtype": asked.dtype,
    }
    if asked.attention != "sdpa":
        about["attn_implementation"] = asked.attention
    words = ["lm-eval", "run", "--model", "hf", "--model_args"]
    words += [",".join(f"{key}={value}" for key, value in about.items())]
    words += ["--tasks", record.task.name, "--num_fewshot", str(record.task.shots)]
    words += ["--batch_size", str(asked.batch_size)]
    words += ["--device", "cpu" if record.cost.device == "cpu" else "cuda"]
    if asked.chat_template:
        words.append("--apply_chat_template")
    drawn = _drawn(path, record)
    if drawn and sum(map(len, drawn.values())) > MOST_NAMED:
        return None
    return words + (["--samples", json.dumps(drawn, separators=(",", ":"))] if drawn else [])


def _drawn(path: Path, record: Record) -> dict[str, list[int]]:
    """By task, the numbers of those items that were asked; nothing where fewer than could be drawn are all."""
    most = record.protocol.max_items
    names = read_items(path.with_name(record.items.file)).column("item").to_pylist()
    counts = Counter(name.rpartition("/")[0] for name in names)
    whole = max(counts.values()) if record.request.get("max_items_per_member") else len(names)
    if most is None or whole < most:
        return {}
    drawn: dict[str, list[int]] = defaultdict(list)
    for name in names:
        task, _, number = name.rpartition("/")
        drawn[task].append(int(number))
    return drawn


def _lighteval(record: Record) -> list[str]:
    asked = record.protocol
    about = {
        "model_name": record.model.repository,
        "revision": record.model.commit,
        "dtype": asked.dtype,
        "batch_size": asked.batch_size,
        "override_chat_template": asked.chat_template,
    }
    words = ["lighteval", "accelerate", ",".join(f"{key}={value}" for key, value in about.items())]
    words.append(f"{record.task.name.removesuffix('_helm')}|{record.task.shots}")
    return words + ([] if asked.max_items is None else ["--max-samples", str(asked.max_items)])
