"""Check from a submitted model's small files whether it may be evaluated, before its weights are fetched.

No code of the repository runs and no weights are read: the model is built from its configuration on the meta device,
which allocates no memory.
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_scripts.core.clean_text import shorten_text
from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.manifest import Manifest
from workflow_scripts.hub.metadata import read_metadata
from workflow_scripts.hub.sandbox import MAX_SECONDS, SandboxError, run_sandboxed
from workflow_scripts.hub.served import SAFE_LOADING
from workflow_scripts.planning.memory import estimate_submitted_mb
from workflow_scripts.settings.compute import QUANTIZED
from workflow_scripts.settings.leaderboard_submissions import (
    MAX_BYTES_PER_PARAMETER,
    LeaderboardRequest,
)

_ADAPTER_CONFIG = "adapter_config.json"
_EXTRA_WEIGHT_BYTES = 100_000_000  # allowed in weight files beyond the parameters
Verdict = dict[str, Any]


@dataclass(frozen=True)
class SubmissionRules:
    """The config's requirements for every submitted model."""

    memory_mb: int
    open_licences: Collection[str]
    on_gpu: bool = True


def check_submissions(
    submissions: dict[str, dict[str, Any]], rules: SubmissionRules, seconds: int = MAX_SECONDS
) -> dict[str, Verdict]:
    """Return the verdict on each file: commit, licence, parameters, memory_mb, and the `reason` of a refusal, or None.

    A submission has the `request` and, as its `sources`, the metadata files of the model and, for a delta, of its base.
    Each submission is checked in a subprocess. Of duplicates the first is accepted.
    """
    _import_libraries()  # once, before the forks
    accepted: dict[tuple, str] = {}
    verdicts = {}
    for file, submission in submissions.items():
        request = LeaderboardRequest.model_validate(submission["request"])
        sources = [Path(source) for source in submission["sources"]]
        verdict: Verdict = {"reason": None}
        try:
            verdict |= run_sandboxed(_check_request, request, sources, rules, seconds=seconds)
        except SandboxError as error:
            verdict["reason"] = f"it cannot be checked: {error}."
        key = (request.name, verdict.get("commit"), request.precision)
        if not verdict["reason"] and accepted.setdefault(key, file) != file:
            verdict["reason"] = (
                f"it is a duplicate of {accepted[key]}: the same commit {verdict['commit'][:12]} in"
                f" {request.precision}."
            )
        verdicts[file] = verdict
    return verdicts


def _check_request(
    request: LeaderboardRequest, sources: list[Path], rules: SubmissionRules
) -> Verdict:
    verdict: Verdict = {}
    try:
        model, *bases = map(read_metadata, sources)
        verdict |= {"commit": model.commit, "licence": model.licence}
        _compare_request(request, model, rules)
        parameters = verdict["parameters"] = _check_repository(model, sources[0].parent, rules)
        for base in bases:
            verdict["base_commit"] = base.commit
            try:
                _check_repository(base, sources[1].parent, rules)
            except UserError as error:
                raise UserError(f"its base {request.base}: {error}") from None
        memory_mb = estimate_submitted_mb(parameters, request.precision, is_delta=bool(bases))
        verdict["memory_mb"] = memory_mb
        if memory_mb > rules.memory_mb:
            raise UserError(
                f"it needs {memory_mb:,} MB for {parameters:,} parameters in {request.precision};"
                f" suite.memory_mb allows {rules.memory_mb:,}."
            )
    except UserError as error:
        verdict["reason"] = shorten_text(str(error))
    return verdict


def _compare_request(request: LeaderboardRequest, model: Manifest, rules: SubmissionRules) -> None:
    """Raise UserError for a request that contradicts the model's repository."""
    has_adapter = any(file.path == _ADAPTER_CONFIG for file in model.files)
    if has_adapter != (request.weight_type == "adapter"):
        has = "holds" if has_adapter else "holds no"
        raise UserError(f"weight_type is {request.weight_type!r}, but it {has} {_ADAPTER_CONFIG}.")
    if request.precision in QUANTIZED and not rules.on_gpu:
        raise UserError(
            f"precision is {request.precision!r}, and bitsandbytes needs a GPU; this config uses none"
            " (source and compute.device)."
        )


def _check_repository(model: Manifest, folder: Path, rules: SubmissionRules) -> int:
    """Return the parameter count of a repository; raise UserError if it may not be loaded or published."""
    size = sum(file.size for file in model.files if file.path.endswith(".safetensors"))
    if not size:
        raise UserError(
            "it holds no safetensors weights, and pickled ones (.bin, .pt) are never loaded; convert"
            " them."
        )
    if model.licence is None:
        raise UserError("its card has no licence.")
    if model.licence.lower() not in map(str.lower, rules.open_licences):
        raise UserError(f"its licence {model.licence!r} is not among suite.open_licences.")
    parameters = _count_parameters(folder)
    limit = MAX_BYTES_PER_PARAMETER * parameters + _EXTRA_WEIGHT_BYTES
    if size > limit:  # more bytes than the model can load, so they must not fill the disk
        raise UserError(
            f"its weights have {size:,} bytes; expected at most {limit:,} for {parameters:,} parameters."
        )
    return parameters


def _import_libraries() -> None:
    """Import transformers' Auto classes with the chunked architectures, and PyTorch."""
    import torch  # noqa: F401
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer  # noqa: F401

    import workflow_scripts.chunked  # noqa: F401 (registers the chunked architectures)


def _count_parameters(folder: Path) -> int:
    """Count the parameters of the model that the Auto classes build from a folder; raise UserError if they fail."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    try:
        config = AutoConfig.from_pretrained(folder, **SAFE_LOADING)
        AutoTokenizer.from_pretrained(folder, **SAFE_LOADING)
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(config).num_parameters()
    except MemoryError:
        raise
    except Exception as error:  # untrusted files may make the libraries raise anything
        text = shorten_text(str(error).replace(str(folder), "it")) or type(error).__name__
        if "trust_remote_code" in text:
            text = "it needs trust_remote_code, and code of a repository is never run."
        else:
            sentence = text.split(". ")[0].rstrip(".")[:300]
            text = f"it does not load with the Auto classes ({sentence})."
        raise UserError(text) from error
