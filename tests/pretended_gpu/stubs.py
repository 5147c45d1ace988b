"""What a PyTorch without CUDA lacks in Python: `torch.cuda`, and the kernels of attention that only GPUs have."""

import ctypes
import os
import re
import time
from contextlib import nullcontext
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import torch

MEMORY = 8 * 2**30
HOPPER = (9, 0)


class _Stream:
    def __init__(self, device=None, *_, **__):
        self.device = torch.device("cuda", _number(device))

    def wait_stream(self, other) -> None:
        pass

    def wait_event(self, event) -> None:
        pass

    def record_event(self, event=None) -> "_Event":
        return event or _Event()

    def synchronize(self) -> None:
        pass


class _Event:
    def __init__(self, *_, **__):
        self.at = 0.0

    def record(self, *_) -> None:
        self.at = time.perf_counter()

    def elapsed_time(self, later: "_Event") -> float:
        return (later.at - self.at) * 1e3

    def synchronize(self) -> None:
        pass

    def wait(self, *_) -> None:
        pass

    def query(self) -> bool:
        return True


def _number(device: Any) -> int:
    """Of a card, however it is named; without a name of the one that is current."""
    if device is None or isinstance(device, int):
        return torch.cuda.current_device() if device in (None, -1) else device
    index = torch.device(device).index
    return torch.cuda.current_device() if index is None else index


def put_in_place(library: ctypes.CDLL) -> None:
    """As many cards as CUDA_VISIBLE_DEVICES names of those that the machine is pretended to have."""
    cuda, c = torch.cuda, torch._C
    library.pretended_waits.restype = library.pretended_record.restype = ctypes.c_long
    for of_memory in ("held", "most_held"):
        getattr(library, f"pretended_{of_memory}").restype = ctypes.c_size_t
    library.pretended_memory.argtypes = [ctypes.c_int, ctypes.c_size_t]
    library.pretended_is_dead.restype = ctypes.c_bool
    library.pretended_replay.argtypes = library.pretended_forget.argtypes = [ctypes.c_long]
    there = range(int(os.environ.get("CHORUS_PRETENDED_GPUS", "1")))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, there)))
    seen = [int(one) for one in re.findall(r"\d+", visible) if int(one) in there]
    library.pretended_count(len(seen))
    nothing = {"empty_cache", "ipc_collect", "set_stream", "set_sync_debug_mode"}
    for name in nothing:
        setattr(cuda, name, lambda *_, **__: None)
    for name in ("is_initialized", "is_bf16_supported", "_is_compiled"):
        setattr(cuda, name, lambda *_, **__: True)

    def initialised() -> None:
        if not seen:
            raise RuntimeError("No CUDA GPUs are available")

    cuda._lazy_init = initialised
    cuda.is_available = lambda: bool(seen)
    cuda.device_count = lambda: len(seen)

    # Not ctypes' own, which have no hash, and each by itself: PyTorch keeps them in dictionaries.
    def current_card() -> int:
        return library.pretended_current()

    def set_card(device: Any) -> None:
        library.pretended_set_current(_number(device))

    cuda.current_device, cuda.set_device = current_card, set_card
    c._cuda_getDevice, c._cuda_setDevice = partial(current_card), partial(set_card)

    def asked(device=None) -> int:
        """Of a card that is dead nothing can be asked."""
        if library.pretended_is_dead(_number(device)):
            raise torch.AcceleratorError("CUDA error: unspecified launch failure")
        return _number(device)

    cuda.synchronize = asked
    cuda.memory_reserved = cuda.memory_allocated = lambda device=None: library.pretended_held(
        _number(device)
    )
    cuda.max_memory_allocated = lambda device=None: library.pretended_most_held(_number(device))
    cuda.reset_peak_memory_stats = lambda device=None: library.pretended_forget_most(
        _number(device)
    )
    cuda.get_sync_debug_mode = lambda: 0
    cuda.is_current_stream_capturing = lambda: False

    def pretend(capability: tuple[int, int] = HOPPER, memory: int = MEMORY) -> None:
        """The cards that there are from now on."""
        for card in range(len(seen)):
            library.pretended_memory(card, memory)
        major, minor = capability
        found = SimpleNamespace(name="Pretended GPU", major=major, minor=minor, total_memory=memory)
        cuda.get_device_capability = lambda device=None: capability
        cuda.get_device_name = lambda device=None: found.name
        cuda.get_device_properties = lambda device=None: found

        cuda.mem_get_info = lambda device=None: (
            memory - library.pretended_held(asked(device)),
            memory,
        )

    cuda.pretend = pretend
    pretend()
    cuda.Stream, cuda.Event = _Stream, _Event
    cuda.current_stream = cuda.default_stream = _Stream
    cuda.stream = lambda stream: nullcontext()
    cuda.default_generators = tuple(
        torch.Generator(device=f"cuda:{card}") for card in range(len(seen))
    )
    cuda.waits = library.pretended_waits  # how often the host would have waited for the device
    c._cuda_getDeviceCount = lambda: len(seen)
    for name in ("exchange", "maybeExchange"):
        setattr(c, f"_cuda_{name}Device", partial(_exchanged, library))
    for name in ("exchange", "maybe_exchange"):
        setattr(cuda, f"_{name}_device", partial(_exchanged, library))
    for name in ("_cuda_synchronize", "_host_emptyCache"):
        setattr(c, name, lambda *_: None)
    c._cuda_getCurrentRawStream = lambda device: 0
    _record_graphs(library)
    _copy_storages()
    _attend(library)


def _exchanged(library: ctypes.CDLL, card: int) -> int:
    before = library.pretended_current()
    if card >= 0:
        library.pretended_set_current(card)
    return before


def _record_graphs(library: ctypes.CDLL) -> None:
    class CUDAGraph:
        def replay(self) -> None:
            torch.cuda.graphs_replayed += 1
            library.pretended_replay(self.number)

        def reset(self) -> None:
            pass

    class graph:
        def __init__(self, graph, pool=None, **_):
            self.graph = graph

        def __enter__(self):
            self.graph.number = library.pretended_record()

        def __exit__(self, *_):
            library.pretended_recorded()

    torch.cuda.CUDAGraph, torch.cuda.graph = CUDAGraph, graph
    torch.cuda.graph_pool_handle = lambda: (0, 0)
    torch.cuda.graphs_replayed = 0


def _copy_storages() -> None:
    """PyTorch makes storages of CUDA by CUDA's own allocator, which is not built in."""
    of_host = torch.UntypedStorage.clone, torch.UntypedStorage.to

    def bytes_of(storage) -> torch.Tensor:
        return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)

    def clone(self):
        if self.device.type == "cpu":
            return of_host[0](self)
        return bytes_of(self).clone().untyped_storage()

    def to_cuda(self, device=None, non_blocking=False):
        return bytes_of(self).to(f"cuda:{_number(device)}").untyped_storage()

    def to(self, *, device, non_blocking=False):
        if torch.device(device).type == "cuda":
            return to_cuda(self, device)
        return of_host[1](self, device=device, non_blocking=non_blocking)

    for kind in (torch.storage._StorageBase, torch.UntypedStorage):
        kind.clone, kind.cuda, kind.to = clone, to_cuda, to


def _attend(library: ctypes.CDLL) -> None:
    """What CPUs have no kernel for: attention of segments, strict in its arguments, and wider products."""
    from torch.nn.attention import varlen

    def varlen_attn(
        query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, return_aux=None, scale=None,
        window_size=(-1, -1), enable_gqa=False, seqused_k=None, block_table=None, num_splits=None,
    ):  # fmt: skip
        assert query.dtype == key.dtype == value.dtype
        assert query.dtype in (torch.float16, torch.bfloat16), query.dtype
        assert query.shape[-1] % 8 == 0 and query.shape[-1] <= 256
        assert query.stride(-1) == key.stride(-1) == value.stride(-1) == 1
        assert enable_gqa or query.shape[1] == key.shape[1]
        assert seqused_k is None and block_table is None
        _check_edges(query, cu_seq_q, max_q)
        _check_edges(key, cu_seq_k, max_k)
        left, right = window_size
        assert right in (-1, 0)
        out, logsum = _plain(
            query, key, value, cu_seq_q, cu_seq_k, scale, right == 0, None if left < 0 else left
        )
        return (out, logsum) if return_aux is not None and return_aux.lse else out

    def efficient(
        query, key, value, bias, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p,
        custom_mask_type, compute_log_sumexp=False, *, scale=None, seqlen_k=None, window_size=None,
    ):  # fmt: skip
        assert bias is None and dropout_p == 0.0 and compute_log_sumexp
        assert query.shape[2] == key.shape[2]
        assert custom_mask_type in (0, 2)  # none, or rows and keys that end together
        _check_edges(query[0], cu_seqlens_q, max_seqlen_q)
        _check_edges(key[0], cu_seqlens_k, max_seqlen_k)
        out, logsum = _plain(
            query[0], key[0], value[0], cu_seqlens_q, cu_seqlens_k, scale, custom_mask_type == 2,
            window_size - 1 if window_size else None,
        )  # fmt: skip
        edges = cu_seqlens_q.tolist()
        width = -(-max_seqlen_q // 32) * 32
        padded = logsum.new_full((len(edges) - 1, query.shape[2], width), float("inf"))
        for at, (start, end) in enumerate(pairwise(edges)):
            padded[at, :, : end - start] = logsum[:, start:end]
        unused = torch.zeros((), dtype=torch.int64, device=query.device)
        return out[None], padded, unused, unused, max_seqlen_q, max_seqlen_k

    def uncounted(kernel):
        """What these look at in Python, real ones look at on the GPU."""

        def run(*arguments, **options):
            before = library.pretended_waits()
            result = kernel(*arguments, **options)
            library.pretended_forget(library.pretended_waits() - before)
            return result

        return run

    varlen.varlen_attn = uncounted(varlen_attn)
    kernels = torch.library.Library("aten", "IMPL")
    kernels.impl("_efficient_attention_forward", uncounted(efficient), "CUDA")
    kernels.impl("bmm.dtype", lambda a, b, out_dtype: a.to(out_dtype) @ b.to(out_dtype), "CUDA")
    torch.cuda.kernels = kernels  # what it adds is there as long as it is


def _check_edges(rows, edges, longest: int) -> None:
    assert rows.is_cuda and edges.is_cuda and edges.dtype == torch.int32 and edges.is_contiguous()
    found = edges.tolist()
    assert found[0] == 0 and found[-1] == len(rows), (found, rows.shape)
    assert max(b - a for a, b in pairwise(found)) <= longest


def _plain(q, k, v, row_edges, key_edges, scale, causal, window):
    """Segment by segment in float32: what both kernels compute, and the log-sum-exps, [heads, rows]."""
    outs, logsums = [], []
    ends = zip(row_edges.tolist()[1:], key_edges.tolist()[1:], strict=True)
    row = key = 0
    for row_end, key_end in ends:
        queries = q[row:row_end].transpose(0, 1).float()
        keys, values = (
            x[key:key_end].transpose(0, 1).float().repeat_interleave(q.shape[1] // k.shape[1], 0)
            for x in (k, v)
        )
        scores = queries @ keys.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
        if causal:
            rows, seen = scores.shape[1:]
            back = torch.arange(rows, device=q.device)[:, None] + seen - rows
            back = back - torch.arange(seen, device=q.device)
            hidden = (back < 0) | (back > window) if window is not None else back < 0
            scores = scores.masked_fill(hidden, float("-inf"))
        outs.append((scores.softmax(-1) @ values).transpose(0, 1).to(q.dtype))
        logsums.append(scores.logsumexp(-1))
        row, key = row_end, key_end
    return torch.cat(outs), torch.cat(logsums, 1)
