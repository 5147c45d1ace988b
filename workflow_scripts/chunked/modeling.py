"""Chunked models: a base model of transformers with another order of running its layers.

`architectures.py` says of which there is one.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

import torch
from torch import nn
from transformers import GenerationConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from workflow_scripts.chunked.configuration import ChunkingKeys
from workflow_scripts.chunked.devices import chunk_device_map
from workflow_scripts.chunked.distillation import (
    adapters_off,
    at,
    hidden_loss,
    language_loss,
    logits_loss,
    next_labels,
    places_of,
)
from workflow_scripts.chunked.layer_order import PlannedLayers
from workflow_scripts.chunked.pieces import summed_in_pieces
from workflow_scripts.chunked.published import (
    get_renamings,
    keep_own_names,
    refuse_other_weights,
)
from workflow_scripts.chunked.wrapper import WrappedChunkLayers
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.plan import ChunkPlan

# Of a student that learns from its teacher's logits, which lie in memory beside its own.
_LOGITS_AT_ONCE = 1 << 24


class _Chunked(PreTrainedModel):
    """What the bare model and the language model share."""

    @staticmethod
    def _load_pretrained_model(model, state_dict, checkpoint_files, load_config, *args, **kwargs):
        """Weights may bear their published names, those of low-rank adapters beside them too."""
        names = [*get_renamings(model.config.plan()), *(load_config.weight_mapping or ())]
        return PreTrainedModel._load_pretrained_model(
            model,
            state_dict,
            checkpoint_files,
            replace(load_config, weight_mapping=names),
            *args,
            **kwargs,
        )

    @staticmethod
    def _finalize_model_loading(model, load_config, info):
        keep_own_names(model)
        folder = load_config.pretrained_model_name_or_path
        info = PreTrainedModel._finalize_model_loading(model, load_config, info)
        refuse_other_weights(model, info, folder)
        return info

    def load_adapter(self, peft_model_id=None, *args, **kwargs):
        info = super().load_adapter(peft_model_id, *args, **kwargs)
        refuse_other_weights(self, info, peft_model_id or self.name_or_path)
        return info

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if start := getattr(module, "start", None):
            start(module.weight)


class ChunkedModel(_Chunked):
    """Mixed into a base model in front of it."""

    layers: PlannedLayers
    # Whether its layers are those of the Llama family, which can run as one; others run one after the other.
    is_fusible = True

    def __init__(self, config: ChunkingKeys):
        super().__init__(config)
        plan = config.plan()
        used = {*plan.start, *plan.end, *(n for chunk in plan.chunks for n in chunk)}
        if config.distilled:  # its teacher runs them all
            used = set(range(len(self.layers)))
        # A pruned layer leaves its number behind, so that the others keep their names.
        layers = [layer if n in used else nn.Identity() for n, layer in enumerate(self.layers)]
        pruned = [str(n) for n in range(len(layers)) if n not in used]
        if pruned:
            self._keys_to_ignore_on_load_unexpected = [rf"layers\.({'|'.join(pruned)})\."]
        self.layers = PlannedLayers(layers, self)
        self.rearrange(plan)
        self.post_init()

    def rearrange(self, plan: ChunkPlan) -> None:
        """Run the layers in another plan from now on, where chunking adds no parameters.

        All layers must be there, which those of a pruned model are not.
        """
        if plan.start != tuple(range(len(self.layers))):
            _refuse_sliding_windows(self.config)
        if plan.chunks:
            self.wrapped_chunk_layers = WrappedChunkLayers(self.config, plan)
        self.stages = self.layers.build_stages(plan)

    def spread_over(self, devices: int) -> None:
        """Give the chunks to so many devices."""
        self.stages = self.layers.build_stages(self.layers.plan, devices)

    def forward(self, *args, **kwargs):
        # Only the base model's own layers show their attention weights.
        self.layers.needs_loop = bool(kwargs.get("output_attentions"))
        return super().forward(*args, **kwargs)

    def _apply(self, fn, recurse=True):
        self.layers.release()
        return super()._apply(fn, recurse)


def _refuse_sliding_windows(config: ChunkingKeys) -> None:
    types = set(getattr(config, "layer_types", None) or ["full_attention"])
    if types != {"full_attention"}:
        raise UserError(
            f"layer_types has {', '.join(sorted(types))}; expected full_attention in all layers,"
            " because the layers of a chunk share one attention call (set use_sliding_window to"
            " false)."
        )


class _GenerationConfig(GenerationConfig):
    """The published config calls the temperature of distillation `temperature`; text is not sampled at it."""

    @classmethod
    def from_model_config(cls, model_config) -> GenerationConfig:
        keys = model_config.to_dict()
        del keys["temperature"]
        return GenerationConfig.from_model_config(keys)


class ChunkedForCausalLM(_Chunked):
    """Mixed into a base language model in front of it."""

    generation_config_class = _GenerationConfig

    def __init__(self, config: ChunkingKeys):
        PreTrainedModel.__init__(self, config)  # the base's would build the plain model first
        self.model = self._model_class(config)
        self.vocab_size = config.vocab_size
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.distillation_losses: dict[str, torch.Tensor] = {}
        self.post_init()

    def spread(self, devices: Sequence[str | int]) -> None:
        """Put chunk i on device i, all that is shared on the first. For running a model, not for training it.

        With one device the model is as it was before.
        """
        for name, device in chunk_device_map(self.config, devices).items():
            self.get_submodule(name).to(device)
        self.model.spread_over(len(devices))

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        position_ids=None,
        past_key_values=None,
        inputs_embeds=None,
        labels=None,
        **kwargs,
    ):
        inputs = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "position_ids": position_ids,
            "inputs_embeds": inputs_embeds,
        }
        if not (self.training and labels is not None and self.config.distilled):
            return super().forward(
                **inputs, past_key_values=past_key_values, labels=labels, **kwargs
            )
        if past_key_values is not None:
            raise UserError(
                "past_key_values was given to a training step with distillation; expected none,"
                " because the teacher would write into it."
            )
        hidden = self.config.distillation and self.config.distillation_loss == "published"
        if hidden and not self.model.layers.plan.end:
            raise UserError(
                "distillation_loss is published, but the plan has no layer behind its chunks; expected own."
            )
        return_dict = kwargs.pop("return_dict", None)
        if return_dict is None:  # as PEFT passes it
            return_dict = self.config.return_dict
        items = kwargs.pop("num_items_in_batch", None)
        kwargs.pop("logits_to_keep", None)
        places = places_of(labels)
        items = len(places) if items is None else items
        loss, losses = self._taught(inputs, kwargs | {"use_cache": False}, labels, places)
        self.distillation_losses = {name: one.detach() / items for name, one in losses.items()}
        outputs = CausalLMOutputWithPast(loss=loss / items)
        return outputs if return_dict else outputs.to_tuple()

    def _taught(self, inputs, options, labels, places) -> tuple[torch.Tensor, dict]:
        """The language model's loss and those of distillation, summed; and the latter by name.

        The logits of teacher and student are made in pieces, and nobody gets them.
        """
        keys, layers = self.config, self.model.layers
        published = keys.distillation_loss == "published"
        rows = torch.arange(labels.numel(), device=labels.device) if published else places
        # A published loss is a mean over all rows; the sum of a step, divided by its labels, takes it once a label.
        weight = len(places) / max(1, len(rows))
        with layers.recording() as student:
            ours = at(rows, self.model(**inputs, **options).last_hidden_state)
        with (
            torch.no_grad(),
            nullcontext() if published else adapters_off(self.model),
            layers.recording(unchunked=True) as teacher,
        ):
            theirs = at(rows, self.model(**inputs, **options).last_hidden_state)
        losses = {}
        if keys.distillation:
            behind, among = len(layers.plan.end) + 1, 1.0
            if published:
                student[-1], teacher[-1] = ours[None], theirs[None]  # normalised
                among = behind / (len(teacher) + 1)
            hidden = hidden_loss(teacher[-behind:], student[-behind:], rows)
            losses["hidden"] = weight * among * hidden

        def losses_of(hidden, wanted, taught):
            logits = self.lm_head(hidden)
            found = [language_loss(logits, wanted)]
            if keys.logits_distillation:
                with torch.no_grad():
                    taught = self.lm_head(taught)
                found.append(weight * logits_loss(taught, logits, keys.temperature))
            return found

        beside = [next_labels(labels)[rows], theirs]
        at_once = max(1, _LOGITS_AT_ONCE // keys.vocab_size)
        trained = [one for one in self.lm_head.parameters() if one.requires_grad]
        total, each = summed_in_pieces(losses_of, ours, beside, at_once, trained)
        total = total + sum(losses.values())
        if keys.logits_distillation:
            losses["logits"] = each[1]
        return total, losses
