"""Whether a submitted model may be evaluated, found out from its small files before it costs anything.

Nothing of a repository is run, and no weights are read: the model is put together from its
configuration alone, on the meta device, which has no memory.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import Unreachable, UserError
from workflow_scripts.hub.manifest import read_manifest
from workflow_scripts.hub.metadata import METADATA, read_metadata
from workflow_scripts.planning.memory import submitted_mb
from workflow_scripts.settings.compute import QUANTIZED
from workflow_scripts.settings.requests import UNCHECKED, Request

_OFFLINE = {"local_files_only": True, "trust_remote_code": False}
_ADAPTER = "adapter_config.json"


@dataclass(frozen=True)
class Submitted:
    """What is known of a repository without its weights."""

    folder: Path
    commit: str
    licence: str | None
    files: frozenset[str]


def read_submitted(path: Path) -> Submitted:
    """From a manifest of the hub folder, or from what was fetched of a repository to be checked."""
    if path.name == METADATA:
        found = read_metadata(path)
        return Submitted(path.parent, found.commit, found.licence, frozenset(found.files))
    manifest = read_manifest(path)
    files = frozenset(file.path for file in manifest.files)
    return Submitted(path.parent, manifest.commit, manifest.licence, files)


def check(
    submissions: dict[str, Request],
    sources: dict[str, Path],
    *,
    bases: dict[str, Path] | None = None,
    memory_mb: int,
    open_licences: Collection[str],
    on_gpu: bool = True,
) -> dict[str, dict[str, Any]]:
    """By file of a submission: commit, licence, parameters, memory, and as `reason` why it is refused.

    Where the hub did not answer the submission is not refused: its `status` is unchecked.

    `bases` are what the bases of deltas are checked by.

    Of submissions of the same model at the same commit in the same precision the first is taken.
    """
    taken: dict[tuple, str] = {}
    verdicts = {}
    for file, submission in submissions.items():
        try:
            submitted = read_submitted(sources[file])
            base = read_submitted(bases[file]) if bases and file in bases else None
        except UserError as error:
            verdicts[file] = _verdict(reason=str(error))
            if isinstance(error, Unreachable):
                verdicts[file]["status"] = UNCHECKED
            continue
        facts: dict[str, Any] = {"commit": submitted.commit, "licence": submitted.licence}
        problems = list(_problems(submission, submitted, open_licences))
        if base is not None:
            facts["base_commit"] = base.commit
            problems += [
                f"of its base {submission.base}: {one}" for one in _own(base, open_licences)
            ]
        if submission.precision in QUANTIZED and not on_gpu:
            problems.append(
                f"precision is {submission.precision!r}, and bitsandbytes needs a GPU, which this config"
                " has none of (source and compute.device)."
            )
        if not problems:
            try:
                facts["parameters"] = count_parameters(submitted.folder)
                bases_own = count_parameters(base.folder) if base else facts["parameters"]
            except UserError as error:
                problems.append(str(error))
            else:
                trains = submission.protocol == "train_before_test"
                needed = submitted_mb(
                    facts["parameters"],
                    submission.precision,
                    trains=trains,
                    is_delta=base is not None,
                )
                facts["memory_mb"] = needed
                if bases_own != facts["parameters"]:
                    problems.append(
                        f"it has {facts['parameters']:,} parameters and its base {submission.base}"
                        f" {bases_own:,}, so one cannot be added to the other."
                    )
                if needed > memory_mb:
                    problems.append(
                        f"it needs {needed:,} MB for {facts['parameters']:,} parameters in"
                        f" {submission.precision}; suite.memory_mb plans {memory_mb:,}."
                    )
        key = (submission.name, submitted.commit, submission.precision, submission.protocol)
        if not problems and key in taken:
            problems.append(
                f"it is a duplicate of {taken[key]}: the same commit {submitted.commit[:12]} in"
                f" {submission.precision}."
            )
        if not problems:
            taken[key] = file
        verdicts[file] = _verdict(**facts, reason=" ".join(problems) or None)
    return verdicts


def _verdict(**facts: Any) -> dict[str, Any]:
    return dict.fromkeys(("commit", "licence", "parameters", "memory_mb", "reason")) | facts


def _problems(
    submission: Request, submitted: Submitted, open_licences: Collection[str]
) -> Iterator[str]:
    if submission.revision not in (None, submitted.commit):
        yield (
            f"revision is {submission.revision}, but the hub folder holds commit {submitted.commit}."
        )
    yield from _own(submitted, open_licences)
    if (_ADAPTER in submitted.files) != (submission.weight_type == "adapter"):
        has = "holds" if _ADAPTER in submitted.files else "holds no"
        yield f"weight_type is {submission.weight_type!r}, but it {has} {_ADAPTER}."
    said, licence = submission.licence, submitted.licence
    if said is not None and licence is not None and said.lower() != licence.lower():
        yield f"licence is {said!r}, but its card says {licence!r}."


def _own(submitted: Submitted, open_licences: Collection[str]) -> Iterator[str]:
    """What is wrong with a repository, whatever a submission says of it."""
    if not any(name.endswith(".safetensors") for name in submitted.files):
        yield (
            "it holds no safetensors weights, and pickled ones (.bin, .pt) are never loaded; convert"
            " them."
        )
    if submitted.licence is None:
        yield "its card names no licence."
    elif submitted.licence.lower() not in {one.lower() for one in open_licences}:
        yield f"its licence {submitted.licence!r} is not among suite.open_licences."
    if needs_remote_code(submitted.folder):
        yield "it needs trust_remote_code, and code of a repository is never run."


def needs_remote_code(folder: Path) -> bool:
    """Whether its configuration sends transformers to code of its own, having none for this type."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    import workflow_scripts.chunked  # noqa: F401 (registers the chunked architectures)

    config = _json(folder / "config.json")
    return bool(config.get("auto_map")) and config.get("model_type") not in CONFIG_MAPPING


def count_parameters(folder: Path) -> int:
    """Count them in what the Auto classes make of the folder; raises where they make nothing of it."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    import workflow_scripts.chunked  # noqa: F401

    what = "configuration"
    try:
        config = AutoConfig.from_pretrained(folder, **_OFFLINE)
        what = "tokenizer"
        AutoTokenizer.from_pretrained(folder, **_OFFLINE)
        what = "model"
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config)
    # A stranger's files: whatever they make the libraries raise is an answer.
    except Exception as error:
        raise UserError(
            f"its {what} does not load with the Auto classes ({_first_sentence(error)})."
        ) from error
    return model.num_parameters()


def _first_sentence(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text.split(". ")[0].rstrip(".")[:300]


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
