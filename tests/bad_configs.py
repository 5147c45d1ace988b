"""Configs that must be refused, and what the sentences about them must say.

`BAD_CONFIGS` are overrides of config/config.yaml, checked in the process; `COMMAND_LINES` are run
through Snakemake itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

TOKEN = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz"
REMEDY = "the variable HF_TOKEN"
# What lines below may begin with: one checkpoint to be chunked, and one of the named recipes.
_WITHIN = {
    "@": "chunking: {{checkpoints: [{{model: miniature/Qwen2-1M-Instruct, {}}}]}}",
    "%": "training: {{recipes: {{miniature-cpt: {{{}}}}}}}",
}


@dataclass(frozen=True)
class BadConfig:
    """One override, and for each problem expected the texts its sentence must hold."""

    name: str
    override: Mapping[Any, Any]
    problems: tuple[tuple[str, ...], ...]
    hidden: str = TOKEN


@dataclass(frozen=True)
class CommandLine:
    """Arguments and files for a run of Snakemake that must fail, and texts it must print."""

    name: str
    arguments: tuple[str, ...]
    printed: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    hidden: str = TOKEN


def each_alone(table: str, *always: str, hidden: str = TOKEN) -> list[BadConfig]:
    """A line each: the override as a user writes it, and behind bars what its one sentence must hold."""
    found = []
    for line in filter(None, table.splitlines()):
        written, *texts = line.replace("<token>", TOKEN).split(" | ")
        if within := _WITHIN.get(written[0]):
            written = within.format(written[2:])
        override = yaml.safe_load(f"{{{written}}}")
        found.append(BadConfig(written, override, ((*texts, *always),), hidden))
    return found


UNKNOWN_KEYS = r"""
harmonie: {} | harmonie is an empty mapping | no such key | 'harmony'
sead: 3 | sead is 3 | the config has no such key | mean 'seed'?
compute: {thread: 4} | compute.thread is 4 | mean 'threads'?
hub: {zzz: null} | hub.zzz is null | expected path or lock.
compute: {DEVICE: cpu} | compute.DEVICE is 'cpu' | 'device'
@ num_chunks: 2, num_layers_per_chunk: 6, aggregation: mlp | chunking.checkpoints[0].aggregation is 'mlp'
compute.threads: 2 | 'compute.threads' is written as one key | compute: {threads: ...}.
threads: 4 | threads is 4 | did you mean 'compute.threads'?
"my key\n": 1 | 'my key\n' is 1 | no such key
true: 1 | the config has the key true | bool | expected text
compute: {8: 1} | compute has the key 8 | int | expected text
hub: {null: 1} | hub has the key null | NoneType | expected text
"""

WRONG_KINDS = r"""
harmony: null | harmony is null | the keys models, tasks
compute: 3 | compute is 3 | a mapping with the keys device
hub: [resources/hub] | hub is a list | keys path and lock.
miniature: small | miniature is 'small' | with the key items.
tables: null | tables is null | keys models, tasks, work, devices,
seed: three | seed is the text 'three' | a whole number from 0
compute: {threads: '4'} | compute.threads is the text '4' | at least 1.
compute: {threads: true} | compute.threads is true
compute: {batch_size: 2.5} | batch_size is 2.5 | a whole number
seed: 1.0 | seed is 1.0 | a whole number
seed: null | seed is null | a whole number from 0 to 4294967295.
hub: {path: 7} | hub.path is 7 | text that is not empty.
hub: {path: 'a/{b}'} | hub.path is 'a/{b}' | expected a path without braces
hub: {path: "a\nb"} | hub.path is 'a\nb' | expected a path without
hub: {lock: ''} | hub.lock is '' | text that is not empty.
source: [miniature] | source is a list | 'huggingface'
harmony: {tasks: sst2} | harmony.tasks is 'sst2' | a list
harmony: {imported_scores: {a: 1}} | imported_scores is a mapping
harmony: {models: [3]} | harmony.models[0] is 3 | the name
chunking: {checkpoints: [k2m6]} | checkpoints[0] is 'k2m6' | the keys model
compute: {dtype: true} | compute.dtype is true | 'float32'
training: {recipes: {cpt: {lora_alpha: 1e3}}} | training.recipes.cpt.lora_alpha is the text '1e3' | a number above 0, written 1.0e+3 in YAML.
"""

CLUSTERS = """
cluster: {gpu: A100-80G} | cluster.gpu is 'A100-80G' | 'A100-80GB'?
cluster: {node_memory_gb: 0} | node_memory_gb is 0 | at least 1.
cluster: {reserve: 0.5} | cluster.reserve is 0.5 | at least 1
cluster: {reading_use: 1.5} | reading_use is 1.5 | and at most 1.
cluster: {longest_hours: 24h} | longest_hours is the text '24h'
tables: {devices: none.tsv} | tables.devices is 'none.tsv' | a file
"""

OUT_OF_RANGE = """
compute: {threads: 0} | compute.threads is 0 | at least 1.
compute: {batch_size: -8} | batch_size is -8 | at least 1.
seed: -1 | seed is -1 | from 0 to 4294967295.
seed: 4294967296 | seed is 4294967296 | from 0 to 4294967295.
miniature: {effort: 1} | miniature.effort is 1 | no such key
training: {recipes: {cpt: {lora_alpha: 0}}} | recipes.cpt.lora_alpha is 0 | above 0.
training: {recipes: {cpt: {lora_alpha: .inf}}} | lora_alpha is inf | above 0.
miniature: {items: 0} | miniature.items is 0 | at least 1.
harmony: {tasks: [rte, mnli], task_pair: [rte, qnli]} | harmony: task_pair names 'qnli'; expected two of harmony.tasks (did you mean 'mnli'?)
harmony: {tasks: [mnli, rte, sst2], task_pair: [mnli, rte, sst2]} | harmony: task_pair is ['mnli', 'rte', 'sst2']; expected two of harmony.tasks, or none
harmony: {task_pair: [mnli]} | task_pair is ['mnli']; expected two
harmony: {task_pair: mnli} | harmony.task_pair is 'mnli' | a list
harmony: {shots: -5} | harmony.shots is -5 | at least 1.
harmony: {max_test_items: 0} | harmony.max_test_items is 0 | at least 1, or null.
mmlu: {shots: 6} | mmlu.shots is 6 | from 0 to 5.
mmlu: {max_items_per_subject: 0} | mmlu.max_items_per_subject is 0 | at least 1, or null.
source: hugingface | source is 'hugingface' | 'huggingface'?).
compute: {dtype: bf16} | dtype is 'bf16' | 'bfloat16'
compute: {device: gpu} | device is 'gpu' | or 'cuda'
compute: {attention: flash_attention_2, device: cuda} | compute.attention is 'flash_attention_2' | compute.dtype 'float32'
compute: {attention: flash_attention_2, device: cpu, dtype: bfloat16} | compute.attention is 'flash_attention_2' | compute.device 'cpu'
"""

NAMES = """
harmony: {models: [miniature/Lama-1.4M]} | harmony.models[0] is 'miniature/Lama-1.4M' | did you mean 'miniature/Llama-1.4M'?
harmony: {tasks: [sst2, arc_eazy]} | harmony.tasks[1] is 'arc_eazy' | did you mean 'arc_easy'?
harmony: {tasks: [mmlu_helm]} | harmony.tasks[0] is 'mmlu_helm' | lighteval
chunking: {checkpoints: [{model: miniature/Qwen3-1M, num_chunks: 2, num_layers_per_chunk: 6}]} | chunking.checkpoints[0].model is 'miniature/Qwen3-1M' | 'miniature/Qwen2-1M'
harmony: {models: [Qwen/Qwen2.5-0.5B-Instruct]} | harmony.models[0] is 'Qwen/Qwen2.5-0.5B-Instruct' | source 'miniature' | 'huggingface'
harmony: {models: [acme/../../secrets]} | harmony.models[0] is 'acme/../../secrets' | organisation/name
harmony: {models: [..a/Llama-1.4M]} | harmony.models[0] is '..a/Llama-1.4M' | begin and end with a letter
harmony: {models: [../Llama-1.4M]} | harmony.models[0]: '../Llama-1.4M' is no model | there is no folder ../Llama-1.4M
harmony: {tasks: []} | harmony.tasks is an empty list | least one
harmony: {models: [miniature/Llama-1.4M, miniature/Llama-1.4M]} | harmony.models[1] is 'miniature/Llama-1.4M', as harmony.models[0] is
harmony: {tasks: [sst2, wic, sst2]} | harmony.tasks[2] is 'sst2', as harmony.tasks[0] is
harmony: {imported_scores: [scores/absent.csv]} | harmony.imported_scores[0] is 'scores/absent.csv' | there is none
harmony: {imported_scores: [README.md]} | harmony.imported_scores[0] is 'README.md' | .csv
tables: {models: config/absent.tsv} | tables.models is 'config/absent.tsv' | beside the Snakefile
tables: {tasks: config} | tables.tasks is 'config' | beside the Snakefile
"""

PLANS = """
@ num_chunks: 5, num_layers_per_chunk: 6 | chunking.checkpoints[0] | miniature/Qwen2-1M-Instruct | 24 layers cannot be cut into 5 chunks of 6 | 4 chunks of 6
@ num_chunks: 2, num_layers_per_chunk: 6, layers_before_chunks: 13 | chunking.checkpoints[0] | 2 chunks of 6 layers behind 13 layers do not fit into 24 layers | from 0 to 12
@ mode: sequential, num_layers_per_chunk: 6, layers_before_chunks: 2 | chunking.checkpoints[0] | layers_before_chunks is 2 with the mode sequential
chunking: {search: {models: [miniature/Pythia-1M]}} | chunking: search.models[0] is 'miniature/Pythia-1M', of the family Pythia | Qwen2
@ num_chunks: 1, num_layers_per_chunk: 7 | chunking.checkpoints[0] | 24 layers cannot be cut into 1 chunk of 7
@ mode: sequential, num_layers_per_chunk: 7 | chunking.checkpoints[0] | 24 layers cannot be cut into chunks of 7 | sequential | 4 chunks of 6
@ mode: uniform, num_layers_per_chunk: 6, num_chunks: 2 | 2 chunks of 6 | 4 chunks of 6
@ num_chunks: 2 | chunking.checkpoints[0] | num_layers_per_chunk is
@ num_chunks: 2, num_layers_per_chunk: -6 | chunking.checkpoints[0].num_layers_per_chunk is -6 | at least 0, or null.
@ mode: unifrom, num_layers_per_chunk: 6 | chunking.checkpoints[0].mode is 'unifrom' | did you mean 'uniform'?
chunking: {checkpoints: [{num_chunks: 2}]} | checkpoints[0].model is missing | name
chunking: {checkpoints: [{model: miniature/Pythia-1M, num_chunks: 1, num_layers_per_chunk: 2}]} | chunking.checkpoints[0]: model is 'miniature/Pythia-1M', of the family Pythia | Qwen2, Qwen3 or Llama
@ mode: prune | chunking.checkpoints[0]: layers_to_prune is empty
@ mode: prune, num_chunks: 2, layers_to_prune: [24] | chunking.checkpoints[0]: num_chunks is 2 | mode prune
@ mode: prune, layers_to_prune: [25] | layers_to_prune names the layer 25 | from 1 to 24
@ mode: prune, layers_to_prune: [0] | chunking.checkpoints[0].layers_to_prune[0] is 0 | at least 1.
@ mode: prune, layers_to_prune: [3, 5, 3] | layers_to_prune[2] is 3 | layers_to_prune[0]
@ num_chunks: 2, num_layers_per_chunk: 6, layers_to_prune: [3] | layers_to_prune is [3] | only the mode prune
chunking: {checkpoints: [{model: miniature/Qwen2-1M-Instruct, num_chunks: 2, num_layers_per_chunk: 6}, {model: miniature/Qwen2-1M-Instruct, num_layers_per_chunk: 6}]} | chunking: checkpoints[1] is 'miniature/Qwen2-1M-Instruct@k2m6', as checkpoints[0] is
chunking: {checkpoints: [{model: miniature/Qwen2-1M-Instruct, num_layers_per_chunk: 6}, {model: miniature/Qwen2-1M-Instruct, num_layers_per_chunk: 6}]} | chunking: checkpoints[1] is 'miniature/Qwen2-1M-Instruct@k2m6', as checkpoints[0] is
chunking: {checkpoints: [{model: miniature/Qwen2-1M-Instruct, num_layers_per_chunk: 6, temperature: 2.0}, {model: miniature/Qwen2-1M-Instruct, num_layers_per_chunk: 6, temperature: 3.0}]} | chunking: checkpoints[1] is 'miniature/Qwen2-1M-Instruct@k2m6', as checkpoints[0] is
@ mode: prune, layers_to_prune: [3], distillation: true | chunking.checkpoints[0]: distillation is true, but the plan has no chunks | expected false
prompts: {models: [miniature/Qwen2-1M-Instruct@k2m12-mlp.non]} | prompts.models[0] is 'miniature/Qwen2-1M-Instruct@k2m12-mlp.non' | -<aggregation>, -noadapters and -distil.<of what>
prompts: {models: [miniature/Qwen2-1M-Instruct@k2m12-mlp.mean]} | prompts.models[0] is 'miniature/Qwen2-1M-Instruct@k2m12-mlp.mean' | did you mean 'miniature/Qwen2-1M-Instruct@k2m12-mean'?
@ num_chunks: 2, num_layers_per_chunk: 0 | 24 layers cannot be cut into 2 chunks of 0 | 0 chunks of 0 is the unchanged model
chunking: {measures: {devices: [1, 2]}}, compute: {device: cpu} | chunking.measures.devices has 2, but compute.threads is 1; expected at most as many
chunking: {measures: {devices: [4]}}, cluster: {gpus_per_node: 2} | chunking.measures.devices has 4, but cluster.gpus_per_node is 2; expected at most as many
chunking: {measures: {precisions: [bfloat16, float32]}} | chunking.measures.precisions has 'float32', which is compute.dtype; expected other number formats
chunking: {measures: {devices: [0]}} | chunking.measures.devices[0] is 0 | at least 1.
chunking: {measures: {latency_models: [miniature/Pythia-1M]}} | measures.latency_models[0] is 'miniature/Pythia-1M', of the family Pythia
chunking: {measures: {latency_models: [miniature/Llama-0.3M]}} | measures.latency_layers has no plan for the 3 layers of 'miniature/Llama-0.3M'; expected
"""

TRAINING = """
% method: Lora | training.recipes.miniature-cpt.method is 'Lora' | 'lora'
% trains: [warpper] | training.recipes.miniature-cpt.trains[0] | did you mean 'wrapper'?
% trains: [] | training.recipes.miniature-cpt | method is 'freeze' and trains is empty
% method: full | training.recipes.miniature-cpt | method is 'full' and trains is not empty; expected none of it
% micro_batch_size: 3 | micro_batch_size is 3 and batch_size 8; expected a size that divides it
% gpus: 3 | gpus is 3 and batch_size 8; expected a number that divides it
% sharded: true | sharded is true and gpus is 1; expected 2 or more
% dataset: null | dataset is None and files is []; expected exactly one
% files: [envs/requirements.txt] | dataset is 'Salesforce/wikitext' and files is [ | expected exactly one of them
% files: [nowhere.jsonl] | training.recipes.miniature-cpt.files[0] is 'nowhere.jsonl' | expected a file
% select: best, validation: 0 | select is 'best' and validation is 0; expected a share to choose the best on
% lora_targets: [] | training.recipes.miniature-cpt.lora_targets
% learning_rate: 0 | training.recipes.miniature-cpt.learning_rate is 0 | a number above 0
% warm_up: 1 | training.recipes.miniature-cpt.warm_up is 1 | at least 0 and below 1
% max_length: 1 | training.recipes.miniature-cpt.max_length is 1 | 2
% learning_rte: 0.001 | training.recipes.miniature-cpt.learning_rte | 'learning_rate'
training: {cpt: ctp} | cpt is 'ctp'; expected one of the recipes
training: {cpt: null} | sft is set and cpt is null; the sft of a checkpoint resumes from its cpt
"""

SUITE = """
suite: {tasks: []} | suite.tasks is an empty list; expected a list of at
suite: {tasks: [{task: arc_chalenge, shots: 25}]} | suite.tasks[0].task is 'arc_chalenge' | did you mean 'arc_challenge'?
suite: {tasks: [{task: mmlu_helm, shots: 5}]} | suite.tasks[0].task is 'mmlu_helm'; expected a task of the harness lm_eval
suite: {tasks: [{task: gsm8k}]} | suite.tasks[0].shots is missing; expected a whole number of at least 0.
suite: {tasks: [{task: gsm8k, shots: 5}, {task: gsm8k, shots: 0}]} | suite: tasks names 'gsm8k' twice; expected each task once.
suite: {requests: config/reqests} | suite.requests is 'config/reqests'; expected a folder
suite: {flags: flag.yaml} | suite.flags is 'flag.yaml'; expected a file
suite: {memory_mb: 0} | suite.memory_mb is 0 | at least 1.
"""

TOKENS = """
hub: {token: <token>} | hub.token names a secret
HF_TOKEN: <token> | HF_TOKEN names a secret
compute: {device: <token>} | compute.device holds
harmony: {models: [<token>]} | harmony.models[0] holds
<token>: true | <hidden> names a secret
tables: {models: a/<token>} | tables.models holds
"""

PASSWORDS = """
hub: {password: tiger} | hub.password names
chunking: {checkpoints: [{model: miniature/Qwen2-1M-Instruct, num_layers_per_chunk: 6, client-secret: tiger}]} | chunking.checkpoints[0].client-secret names a secret
hub: {path: 'https://me:tiger@example.org/hub'} | hub.path holds what looks like a secret
"""


def chunked(model: str, chunks: int, layers: int) -> dict[str, Any]:
    return {"model": model, "num_chunks": chunks, "num_layers_per_chunk": layers}


TOGETHER = [
    BadConfig(
        "miniature models with the real source",
        {
            "source": "huggingface",
            "chunking": {"checkpoints": [chunked("Qwen/Qwen2.5-0.5B-Instruct", 2, 12)]},
        },
        (
            *((f"harmony.models[{at}] is 'miniature/", "source 'huggingface'") for at in range(6)),
            ("prompts.models[0] is 'miniature/Llama-1.4M-Instruct'", "source 'huggingface'"),
        ),
    ),
    BadConfig(
        "a problem in every section",
        {
            "sead": 1,
            "hub": {"path": ""},
            "tables": {"tasks": "config/absent.tsv"},
            "compute": {"threads": 0, "device": "tpu"},
            "miniature": None,
            "harmony": {"models": ["miniature/Llama-3N"], "shots": True},
            "chunking": {"checkpoints": [chunked("miniature/Qwen2-1M-Instruct", 5, 5)]},
            "api_key": TOKEN,
        },
        (
            ("api_key names a secret",),
            ("tables.tasks is 'config/absent.tsv'",),
            ("hub.path is ''",),
            ("compute.device is 'tpu'",),
            ("compute.threads is 0",),
            ("miniature is null",),
            ("chunking.checkpoints[0]", "5 chunks of 5"),
            ("harmony.models[0] is 'miniature/Llama-3N'",),
            ("harmony.shots is true",),
            ("sead is 1",),
        ),
    ),
    BadConfig(
        "several in one list",
        {"harmony": {"tasks": ["sts2", "sst2", "sst2", 5, None]}},
        (
            ("harmony.tasks[2] is 'sst2'", "as harmony.tasks[1] is"),
            ("harmony.tasks[0] is 'sts2'", "'sst2'"),
            ("harmony.tasks[3] is 5",),
            ("harmony.tasks[4] is null",),
        ),
    ),
    BadConfig(
        "a key beside its typo",
        {"compute": {"threads": -1, "thread": -1}},
        (("compute.threads is -1",), ("compute.thread is -1", "'threads'")),
    ),
]


BAD_CONFIGS = [
    *each_alone(
        UNKNOWN_KEYS + WRONG_KINDS + CLUSTERS + OUT_OF_RANGE + NAMES + PLANS + TRAINING + SUITE
    ),
    *each_alone(TOKENS, REMEDY),
    *each_alone(PASSWORDS, REMEDY, hidden="tiger"),
    *each_alone("api_key: 0xTIGER | api_key names", REMEDY, hidden="0xTIGER"),
    *TOGETHER,
]

COMMAND_LINES = [
    CommandLine(
        "broken YAML",
        ("--configfile", "mine.yaml"),
        ("not valid JSON or YAML",),
        {"mine.yaml": "compute: {threads: 4\n"},
    ),
    CommandLine("missing file", ("--configfile", "absent.yaml"), ("No such file", "'absent.yaml'")),
    CommandLine("unknown key", ("--config", "sead=3"), ("sead is 3", "did you mean 'seed'?")),
    CommandLine(
        "wrong type", ("--config", "seed=three"), ("seed is the text 'three'", "a whole number")
    ),
    CommandLine(
        "nested number", ("--config", "compute={threads: 4}"), ("compute.threads is the text '4'",)
    ),
    CommandLine("secret", ("--config", f"hf_token={TOKEN}"), ("hf_token names a secret", REMEDY)),
    CommandLine(
        "null section",
        ("--configfile", "mine.yaml"),
        ("harmony is null", "the keys models, tasks"),
        {"mine.yaml": "harmony:\n"},
    ),
    CommandLine(
        "bad table",
        ("--configfile", "mine.yaml"),
        ("mine.tsv, line 1: the column 'layer' is unknown", "the column layers is missing."),
        {"mine.yaml": "tables: {models: mine.tsv}\n", "mine.tsv": "model\tlayer\n"},
    ),
    CommandLine(
        "no such task to explain",
        ("explain_training", "--config", "explain=ss2/3"),
        ("explain is 'ss2/3'", "did you mean 'sst2'?"),
    ),
    CommandLine(
        "a task that cannot be trained on",
        ("explain_training", "--config", "explain=mmlu/3"),
        ("explain is 'mmlu/3', a task without a training split",),
    ),
    CommandLine(
        "no number of an item",
        ("explain_training", "--config", "explain=sst2/first"),
        ("explain is 'sst2/first'", "as in sst2/3"),
    ),
    CommandLine(
        "two problems", ("--config", "sead=3", "source=real"), ("sead is 3", "source is 'real'")
    ),
]
