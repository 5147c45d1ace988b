"""Whether a submitted model may be evaluated, found out from its small files before it costs anything.

Nothing of a repository is run, and no weights are read: the model is put together from its
configuration alone, on the meta device, which has no memory.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_scripts.core.clean_text import shortened
from workflow_scripts.core.confined import SECONDS, NoAnswer, each_confined
from workflow_scripts.core.errors import Unreachable, UserError
from workflow_scripts.core.machine import machine_problem
from workflow_scripts.core.model_files import files_taken
from workflow_scripts.hub.manifest import read_manifest
from workflow_scripts.hub.metadata import METADATA, read_metadata
from workflow_scripts.planning.memory import submitted_mb
from workflow_scripts.settings.compute import QUANTIZED
from workflow_scripts.settings.requests import (
    BYTES_OF_A_PARAMETER,
    MOST_PARTS,
    UNCHECKED,
    Request,
)

_OFFLINE = {"local_files_only": True, "trust_remote_code": False}
_ADAPTER = "adapter_config.json"
_BYTES_BESIDE = 100_000_000  # of weights, whatever the parameters
_OF_PARTS = re.compile("layer|expert|block|depth|stage")


@dataclass(frozen=True)
class Submitted:
    """What is known of a repository without its weights."""

    folder: Path
    commit: str
    licence: str | None
    files: dict[str, int]  # with their sizes


@dataclass(frozen=True)
class Rules:
    """What the config says of any model that is submitted."""

    memory_mb: int
    open_licences: Collection[str]
    on_gpu: bool = True


def read_submitted(path: Path) -> Submitted:
    """From a manifest of the hub folder, or from what was fetched of a repository to be checked."""
    if path.name == METADATA:
        found = read_metadata(path)
        return Submitted(path.parent, found.commit, found.licence, found.files)
    manifest = read_manifest(path)
    files = {file.path: file.size for file in manifest.files}
    return Submitted(path.parent, manifest.commit, manifest.licence, files)


def check(
    submissions: dict[str, Request],
    sources: dict[str, Path],
    rules: Rules,
    *,
    bases: dict[str, Path] | None = None,
    seconds: int = SECONDS,
) -> dict[str, dict[str, Any]]:
    """By file of a submission: commit, licence, parameters, memory, and as `reason` why it is refused.

    Where the hub did not answer the submission is not refused: its `status` is unchecked.

    `bases` are what the bases of deltas are checked by. Each submission is looked at in a process of its own, for
    so many `seconds` at most: whatever its files do to the libraries is an answer about it alone.

    Of submissions of the same model at the same commit in the same precision the first is taken.
    """
    _libraries()  # once, and not in each process that is replaced

    def look(file: str) -> dict[str, Any]:
        return _looked_at(submissions[file], sources[file], (bases or {}).get(file), rules)

    taken: dict[tuple, str] = {}
    verdicts = {}
    answers = each_confined(look, list(submissions), seconds)
    for (file, submission), answer in zip(submissions.items(), answers, strict=True):
        if isinstance(answer, NoAnswer):
            answer = _verdict(reason=f"it cannot be checked: {answer.reason}.")
        key = (submission.name, answer["commit"], submission.precision, submission.protocol)
        if not answer["reason"] and key in taken:
            answer["reason"] = (
                f"it is a duplicate of {taken[key]}: the same commit {answer['commit'][:12]} in"
                f" {submission.precision}."
            )
        if not answer["reason"]:
            taken[key] = file
        verdicts[file] = answer
    return verdicts


def _looked_at(
    submission: Request, source: Path, base_source: Path | None, rules: Rules
) -> dict[str, Any]:
    try:
        submitted = read_submitted(source)
        base = read_submitted(base_source) if base_source else None
    except UserError as error:
        status = {"status": UNCHECKED} if isinstance(error, Unreachable) else {}
        return _verdict(reason=shortened(str(error)), **status)
    facts: dict[str, Any] = {"commit": submitted.commit, "licence": submitted.licence}
    problems = list(_problems(submission, submitted, rules.open_licences))
    if base is not None:
        facts["base_commit"] = base.commit
        problems += [
            f"of its base {submission.base}: {one}" for one in _own(base, rules.open_licences)
        ]
    if submission.precision in QUANTIZED and not rules.on_gpu:
        problems.append(
            f"precision is {submission.precision!r}, and bitsandbytes needs a GPU, which this config"
            " has none of (source and compute.device)."
        )
    if not problems:
        try:
            facts["parameters"] = parameters = count_parameters(submitted.folder)
            bases_own = count_parameters(base.folder) if base else parameters
        except UserError as error:
            problems.append(str(error))
        else:
            facts["memory_mb"] = submitted_mb(
                parameters,
                submission.precision,
                trains=submission.protocol == "train_before_test",
                is_delta=base is not None,
            )
            problems += _of_size(submission, facts, bases_own, rules.memory_mb)
            problems += _too_large(submitted, parameters)
            if base is not None:
                problems += _too_large(base, bases_own)
    return _verdict(**facts, reason=shortened(" ".join(problems)) or None)


def _of_size(
    submission: Request, facts: dict[str, Any], bases_own: int, memory_mb: int
) -> Iterator[str]:
    parameters, needed = facts["parameters"], facts["memory_mb"]
    if bases_own != parameters:
        yield (
            f"it has {parameters:,} parameters and its base {submission.base} {bases_own:,}, so one"
            " cannot be added to the other."
        )
    if needed > memory_mb:
        yield (
            f"it needs {needed:,} MB for {parameters:,} parameters in {submission.precision};"
            f" suite.memory_mb plans {memory_mb:,}."
        )


def _too_large(submitted: Submitted, parameters: int) -> Iterator[str]:
    """Weights that nobody could load are not fetched, and fill no disk."""
    taken = files_taken(submitted.files)
    size = sum(submitted.files[name] for name in taken if name.endswith(".safetensors"))
    if size > (most := BYTES_OF_A_PARAMETER * parameters + _BYTES_BESIDE):
        yield (
            f"its weights have {size:,} bytes; expected at most {most:,} for {parameters:,} parameters."
        )


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
    known = _libraries().configuration_auto.CONFIG_MAPPING
    config = _json(folder / "config.json")
    kind = config.get("model_type")
    return bool(config.get("auto_map")) and not (isinstance(kind, str) and kind in known)


def _libraries() -> Any:
    """transformers' Auto classes, with the chunked architectures; PyTorch is loaded beside."""
    import torch  # noqa: F401
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer  # noqa: F401
    from transformers.models import auto

    import workflow_scripts.chunked  # noqa: F401 (registers the chunked architectures)

    return auto


def count_parameters(folder: Path) -> int:
    """Count them in what the Auto classes make of the folder; raises where they make nothing of it."""
    import torch

    auto = _libraries()
    what = "configuration"
    try:
        config = auto.AutoConfig.from_pretrained(folder, **_OFFLINE)
        _refuse_a_giant(config.to_dict())
        what = "tokenizer"
        auto.AutoTokenizer.from_pretrained(folder, **_OFFLINE)
        what = "model"
        with torch.device("meta"):
            model = auto.AutoModelForCausalLM.from_config(config)
    except (UserError, MemoryError):
        raise
    # A stranger's files: whatever they make the libraries raise is an answer.
    except Exception as error:
        if machine_problem(error):
            raise
        raise UserError(
            f"its {what} does not load with the Auto classes ({_first_sentence(error, folder)})."
        ) from error
    return model.num_parameters()


def _refuse_a_giant(config: Any) -> None:
    for key, value in config.items():
        if isinstance(value, dict):
            _refuse_a_giant(value)
        elif isinstance(value, int) and value > MOST_PARTS and _OF_PARTS.search(str(key)):
            raise UserError(f"its {key} is {value:,}; expected at most {MOST_PARTS:,}.")


def _first_sentence(error: Exception, folder: Path) -> str:
    text = shortened(str(error).replace(str(folder), "it")) or type(error).__name__
    return text.split(". ")[0].rstrip(".")[:300]


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
