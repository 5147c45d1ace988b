"""Configure MMLU in lighteval for models and their chunked checkpoints, and find its published tables."""

from typing import Literal

from pydantic import Field

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.names import CheckpointName
from workflow_scripts.settings.section import Count, Listed, Section

DATASET = "lighteval/mmlu"
MmluPrompt = Literal["installed", "published"]

PUBLISHED_MODEL = "Qwen/Qwen2.5-0.5B-Instruct"
# The published mlp has no residual, and the published adapters have the width of the model's MLP and random initial
# values, so the id differs from that of the same plan with the default aggregation and adapters.
_PUBLISHED_ADAPTERS = "-adapters4864-init.normal"
PUBLISHED = {
    "": "mmlu_baseline",
    f"@k2m12-mlp.none{_PUBLISHED_ADAPTERS}+cpt": "mmlu_k2m12_cpt",
    f"@k2m12-mlp.none{_PUBLISHED_ADAPTERS}+cpt+sft": "mmlu_k2m12_cpt_sft",
    f"@k2m6-mlp.none{_PUBLISHED_ADAPTERS}+cpt": "mmlu_k2m6_cpt",
    f"@k2m6-mlp.none{_PUBLISHED_ADAPTERS}+cpt+sft": "mmlu_k2m6_cpt_sft",
}
# Checkpoints that the authors trained and published on the hub.
_ON_THE_HUB = {
    f"DongfuJiang/qwen2_chunking_mlp_freeze_uniform_with_shared_start_and_end_2_{layers}_sft": (
        f"mmlu_k2m{layers}_cpt_sft"
    )
    for layers in (12, 6)
}


class Mmlu(Section):
    models: Listed[CheckpointName]
    """Further models to evaluate, unchanged or +tuned. Those that chunking.checkpoints names are
    evaluated anyway, unchanged and in each chunked variant."""
    shots: int = Field(ge=0, le=5)
    """Number of few-shot examples; MMLU has five."""
    prompt: MmluPrompt
    """Blank lines between the instruction and the examples: three, as the installed lighteval puts them
    (installed), or one, as lighteval did when the published tables were made (published)."""
    max_items_per_subject: Count | None
    """Maximum number of questions per subject, in lighteval's shuffled order; null uses all. 8 are
    enough for a first look; a number to be reported needs null."""


def find_published_table(checkpoint: CheckpointId, source: str) -> str | None:
    """Return the name in resources/published of this variant's published table, or None.

    The demo has no published numbers; it uses those of the published model, and default adapters instead of the
    published ones.
    """
    if source == "miniature":
        stand_ins = {
            variant.replace(_PUBLISHED_ADAPTERS, ""): name for variant, name in PUBLISHED.items()
        }
        return stand_ins.get(checkpoint.variant)
    if checkpoint.model == PUBLISHED_MODEL:
        return PUBLISHED.get(checkpoint.variant)
    return _ON_THE_HUB.get(str(checkpoint))
