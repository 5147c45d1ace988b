"""What the parts of the GPU benchmark share: the device, shapes with random weights, times, and a result."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from workflow_scripts.hub.load import attend_without_plans

# As Qwen2.5-0.5B and Qwen2.5-7B, and one in which everything runs and nothing is measured.
_SHAPES: dict[str, dict[str, Any]] = {
    "0.5B": {
        **{"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24},
        **{"num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151_936},
        **{"tie_word_embeddings": True, "max_position_embeddings": 4096},
    },
    "7B": {
        **{"hidden_size": 3584, "intermediate_size": 18_944, "num_hidden_layers": 28},
        **{"num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152_064},
        **{"max_position_embeddings": 4096},
    },
    "tiny": {
        **{"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2},
        **{"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 6_144},
        **{"max_position_embeddings": 1024},
    },
}


@dataclass(frozen=True)
class Setting:
    device: str  # cuda or cpu
    small: bool
    seed: int = 0

    @property
    def dtype(self) -> torch.dtype:
        return torch.bfloat16 if self.device == "cuda" else torch.float32

    @property
    def shapes(self) -> tuple[str, ...]:
        return ("tiny",) if self.small else ("0.5B", "7B")

    @property
    def name(self) -> str:
        return torch.cuda.get_device_name() if self.device == "cuda" else "cpu"

    def model(self, shape: str):
        """With random weights, made on the device."""
        attend_without_plans()  # as wherever a model is loaded; PyTorch reads it at the first attention
        torch.manual_seed(self.seed)
        config = Qwen2Config(
            **_SHAPES[shape], dtype=self.dtype, bos_token_id=0, eos_token_id=None, pad_token_id=0
        )
        before = torch.get_default_dtype()
        torch.set_default_dtype(self.dtype)
        try:
            with torch.device(self.device):
                return Qwen2ForCausalLM(config).eval()
        finally:
            torch.set_default_dtype(before)

    def seconds(self, function: Callable[[], Any]) -> tuple[float, Any]:
        self.wait()
        start = time.perf_counter()
        result = function()
        self.wait()
        return time.perf_counter() - start, result

    def median(self, function: Callable[[], Any], rounds: int = 5) -> float:
        """Of so many runs, behind one that is not counted."""
        function()
        times = [self.seconds(function)[0] for _ in range(1 if self.small else rounds)]
        return statistics.median(times)

    def wait(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def forget_peak(self) -> None:
        if self.device == "cuda":
            torch.cuda.reset_peak_memory_stats()

    def peak_gb(self) -> float | None:
        return torch.cuda.max_memory_allocated() / 1e9 if self.device == "cuda" else None

    def matmul_tflops(self) -> float:
        """What the device reaches on one large product, which no model can exceed."""
        size = 256 if self.small else 8192
        left = torch.randn(size, size, device=self.device, dtype=self.dtype)
        return 2 * size**3 / self.median(lambda: left @ left, rounds=20) / 1e12


@dataclass
class Table:
    """One table of the report."""

    title: str
    note: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]] = field(default_factory=list)


def tokenizer_of(vocabulary: int) -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    words = {f"w{at}": at for at in range(vocabulary)}
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(WordLevel(words, unk_token="w3")),
        bos_token="w0", eos_token="w0", pad_token="w0", unk_token="w3",
    )  # fmt: skip
