"""Memory of submitted models."""

from workflow_scripts.planning.memory import submitted_mb


def test_a_submitted_model_takes_twice_its_weights_and_four_bytes_more_in_training():
    assert submitted_mb(1_000_000_000, "bfloat16", trains=False) == 3_000 + 4_000
    assert submitted_mb(1_000_000_000, "float32", trains=True) == 3_000 + 12_000
