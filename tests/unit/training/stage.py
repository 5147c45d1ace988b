"""A stage of training as the rule is given it: a tiny base and its samples on disk, and what is asked."""

from pathlib import Path
from typing import Any

from tests.tiny_models import put_in_hub, tiny_model
from tests.tiny_tokenizers import smallest_tokenizer
from tests.unit.training.small import drawn_samples, keys_of
from workflow_scripts.training.requests import StageRequest
from workflow_scripts.training.samples import BadSamples, write_samples


def stage_inputs(folder: Path) -> dict[str, str]:
    manifest = put_in_hub(tiny_model("qwen2", layers=2), folder / "base", smallest_tokenizer())
    samples = drawn_samples(43)
    write_samples(folder / "samples", map(samples.__getitem__, range(43)), BadSamples())
    return {"base": str(manifest), "samples": str(folder / "samples/samples.json")}


def stage_request(**changes: Any) -> StageRequest:
    # Plain steps, as far as AdamW has them: rounding must not decide their direction.
    keys = keys_of(**{"learning_rate": 1e-4, "warm_up": 0.5, **changes})
    where = {"seed": 0, "device": "cpu", "attention": "auto", "threads": 1}
    return StageRequest(id="org/base+cpt", recipe="own", keys=keys, validation=0.1, **where)
