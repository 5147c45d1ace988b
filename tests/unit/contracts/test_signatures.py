"""Check names, parameters and source lines of other libraries that the package uses beyond their public API.

- accelerate: _hf_hook (chunked/stacked.py): layers with such a hook, which moves inputs, are not fused
- datasets: load.dataset_module_factory (replaced), the hash in its result, and config.HF_DATASETS_CACHE
  (hub/mirror.py): harnesses find datasets of the hub folder by their usual names, and read the folder once
- lighteval: _padded_greedy_until, tok_encode_pair, from_model (evaluation/prefix_lighteval.py): lighteval builds
  requests, our engine runs them; Registry._load_from_files and _load_from_subdirs (chunked/__main__.py): its
  imports go online or fail; it disables autograd, so it runs in a subprocess and has no test here
- lm-eval: HFLM._loglikelihood_tokens, tok_encode, tok_batch_encode, the helpers of lm_eval.models.utils
  (evaluation/prefix_lm.py, evaluation/encoding.py): HFLM builds requests, our engine runs them; utils.env.from_string,
  its YAML files and load_yaml (hub/tasks.py): templates are compiled once, definitions read without their data;
  Task._filters (evaluation/baselines.py); DISABLE_MULTIPROC (evaluation/lm_eval_run.py); TemplateAPI
  (evaluation/served.py): it takes prompts that are already encoded
- PEFT: _disable_adapters (chunked/distillation.py): the teacher runs without adapters; BaseTunerLayer.merge, the
  mapping of default target modules, lora_ in names (hub/adapters.py, training/trainable_parameters.py)
- tokenizers: to_str (evaluation/tokenizer_cache.py): shared parts of texts are tokenized once
- PyTorch: varlen_attn, a prototype (evaluation/prefix/attention.py): packed rows without a mask;
  _parameters, _modules, _forward_hooks, _apply (chunked): detect moved or replaced weights
- transformers: config._attn_implementation; generation's _prepare_generation_config, _prepare_special_tokens and
  _get_logits_processor (evaluation/prefix/sampling.py); 4D masks (training/attention.py);
  DynamicLayer.lazy_initialization (evaluation/prefix/cache.py); conversion_mapping, the forward that iterates
  over self.layers[...], eager_attention_forward (chunked); _init_weights, _can_record_outputs (chunked/modeling.py);
  _hf_peft_config_loaded, _weight_conversions (hub/adapters.py); Trainer._load_from_checkpoint, save_model,
  _determine_best_metric, compute_loss_context_manager (training/trainer.py); TrainingArguments._n_gpu
  (training/run.py)
"""

import inspect
from pkgutil import resolve_name

import pytest

from tests.tables import load_table


@pytest.mark.parametrize(("name", "parameters"), load_table(__file__, "signatures.txt"))
def test_signature(name, parameters):
    accepted = inspect.signature(resolve_name(name)).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values()):
        assert set(parameters.split()) <= set(accepted)


@pytest.mark.parametrize(("name", "text"), load_table(__file__, "sources.txt"))
def test_source(name, text):
    assert text in inspect.getsource(resolve_name(name))
