"""Low-rank adapters that lie beside a checkpoint's weights, and what was trained in full beside them, taken
into the weights when it is loaded."""


def merge_adapters(model) -> None:
    """So that every user of the hub, the next stage of a training too, has a plain model.

    transformers loads them along with the weights, but then saves nothing else any more.
    """
    if not getattr(model, "_hf_peft_config_loaded", False):
        return
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import AuxiliaryTrainingWrapper

    adapted = [(n, m) for n, m in model.named_modules() if isinstance(m, BaseTunerLayer)]
    for name, module in adapted:
        module.merge(safe_merge=True)
        _put(model, name, module.get_base_layer())
    in_full = [(n, m) for n, m in model.named_modules() if isinstance(m, AuxiliaryTrainingWrapper)]
    for name, module in in_full:
        merging = {"merge": True, "safe_merge": True, "adapter_names": None}
        _put(model, name, module.unload_and_optionally_merge_module(**merging))
    model._hf_peft_config_loaded = False
    del model.peft_config
    # How the adapters' names were told from the model's; in saving it would be done backwards.
    model._weight_conversions = []


def _put(model, name: str, module) -> None:
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, module)
