"""Low-rank adapters that lie beside a checkpoint's weights, taken into them when it is loaded."""


def merge_adapters(model) -> None:
    """So that every user of the hub, the next stage of a training too, has a plain model.

    transformers loads them along with the weights, but then saves nothing else any more.
    """
    if not getattr(model, "_hf_peft_config_loaded", False):
        return
    from peft.tuners.tuners_utils import BaseTunerLayer

    adapted = [(n, m) for n, m in model.named_modules() if isinstance(m, BaseTunerLayer)]
    for name, module in adapted:
        module.merge(safe_merge=True)
        parent, _, last = name.rpartition(".")
        setattr(model.get_submodule(parent), last, module.get_base_layer())
    model._hf_peft_config_loaded = False
    del model.peft_config
    # How the adapters' names were told from the model's; in saving it would be done backwards.
    model._weight_conversions = []
