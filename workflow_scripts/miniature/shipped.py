"""Copy the shipped models into the hub folder.

    resources/miniature/tokenizer.json
    resources/miniature/<name>/config.json, model.safetensors (in bfloat16), made.json

They were trained once, for an hour, so that a run has trained models without training them. `made.json` has the
training facts and the checksums of all files.
"""

from pathlib import Path

from safetensors.torch import load_file, save_file
from transformers import GenerationConfig

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import (
    describe_alteration,
    open_atomic_dir,
    read_json,
    write_json,
)
from workflow_scripts.miniature.catalogue import (
    CONFIG,
    FACTS,
    ORGANISATION,
    SHIPPED,
    TOKENIZER,
    WEIGHTS,
)
from workflow_scripts.miniature.store import LICENCE, write_card_and_manifest
from workflow_scripts.miniature.tokenizer import SPECS, load_tokenizer

_ABOUT = """\
A {architecture} of {parameters:,} parameters, trained on the generated
text of Chorus's miniature world. It knows nothing of any other. It was trained once, for the
repository, which ships its weights in bfloat16; these are the same numbers in float32.

How it was made, with the digests of the shipped files:

```json
{facts}```
"""


def copy_model(hub: Path, name: str, shipped: Path = SHIPPED) -> None:
    """Write the model `miniature/<name>` atomically into the hub folder, with float32 weights."""
    spec = SPECS[name]
    source = shipped / name
    digests = read_json(source / FACTS)["sha256"]
    for path in (source / CONFIG, source / WEIGHTS, shipped / TOKENIZER):
        if problem := describe_alteration(path, digests[path.name]):
            raise UserError(f"{problem} Check it out of the repository again.")
    tokenizer = load_tokenizer(spec, shipped)
    config = read_json(source / CONFIG)
    weights = {name: weight.float() for name, weight in load_file(source / WEIGHTS).items()}
    parameters = sum(weight.numel() for weight in weights.values())
    (architecture,) = config["architectures"]
    eos_ids = [tokenizer.eos_token_id]
    if spec.base:  # an instruct model also stops at the end of its turn
        eos_ids.insert(0, tokenizer.convert_tokens_to_ids(spec.end_of_turn))
    generation = GenerationConfig(
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=eos_ids,
        pad_token_id=tokenizer.pad_token_id,
    )
    with open_atomic_dir(hub / "models" / ORGANISATION / name) as folder:
        write_json(folder / CONFIG, config | {"dtype": "float32"})
        save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
        generation.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        facts = (source / FACTS).read_text(encoding="utf-8")
        text = _ABOUT.format(architecture=architecture, parameters=parameters, facts=facts)
        write_card_and_manifest(
            folder,
            f"{ORGANISATION}/{name}",
            text,
            {"license": LICENCE},
            kind="model",
            parameters=parameters,
            architecture=architecture,
        )
    print(f"{name}: {parameters:,} parameters", flush=True)
