"""Planning by what `make bench-gpu` measured of a GPU."""

import json

import pytest

from tests.unit.planning.test_needs import LARGE, training_alone
from tests.unit.planning.test_plan import job
from tests.unit.settings.merged import ROOT, merged
from workflow_scripts.core.errors import UserError
from workflow_scripts.planning.basis import basis
from workflow_scripts.planning.measured import AS_PLANNED
from workflow_scripts.planning.needs import Planner
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.load import load_settings

RATES = {"reading_tflops": 90.0, "training_tflops": 60.0, "weights_gb_s": 900.0, "layer_us": 300.0}
REPORT = {
    "device": "NVIDIA A100-SXM4-80GB",
    "small": False,
    "measured": "2026-11-01",
    "rates": RATES,
    "parts": {},
}


def written(tmp_path, **changes):
    path = tmp_path / "gpu.json"
    path.write_text(json.dumps(REPORT | changes))
    return str(path)


def settings(**cluster):
    config = {
        "source": "huggingface",
        "compute": {"device": "cuda", "dtype": "bfloat16"},
        "harmony": {"models": [LARGE]},
        "prompts": {"models": []},
        "chunking": {"checkpoints": []},
        "cluster": cluster,
    }
    return load_settings(merged(config), ROOT)


def planner(**cluster):
    return Planner(settings(**cluster))


def test_rates_that_were_measured_stand_for_the_shares(tmp_path):
    def training(**rates):
        return training_alone(
            settings(measured=written(tmp_path, rates=RATES | rates)), LARGE, "mnli"
        )

    once = training()
    # 50,000 items of 50 tokens, five epochs, 4 operations a parameter: computing decides, not launching.
    assert once == pytest.approx(5 * 392_702 * 50 * 4 * 14.77e9 / 60e12, rel=0.01)
    assert training(training_tflops=30.0) == pytest.approx(2 * once)
    assert training(layer_us=30_000.0) > 3 * once


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"small": True}, "the small form of the benchmark on NVIDIA A100-SXM4-80GB"),
        ({"device": "NVIDIA H200"}, "measured on NVIDIA H200, and cluster.gpu is 'A100-80GB'"),
        ({"rates": RATES | {"layer_us": 0}}, "rates.layer_us: Input should be greater than 0"),
        ({"rates": RATES | {"reading": 1}}, "rates.reading: Extra inputs"),
    ],
)
def test_a_report_that_says_nothing_of_the_clusters_gpu_is_refused_in_a_sentence(
    tmp_path, changes, said
):
    path = written(tmp_path, **changes)
    with pytest.raises(UserError, match=said) as error:
        planner(measured=path)
    assert f"cluster.measured is {path!r}" in str(error.value)


def test_a_file_that_is_no_report_is_refused(tmp_path):
    path = tmp_path / "gpu.json"
    path.write_text("[1, 2")
    with pytest.raises(UserError, match="no report of `make bench-gpu`: Invalid JSON"):
        planner(measured=str(path))


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(UserError, match=r"cluster\.measured is 'none\.json'; expected a file"):
        planner(measured="none.json")


def test_the_plan_says_what_its_times_rest_on(tmp_path):
    jobs = [job("evaluate_direct", 100, gpus=1)]
    assert "calibrated on no GPU yet" in basis(jobs, jobs, AS_PLANNED, Cluster())[0]
    path = written(tmp_path)
    measured = basis(jobs, jobs, AS_PLANNED, Cluster(measured=path))[0]
    assert f"measured on NVIDIA A100-SXM4-80GB ({path}, 2026-11-01)" in measured
    assert basis([job("a", 1)], [job("a", 1)], AS_PLANNED, Cluster()) == []
