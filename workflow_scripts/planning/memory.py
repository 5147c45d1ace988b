"""Estimate the memory of models with the constants that planning and loading share, without PyTorch."""

from pathlib import Path

MB = 1_000_000
BYTES_PER_PARAMETER = {"float32": 4, "bfloat16": 2, "float16": 2, "8bit": 1, "4bit": 0.5}
LIBRARIES_MB = 900  # Python, PyTorch and a harness (530 to 830), and Snakemake in a job of Slurm
# Bytes per trained parameter in float32: the parameter, its gradient and AdamW's two moments.
BYTES_PER_TRAINED_PARAMETER = 16


def has_fast_bfloat16(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Return whether this machine's processor multiplies matrices faster in bfloat16 than in float32.

    Those are processors with AMX, and AMD's with avx512_bf16; with Intel's avx512_bf16 alone float32 is faster.
    """
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    return "amx_bf16" in text or ("AuthenticAMD" in text and "avx512_bf16" in text)


def estimate_submitted_mb(parameters: int, dtype: str, *, is_delta: bool) -> int:
    """Estimate the memory in MB for a model of known size: twice the weights plus 3,000.

    A delta and its base model are added in float32.
    """
    return int(3_000 + 2 * parameters * BYTES_PER_PARAMETER["float32" if is_delta else dtype] / MB)
