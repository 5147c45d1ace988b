"""Configure how models are run."""

import shutil
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from workflow_scripts.settings.section import Count, DemoDtype, Section

Dtype = Literal["float32", "bfloat16", "float16"]
Precision = Literal["float32", "float16", "bfloat16", "8bit", "4bit"]
FLASH = "flash_attention_2"  # needs the package flash-attn
QUANTIZED = ("8bit", "4bit")  # weights quantised by bitsandbytes; computation is in float16
# Commands of a machine that has GPUs or submits jobs to a scheduler.
_GPU_COMMANDS = ("nvidia-smi", "sbatch", "bsub", "qsub", "condor_submit")


class Loading(Section):
    """Settings for loading and running a model in any task; subclasses restrict `dtype`."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where models run: auto takes a GPU where the job has one."""
    dtype: str = "auto"
    attention: Literal["auto", "eager", "sdpa", "flash_attention_2", "published"] = "auto"
    """Implementation of attention. auto: sdpa, and eager for the architectures that need it;
    published: eager for every Gemma and sdpa for all others, as in the published grid, and
    flash_attention_2 in training and perplexities of chunked models unless they are in float32.
    flash_attention_2 needs the package flash-attn (make install FLASH=yes) and GPUs of compute
    capability 8.0 or more. It is used in training, in perplexities and in the plain batches of
    evaluations; sdpa replaces it where prompts are shared or weights are in float32."""
    threads: Count = 1
    """CPU threads of one job. Results on a CPU depend on it, so it is fixed here and does not
    depend on the machine."""

    def find_contradictions(self) -> Iterator[str]:
        if self.attention == FLASH and (self.device == "cpu" or self.dtype == "float32"):
            yield f"attention is {FLASH}; expected a GPU, and bfloat16 or float16."

    def choose_chunked_attention(self, precision: str) -> str:
        """Return the attention for training and perplexity of chunked models in this dtype."""
        published = self.attention == "published" and self.finds_gpus
        return FLASH if published and precision != "float32" else self.attention

    @property
    def loading(self) -> dict[str, Any]:
        """Return the arguments of load_model."""
        return self.model_dump(include={"device", "dtype", "attention"})

    @property
    def finds_gpus(self) -> bool:
        """Return whether jobs use a GPU; auto is the CPU on a machine with neither a GPU nor a scheduler."""
        return self.device == "cuda" or (
            self.device == "auto" and any(map(shutil.which, _GPU_COMMANDS))
        )


class Compute(Loading):
    dtype: Annotated[Literal["auto", Dtype], DemoDtype] = "auto"
    """Dtype of weights and activations; every record has the one in use. auto is bfloat16 on a GPU
    of compute capability 8.0 or more and on a CPU that is faster in it (Intel with amx_bf16, AMD
    with avx512_bf16 in /proc/cpuinfo), else float32, and float32 in the miniature world. Different
    machines may choose different dtypes: on a mixed cluster, set one."""
    batch_size: Count = 32
    """Sequences per forward pass in evaluation."""


class RowCompute(Loading):
    """Settings of a leaderboard row, in which the weights may be quantised."""

    dtype: Precision
    batch_size: Count
