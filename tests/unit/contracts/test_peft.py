"""Check what the package uses of PEFT beyond its promises.

- _disable_adapters of its layers (chunked/distillation.py): a teacher runs without adapters,
  whose gradients stay on
- BaseTunerLayer.merge, the mapping of usual target modules, lora_ in names (hub/adapters.py,
  training/trainable_parameters.py): merging adapters that transformers loaded; what is trained
"""

import pytest
from peft import LoraConfig, get_peft_model
from peft.utils.constants import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING

from tests.tiny_models import tiny_model
from tests.unit.contracts.names import assert_takes, takes


@takes(
    {
        "peft.tuners.tuners_utils:BaseTunerLayer.merge": "safe_merge",
        "peft.tuners.tuners_utils:BaseTunerLayer.get_base_layer": "self",
        "peft:PeftModel.get_base_model": "self",
        "peft:LoraConfig": "r lora_alpha lora_dropout target_modules exclude_modules task_type",
    }
)
def test_it_takes(name, parameters):
    assert_takes(name, parameters)


def test_targets_that_no_module_has_are_a_value_error():
    config = LoraConfig(target_modules=["no_such_projection"])
    with pytest.raises(ValueError, match="no_such_projection"):
        get_peft_model(tiny_model("qwen2"), config)


@pytest.mark.parametrize("kind", ["qwen2", "qwen3", "llama", "gpt_neox"])
def test_usual_target_modules_of(kind):
    assert TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING[kind]
