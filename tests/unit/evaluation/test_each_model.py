"""Several measurements in one job: one that fails costs no other."""

import pytest

from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.each_model import measure_each


def test_what_fails_leaves_the_others_to_be_made(world, model_manifest, tmp_path, capsys):
    data = world / "datasets/cais/mmlu/manifest.json"
    outputs = [tmp_path / f"{name}.json" for name in ("first", "broken", "last")]

    def measure(model, hub, output, asked):
        if asked == "broken":
            raise UserError("this one cannot be measured")
        output.write_text(asked)

    with pytest.raises(UserError, match="cannot be measured"):
        measure_each(
            measure,
            [model_manifest],
            [path.stem for path in outputs],
            [data],
            outputs,
            version="1",
            reader=None,
        )
    assert [path.exists() for path in outputs] == [True, False, True]
    assert f"{outputs[1]} failed: this one cannot be measured" in capsys.readouterr().out
