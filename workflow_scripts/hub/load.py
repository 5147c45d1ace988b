"""Load a model from the hub folder by its manifest: safetensors only, no remote code, no network."""

import gc
import os
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.gpus import is_given
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.machine import MachineFault
from workflow_scripts.hub.adapters import merge_adapters
from workflow_scripts.hub.chunk import chunked_config
from workflow_scripts.hub.delta import add_base
from workflow_scripts.hub.local import changed_since
from workflow_scripts.hub.manifest import Manifest, differing_sizes, read_manifest
from workflow_scripts.hub.quantized import quantization
from workflow_scripts.hub.served import AS_SERVED, load_served
from workflow_scripts.planning.memory import BYTES, room_on
from workflow_scripts.settings.compute import FLASH, QUANTIZED

_AMPERE = (8, 0)
_SHARE_OF_WEIGHTS = 0.85  # of a GPU: where the plan asks for several, they take more of one
_OFFLINE = {"local_files_only": True, "trust_remote_code": False}


@dataclass(frozen=True)
class LoadedModel:
    model: Any
    tokenizer: Any
    manifest: Manifest
    device: str
    dtype: str
    attention: str  # the one that runs, as transformers reports it
    threads: int


def load_model(
    manifest_path: Path,
    *,
    device: str,
    dtype: str,
    attention: str,
    chunking: dict[str, Any] | None = None,
    base: Path | None = None,
) -> LoadedModel:
    """Load model and tokenizer from the folder of the manifest, ready for evaluation.

    With `chunking`, the keys of a chunked model's config, its layers run in that plan.
    With `base`, the manifest of another model, the weights are a difference that is added to its own.
    `dtype` may also be auto, or 8bit or 4bit: weights that bitsandbytes quantises.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    import workflow_scripts.chunked  # noqa: F401 (so that transformers knows chunked models)

    _libraries_stay()
    attend_without_plans()
    disable_progress_bar()  # logs are files
    manifest = read_manifest(manifest_path)
    folder = manifest_path.parent
    if problems := differing_sizes(folder, manifest) or changed_since(folder, manifest):
        raise UserError(problems)
    if manifest.served:
        served, tokenizer = load_served(folder, manifest)
        threads = torch.get_num_threads()
        return LoadedModel(served, tokenizer, manifest, "server", AS_SERVED, AS_SERVED, threads)
    device = choose_device(device)
    dtype = choose_dtype(dtype, device)
    is_quantized = dtype in QUANTIZED
    running = "float16" if is_quantized else dtype
    implementation = choose_attention(attention, manifest.architecture)
    if implementation == FLASH:
        refuse_without_flash(device)
        if dtype == "float32":
            implementation = choose_attention("auto", manifest.architecture)
            print(f"Loaded in float32, which {FLASH} does not take: {implementation or 'sdpa'}.")
    spread = {} if base else over_cards(manifest, dtype, device)
    config = None
    if chunking is not None:
        config, _ = chunked_config(folder, manifest.repository, chunking)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **_OFFLINE)
        model = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=torch.float32 if base else getattr(torch, running),
            attn_implementation=implementation,
            use_safetensors=True,
            **_OFFLINE,
            **({} if config is None else {"config": config}),
            **spread,
            **(quantization(dtype, device) if is_quantized else {}),
        )
    except (OSError, ValueError) as error:
        raise UserError(f"{manifest.repository} in {folder} cannot be loaded: {error}") from error
    merge_adapters(model)
    if base is not None:
        manifest = add_base(model, manifest, base, getattr(torch, dtype))
    # Those are where they run, and cannot be moved.
    if not (is_quantized or hasattr(model, "hf_device_map")):
        model.to(device)
    model.eval()
    return LoadedModel(
        model,
        tokenizer,
        manifest,
        device,
        dtype,
        model.config._attn_implementation,
        torch.get_num_threads(),
    )


def over_cards(manifest: Manifest, dtype: str, device: str) -> dict[str, Any]:
    """How transformers is told to share the layers out, where a job has several GPUs and needs them.

    Nothing may be left for the host or the disk, which would take a day for what GPUs do in an hour.
    """
    import torch

    if device != "cuda" or torch.cuda.device_count() < 2 or dtype in QUANTIZED:
        return {}
    room = room_on("cuda:0")
    if room is None or (manifest.parameters or 0) * BYTES[dtype] <= _SHARE_OF_WEIGHTS * room:
        return {}
    cards = range(torch.cuda.device_count())
    print(f"Spread over {len(cards)} GPUs: the weights do not fit one.", flush=True)
    return {
        "device_map": "balanced",
        "max_memory": {card: room_on(f"cuda:{card}") for card in cards},
    }


def load_tokenizer(manifest_path: Path) -> Any:
    """The tokenizer alone, from the folder of the manifest."""
    from transformers import AutoTokenizer

    manifest = read_manifest(manifest_path)
    try:
        return AutoTokenizer.from_pretrained(manifest_path.parent, **_OFFLINE)
    except (OSError, ValueError) as error:
        raise UserError(
            f"The tokenizer of {manifest.repository} cannot be loaded: {error}"
        ) from error


@cache
def _libraries_stay() -> None:
    """Spare the garbage collector what is imported by now, millions of objects that nobody will drop.

    Accelerate has it look at everything after each training, for a third of a second.
    """
    gc.freeze()


def attend_without_plans() -> None:
    """Have cuDNN's attention stand behind the others, as PyTorch reads it at the first attention.

    On Hopper it stands first and makes a plan for each new shape, which takes longer than the attention;
    and no two rows of samples have the same shape, nor two batches of an evaluation.
    """
    os.environ.setdefault("TORCH_CUDNN_SDPA_DEPRIORITIZED", "1")


def choose_device(wanted: str) -> str:
    """A job that was given a GPU does not run on the CPU in its place, where it would not end in time."""
    import torch

    if wanted != "cpu" and torch.cuda.is_available():
        return "cuda"
    if wanted == "cpu" or (wanted == "auto" and not is_given()):
        return "cpu"
    try:
        torch.cuda.init()
        why = "it says nothing of why"
    except (RuntimeError, AssertionError) as error:  # the latter of a PyTorch without CUDA
        why = str(error).strip().rstrip(".")
    asked = "compute.device is 'cuda'" if wanted == "cuda" else "This job was given a GPU"
    raise MachineFault(
        f"{asked}, but PyTorch sees none on {socket.gethostname()}: {why}. Another machine may"
        " have one that works; with compute.device 'cpu' no job asks for one."
    )


def choose_dtype(wanted: str, device: str) -> str:
    """Of a model's weights; what auto comes to on a GPU is said, since scores depend on it."""
    if wanted != "auto":
        return wanted
    chosen = best_format(device)
    if device == "cuda":
        import torch

        print(f"Number format: {chosen}, on {torch.cuda.get_device_name()}.", flush=True)
    return chosen


def best_format(device: str) -> str:
    """bfloat16 where the card computes in it, else float32."""
    return "bfloat16" if device == "cuda" and is_ampere_or_newer() else "float32"


def choose_attention(wanted: str, architecture: str | None) -> str | None:
    """None leaves it to transformers, which takes PyTorch's own; flash-attn runs only where it is asked for.

    Gemma 2 caps its attention scores, which PyTorch's own kernels cannot, so it stays eager. The published
    runs have every Gemma eager.
    """
    if wanted == "published":
        return "eager" if architecture and architecture.startswith("Gemma") else "sdpa"
    if wanted != "auto":
        return wanted
    return "eager" if architecture and architecture.startswith("Gemma2") else None


def refuse_without_flash(device: str) -> None:
    """Refuse flash-attn where this job's machine lacks the package or a GPU that can run it."""
    from transformers.utils import is_flash_attn_2_available

    asked = f"{FLASH} is asked for (compute.attention)"
    if device != "cuda":
        raise UserError(f"{asked}, and this job has no GPU; expected one, or another attention.")
    try:
        import flash_attn  # noqa: F401 (what was compiled against another PyTorch fails here)

        problem = None if is_flash_attn_2_available() else "transformers does not take this version"
    except ImportError as error:
        problem = str(error)
    if problem:
        raise UserError(
            f"{asked}, and flash-attn cannot be used here ({problem}); expected the version in"
            " envs/requirements-flash.txt, which `make install FLASH=yes` builds, or another attention."
        )
    if not is_ampere_or_newer():
        import torch

        raise MachineFault(
            f"{asked}, and the {torch.cuda.get_device_name()} of {socket.gethostname()} cannot run it;"
            " expected a GPU of compute capability 8.0 or more, or another attention."
        )


def is_ampere_or_newer() -> bool:
    """Asked of the card: its bfloat16 is its own, and no emulation, of which PyTorch says yes as well."""
    import torch

    return torch.cuda.get_device_capability() >= _AMPERE
