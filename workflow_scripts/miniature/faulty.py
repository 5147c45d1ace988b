"""Build tiny models that the leaderboard must refuse, one for each reason of refusal."""

from dataclasses import replace
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

from workflow_scripts.core.files import open_atomic_dir, read_json, write_json
from workflow_scripts.core.seeds import derive_seed, seed_everything
from workflow_scripts.miniature.catalogue import CONFIG, FAULTY, ORGANISATION, WEIGHTS
from workflow_scripts.miniature.specs import SPECS
from workflow_scripts.miniature.store import LICENCE, finish_repository
from workflow_scripts.miniature.tokenizer import load_tokenizer
from workflow_scripts.miniature.train import make_config

_TINY = replace(SPECS["Llama-1.4M"], hidden=16, inner=32, layers=1, heads=2, kv_heads=1)


def build_faulty_models(hub: Path) -> None:
    """Write the faulty models into the hub folder; they are untrained, because they are never evaluated."""
    tokenizer = load_tokenizer(_TINY)
    config = make_config(_TINY, tokenizer)
    for name, differences in FAULTY.items():
        seed_everything(derive_seed(0, "miniature", "faulty", name))
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        with open_atomic_dir(hub / "models" / ORGANISATION / name) as folder:
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            if "config" in differences:
                path = folder / CONFIG
                write_json(path, read_json(path) | differences["config"])
            if "code" in differences:
                (folder / "own_code.py").write_text(differences["code"])
            if name == "Pickled":
                (folder / WEIGHTS).unlink()
                torch.save(model.state_dict(), folder / "pytorch_model.bin")
            finish_repository(
                folder,
                f"{ORGANISATION}/{name}",
                f"Untrained. {differences['fault']}\n",
                {"license": differences.get("licence", LICENCE)},
                kind="model",
                parameters=model.num_parameters(),
                architecture=type(model).__name__,
            )
