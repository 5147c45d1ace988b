"""Check what the package uses of lm-eval beyond its promises.

- HFLM._loglikelihood_tokens, tok_batch_encode, the helpers of lm_eval.models.utils, stop strings
  looked for in as many tokens as they have and two more (evaluation/prefix_lm.py): requests are
  HFLM's, running them is ours
- HFLM.tok_encode and tok_batch_encode, answered from texts encoded together; has_bos_prefix,
  add_bos_token (evaluation/encoding.py): each distinct string is tokenised once, in batches on
  all threads, beside the model on a GPU
- HFLM made with a config in place of a model, HFLM._loglikelihood_tokens
  (evaluation/encoding.py): what is trained on has the tokens of the test, and no weights are
  loaded to find them
- utils.env.from_string, replaced (hub/tasks.py): each template is compiled once and not for each
  item
- the YAML files in its tasks, read as text (hub/tasks.py): indexing 14,000 files takes eight
  seconds, a search a twentieth
- tasks._yaml_loader.load_yaml, tasks._index.Kind (hub/tasks.py): a task's definition without its
  data, which would have to be fetched first
- Task._filters (evaluation/baselines.py): fixed answers are read as a model's are
- DISABLE_MULTIPROC (evaluation/lm_eval_run.py): its bootstrap forks no process per CPU
- TemplateAPI.get_batched_requests and tokenized_requests of its client of servers
  (evaluation/served.py): prompts are encoded before
"""

import multiprocessing

from lm_eval.api.metrics import bootstrap_stderr
from lm_eval.models.utils_hf import MultiTokenEOSCriteria
from lm_eval.utils import apply_template, env
from transformers import AutoTokenizer

from tests.unit.contracts.names import assert_takes, takes
from workflow_scripts.evaluation.prefix_lm import _LOOKBACK

HUGGINGFACE, UTILS = "lm_eval.models.huggingface:HFLM", "lm_eval.models.utils"


@takes(
    {
        f"{HUGGINGFACE}._loglikelihood_tokens": "requests disable_tqdm override_bs",
        f"{HUGGINGFACE}.loglikelihood": "requests disable_tqdm",
        f"{HUGGINGFACE}.apply_chat_template": "chat_history add_generation_prompt",
        f"{HUGGINGFACE}.loglikelihood_rolling": "requests disable_tqdm",
        f"{HUGGINGFACE}.generate_until": "requests disable_tqdm",
        f"{HUGGINGFACE}.tok_encode": "string add_special_tokens left_truncate_len",
        f"{HUGGINGFACE}.tok_decode": "tokens skip_special_tokens",
        f"{HUGGINGFACE}.tok_batch_encode": "strings left_truncate_len truncation",
        f"{UTILS}:has_bos_prefix": "sequence bos_str",
        f"{UTILS}:handle_stop_sequences": "until eos",
        f"{UTILS}:normalize_gen_kwargs": "gen_kwargs default_max_gen_toks",
        f"{UTILS}:postprocess_generated_text": "generation stop think_end_token",
        "lm_eval.models.api_models:TemplateAPI.get_batched_requests": "requests cache_keys generate",
        "lm_eval.models.openai_completions:LocalCompletionsAPI.parse_logprobs": "outputs",
        "lm_eval.utils:get_rolling_token_windows": "token_list prefix_token max_seq_len context_len",
        "lm_eval.utils:make_disjoint_window": "pair",
        "lm_eval.tasks:TaskManager": "include_defaults include_path",
        "lm_eval.tasks._yaml_loader:load_yaml": "path resolve_func",
        "lm_eval:evaluate": "lm task_dict samples bootstrap_iters log_samples apply_chat_template",
        "lm_eval.api.task:ConfigurableTask.fewshot_context": (
            "doc num_fewshot apply_chat_template chat_template gen_prefix"
        ),
    }
)
def test_it_takes(name, parameters):
    assert_takes(name, parameters)


def test_multi_token_eos_criteria_looks_back_as_far_as_we_do(model_manifest):
    tokenizer = AutoTokenizer.from_pretrained(model_manifest.parent)
    criteria = MultiTokenEOSCriteria("the", tokenizer, 0, 1)
    assert criteria.sequence_id_len == len(criteria.sequence_ids) + _LOOKBACK


def test_env_from_string_compiles_each_template_at_each_use(monkeypatch):
    """So that replacing it by a cached one spares the compiling."""
    compiled = []
    original = env.from_string
    monkeypatch.setattr(env, "from_string", lambda text: compiled.append(text) or original(text))
    assert apply_template("{{a}}!", {"a": 1}) == "1!"
    assert compiled == ["{{a}}!"]


def test_disable_multiproc_keeps_the_bootstrap_in_this_process(monkeypatch):
    def refuse(*_):
        raise AssertionError("a pool was started")

    monkeypatch.setattr(multiprocessing, "Pool", refuse)
    monkeypatch.setenv("DISABLE_MULTIPROC", "1")
    assert bootstrap_stderr(lambda xs: sum(xs) / len(xs), [0.0, 1.0] * 10, iters=100) > 0
