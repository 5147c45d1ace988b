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
from workflow_scripts.hub.node_copy import on_this_node
from workflow_scripts.hub.quantized import quantization
from workflow_scripts.settings.compute import QUANTIZED

_AMPERE = (8, 0)
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
    shared: Any = None,
) -> LoadedModel:
    """Load model and tokenizer from the folder of the manifest, ready for evaluation.

    With `chunking`, the keys of a chunked model's config, its layers run in that plan.
    With `base`, the manifest of another model, the weights are a difference that is added to its own.
    With `shared`, a DistributedConfig of transformers, each process reads the part of the weights that it holds.
    The same run gives the same bytes: no way of calculating is chosen by a clock.
    `dtype` may also be auto, or 8bit or 4bit: weights that bitsandbytes quantises.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    from workflow_scripts.chunked import ChunkedForCausalLM

    _libraries_stay()
    attend_without_plans()
    disable_progress_bar()  # logs are files
    manifest = read_manifest(manifest_path)
    folder = manifest_path.parent
    if problems := differing_sizes(folder, manifest) or changed_since(folder, manifest):
        raise UserError(problems)
    folder = on_this_node(folder, manifest)
    device = choose_device(device)
    dtype = choose_dtype(dtype, device)
    is_quantized = dtype in QUANTIZED
    running = "float16" if is_quantized else dtype
    config = None
    if chunking is not None:
        config, _ = chunked_config(folder, manifest.repository, chunking)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **_OFFLINE)
        model = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=torch.float32 if base else getattr(torch, running),
            attn_implementation=choose_attention(
                attention, device=device, dtype=running, architecture=manifest.architecture
            ),
            use_safetensors=True,
            **_OFFLINE,
            **({} if config is None else {"config": config}),
            **({} if shared is None else {"distributed_config": shared}),
            **(quantization(dtype, device) if is_quantized else {}),
        )
    except (OSError, ValueError) as error:
        raise UserError(f"{manifest.repository} in {folder} cannot be loaded: {error}") from error
    if shared is not None and getattr(model, "_hf_peft_config_loaded", False):
        raise UserError(
            f"{manifest.repository} has adapters beside its weights, which no process could add to the part"
            " that it holds; expected lora_output: merged in the stage before, or sharded: false."
        )
    merge_adapters(model)
    if isinstance(model, ChunkedForCausalLM):
        model.time_products(False)
    if base is not None:
        manifest = add_base(model, manifest, base, getattr(torch, dtype))
    if not is_quantized and shared is None:  # which are where they run, and cannot be moved
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


def choose_attention(
    wanted: str, *, device: str, dtype: str, architecture: str | None
) -> str | None:
    """Flash attention where it can run, PyTorch's own otherwise; None leaves it to transformers.

    Gemma 2 caps its attention scores, which PyTorch's own kernels cannot, so it stays eager. The published
    runs have every Gemma eager.
    """
    if wanted == "published":
        return "eager" if architecture and architecture.startswith("Gemma") else "sdpa"
    if wanted != "auto":
        return wanted
    if architecture and architecture.startswith("Gemma2"):
        return "eager"
    if device == "cuda" and dtype in ("float16", "bfloat16") and _has_flash_attention():
        return "flash_attention_2"
    return None


def _has_flash_attention() -> bool:
    """A flash-attn that transformers can call, on a GPU that it has kernels for."""
    from transformers.utils import is_flash_attn_2_available

    return is_flash_attn_2_available() and is_ampere_or_newer()


def is_ampere_or_newer() -> bool:
    """Asked of the card: its bfloat16 is its own, and no emulation, of which PyTorch says yes as well."""
    import torch

    return torch.cuda.get_device_capability() >= _AMPERE
