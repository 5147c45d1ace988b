"""Load a model from the hub folder by its manifest: safetensors only, no remote code, no network."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.gpus import has_gpu
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.hardware_errors import HardwareError
from workflow_scripts.hub.adapters import merge_adapters
from workflow_scripts.hub.build_chunked import build_chunked_config
from workflow_scripts.hub.manifest import Manifest, read_manifest, require_unchanged
from workflow_scripts.hub.served import AS_SERVED, SAFE_LOADING, load_served
from workflow_scripts.planning.memory import BYTES_PER_PARAMETER, has_fast_bfloat16
from workflow_scripts.settings.compute import FLASH, QUANTIZED

_AMPERE = (8, 0)  # the first compute capability with bfloat16
_MAX_WEIGHT_FRACTION = 0.85  # of one GPU's free memory; larger weights are spread over several GPUs


@dataclass(frozen=True)
class LoadedModel:
    """A model and its tokenizer in memory, with device, dtype, attention and threads."""

    model: Any
    tokenizer: Any
    manifest: Manifest
    device: str
    dtype: str
    attention: str  # the implementation in use, as transformers reports it
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
    """Load model and tokenizer from the manifest's folder, ready for evaluation.

    `chunking` are the config keys of a chunked model: its layers then run in that plan.
    `base` is the manifest of a base model, to which the weights are added as deltas.
    `dtype` is a torch dtype's name, auto, or 8bit or 4bit (weights quantised by bitsandbytes).
    """
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    import workflow_scripts.chunked  # noqa: F401 (registers the chunked architectures)

    # PyTorch prefers cuDNN attention on Hopper. It plans each new shape, which takes longer than the attention,
    # and shapes differ from batch to batch.
    os.environ.setdefault("TORCH_CUDNN_SDPA_DEPRIORITIZED", "1")
    disable_progress_bar()  # logs are files
    manifest = read_manifest(manifest_path)
    folder = manifest_path.parent
    require_unchanged(folder, manifest)
    threads = torch.get_num_threads()
    tokenizer = load_tokenizer(manifest_path)
    if manifest.served:
        served = load_served(folder, manifest.served)
        return LoadedModel(served, tokenizer, manifest, "server", AS_SERVED, AS_SERVED, threads)
    device = choose_device(device)
    dtype = choose_dtype(dtype, device)
    is_quantized = dtype in QUANTIZED
    options: dict[str, Any] = {} if base else _spread_over_gpus(manifest, dtype, device)
    if chunking is not None:
        options["config"], _ = build_chunked_config(folder, manifest.repository, chunking)
    try:
        if is_quantized:
            options |= _quantize(dtype, device)
        model = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=torch.float32 if base else getattr(torch, "float16" if is_quantized else dtype),
            attn_implementation=choose_attention(attention, manifest.architecture, dtype),
            use_safetensors=True,
            **SAFE_LOADING,
            **options,
        )
    except (OSError, ValueError, ImportError) as error:
        raise UserError(f"{manifest.repository} in {folder} cannot be loaded: {error}") from error
    merge_adapters(model)
    if base is not None:
        loaded_base = load_model(base, device="cpu", dtype="float32", attention="auto")
        manifest = _add_base(model, manifest, loaded_base, getattr(torch, dtype))
    # Quantised and distributed models are already on their devices and cannot be moved.
    if not (is_quantized or hasattr(model, "hf_device_map")):
        model.to(device)
    model.eval()
    used_attention = model.config._attn_implementation
    print(f"{manifest.repository} in {dtype} on {device}, attention {used_attention}.", flush=True)
    return LoadedModel(model, tokenizer, manifest, device, dtype, used_attention, threads)


def _add_base(delta: Any, manifest: Manifest, base: LoadedModel, dtype: Any) -> Manifest:
    """Add the base model's weights to the deltas in float32, and cast the sum to `dtype`.

    Delta weights are published as the difference to a base model whose licence forbids redistribution. The returned
    manifest lists the weight files of both.
    """
    import torch

    deltas = dict(delta.named_parameters())
    weights = dict(base.model.named_parameters())
    if {name: part.shape for name, part in deltas.items()} != {
        name: weight.shape for name, weight in weights.items()
    }:
        raise UserError(
            f"{manifest.repository} cannot be added to {base.manifest.repository}: their weights differ in name or"
            " shape."
        )
    with torch.no_grad():
        for name, part in deltas.items():
            # Cast only the weights: casting the model would cast its rotary frequencies too.
            part.data = (part + weights[name]).to(dtype)
    base_weights = tuple(
        file.model_copy(update={"path": f"base/{file.path}"})
        for file in base.manifest.files
        if file.path.endswith(".safetensors")
    )
    return manifest.model_copy(update={"files": manifest.files + base_weights})


def load_tokenizer(manifest_path: Path) -> Any:
    """Load only the tokenizer from the manifest's folder."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(manifest_path.parent, **SAFE_LOADING)
    except (OSError, ValueError) as error:
        name = read_manifest(manifest_path).repository
        raise UserError(f"The tokenizer of {name} cannot be loaded: {error}") from error


def _quantize(dtype: str, device: str) -> dict[str, Any]:
    """Build the options for 8-bit or 4-bit weights with bitsandbytes' defaults, LLM.int8() and FP4."""
    import torch
    from transformers import BitsAndBytesConfig

    if device != "cuda":
        raise ValueError(f"the precision {dtype} needs a GPU, and this job has none")
    bits = {"load_in_8bit": dtype == "8bit", "load_in_4bit": dtype == "4bit"}
    config = BitsAndBytesConfig(**bits, bnb_4bit_compute_dtype=torch.float16)
    return {"quantization_config": config, "device_map": {"": device}}


def _spread_over_gpus(manifest: Manifest, dtype: str, device: str) -> dict[str, Any]:
    """Build the options that spread layers over a job's GPUs, if it has several and the first is too small.

    No layer is offloaded to the CPU or disk, which would take a day for an hour of GPU work.
    """
    import torch

    if device != "cuda" or dtype in QUANTIZED or torch.cuda.device_count() < 2:
        return {}
    gpus = range(torch.cuda.device_count())
    free = {gpu: _get_free_memory(gpu) for gpu in gpus}
    needed = (manifest.parameters or 0) * BYTES_PER_PARAMETER[dtype]
    if needed <= _MAX_WEIGHT_FRACTION * free[0]:
        return {}
    return {"device_map": "balanced", "max_memory": free}


def _get_free_memory(gpu: int) -> int:
    """Return the free bytes of a GPU, including PyTorch's reserved but unused memory."""
    import torch

    unused = torch.cuda.memory_reserved(gpu) - torch.cuda.memory_allocated(gpu)
    return torch.cuda.mem_get_info(gpu)[0] + unused


def choose_device(setting: str) -> str:
    """Choose cpu or cuda; a job with a GPU never falls back to the CPU, which would exceed its time limit."""
    import torch

    if setting != "cpu" and torch.cuda.is_available():
        return "cuda"
    if setting == "cpu" or (setting == "auto" and not has_gpu()):
        return "cpu"
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:  # PyTorch without CUDA raises AssertionError
        raise HardwareError(
            f"compute.device is {setting!r} and this job has a GPU assigned, but PyTorch finds none on"
            f" {socket.gethostname()} ({error}). The GPU of another machine may work; with"
            " compute.device 'cpu' no job requests one."
        ) from None
    return "cuda"


def choose_dtype(setting: str, device: str) -> str:
    """Choose for auto bfloat16 where the GPU or CPU has native bfloat16 matrix multiplication, else float32.

    For a CPU the instruction set decides, not a timing: timings depend on the load of the machine, so jobs of
    one table could choose differently.
    """
    import torch

    if setting != "auto":
        return setting
    # torch.cuda.is_bf16_supported() also counts emulation.
    on_gpu = device == "cuda"
    is_native = torch.cuda.get_device_capability() >= _AMPERE if on_gpu else has_fast_bfloat16()
    return "bfloat16" if is_native else "float32"


def choose_attention(setting: str, architecture: str | None, dtype: str) -> str | None:
    """Choose the attention implementation; None means the default of transformers, PyTorch's SDPA.

    Gemma 2 caps its attention scores, which SDPA kernels cannot, so it stays eager. The published
    runs use eager attention for every Gemma. FlashAttention does not support float32.
    """
    if setting == "published":
        return "eager" if (architecture or "").startswith("Gemma") else "sdpa"
    if setting == "auto" or (setting == FLASH and dtype == "float32"):
        return "eager" if (architecture or "").startswith("Gemma2") else None
    return setting
