"""How many tokens a model was made to read, for runs that no engine of ours counts."""


class counted_tokens:
    """Count what runs through the model, padding included, whoever calls it."""

    def __init__(self, model):
        self._model, self._count = model, {"tokens": 0}

    def __enter__(self) -> dict[str, int]:
        def count(_module, args, kwargs):
            ids = kwargs.get("input_ids", args[0] if args else None)
            self._count["tokens"] += 0 if ids is None else ids.numel()

        self._hook = self._model.register_forward_pre_hook(count, with_kwargs=True)
        return self._count

    def __exit__(self, *_exception) -> None:
        self._hook.remove()
