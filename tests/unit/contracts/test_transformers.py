"""Check what the package uses of transformers beyond its promises.

- config._attn_implementation (chunked, evaluation, hub/load.py, training): the attention that
  runs, for the record and for what depends on it
- _prepare_generation_config, _prepare_special_tokens, _get_logits_processor, _eos_token_tensor
  (evaluation/prefix/sampling.py): tokens are chosen by its own processors, one request at a time
- arguments of forward reach the attention that was registered under a name, and the
  _attn_implementation of the config changes it between two calls
  (evaluation/prefix/attention.py): packed tokens attend without masks of all tokens and keys
- masks of four dimensions, and dicts of them by layer type, are passed through
  (training/attention.py): rows of samples have masks of their own
- layer_class_to_replicate, DynamicLayer.lazy_initialization, attention right after Cache.update
  of its layer (evaluation/prefix/cache.py): a cache that drops entries and copies
  none; rows that share a start
- conversion_mapping: the names that weights have in files, by type of model
  (chunked/__init__.py): experts of a base model's files are found
- the forward of Llama, Qwen2 and Qwen3 walks self.layers[...]; eager_attention_forward,
  ALL_ATTENTION_FUNCTIONS, variance_epsilon (chunked): stages stand where layers did, and nothing
  is rewritten
- _init_weights, _can_record_outputs, _keys_to_ignore_on_load_unexpected, generation_config_class
  (chunked/modeling.py, hub/chunk.py): a model class of one's own, as its own are written
- _hf_peft_config_loaded, _weight_conversions, set (hub/adapters.py): a model whose adapters were
  merged is saved as a plain one
- Trainer._load_from_checkpoint, save_model(_internal_call), model_accepts_loss_kwargs,
  compute_loss_context_manager, _determine_best_metric (training/trainer.py): a state holds what
  is trained and nothing else, and is saved at each new best; the loss is that of the step's
  tokens; autocast leaves nothing in the model
- sdpa_attention_forward, sdpa_mask; cu_seq_lens_q, max_length_q and their like handed down to
  flash attention (training/attention.py, training/varlen.py): packed samples are attended to by
  its own kernel, stretch by stretch, or by one that is told their ends
- TrainingArguments._n_gpu, set (training/run.py): one process trains on one GPU, however many it
  sees
"""

import inspect
import re
from pkgutil import resolve_name

import pytest
import torch
from transformers import PreTrainedModel, Trainer
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from tests.tiny_models import tiny_model
from tests.unit.contracts.names import assert_takes, takes
from workflow_scripts.chunked.architectures import ARCHITECTURES

GENERATION = "transformers.generation.utils:GenerationMixin"
SCORED = "module query key value attention_mask"


@takes(
    {
        f"{GENERATION}._prepare_generation_config": "generation_config",
        f"{GENERATION}._prepare_special_tokens": "generation_config device",
        f"{GENERATION}._get_logits_processor": (
            "generation_config input_ids_seq_length encoder_input_ids device model_kwargs"
        ),
        "transformers:PreTrainedModel._init_weights": "module",
        "transformers:PreTrainedModel.set_attn_implementation": "attn_implementation",
        "transformers:Trainer._load_from_checkpoint": "resume_from_checkpoint model",
        "transformers:Trainer.save_model": "output_dir _internal_call",
        "transformers:Trainer.compute_loss": "model inputs return_outputs num_items_in_batch",
        "transformers:Trainer.compute_loss_context_manager": "self",
        "transformers:Trainer.floating_point_ops": "inputs",
        "transformers:Trainer._determine_best_metric": "metrics trial",
        "transformers.modeling_utils:ALL_ATTENTION_FUNCTIONS.get_interface": (
            "attn_implementation default"
        ),
        "transformers.models.llama.modeling_llama:eager_attention_forward": f"{SCORED} scaling dropout",
        "transformers.integrations.sdpa_attention:sdpa_attention_forward": f"{SCORED} scaling dropout",
        "transformers.masking_utils:sdpa_mask": "batch_size q_length kv_length attention_mask",
        "transformers.cache_utils:DynamicLayer.update": "key_states value_states",
        "transformers.cache_utils:DynamicLayer.lazy_initialization": "key_states value_states",
        "transformers.initialization:zeros_": "tensor",
        "transformers.initialization:copy_": "tensor other",
        "transformers.utils.output_capturing:OutputRecorder": "target_class",
    }
)
def test_it_takes(name, parameters):
    assert_takes(name, parameters)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("self.model_accepts_loss_kwargs", Trainer),
        ("self._load_from_checkpoint(", Trainer),
        ("is_new_best_metric = self._determine_best_metric(", Trainer),
        ("with self.compute_loss_context_manager():", Trainer),
        ('getattr(model, "_weight_conversions", None)', "transformers.core_model_loading"),
        ('getattr(self, "_hf_peft_config_loaded", False)', PreTrainedModel),
    ],
    ids=lambda part: part if isinstance(part, str) else part.__name__,
)
def test_its_source_reads(text, where):
    """Attributes that we set, so that it acts on them."""
    where = resolve_name(where) if isinstance(where, str) else where
    assert text in inspect.getsource(where)


@pytest.mark.parametrize(
    "model", [each.model for each in ARCHITECTURES.values()], ids=lambda model: model.__name__
)
def test_forward_walks_a_slice_of_layers(model):
    """Behind that slice a chunked model puts its stages."""
    model = model.__bases__[1]  # behind what chunks it
    walked = re.findall(r"in (?:enumerate\()?self\.layers(\S*)", inspect.getsource(model.forward))
    assert len(walked) == 1
    assert walked[0].startswith("[")


def test_the_config_alone_decides_how_the_next_call_attends():
    """Which is changed around every block of tokens, without a walk through the modules."""
    calls = []

    def noting(module, query, key, value, attention_mask, **arguments):
        calls.append(module)
        return query.transpose(1, 2), None

    ALL_ATTENTION_FUNCTIONS["noting"] = noting
    model, ids = tiny_model("qwen2"), torch.tensor([[1, 2, 3]])
    for name, expected in (("noting", model.config.num_hidden_layers), ("sdpa", 0)):
        calls.clear()
        model.config._attn_implementation = name
        model(ids)
        assert len(calls) == expected
    del ALL_ATTENTION_FUNCTIONS["noting"]
    assert "noting" not in ALL_ATTENTION_FUNCTIONS
