"""Low-rank adapters that lie beside a checkpoint's weights, and what was trained in full beside them, taken
into the weights when it is loaded."""


def merge_adapters(model) -> None:
    """Merge them, so that every user of the hub, the next stage of a training too, has a plain model.

    transformers loads them along with the weights, but then saves nothing else any more.
    """
    if not getattr(model, "_hf_peft_config_loaded", False):
        return
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import AuxiliaryTrainingWrapper

    for name, module in list(model.named_modules()):
        if isinstance(module, BaseTunerLayer):
            module.merge(safe_merge=True)
            _put(model, name, module.get_base_layer())
    for name, module in list(model.named_modules()):
        if isinstance(module, AuxiliaryTrainingWrapper):  # what was trained in full
            merged = module.unload_and_optionally_merge_module(
                merge=True, safe_merge=True, adapter_names=None
            )
            _put(model, name, merged)
    model._hf_peft_config_loaded = False
    del model.peft_config
    # How the adapters' names were told from the model's; in saving it would be done backwards.
    model._weight_conversions = []


def _put(model, name: str, module) -> None:
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, module)
