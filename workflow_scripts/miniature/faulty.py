"""Tiny models that no leaderboard should take, one for each reason that refuses a submission."""

import json
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from workflow_scripts.core.files import atomic_dir, write_json
from workflow_scripts.core.seeds import derive_seed, seed_everything
from workflow_scripts.miniature.catalogue import FAULTY, ORGANISATION
from workflow_scripts.miniature.families import LLAMA
from workflow_scripts.miniature.models import make_config
from workflow_scripts.miniature.shipped import shipped_tokenizer
from workflow_scripts.miniature.specs import Spec
from workflow_scripts.miniature.store import LICENCE, finish_model

_TINY = Spec(LLAMA, 16, 32, 1, 2, 1, steps=0, learning_rate=0.0)
_NOT_OPEN = "cc-by-nc-4.0"
_SEVENTY_BILLION = {
    "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128256,
}  # fmt: skip


def build_faulty_models(hub: Path) -> None:
    """Put each into the hub folder, untrained: nobody is to ask it anything."""
    encoder = shipped_tokenizer(LLAMA)
    config = make_config(
        _TINY, bos=encoder.bos_token_id, eos=encoder.eos_token_id, pad=encoder.pad_token_id
    )
    for name, what in FAULTY.items():
        seed_everything(derive_seed(0, "miniature", "faulty", name))
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        with atomic_dir(hub / "models" / ORGANISATION / name) as folder:
            model.save_pretrained(folder)
            encoder.save_pretrained(folder)
            _spoil(folder, name, model)
            finish_model(
                folder,
                name,
                f"Untrained. {what}\n",
                parameters=model.num_parameters(),
                architecture=type(model).__name__,
                licence=_NOT_OPEN if name == "Closed" else LICENCE,
            )


def _spoil(folder: Path, name: str, model: PreTrainedModel) -> None:
    if name == "Pickled":
        (folder / "model.safetensors").unlink()
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
    elif name == "Own-Code":
        _change_config(
            folder,
            model_type="own_code",
            auto_map={
                "AutoConfig": "own_code.OwnConfig",
                "AutoModelForCausalLM": "own_code.OwnModel",
            },
        )
        (folder / "own_code.py").write_text('raise SystemExit("Remote code was run.")\n')
    elif name == "Misspelt":
        _change_config(folder, model_type="llamma")
    elif name == "Colossal":
        _change_config(folder, **_SEVENTY_BILLION)


def _change_config(folder: Path, **keys) -> None:
    path = folder / "config.json"
    write_json(path, json.loads(path.read_text(encoding="utf-8")) | keys)
