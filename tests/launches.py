"""Count the kernels that a computation launches, without a GPU."""

from torch.utils._python_dispatch import TorchDispatchMode

# Operators that only create a view or allocate memory.
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
    """Count the computing operators of forward and backward passes; in eager mode each is about one kernel.

    with Launches() as launches: ...
    launches.count
    """

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function._schema.name.split("::")[1] not in _FREE
        return function(*args, **(kwargs or {}))
