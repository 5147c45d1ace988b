"""Check what the package uses of lighteval beyond its promises in a process of its own, never beside lm-eval.

- _loglikelihood_tokens, _padded_greedy_until, tok_encode_pair and the tok_encode that it asks,
  what from_model sets, stop strings looked for in as many tokens as they have
  (evaluation/prefix_lighteval.py): as for lm-eval
- Registry.load_all_task_configs, replaced (evaluation/mmlu.py): its own imports modules
  that go online or fail
- Registry._load_from_files, _load_from_subdirs, called for one module at a time
  (chunked/lighteval_tasks.py): its own program stops where one of its modules of tasks cannot be
  imported
- importing it switches autograd off (evaluation/mmlu.py): why it has a process of its
  own
"""

import json

import pytest

from tests.processes import python

pytestmark = pytest.mark.slow  # it imports lighteval, which takes ten seconds

CHILD = """
import inspect, json, sys
from pkgutil import resolve_name
import torch
before = torch.is_grad_enabled()
from lighteval.tasks.registry import Registry
from lighteval.models.transformers import transformers_model

MODEL = "lighteval.models.transformers.transformers_model:TransformersModel"
found = {}

def tried(name, question):
    try:
        found[name] = bool(question())
    except Exception as error:
        found[name] = repr(error)

def takes(name, parameters):
    signature = inspect.signature(resolve_name(name)).parameters
    assert set(parameters.split()) <= set(signature), [*signature]
    return True

for name, parameters in {
    f"{MODEL}.from_model": "model config accelerator",
    f"{MODEL}._loglikelihood_tokens": "docs rolling",
    f"{MODEL}._padded_greedy_until": "docs",
    f"{MODEL}.tok_encode_pair": "context continuations pairwise",
    f"{MODEL}.cleanup": "self",
    "lighteval.tasks.registry:Registry.load_all_task_configs": "custom_tasks load_multilingual",
    "lighteval.data:GenerativeTaskDataset": "requests num_dataset_splits",
    "lighteval.data:GenerativeTaskDataset.get_original_order": "new_arr",
    "lighteval.models.model_output:ModelResponse": (
        "text logprobs argmax_logits_eq_gold input_tokens output_tokens"
    ),
}.items():
    tried(name.partition(":")[2], lambda: takes(name, parameters))

source = inspect.getsource(transformers_model.TransformersModel.from_model)
for name in ("generation_config_dict", "use_chat_template", "prompt_manager"):
    tried(name, lambda: f"self.{name} =" in source)
for name in ("add_special_tokens", "max_length", "tokenizer", "DATASET_SPLITS"):
    tried(name, lambda: hasattr(transformers_model.TransformersModel, name))

def stops_look_back():
    class Words:
        def encode(self, text, add_special_tokens): return text.split()
    signature = inspect.signature(transformers_model.MultiTokenEOSCriteria).parameters
    given = {"tokenizer": Words(), "initial_decoder_input_length": 0, "input_ids_shape": (1, 1),
             "batch_size": 1}
    made = transformers_model.MultiTokenEOSCriteria(
        "a b", **{name: value for name, value in given.items() if name in signature})
    return made.sequence_id_len == 2 + int(sys.argv[1])

tried("MultiTokenEOSCriteria looks back as far as we do", stops_look_back)

def registry_asks():
    original = Registry.__dict__["load_all_task_configs"]
    assert isinstance(original, staticmethod)
    asked = []
    Registry.load_all_task_configs = staticmethod(
        lambda custom_tasks=None, load_multilingual=False: asked.append(1) or {})
    Registry(tasks=None)
    Registry.load_all_task_configs = original
    return asked

tried("a registry asks load_all_task_configs for its tasks", registry_asks)

from workflow_scripts.evaluation.mmlu import subject_configs
tried("a task's config can be made again with other metrics", lambda: len(subject_configs("published")) == 57)
tried("importing it switches autograd off", lambda: before and not torch.is_grad_enabled())
print(json.dumps(found))
"""


def test_lighteval_has_and_does_all_of_it():
    found = json.loads(python(CHILD, 0).splitlines()[-1])
    assert found == dict.fromkeys(found, True) and len(found) == 20
