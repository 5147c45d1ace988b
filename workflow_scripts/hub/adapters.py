"""Merge LoRA adapters and fully trained modules into the weights of a checkpoint."""


def merge_adapters(model) -> None:
    """Merge the adapters in place, so that evaluations and the next training stage get a plain model.

    transformers loads adapters together with the weights, but would then save only the adapters.
    """
    if not getattr(model, "_hf_peft_config_loaded", False):
        return
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import AuxiliaryTrainingWrapper

    for name, module in reversed(list(model.named_modules())):  # children before their parents
        if isinstance(module, BaseTunerLayer):
            module.merge(safe_merge=True)
            merged = module.get_base_layer()
        elif isinstance(module, AuxiliaryTrainingWrapper):  # modules that were trained in full
            merged = module.unload_and_optionally_merge_module(
                merge=True, safe_merge=True, adapter_names=None
            )
        else:
            continue
        parent, _, last = name.rpartition(".")
        setattr(model.get_submodule(parent), last, merged)
    model._hf_peft_config_loaded = False
    del model.peft_config
    # Saving would invert this mapping of the adapters' names.
    model._weight_conversions = []
