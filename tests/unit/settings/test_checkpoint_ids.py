"""The ids of chunked checkpoints: two entries of a config share one just where they make one model."""

from hypothesis import given
from hypothesis import strategies as st

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.checkpoint import Checkpoint

MODEL = "miniature/Qwen2-1M-Instruct"
LAYERS = 24
PLANS = [
    {"num_chunks": 2, "num_layers_per_chunk": 12},
    {"num_layers_per_chunk": 12},
    {"num_layers_per_chunk": 6},
    {"num_layers_per_chunk": 6, "mode": "sequential"},
    {"num_layers_per_chunk": 6, "layers_before_chunks": 6},  # as without
    {"num_layers_per_chunk": 6, "layers_before_chunks": 0},
    {"num_layers_per_chunk": 6, "layers_before_chunks": 11},
    {"num_chunks": 0, "num_layers_per_chunk": 0},
    {"mode": "prune", "layers_to_prune": [3, 5]},
    {"mode": "prune", "layers_to_prune": [3]},
]
entries = st.builds(
    lambda plan, **choices: Checkpoint(model=MODEL, **plan, **choices),
    st.sampled_from(PLANS),
    aggregation_mode=st.sampled_from(["mlp", "mean", "last", "residual"]),
    aggregation_base=st.sampled_from(["residual", "mean", "none"]),
    use_adapters=st.booleans(),
    adapter_hidden_size=st.sampled_from([None, 8, 16]),
    adapter_init=st.sampled_from(["identity", "normal"]),
)
distilled = st.builds(
    lambda plan, **choices: Checkpoint(model=MODEL, **plan, **choices),
    st.sampled_from([plan for plan in PLANS if plan.get("num_layers_per_chunk")]),
    distillation=st.booleans(),
    logits_distillation=st.booleans(),
    temperature=st.sampled_from([2.0, 3.0, 0.5, 1e-5, 12345.678]),
    distillation_loss=st.sampled_from(["own", "published"]),
)


def describe_architecture(entry: Checkpoint) -> tuple:
    """Describe the model that a config asks for, without the choices that nothing reads."""
    plan = entry.plan(LAYERS)
    if not plan.chunks:
        return (plan,)
    base = entry.aggregation_base if entry.aggregation_mode == "mlp" else None
    width = entry.adapter_hidden_size if entry.use_adapters else None
    start = entry.adapter_init if entry.use_adapters else None
    learns = entry.distillation or entry.logits_distillation
    return (
        *(entry.mode, plan, entry.aggregation_mode, base, entry.use_adapters, width, start),
        *(entry.distillation, entry.temperature if entry.logits_distillation else None),
        entry.distillation_loss if learns else None,
    )


@given(*[entries | distilled] * 2)
def test_id_is_unique(first, other):
    same = describe_architecture(first) == describe_architecture(other)
    assert (first.id(LAYERS) == other.id(LAYERS)) == same
    same_plan = first.plan(LAYERS) == other.plan(LAYERS)
    assert (first.plan_name(LAYERS) == other.plan_name(LAYERS)) == same_plan
    id = first.id(LAYERS)
    assert CheckpointId.parse(id.in_path) == CheckpointId.parse(str(id)) == id
