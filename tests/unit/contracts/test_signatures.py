"""Hold other libraries to what the package uses of them beyond their promises, by names and parameters.

- accelerate: _hf_hook (chunked/layer_order.py): layers whose inputs it moves are not fused
- datasets: load.dataset_module_factory, replaced, the hash in what it returns, and config.HF_DATASETS_CACHE
  (hub/mirror.py): harnesses read the hub folder by the names they know, and look into it once
- huggingface_hub: git_hash (hub/hub_api.py): small files are held against the checksums of the hub
- lighteval: _loglikelihood_tokens, _padded_greedy_until, tok_encode_pair, from_model
  (evaluation/prefix_lighteval.py): requests are its own, running them is ours; Registry.load_all_task_configs,
  replaced (evaluation/mmlu.py), _load_from_files and _load_from_subdirs (chunked/__main__.py): its
  own imports go online or fail; it switches autograd off, so it has a process of its own and no test here
- lm-eval: HFLM._loglikelihood_tokens, tok_encode, tok_batch_encode, the helpers of lm_eval.models.utils
  (evaluation/prefix_lm.py, evaluation/encoding.py): requests are HFLM's, running them is ours; utils.env.from_string,
  its YAML files and load_yaml (hub/tasks.py): templates are compiled once, definitions read without their data;
  Task._filters (evaluation/baselines.py); DISABLE_MULTIPROC (evaluation/lm_eval_run.py); TemplateAPI
  (evaluation/served.py): prompts are encoded before
- PEFT: _disable_adapters (chunked/distillation.py): a teacher runs without adapters; BaseTunerLayer.merge, the mapping
  of usual target modules, lora_ in names (hub/adapters.py, training/trainable_parameters.py)
- tokenizers: to_str (evaluation/tokenizer_cache.py): what texts share is tokenised once
- PyTorch: varlen_attn, a prototype (evaluation/prefix/attention.py): packed rows without a mask;
  _parameters, _modules, _forward_hooks, _apply (chunked): weights that were moved or replaced are noticed
- transformers: config._attn_implementation; generation's _prepare_generation_config, _prepare_special_tokens and
  _get_logits_processor (evaluation/prefix/sampling.py); masks of four dimensions (training/attention.py);
  DynamicLayer.lazy_initialization (evaluation/prefix/cache.py); conversion_mapping, the forward that walks
  self.layers[...], eager_attention_forward (chunked); _init_weights, _can_record_outputs (chunked/modeling.py);
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
