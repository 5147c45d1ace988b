"""Configs that must be refused, and what the sentences about them must say.

`BAD_CONFIGS` are overrides of config/config.yaml, checked in the process; `COMMAND_LINES` are run
through Snakemake itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TOKEN = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz"
REMEDY = "the variable HF_TOKEN"
MINIATURE = "miniature/Qwen2-1M-Instruct"
REAL = "Qwen/Qwen2.5-0.5B-Instruct"


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


def one(name: str, override: Mapping[Any, Any], *texts: str, hidden: str = TOKEN) -> BadConfig:
    return BadConfig(name, override, (texts,), hidden)


def checkpoints(*entries: Any) -> dict[str, Any]:
    return {"chunking": {"checkpoints": list(entries)}}


def chunked(model: Any = MINIATURE, **keys: Any) -> dict[str, Any]:
    return checkpoints({"model": model, **keys})


UNKNOWN_KEYS = [
    one("section", {"harmonie": {}}, "harmonie is an empty mapping", "no such key", "'harmony'"),
    one("top level", {"sead": 3}, "sead is 3", "the config has no such key", "mean 'seed'?"),
    one("in a section", {"compute": {"thread": 4}}, "compute.thread is 4", "mean 'threads'?"),
    one("like none", {"hub": {"zzz": None}}, "hub.zzz is null", "expected path or lock."),
    one("in upper case", {"compute": {"DEVICE": "cpu"}}, "compute.DEVICE is 'cpu'", "'device'"),
    one(
        "in an entry",
        chunked(num_chunks=2, num_layers_per_chunk=6, aggregation="mlp"),
        "chunking.checkpoints[0].aggregation is 'mlp'",
    ),
    one(
        "with dots",
        {"compute.threads": 2},
        "'compute.threads' is written as one key",
        "compute: {threads: ...}.",
    ),
    one("in no section", {"threads": 4}, "threads is 4", "did you mean 'compute.threads'?"),
    one("with spaces", {"my key\n": 1}, r"'my key\n' is 1", "no such key"),
    one("true", {True: 1}, "the config has the key true", "bool", "expected text"),
    one("number", {"compute": {8: 1}}, "compute has the key 8", "int", "expected text"),
    one("null", {"hub": {None: 1}}, "hub has the key null", "NoneType", "expected text"),
]

WRONG_KINDS = [
    one("null section", {"harmony": None}, "harmony is null", "the keys models, tasks"),
    one("number section", {"compute": 3}, "compute is 3", "a mapping with the keys device"),
    one("list section", {"hub": ["resources/hub"]}, "hub is a list", "keys path and lock."),
    one("text section", {"miniature": "small"}, "miniature is 'small'", "with the key items."),
    one("null tables", {"tables": None}, "tables is null", "keys models, tasks, work, devices,"),
    one(
        "text for a number", {"seed": "three"}, "seed is the text 'three'", "a whole number from 0"
    ),
    one(
        "quoted number",
        {"compute": {"threads": "4"}},
        "compute.threads is the text '4'",
        "at least 1.",
    ),
    one("truth for a number", {"compute": {"threads": True}}, "compute.threads is true"),
    one("fraction", {"compute": {"batch_size": 2.5}}, "batch_size is 2.5", "a whole number"),
    one("whole fraction", {"seed": 1.0}, "seed is 1.0", "a whole number"),
    one("null number", {"seed": None}, "seed is null", "a whole number from 0 to 4294967295."),
    one("number for text", {"hub": {"path": 7}}, "hub.path is 7", "text that is not empty."),
    one(
        "braces",
        {"hub": {"path": "a/{b}"}},
        "hub.path is 'a/{b}'",
        "expected a path without braces",
    ),
    one("new line", {"hub": {"path": "a\nb"}}, "hub.path is 'a\\nb'", "expected a path without"),
    one("empty text", {"hub": {"lock": ""}}, "hub.lock is ''", "text that is not empty."),
    one("list for text", {"source": ["miniature"]}, "source is a list", "'huggingface'"),
    one("text for a list", {"harmony": {"tasks": "sst2"}}, "harmony.tasks is 'sst2'", "a list"),
    one(
        "mapping for a list",
        {"harmony": {"imported_scores": {"a": 1}}},
        "imported_scores is a mapping",
    ),
    one("number in a list", {"harmony": {"models": [3]}}, "harmony.models[0] is 3", "the name"),
    one("text for an entry", checkpoints("k2m6"), "checkpoints[0] is 'k2m6'", "the keys model"),
    one("truth for text", {"compute": {"dtype": True}}, "compute.dtype is true", "'float32'"),
    one(
        "quoted scale",
        {"training": {"recipes": {"cpt": {"lora_alpha": "1e3"}}}},
        "training.recipes.cpt.lora_alpha is the text '1e3'",
        "a number above 0, written 1.0e+3 in YAML.",
    ),
]

CLUSTERS = [
    one(
        "unknown gpu", {"cluster": {"gpu": "A100-80G"}}, "cluster.gpu is 'A100-80G'", "'A100-80GB'?"
    ),
    one(
        "no memory of a node",
        {"cluster": {"node_memory_gb": 0}},
        "node_memory_gb is 0",
        "at least 1.",
    ),
    one("no reserve", {"cluster": {"reserve": 0.5}}, "cluster.reserve is 0.5", "at least 1"),
    one("more than all", {"cluster": {"reading_use": 1.5}}, "reading_use is 1.5", "and at most 1."),
    one("text for hours", {"cluster": {"longest_hours": "24h"}}, "longest_hours is the text '24h'"),
    one(
        "no devices", {"tables": {"devices": "none.tsv"}}, "tables.devices is 'none.tsv'", "a file"
    ),
]

OUT_OF_RANGE = [
    one("no threads", {"compute": {"threads": 0}}, "compute.threads is 0", "at least 1."),
    one("negative batch", {"compute": {"batch_size": -8}}, "batch_size is -8", "at least 1."),
    one("negative seed", {"seed": -1}, "seed is -1", "from 0 to 4294967295."),
    one("large seed", {"seed": 2**32}, "seed is 4294967296", "from 0 to 4294967295."),
    one("effort of old", {"miniature": {"effort": 1}}, "miniature.effort is 1", "no such key"),
    one(
        "no scale",
        {"training": {"recipes": {"cpt": {"lora_alpha": 0}}}},
        "recipes.cpt.lora_alpha is 0",
        "above 0.",
    ),
    one(
        "infinite scale",
        {"training": {"recipes": {"cpt": {"lora_alpha": float("inf")}}}},
        "lora_alpha is inf",
        "above 0.",
    ),
    one("no items", {"miniature": {"items": 0}}, "miniature.items is 0", "at least 1."),
    one(
        "a pair of a task that is not ranked",
        {"harmony": {"tasks": ["rte", "mnli"], "task_pair": ["rte", "qnli"]}},
        "harmony: task_pair names 'qnli'; expected two of harmony.tasks (did you mean 'mnli'?)",
    ),
    one(
        "a pair of three",
        {"harmony": {"tasks": ["mnli", "rte", "sst2"], "task_pair": ["mnli", "rte", "sst2"]}},
        "harmony: task_pair is ['mnli', 'rte', 'sst2']; expected two of harmony.tasks, or none",
    ),
    one(
        "a pair of one", {"harmony": {"task_pair": ["mnli"]}}, "task_pair is ['mnli']; expected two"
    ),
    one(
        "a pair as text",
        {"harmony": {"task_pair": "mnli"}},
        "harmony.task_pair is 'mnli'",
        "a list",
    ),
    one("negative shots", {"harmony": {"shots": -5}}, "harmony.shots is -5", "at least 1."),
    one(
        "no test items",
        {"harmony": {"max_test_items": 0}},
        "harmony.max_test_items is 0",
        "at least 1, or null.",
    ),
    one("too many shots", {"mmlu": {"shots": 6}}, "mmlu.shots is 6", "from 0 to 5."),
    one(
        "no MMLU questions",
        {"mmlu": {"max_items_per_subject": 0}},
        "mmlu.max_items_per_subject is 0",
        "at least 1, or null.",
    ),
    one("unknown source", {"source": "hugingface"}, "source is 'hugingface'", "'huggingface'?)."),
    one("unknown dtype", {"compute": {"dtype": "bf16"}}, "dtype is 'bf16'", "'bfloat16'"),
    one("unknown device", {"compute": {"device": "gpu"}}, "device is 'gpu'", "or 'cuda'"),
    one(
        "flash attention in single precision",
        {"compute": {"attention": "flash_attention_2", "device": "cuda"}},
        "compute.attention is 'flash_attention_2'",
        "compute.dtype 'float32'",
    ),
    one(
        "flash attention on a CPU",
        {"compute": {"attention": "flash_attention_2", "device": "cpu", "dtype": "bfloat16"}},
        "compute.attention is 'flash_attention_2'",
        "compute.device 'cpu'",
    ),
]

NAMES = [
    one(
        "unknown model",
        {"harmony": {"models": ["miniature/Lama-1.4M"]}},
        "harmony.models[0] is 'miniature/Lama-1.4M'",
        "did you mean 'miniature/Llama-1.4M'?",
    ),
    one(
        "unknown task",
        {"harmony": {"tasks": ["sst2", "arc_eazy"]}},
        "harmony.tasks[1] is 'arc_eazy'",
        "did you mean 'arc_easy'?",
    ),
    one(
        "task of the other harness",
        {"harmony": {"tasks": ["mmlu_helm"]}},
        "harmony.tasks[0] is 'mmlu_helm'",
        "lighteval",
    ),
    one(
        "unknown model to chunk",
        chunked("miniature/Qwen3-1M", num_chunks=2, num_layers_per_chunk=6),
        "chunking.checkpoints[0].model is 'miniature/Qwen3-1M'",
        "'miniature/Qwen2-1M'",
    ),
    one(
        "real model in the miniature world",
        {"harmony": {"models": [REAL]}},
        f"harmony.models[0] is '{REAL}'",
        "source 'miniature'",
        "'huggingface'",
    ),
    one(
        "climbing model",
        {"harmony": {"models": ["acme/../../secrets"]}},
        "harmony.models[0] is 'acme/../../secrets'",
        "organisation/name",
    ),
    one(
        "climbing organisation",
        {"harmony": {"models": ["..a/Llama-1.4M"]}},
        "harmony.models[0] is '..a/Llama-1.4M'",
        "begin and end with a letter",
    ),
    one(
        "no such folder",
        {"harmony": {"models": ["../Llama-1.4M"]}},
        "harmony.models[0]: '../Llama-1.4M' is no model",
        "there is no folder ../Llama-1.4M",
    ),
    one("no tasks", {"harmony": {"tasks": []}}, "harmony.tasks is an empty list", "least one"),
    one(
        "model twice",
        {"harmony": {"models": ["miniature/Llama-1.4M", "miniature/Llama-1.4M"]}},
        "harmony.models[1] is 'miniature/Llama-1.4M', as harmony.models[0] is",
    ),
    one(
        "task twice",
        {"harmony": {"tasks": ["sst2", "wic", "sst2"]}},
        "harmony.tasks[2] is 'sst2', as harmony.tasks[0] is",
    ),
    one(
        "scores that are missing",
        {"harmony": {"imported_scores": ["scores/absent.csv"]}},
        "harmony.imported_scores[0] is 'scores/absent.csv'",
        "there is none",
    ),
    one(
        "scores that are no CSV",
        {"harmony": {"imported_scores": ["README.md"]}},
        "harmony.imported_scores[0] is 'README.md'",
        ".csv",
    ),
    one(
        "missing table of models",
        {"tables": {"models": "config/absent.tsv"}},
        "tables.models is 'config/absent.tsv'",
        "beside the Snakefile",
    ),
    one(
        "missing table of tasks",
        {"tables": {"tasks": "config"}},
        "tables.tasks is 'config'",
        "beside the Snakefile",
    ),
    BadConfig(
        "miniature models with the real source",
        {
            "source": "huggingface",
            **chunked(REAL, num_chunks=2, num_layers_per_chunk=12),
        },
        (
            *((f"harmony.models[{at}] is 'miniature/", "source 'huggingface'") for at in range(6)),
            ("prompts.models[0] is 'miniature/Llama-1.4M-Instruct'", "source 'huggingface'"),
        ),
    ),
]

PLANS = [
    one(
        "more layers than there are",
        chunked(num_chunks=5, num_layers_per_chunk=6),
        "chunking.checkpoints[0]",
        MINIATURE,
        "24 layers cannot be cut into 5 chunks of 6",
        "4 chunks of 6",
    ),
    one(
        "chunks that begin too late",
        chunked(num_chunks=2, num_layers_per_chunk=6, layers_before_chunks=13),
        "chunking.checkpoints[0]",
        "2 chunks of 6 layers behind 13 layers do not fit into 24 layers",
        "from 0 to 12",
    ),
    one(
        "a beginning of chunks in a mode that sets it",
        chunked(mode="sequential", num_layers_per_chunk=6, layers_before_chunks=2),
        "chunking.checkpoints[0]",
        "layers_before_chunks is 2 with the mode sequential",
    ),
    one(
        "a search in an architecture that cannot be cut",
        {"chunking": {"search": {"models": ["miniature/Pythia-1M"]}}},
        "chunking: search.models[0] is 'miniature/Pythia-1M', of the family Pythia",
        "Qwen2",
    ),
    one(
        "layers that do not halve",
        chunked(num_chunks=1, num_layers_per_chunk=7),
        "chunking.checkpoints[0]",
        "24 layers cannot be cut into 1 chunk of 7",
    ),
    one(
        "uneven chunks",
        chunked(mode="sequential", num_layers_per_chunk=7),
        "chunking.checkpoints[0]",
        "24 layers cannot be cut into chunks of 7",
        "sequential",
        "4 chunks of 6",
    ),
    one(
        "another number of chunks than follows",
        chunked(mode="uniform", num_layers_per_chunk=6, num_chunks=2),
        "2 chunks of 6",
        "4 chunks of 6",
    ),
    one("no size", chunked(num_chunks=2), "chunking.checkpoints[0]", "num_layers_per_chunk is"),
    one(
        "negative size",
        chunked(num_chunks=2, num_layers_per_chunk=-6),
        "chunking.checkpoints[0].num_layers_per_chunk is -6",
        "at least 0, or null.",
    ),
    one(
        "unknown mode",
        chunked(mode="unifrom", num_layers_per_chunk=6),
        "chunking.checkpoints[0].mode is 'unifrom'",
        "did you mean 'uniform'?",
    ),
    one("no model", checkpoints({"num_chunks": 2}), "checkpoints[0].model is missing", "name"),
    one(
        "an architecture that cannot be cut",
        chunked("miniature/Pythia-1M", num_chunks=1, num_layers_per_chunk=2),
        "chunking.checkpoints[0]: model is 'miniature/Pythia-1M', of the family Pythia",
        "Qwen2, Qwen3 or Llama",
    ),
    one(
        "pruning without layers",
        chunked(mode="prune"),
        "chunking.checkpoints[0]: layers_to_prune is empty",
    ),
    one(
        "pruning with chunks",
        chunked(mode="prune", num_chunks=2, layers_to_prune=[24]),
        "chunking.checkpoints[0]: num_chunks is 2",
        "mode prune",
    ),
    one(
        "pruning a layer that is not there",
        chunked(mode="prune", layers_to_prune=[25]),
        "layers_to_prune names the layer 25",
        "from 1 to 24",
    ),
    one(
        "pruning layer zero",
        chunked(mode="prune", layers_to_prune=[0]),
        "chunking.checkpoints[0].layers_to_prune[0] is 0",
        "at least 1.",
    ),
    one(
        "pruning a layer twice",
        chunked(mode="prune", layers_to_prune=[3, 5, 3]),
        "layers_to_prune[2] is 3",
        "layers_to_prune[0]",
    ),
    one(
        "layers to prune in another mode",
        chunked(num_chunks=2, num_layers_per_chunk=6, layers_to_prune=[3]),
        "layers_to_prune is [3]",
        "only the mode prune",
    ),
    one(
        "the same plan twice",
        checkpoints(
            {"model": MINIATURE, "num_chunks": 2, "num_layers_per_chunk": 6},
            {"model": MINIATURE, "num_layers_per_chunk": 6},
        ),
        f"chunking: checkpoints[1] is '{MINIATURE}@k2m6', as checkpoints[0] is",
    ),
    one(
        "the same entry twice",
        checkpoints(*2 * [{"model": MINIATURE, "num_layers_per_chunk": 6}]),
        f"chunking: checkpoints[1] is '{MINIATURE}@k2m6', as checkpoints[0] is",
    ),
    one(
        "two that differ in a temperature that nothing reads",
        checkpoints(
            *(
                {"model": MINIATURE, "num_layers_per_chunk": 6, "temperature": one}
                for one in (2.0, 3.0)
            )
        ),
        f"chunking: checkpoints[1] is '{MINIATURE}@k2m6', as checkpoints[0] is",
    ),
    one(
        "distillation without chunks to teach",
        checkpoints(
            {"model": MINIATURE, "mode": "prune", "layers_to_prune": [3], "distillation": True}
        ),
        "chunking.checkpoints[0]: distillation is true, but the plan has no chunks",
        "expected false",
    ),
    one(
        "an unknown mark behind a plan",
        {"prompts": {"models": [f"{MINIATURE}@k2m12-mlp.non"]}},
        f"prompts.models[0] is '{MINIATURE}@k2m12-mlp.non'",
        "-<aggregation>, -noadapters and -distil.<of what>",
    ),
    one(
        "a variant that the config does not make",
        {"prompts": {"models": [f"{MINIATURE}@k2m12-mlp.mean"]}},
        f"prompts.models[0] is '{MINIATURE}@k2m12-mlp.mean'",
        f"did you mean '{MINIATURE}@k2m12-mean'?",
    ),
    one(
        "chunks of no layers",
        chunked(num_chunks=2, num_layers_per_chunk=0),
        "24 layers cannot be cut into 2 chunks of 0",
        "0 chunks of 0 is the unchanged model",
    ),
    one(
        "more devices than threads of the processor",
        {"chunking": {"measures": {"devices": [1, 2]}}, "compute": {"device": "cpu"}},
        "chunking.measures.devices has 2, but compute.threads is 1; expected at most as many",
    ),
    one(
        "more devices than a node has",
        {"chunking": {"measures": {"devices": [4]}}, "cluster": {"gpus_per_node": 2}},
        "chunking.measures.devices has 4, but cluster.gpus_per_node is 2; expected at most as many",
    ),
    one(
        "a number format that is timed anyway",
        {"chunking": {"measures": {"precisions": ["bfloat16", "float32"]}}},
        "chunking.measures.precisions has 'float32', which is compute.dtype; expected other number formats",
    ),
    one(
        "no number of devices",
        {"chunking": {"measures": {"devices": [0]}}},
        "chunking.measures.devices[0] is 0",
        "at least 1.",
    ),
    one(
        "times of a model that cannot be cut",
        {"chunking": {"measures": {"latency_models": ["miniature/Pythia-1M"]}}},
        "measures.latency_models[0] is 'miniature/Pythia-1M', of the family Pythia",
    ),
    one(
        "times of a model that no plan fits",
        {"chunking": {"measures": {"latency_models": ["miniature/Llama-0.3M"]}}},
        "measures.latency_layers has no plan for the 3 layers of 'miniature/Llama-0.3M'; expected",
    ),
]

SECRETS = [
    one("token", {"hub": {"token": TOKEN}}, "hub.token names a secret", REMEDY),
    one("top-level token", {"HF_TOKEN": TOKEN}, "HF_TOKEN names a secret", REMEDY),
    one("password", {"hub": {"password": "tiger"}}, "hub.password names", REMEDY, hidden="tiger"),
    one("key of a service", {"api_key": "0xTIGER"}, "api_key names", REMEDY, hidden="0xTIGER"),
    one(
        "secret in an entry",
        checkpoints({"model": MINIATURE, "num_layers_per_chunk": 6, "client-secret": "tiger"}),
        "chunking.checkpoints[0].client-secret names a secret",
        REMEDY,
        hidden="tiger",
    ),
    one("token as a value", {"compute": {"device": TOKEN}}, "compute.device holds", REMEDY),
    one("token in a list", {"harmony": {"models": [TOKEN]}}, "harmony.models[0] holds", REMEDY),
    one("token as a key", {TOKEN: True}, "<hidden> names a secret", REMEDY),
    one("token in a path", {"tables": {"models": f"a/{TOKEN}"}}, "tables.models holds", REMEDY),
    one(
        "password in an address",
        {"hub": {"path": "https://me:tiger@example.org/hub"}},
        "hub.path holds what looks like a secret",
        REMEDY,
        hidden="tiger",
    ),
]

TOGETHER = [
    BadConfig(
        "a problem in every section",
        {
            "sead": 1,
            "hub": {"path": ""},
            "tables": {"tasks": "config/absent.tsv"},
            "compute": {"threads": 0, "device": "tpu"},
            "miniature": None,
            "harmony": {"models": ["miniature/Llama-3N"], "shots": True},
            **chunked(num_chunks=5, num_layers_per_chunk=5),
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


def recipe(**keys: Any) -> dict[str, Any]:
    """One of the named recipes with some keys of its own."""
    return {"training": {"recipes": {"miniature-cpt": keys}}}


_RECIPE = "training.recipes.miniature-cpt"
TRAINING = [
    one("method", recipe(method="Lora"), f"{_RECIPE}.method is 'Lora'", "'lora'"),
    one("parts", recipe(trains=["warpper"]), f"{_RECIPE}.trains[0]", "did you mean 'wrapper'?"),
    one("nothing frozen", recipe(trains=[]), _RECIPE, "method is 'freeze' and trains is empty"),
    one(
        "full and parts",
        recipe(method="full"),
        _RECIPE,
        "method is 'full' and trains is not empty; expected none of it",
    ),
    one(
        "micro-batch",
        recipe(micro_batch_size=3),
        "micro_batch_size is 3 and batch_size 8; expected a size that divides it",
    ),
    one("gpus", recipe(gpus=3), "gpus is 3 and batch_size 8; expected a number that divides it"),
    one("sharded alone", recipe(sharded=True), "sharded is true and gpus is 1; expected 2 or more"),
    one("no source", recipe(dataset=None), "dataset is None and files is []; expected exactly one"),
    one(
        "two sources",
        recipe(files=["envs/requirements.txt"]),
        "dataset is 'Salesforce/wikitext' and files is [",
        "expected exactly one of them",
    ),
    one(
        "no such file",
        recipe(files=["nowhere.jsonl"]),
        f"{_RECIPE}.files[0] is 'nowhere.jsonl'",
        "expected a file",
    ),
    one(
        "best of nothing",
        recipe(select="best", validation=0),
        "select is 'best' and validation is 0; expected a share to choose the best on",
    ),
    one("no targets", recipe(lora_targets=[]), f"{_RECIPE}.lora_targets"),
    one("rate", recipe(learning_rate=0), f"{_RECIPE}.learning_rate is 0", "a number above 0"),
    one("warm-up", recipe(warm_up=1), f"{_RECIPE}.warm_up is 1", "at least 0 and below 1"),
    one("length", recipe(max_length=1), f"{_RECIPE}.max_length is 1", "2"),
    one("recipe key", recipe(learning_rte=1e-3), f"{_RECIPE}.learning_rte", "'learning_rate'"),
    one(
        "unknown recipe", {"training": {"cpt": "ctp"}}, "cpt is 'ctp'; expected one of the recipes"
    ),
    one(
        "sft without cpt",
        {"training": {"cpt": None}},
        "sft is set and cpt is null; the sft of a checkpoint resumes from its cpt",
    ),
]

SUITE = [
    one(
        "no suite", {"suite": {"tasks": []}}, "suite.tasks is an empty list; expected a list of at"
    ),
    one(
        "unknown suite task",
        {"suite": {"tasks": [{"task": "arc_chalenge", "shots": 25}]}},
        "suite.tasks[0].task is 'arc_chalenge'",
        "did you mean 'arc_challenge'?",
    ),
    one(
        "suite task of another harness",
        {"suite": {"tasks": [{"task": "mmlu_helm", "shots": 5}]}},
        "suite.tasks[0].task is 'mmlu_helm'; expected a task of the harness lm_eval",
    ),
    one(
        "suite task without shots",
        {"suite": {"tasks": [{"task": "gsm8k"}]}},
        "suite.tasks[0].shots is missing; expected a whole number of at least 0.",
    ),
    one(
        "suite task twice",
        {"suite": {"tasks": [{"task": "gsm8k", "shots": 5}, {"task": "gsm8k", "shots": 0}]}},
        "suite: tasks names 'gsm8k' twice; expected each task once.",
    ),
    one(
        "no folder of requests",
        {"suite": {"requests": "config/reqests"}},
        "suite.requests is 'config/reqests'; expected a folder",
    ),
    one(
        "no file of flags",
        {"suite": {"flags": "flag.yaml"}},
        "suite.flags is 'flag.yaml'; expected a file",
    ),
    one("no memory", {"suite": {"memory_mb": 0}}, "suite.memory_mb is 0", "at least 1."),
]

BAD_CONFIGS = [
    *UNKNOWN_KEYS,
    *WRONG_KINDS,
    *CLUSTERS,
    *OUT_OF_RANGE,
    *NAMES,
    *PLANS,
    *SECRETS,
    *TOGETHER,
    *TRAINING,
    *SUITE,
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
        "unknown model",
        ("--configfile", "mine.yaml"),
        ("harmony.models[0] is 'miniature/Lama-1.4M'", "did you mean 'miniature/Llama-1.4M'?"),
        {"mine.yaml": "harmony: {models: [miniature/Lama-1.4M]}\n"},
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
        "two problems",
        ("--config", "sead=3", "source=real"),
        ("sead is 3", "source is 'real'"),
    ),
]
