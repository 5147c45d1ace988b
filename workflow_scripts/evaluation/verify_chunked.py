"""Verify that a chunked checkpoint has the same logits with fused layers as with a loop over the layers."""

from pathlib import Path

from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import write_json
from workflow_scripts.evaluation.requests import VerifyRequest
from workflow_scripts.hub.load import load_model

# Summing the same products in another order changes the last bits, more so in half precision.
_TOLERANCE = {"float32": 1e-4, "float16": 5e-2, "bfloat16": 3e-1}
_ROWS, _TOKENS = 2, 32


@validate_call
def verify_chunked(checkpoint: Path, model: Path, request: VerifyRequest, report: Path) -> None:
    """Report parameter counts, the plan as text, and the largest differences of logits on random tokens, as JSON.

    Raise UserError if the fused logits differ from those of the loop by more than rounding errors.
    """
    import torch

    base, chunked = (load_model(path, **request.compute.loading) for path in (model, checkpoint))
    generator = torch.Generator().manual_seed(request.seed)
    vocabulary = base.model.config.vocab_size
    ids = torch.randint(vocabulary, (_ROWS, _TOKENS), generator=generator).to(base.device)
    logits = {}
    with torch.no_grad():
        expected = base.model(ids).logits.float()
        for execution in ("loop", "fused"):
            chunked.model.config.chunk_execution = execution
            logits[execution] = chunked.model(ids).logits.float()
    loop, fused = logits["loop"], logits["fused"]
    from_base = float((fused - expected).abs().max())
    from_loop = float((fused - loop).abs().max())
    name, plan = chunked.manifest.repository, chunked.model.config.plan()
    tolerance = _TOLERANCE[chunked.dtype] * max(1.0, float(loop.abs().max()))
    if from_loop > tolerance:
        raise UserError(
            f"The fused logits of {name} differ from its plain loop's by {from_loop:.3g}; expected"
            f" at most {tolerance:.3g} in {chunked.dtype}."
        )
    parameters = dict(chunked.model.named_parameters())
    facts = {
        "checkpoint": name,
        "base": base.manifest.repository,
        "plan": format_plan(plan),
        "depth": len(plan.start) + len(plan.end) + (len(plan.chunks[0]) if plan.chunks else 0),
        "layers": base.model.config.num_hidden_layers,
        "parameters": chunked.model.num_parameters(),
        "new_parameters": sum(
            parameters[name].numel() for name in parameters if "wrapped_chunk_layers" in name
        ),
        "fused_from_loop": from_loop,
        "fused_from_base": from_base,
        "dtype": chunked.dtype,
    }
    write_json(report, facts)


def format_plan(plan) -> str:
    """Format a plan as 0 1 2 -> [3 5 | 4 6] -> 7 8: shared layers, parallel chunks, shared layers."""
    chunks = " | ".join(" ".join(map(str, chunk)) for chunk in plan.chunks)
    start, end = (" ".join(map(str, layers)) for layers in (plan.start, plan.end))
    return " → ".join(part for part in (start, f"[{chunks}]" if chunks else "", end) if part)


if "snakemake" in globals():
    run_job(verify_chunked, snakemake)
