"""Check whether a submitted model may be evaluated, from its small files, before it costs anything.

Nothing of a repository is run, and no weights are read: the model is put together from its
configuration alone, on the meta device, which has no memory.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_scripts.core.clean_text import shortened
from workflow_scripts.core.errors import Unreachable, UserError
from workflow_scripts.core.model_files import files_taken
from workflow_scripts.hub.manifest import read_manifest
from workflow_scripts.hub.metadata import METADATA, read_metadata
from workflow_scripts.hub.sandbox import SECONDS, SandboxError, run_sandboxed
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
_OTHER_BYTES = 100_000_000  # of weights, whatever the parameters
_PARTS = re.compile("layer|expert|block|depth|stage")
Verdict = dict[str, Any]


@dataclass(frozen=True)
class ModelRepository:
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


def check(
    submissions: dict[str, Request],
    sources: dict[str, list[Path]],
    rules: Rules,
    seconds: int = SECONDS,
) -> dict[str, Verdict]:
    """Give a verdict by file: commit, licence, parameters, memory_mb, and as `reason` why it is refused.

    `sources` are what the model, and behind it the base of a delta, are checked by. Each is checked in a process
    of its own. Where the hub did not answer, `status` is unchecked. Of duplicates the first is taken.
    """
    _import_libraries()  # once, and not in each process
    taken: dict[tuple, str] = {}
    verdicts = {}
    for file, request in submissions.items():
        verdict: Verdict = dict.fromkeys(("commit", "licence", "parameters", "memory_mb", "reason"))
        try:
            verdict |= run_sandboxed(_check_request, request, sources[file], rules, seconds=seconds)
        except SandboxError as error:
            verdict["reason"] = f"it cannot be checked: {error}."
        key = (request.name, verdict["commit"], request.precision, request.protocol)
        if not verdict["reason"]:
            first = taken.setdefault(key, file)
            if first != file:
                verdict["reason"] = (
                    f"it is a duplicate of {first}: the same commit {verdict['commit'][:12]} in"
                    f" {request.precision}."
                )
        verdicts[file] = verdict
    return verdicts


def _check_request(request: Request, sources: list[Path], rules: Rules) -> Verdict:
    try:
        model, *bases = [read_repository(source) for source in sources]
    except Unreachable as error:
        return {"reason": shortened(str(error)), "status": UNCHECKED}
    except UserError as error:
        return {"reason": shortened(str(error))}
    verdict: Verdict = {"commit": model.commit, "licence": model.licence}
    problems, parameters = _check_repository(model, rules)
    problems = [*_compare_request(request, model, rules), *problems]
    for base in bases:
        verdict["base_commit"] = base.commit
        base_problems, base_parameters = _check_repository(base, rules)
        problems += [f"of its base {request.base}: {problem}" for problem in base_problems]
        if not problems and base_parameters != parameters:
            problems.append(
                f"it has {parameters:,} parameters and its base {request.base} {base_parameters:,}, so"
                " one cannot be added to the other."
            )
    if not problems:
        memory_mb = submitted_mb(
            parameters,
            request.precision,
            trains=request.protocol == "train_before_test",
            is_delta=bool(bases),
        )
        verdict |= {"parameters": parameters, "memory_mb": memory_mb}
        if memory_mb > rules.memory_mb:
            problems.append(
                f"it needs {memory_mb:,} MB for {parameters:,} parameters in {request.precision};"
                f" suite.memory_mb plans {rules.memory_mb:,}."
            )
    return verdict | {"reason": shortened(" ".join(problems)) or None}


def read_repository(path: Path) -> ModelRepository:
    """Read a manifest of the hub folder, or what was fetched of a repository to be checked."""
    if path.name == METADATA:
        metadata = read_metadata(path)
        return ModelRepository(path.parent, metadata.commit, metadata.licence, metadata.files)
    manifest = read_manifest(path)
    files = {file.path: file.size for file in manifest.files}
    return ModelRepository(path.parent, manifest.commit, manifest.licence, files)


def _compare_request(request: Request, model: ModelRepository, rules: Rules) -> Iterator[str]:
    if request.revision not in (None, model.commit):
        yield f"revision is {request.revision}, but the hub folder holds commit {model.commit}."
    if (_ADAPTER in model.files) != (request.weight_type == "adapter"):
        has = "holds" if _ADAPTER in model.files else "holds no"
        yield f"weight_type is {request.weight_type!r}, but it {has} {_ADAPTER}."
    if request.licence and model.licence and request.licence.lower() != model.licence.lower():
        yield f"licence is {request.licence!r}, but its card says {model.licence!r}."
    if request.precision in QUANTIZED and not rules.on_gpu:
        yield (
            f"precision is {request.precision!r}, and bitsandbytes needs a GPU, which this config"
            " has none of (source and compute.device)."
        )


def _check_repository(repository: ModelRepository, rules: Rules) -> tuple[list[str], int]:
    """Find the problems of a repository; count its parameters where it has none."""
    sizes = {name: repository.files[name] for name in files_taken(repository.files)}
    size = sum(sizes[name] for name in sizes if name.endswith(".safetensors"))
    problems = []
    if not size:
        problems.append(
            "it holds no safetensors weights, and pickled ones (.bin, .pt) are never loaded; convert"
            " them."
        )
    if repository.licence is None:
        problems.append("its card names no licence.")
    elif repository.licence.lower() not in {licence.lower() for licence in rules.open_licences}:
        problems.append(f"its licence {repository.licence!r} is not among suite.open_licences.")
    if problems:
        return problems, 0
    try:
        parameters = count_parameters(repository.folder)
    except UserError as error:
        return error.problems, 0
    limit = BYTES_OF_A_PARAMETER * parameters + _OTHER_BYTES
    if size > limit:  # nobody could load them: they are not fetched, and fill no disk
        problems.append(
            f"its weights have {size:,} bytes; expected at most {limit:,} for {parameters:,} parameters."
        )
    return problems, parameters


def _import_libraries() -> Any:
    """Import transformers' Auto classes with the chunked architectures, and PyTorch."""
    import torch  # noqa: F401
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer  # noqa: F401
    from transformers.models import auto

    import workflow_scripts.chunked  # noqa: F401 (registers the chunked architectures)

    return auto


def count_parameters(folder: Path) -> int:
    """Count them in what the Auto classes make of the folder; raise where they make nothing of it."""
    import torch

    auto = _import_libraries()
    part = "configuration"
    try:
        config = auto.AutoConfig.from_pretrained(folder, **_OFFLINE)
        _refuse_giants(config.to_dict())
        part = "tokenizer"
        auto.AutoTokenizer.from_pretrained(folder, **_OFFLINE)
        part = "model"
        with torch.device("meta"):
            model = auto.AutoModelForCausalLM.from_config(config)
    except (UserError, MemoryError):
        raise
    except (
        Exception
    ) as error:  # a stranger's files: whatever they make the libraries raise is an answer
        text = shortened(str(error).replace(str(folder), "it")) or type(error).__name__
        if "trust_remote_code" in text:
            text = "it needs trust_remote_code, and code of a repository is never run."
            raise UserError(text) from error
        sentence = text.split(". ")[0].rstrip(".")[:300]
        raise UserError(f"its {part} does not load with the Auto classes ({sentence}).") from error
    return model.num_parameters()


def _refuse_giants(config: dict[str, Any]) -> None:
    """More parts than any model has would take minutes to make."""
    for key, value in config.items():
        if isinstance(value, dict):
            _refuse_giants(value)
        elif isinstance(value, int) and value > MOST_PARTS and _PARTS.search(str(key)):
            raise UserError(f"its {key} is {value:,}; expected at most {MOST_PARTS:,}.")
