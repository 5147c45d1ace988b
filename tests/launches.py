"""How many kernels a piece of work launches, counted without a GPU."""

from torch.utils._python_dispatch import TorchDispatchMode

# What gives another view of memory, or memory alone, and computes nothing.
_FREE = frozenset(
    [
        "view",
        "_unsafe_view",
        "reshape",
        "t",
        "transpose",
        "permute",
        "expand",
        "slice",
        "select",
        "unsqueeze",
        "squeeze",
        "as_strided",
        "detach",
        "alias",
        "split",
        "split_with_sizes",
        "chunk",
        "unbind",
        "lift_fresh",
        "empty",
        "empty_like",
        "empty_strided",
        "is_same_size",
        "_local_scalar_dense",
    ]
)


class Launches(TorchDispatchMode):
    """Operators that compute something, of forward and back: in eager mode about a kernel each.

    with Launches() as launches: ...
    launches.count
    """

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function._schema.name.split("::")[1] not in _FREE
        return function(*args, **(kwargs or {}))
