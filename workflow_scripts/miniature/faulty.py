"""Build tiny models that the leaderboard must refuse, one for each reason of refusal."""

from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import open_atomic_dir, read_json, write_json
from workflow_scripts.core.seeds import derive_seed, seed_everything
from workflow_scripts.miniature.catalogue import CONFIG, FAULTY, ORGANISATION, WEIGHTS
from workflow_scripts.miniature.shipped import shipped_tokenizer
from workflow_scripts.miniature.specs import FAMILIES, Spec
from workflow_scripts.miniature.store import LICENCE, finish_repository
from workflow_scripts.miniature.train import make_config

_TINY = Spec(FAMILIES["llama"], hidden=16, inner=32, layers=1, heads=2, kv_heads=1)
_CHANGED_KEYS = {
    "Own-Code": {
        "model_type": "own_code",
        "auto_map": {"AutoConfig": "own_code.OwnConfig", "AutoModelForCausalLM": "own_code.OwnModel"},
    },
    "Misspelt": {"model_type": "llamma"},
    "Colossal": {
        "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128256,
    },
}  # fmt: skip


def build_faulty_models(hub: Path) -> None:
    """Write the faulty models into the hub folder; they are untrained, because they are never evaluated."""
    tokenizer = shipped_tokenizer(_TINY.family)
    config = make_config(_TINY, tokenizer)
    for name, fault in FAULTY.items():
        seed_everything(derive_seed(0, "miniature", "faulty", name))
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        with open_atomic_dir(hub / "models" / ORGANISATION / name) as folder:
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            if name in _CHANGED_KEYS:
                path = folder / CONFIG
                write_json(path, read_json(path) | _CHANGED_KEYS[name])
            if name == "Pickled":
                (folder / WEIGHTS).unlink()
                torch.save(model.state_dict(), folder / "pytorch_model.bin")
            if name == "Own-Code":
                (folder / "own_code.py").write_text('raise SystemExit("Remote code was run.")\n')
            finish_repository(
                folder,
                f"{ORGANISATION}/{name}",
                f"Untrained. {fault}\n",
                licence="cc-by-nc-4.0" if name == "Closed" else LICENCE,
                kind="model",
                parameters=model.num_parameters(),
                architecture=type(model).__name__,
            )


if "snakemake" in globals():
    run_job(build_faulty_models, snakemake)
