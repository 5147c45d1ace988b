"""The trained models, as the repository ships them, and how they come into the hub folder.

    resources/miniature/tokenizer.json
    resources/miniature/<name>/config.json, model.safetensors (in bfloat16), made.json

They are trained once, for an hour, so that a run has models that know something and need not wait for
them. `made.json` says how, and has the digests of all that belongs together.
"""

import copy
import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import deserialize
from safetensors.numpy import save_file
from transformers import GenerationConfig, PreTrainedTokenizerFast

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_dir, sha256_file, write_json
from workflow_scripts.core.provenance import processor
from workflow_scripts.miniature.catalogue import (
    CONFIG,
    MADE,
    ORGANISATION,
    SHIPPED,
    TOKENIZER,
    WEIGHTS,
)
from workflow_scripts.miniature.families import Family
from workflow_scripts.miniature.specs import SPECS
from workflow_scripts.miniature.store import finish_model
from workflow_scripts.miniature.tokenizer import family_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_AGAIN = "check it out of the repository again"
_ABOUT = """\
A {architecture} of {parameters:,} parameters, trained on the generated
text of Chorus's miniature world. It knows nothing of any other. It was trained once, for the
repository, which ships its weights in bfloat16; these are the same numbers in float32.

How it was made, with the digests of the shipped files:

```json
{made}```
"""


class _Made(BaseModel):
    """What placing reads of made.json; the rest is for people."""

    model_config = ConfigDict(extra="ignore", strict=True)

    sha256: dict[str, str]


def write(folder: Path, model: "PreTrainedModel", texts: list[Path], made: dict[str, Any]) -> None:
    """Write a model, trained on the texts, as it is shipped, whole or not at all; its tokenizer lies beside it."""
    halved = copy.deepcopy(model).bfloat16()
    with atomic_dir(folder) as temporary:
        halved.save_pretrained(temporary)
        # What a model generates with is written where it is placed.
        (temporary / "generation_config.json").unlink(missing_ok=True)
        files = [*texts, folder.parent / TOKENIZER]
        files += [temporary / name for name in (CONFIG, WEIGHTS)]
        facts = {
            "sha256": {path.name: sha256_file(path) for path in files},
            "versions": {package: version(package) for package in ("torch", "transformers")},
            "processor": processor(),
        }
        write_json(temporary / MADE, made | facts)


def place(hub: Path, name: str) -> None:
    """Put `miniature/<name>` into the hub folder in float32, whole or not at all."""
    spec = SPECS[name]
    made = _check(SHIPPED / name)
    encoder = shipped_tokenizer(spec.family)
    config = json.loads((SHIPPED / name / CONFIG).read_text(encoding="utf-8"))
    weights = _in_float32(SHIPPED / name / WEIGHTS)
    parameters = sum(values.size for values in weights.values())
    (architecture,) = config["architectures"]
    ends = [encoder.eos_token_id]
    if spec.base is not None:  # an instruct model also stops where its turn ends
        ends.insert(0, encoder.convert_tokens_to_ids(spec.family.end_of_turn))
    generation = GenerationConfig(
        bos_token_id=encoder.bos_token_id, eos_token_id=ends, pad_token_id=encoder.pad_token_id
    )
    with atomic_dir(hub / "models" / ORGANISATION / name) as folder:
        # By hand and not through a model: the classes of models take five seconds to import.
        write_json(folder / CONFIG, config | {"dtype": "float32"})
        save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
        generation.save_pretrained(folder)
        encoder.save_pretrained(folder)
        text = _ABOUT.format(architecture=architecture, parameters=parameters, made=made)
        finish_model(folder, name, text, parameters=parameters, architecture=architecture)
    print(f"{name}: {parameters:,} parameters", flush=True)


def shipped_tokenizer(family: Family) -> PreTrainedTokenizerFast:
    return family_tokenizer(_there(SHIPPED / TOKENIZER), family)


def _check(folder: Path) -> str:
    """The text of made.json, once the files are the ones that it was written with."""
    path = _there(folder / MADE)
    try:
        text = path.read_text(encoding="utf-8")
        expected = _Made.model_validate_json(text).sha256
    except (UnicodeDecodeError, ValidationError):
        raise UserError(f"{path} does not say how its model was made; {_AGAIN}.") from None
    for file in (folder / CONFIG, folder / WEIGHTS, folder.parent / TOKENIZER):
        if sha256_file(_there(file)) != expected.get(file.name):
            raise UserError(
                f"{file} is damaged, or of another training: its sha256 is not the one in {path};"
                f" {_AGAIN}."
            )
    return text


def _there(path: Path) -> Path:
    if not path.is_file():
        raise UserError(f"{path} is missing; {_AGAIN}.")
    return path


def _in_float32(path: Path) -> dict[str, np.ndarray]:
    """A bfloat16 is the first half of a float32."""
    found = {}
    for name, tensor in deserialize(path.read_bytes()):
        half = np.frombuffer(tensor["data"], dtype="<u2").astype("<u4")
        found[name] = (half << 16).view("<f4").reshape(tensor["shape"])
    return found
