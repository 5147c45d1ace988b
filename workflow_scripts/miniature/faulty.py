"""Build tiny models that the leaderboard must refuse, one for each reason of refusal."""

from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from workflow_scripts.core.files import open_atomic_dir, read_json, write_json
from workflow_scripts.core.seeds import derive_seed, seed_everything
from workflow_scripts.miniature.catalogue import CONFIG, FAULTY, ORGANISATION, SHIPPED, WEIGHTS
from workflow_scripts.miniature.store import LICENCE, finish_repository
from workflow_scripts.miniature.tokenizer import SPECS, load_tokenizer

_LIKE = "Llama-1.4M"
_SIZES = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "initializer_range": 0.25,
}


def build_faulty_models(hub: Path) -> None:
    """Write the faulty models into the hub folder; they are untrained, because they are never evaluated."""
    tokenizer = load_tokenizer(SPECS[_LIKE])
    config = AutoConfig.from_pretrained(SHIPPED / _LIKE, **_SIZES)
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
