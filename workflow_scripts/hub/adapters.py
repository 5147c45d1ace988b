"""Merge the LoRA adapters of a checkpoint, and modules that were trained in full, into its weights."""


def merge_adapters(model) -> None:
    """Merge the adapters, so that every user of the hub, also the next training stage, gets a plain model.

    transformers loads adapters with the weights, but then saves the adapters alone.
    """
    if not getattr(model, "_hf_peft_config_loaded", False):
        return
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import AuxiliaryTrainingWrapper

    for name, module in list(model.named_modules()):
        if isinstance(module, BaseTunerLayer):
            module.merge(safe_merge=True)
            _set_module(model, name, module.get_base_layer())
    for name, module in list(model.named_modules()):
        if isinstance(module, AuxiliaryTrainingWrapper):  # what was trained in full
            merged = module.unload_and_optionally_merge_module(
                merge=True, safe_merge=True, adapter_names=None
            )
            _set_module(model, name, merged)
    model._hf_peft_config_loaded = False
    del model.peft_config
    # The mapping of the adapters' names, which saving would invert.
    model._weight_conversions = []


def _set_module(model, name: str, module) -> None:
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, module)
